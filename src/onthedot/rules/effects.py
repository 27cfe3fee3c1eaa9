"""What a decision is made on, and what it changes: the values that pass between the rules and the stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Before:
    """What a decision is made on: a schedule under its lock, and its live runs."""

    name: str
    schedule: Schedule | None
    """None where there is none of that name; a tombstone is a schedule with `deleted`."""
    live: tuple[Run, ...]
    """Its running runs, and those that wait, oldest first. For a planner: all that run where slots are counted, and as
    many of those that wait as a decision may rest on."""
    more: bool = False
    """More wait than are in `live`."""
    freezes: tuple[Freeze, ...] = ()
    """All of them, for an edit."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What a decision changes, all or nothing."""

    schedule: Schedule | None = None
    """The row as it shall be; None leaves it alone."""
    runs: tuple[Run, ...] = ()
    """Live runs, new or changed."""
    stopping: tuple[Run, ...] = ()
    """Running runs that are asked to stop."""
    ended: tuple[Run, ...] = ()
    """Runs that end: they leave the live ones and become history."""
    keys: tuple[Key, ...] = ()
    decisions: tuple[Decision, ...] = ()
    answer: Any = None
    """Handed back to the caller."""
    noted: Mapping[str, Any] | None = None
    """What else came of a change of the schedule, kept with it in the audit."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What else a planner's decision rests on, as values."""

    now_ms: int
    node: Node
    free_workers: int
    nodes: tuple[Node, ...]
    """Those alive."""
    load: Mapping[str, int] = field(default_factory=dict)
    """How many runs each node has running; known only where a due schedule's route goes by it."""


Edit = Callable[[Before, int], Effects]
"""From a schedule and the store's time in milliseconds to what changes."""
Decide = Callable[[Sequence[Before], Situation], Sequence[Effects]]
"""From due schedules under their locks to what becomes of each, in the same order."""
