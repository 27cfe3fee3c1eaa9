"""A flow's graph: its steps, what they wait for and with which arguments they are called. Data, and never changed.

In arguments stand literal values and references, which are resolved when a step begins: `{"$result": "load"}` is what
another step returned (of a map the list of all, in order), `{"$item": []}` the item that this run of a map is for,
`{"$arg": "day"}` an argument of the flow. Each may have a `path` of keys and indexes into it. A literal that looks like
a reference stands in `{"$value": …}`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

On = Literal["success", "any", "failure", "end"]
"""After its predecessors: all ended well; none badly and one well; one badly; however they ended."""
NODES, TICKS = "nodes", "ticks"
"""What a step may be mapped over that is no list: one run on each node, one run for each tick of a backfill."""
MOST_STEPS = 200
MOST_BYTES = 65_536
MOST_ITEMS = 10_000
DEEPEST = 5
PARALLEL = 100
SHARD = "shard"
"""The step of a broadcast."""


@dataclass(frozen=True)
class Step:
    """One step: a task, or another graph; once, or for each item of a list that is known when it begins."""

    name: str
    task: str
    args: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    on: On = "success"
    when: Mapping[str, Any] | None = None
    """Judged by the worker; where it does not hold, the step's run ends as skipped."""
    may_fail: bool = False
    """A bad end counts as a good one."""
    closing: bool = False
    """Begins when all others have their verdict."""
    over: Any = None
    """What it is mapped over: a reference, a list, `NODES` or `TICKS`; None for a step that is one run."""
    parallel: int = PARALLEL
    """How many of its runs are live at once."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """As `Policy.as_json`, only what was said for this step; the rest follows the published task."""
    graph: str | None = None
    """The hash of the graph that it stands for, where it is a flow itself."""

    @property
    def is_map(self) -> bool:
        return self.over is not None

    def as_json(self) -> dict[str, Any]:
        """Only what differs from the defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(_BLANK, name)}


_BLANK = Step("", "")


@dataclass(frozen=True)
class Graph:
    """The steps in an order in which each comes after what it waits for."""

    name: str
    steps: tuple[Step, ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Of the flow's arguments."""
    required: tuple[str, ...] = ()
    """The flow's arguments without a default."""

    @cached_property
    def text(self) -> str:
        """Its canonical JSON: the same graph is the same text."""
        said: dict[str, Any] = {"name": self.name, "steps": [step.as_json() for step in self.steps]}
        if self.defaults:
            said["defaults"] = self.defaults
        if self.required:
            said["required"] = self.required
        return json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def hash(self) -> str:
        """What schedules and runs carry."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:40]

    @classmethod
    def from_text(cls, text: str) -> Graph:
        """What `text` gave; names of a later version are left out."""
        said = json.loads(text)
        steps = tuple(_step(each) for each in said["steps"])
        return cls(said["name"], steps, said.get("defaults", {}), tuple(said.get("required", ())))

    def __getitem__(self, name: str) -> Step:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Step]:
        return {step.name: step for step in self.steps}

    @cached_property
    def open_steps(self) -> tuple[Step, ...]:
        """All but the closing ones."""
        return tuple(step for step in self.steps if not step.closing)

    @cached_property
    def closing_steps(self) -> tuple[Step, ...]:
        """Those that begin when all others have their verdict."""
        return tuple(step for step in self.steps if step.closing)

    @cached_property
    def ancestors(self) -> Mapping[str, frozenset[str]]:
        """By the name of each step all that come before it; of closing steps only those that were named."""
        found: dict[str, frozenset[str]] = {}
        for step in self.steps:
            found[step.name] = frozenset(step.after).union(*(found[each] for each in step.after))
        return found


def _step(said: Mapping[str, Any]) -> Step:
    known = {each.name: said[each.name] for each in fields(Step) if each.name in said}
    if "after" in known:
        known["after"] = tuple(known["after"])
    return Step(**known)


BROADCAST = Graph("broadcast", (Step(SHARD, "@broadcast", over=NODES, parallel=MOST_ITEMS),))
"""What every broadcast stands for: whoever runs this code knows it, so no store keeps it."""
