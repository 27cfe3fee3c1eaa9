"""The columns of a tick chart: which ticks are shown, and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.model.decision import Decision

_WIDEST = 3


@dataclass(frozen=True, slots=True)
class Ran:
    """A tick that became a run."""

    at_ms: int
    state: str
    took_ms: int | None = None
    late_ms: int | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Ticks that became no runs, for one reason."""

    at_ms: int
    last_ms: int
    reason: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Coming:
    """A tick that is still to come; `note` where a jump of the wall clock moved it."""

    at_ms: int
    note: str = ""


Tick = Ran | LeftOut | Coming


@dataclass(frozen=True, slots=True)
class Column:
    """Where a tick stands: from which place on, and how many places it takes."""

    place: int
    width: int
    tick: Tick


def left_out(decision: Decision) -> LeftOut:
    """What a chart shows of a decision."""
    return LeftOut(decision.first_ms, decision.last_ms, decision.reason, decision.count)


def in_columns(past: Sequence[Ran | LeftOut], coming: Sequence[Coming], most_past: int) -> list[Column]:
    """All in the order of their moments. The newest end just before place `most_past`, where what comes begins."""
    columns: list[Column] = []
    place = most_past
    for tick in sorted(past, key=lambda tick: tick.at_ms, reverse=True):
        width = _width(tick)
        if place - width < 0:
            break
        place -= width
        columns.append(Column(place, width, tick))
    columns.reverse()
    ahead = sorted(coming, key=lambda tick: tick.at_ms)
    return [*columns, *(Column(most_past + number, 1, tick) for number, tick in enumerate(ahead))]


def _width(tick: Tick) -> int:
    """Many ticks that were left out take more room than one, and never so much that little else is seen."""
    if not isinstance(tick, LeftOut):
        return 1
    return _WIDEST if tick.count is None else min(max(tick.count, 1), _WIDEST)


def is_meant(tick: Tick, moment_ms: int | None) -> bool:
    """Whether this is the tick of that moment."""
    if moment_ms is None:
        return False
    return tick.at_ms <= moment_ms <= (tick.last_ms if isinstance(tick, LeftOut) else tick.at_ms)
