"""The short way of what is plain (`rules.plain`): what a store is asked, and what it answers.

One step for ends and begins alike, of rows that touch no others. A store that has it looks in the step itself at what
its node cannot know; what does not fit it leaves alone, and that goes the general way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.stores.transaction import Claim


class End(NamedTuple):
    """A run as its node has it, and how it ended."""

    run: Run
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class PlainStep:
    """What a node asks for."""

    node_id: str
    ends: tuple[End, ...] = ()
    claim: Claim | None = None
    """Which due runs shall begin; None: none."""
    most: int = 0
    """Of those."""

    @property
    def limits(self) -> Counter[tuple[str, int]]:
        """The groups whose places those that end hold, each with how many it has: how many of these end."""
        return Counter(run.policy.group_limit for run, _ in self.ends if run.policy.group_limit is not None)


class PlainDone(NamedTuple):
    """What became of it."""

    now_ms: int
    """The store's time."""
    ended: tuple[Run, ...] = ()
    """Those that have, as they are in history now; nothing was done about the others."""
    begun: tuple[Run, ...] | None = None
    """The foremost due runs, which are the node's now, and those that were handed places of their groups; None where
    they are not all plain, or none was asked for: then nothing has begun."""
    passed_over: bool = False
    """Something that is due was left to the general way."""
