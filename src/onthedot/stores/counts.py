"""What a store counts: schedules, runs, what is needed of nodes, and how loaded they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LATE_MS = 1000
"""What begins later than this after it was due is late."""


COUNTED = 10_000
"""Counting stops here."""


@dataclass(frozen=True, slots=True)
class ScheduleCounts:
    """How many schedules there are of each state; counting stops somewhere."""

    active: int = 0
    paused: int = 0
    parked: int = 0
    ended: int = 0
    undeclared: int = 0
    leaving_out: int = 0
    frozen: int = 0
    """These three are of any state, and counted there too."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.active + self.paused + self.parked + self.ended


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many runs wait, and how many run; counting stops somewhere."""

    waiting: int = 0
    running: int = 0
    """Those that lists show without steps: a flow or a broadcast is one run, whatever it consists of."""
    waiting_steps: int = 0
    running_steps: int = 0
    """Those of flows, and the shards of broadcasts. A flow within another is a step of it."""


class Needed(NamedTuple):
    """What a schedule needs of nodes and of others to run."""

    task: str
    group: str | None
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What active schedules need of nodes and of each other to run, and how many need just that."""

    task: str
    group: str | None
    depends_on: tuple[str, ...]
    count: int
    names: tuple[str, ...]
    """The first three."""


@dataclass(frozen=True, slots=True)
class Load:
    """How many runs of a task a node runs that name this pool; None: they go where their task goes by itself."""

    node_id: str
    task: str
    pool: str | None
    running: int
