"""What the calls of a store answer: what a pass planned, started, ended, or counted."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.model.decision import Decision
from onthedot.model.mark import Mark
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules.effects import Effects


@dataclass(frozen=True, slots=True)
class Ticks:
    """What became of ticks: runs, newest moment first, and why others became none, newest decision first."""

    marks: tuple[Mark, ...] = ()
    decisions: tuple[Decision, ...] = ()


OLD_MS = 60_000
"""A transaction of somebody else's that is older than this is worth a word."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a planning pass did."""

    effects: tuple[Effects, ...]
    passed_over: bool = False
    """Due schedules were left out because somebody else had them locked: look again soon."""
    more: bool = False
    """The limit was reached: more are due."""
    now_ms: int | None = None
    """The store's time when it looked: what was due by then is decided, or passed over."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a starting pass did."""

    runs: tuple[Run, ...] = ()
    skipped: tuple[Run, ...] = ()
    passed_over: bool = False
    now_ms: int | None = None
    """The store's time when it looked."""
    held_back: bool = False
    """Runs that have crashed a node wait until another such run has ended here."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of outcomes, one by one."""

    recorded: tuple[Run, ...] = ()
    refused: tuple[str, ...] = ()
    """Run ids whose claim was no longer the caller's."""
    followed: int = 0
    """How many runs were enqueued because of these."""
    woken: int = 0
    """How many runs that waited behind a slot may now start."""
    again: tuple[str, ...] = ()
    """Run ids whose outcomes clashed with others again and again: to be brought once more."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Everything that a node must know, at once."""

    node: Node
    own: tuple[Run, ...]
    """Every run that the store holds as running for this incarnation."""
    nodes: tuple[Node, ...]
    """All that are not dead or stopped, this one included."""


@dataclass(frozen=True, slots=True)
class RolledUp:
    """What was counted."""

    ends: int = 0
    more: bool = False
    """More is left: call again at once."""
