"""A context for calling a task directly."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from onthedot.clock import ManualClock
from onthedot.errors import SettingsError
from onthedot.execution.context import Context
from onthedot.model.graph import SHARD
from onthedot.model.ids import new_id
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run
from onthedot.moments import ceil_ms
from onthedot.testing.virtual_time import CallClock

_MOMENTS = {"scheduled_at": "scheduled_ms", "due_at": "due_ms"}
_OF_SHARDS = {"shard": "item", "shards": "size"}
_START = ceil_ms("2026-01-01T00:00Z")


@dataclass(slots=True)
class MadeContext(Context):
    """A context that belongs to no node: `sleep` returns at once, and what the task says is in `said`."""

    said: list[LogLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.on_line = self.said.append


def context(**given: Any) -> MadeContext:
    """A context with these fields of a run: `context(attempt=2, scheduled_at="2026-03-29T02:30Z")`."""
    values: dict[str, Any] = {"task": "task", "cause": "tick", "scheduled_ms": _START, "attempt": 1, "fence": 1}
    known = {*_MOMENTS, *_OF_SHARDS, "run_id", *(each.name for each in fields(Run))}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise SettingsError(f"context: no field {name!r}{f'; did you mean {near[0]!r}?' if near else ''}")
        if name in _MOMENTS:
            values[_MOMENTS[name]] = ceil_ms(value)
        elif name in _OF_SHARDS:
            values |= {"cause": "shard", "step": SHARD, _OF_SHARDS[name]: value}
        else:
            values["id" if name == "run_id" else name] = value
    values.setdefault("due_ms", values["scheduled_ms"])
    values.setdefault("id", new_id(values["due_ms"]))
    return MadeContext(Run(**values), clock=CallClock(ManualClock(values["due_ms"])))
