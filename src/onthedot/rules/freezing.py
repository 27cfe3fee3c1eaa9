"""Windows in which a schedule is frozen: which it has, and what they take out of its ticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onthedot.model.freeze import Freeze, Window
from onthedot.model.schedule import Schedule
from onthedot.triggers.base import Trigger


def wanted(schedule: Schedule, freezes: Sequence[Freeze], now_ms: int) -> set[Window]:
    """The windows that the freezes say of the schedule and that are not over."""
    return {
        each.window for each in freezes if each.end_ms > now_ms and each.concerns(schedule.name, sorted(schedule.tags))
    }


def is_as_wanted(schedule: Schedule, freezes: Sequence[Freeze], now_ms: int) -> bool:
    """Whether the schedule has them; what is over does not matter."""
    return {each for each in schedule.frozen if each.end_ms > now_ms} == wanted(schedule, freezes, now_ms)


def refrozen(schedule: Schedule, freezes: Sequence[Freeze], now_ms: int) -> tuple[Window, ...]:
    """The windows that the schedule shall have. One that is taken away while it lasts ends now: the ticks in it that
    nobody has decided on yet are still frozen ones, and nothing is caught up."""
    new = wanted(schedule, freezes, now_ms)
    ended = [each._replace(end_ms=min(each.end_ms, now_ms)) for each in schedule.frozen if each not in new]
    kept = [each for each in ended if each.start_ms < each.end_ms and each.end_ms > schedule.settled_ms]
    return tuple(sorted({*new, *kept}, key=lambda each: (each.start_ms, each.end_ms, each.freeze)))


def undecided(schedule: Schedule, settled_ms: int) -> tuple[Window, ...]:
    """Those of its windows in which ticks may still lie that nobody has decided on."""
    return tuple(each for each in schedule.frozen if each.end_ms > settled_ms)


class Piece(NamedTuple):
    """A part of a range of moments, both ends included, that lies in one window or in none."""

    first_ms: int
    last_ms: int
    window: Window | None


def pieces(windows: Sequence[Window], first_ms: int, last_ms: int) -> Iterator[Piece]:
    """The whole range, in order. Where windows overlap, the one that begins first counts."""
    at_ms = first_ms
    for each in sorted(windows, key=lambda window: window.start_ms):
        start_ms, end_ms = max(each.start_ms, at_ms), min(each.end_ms - 1, last_ms)
        if start_ms > end_ms:
            continue
        if start_ms > at_ms:
            yield Piece(at_ms, start_ms - 1, None)
        yield Piece(start_ms, end_ms, each)
        at_ms = end_ms + 1
    if at_ms <= last_ms:
        yield Piece(at_ms, last_ms, None)


@dataclass(frozen=True, slots=True)
class Open(Trigger):
    """A trigger without the ticks that lie in these windows. It is never kept."""

    trigger: Trigger
    windows: tuple[Window, ...]

    def next_ms(self, after_ms: int) -> int | None:
        tick = self.trigger.next_ms(after_ms)
        while tick is not None and (window := self._window(tick)) is not None:
            tick = self.trigger.next_ms(window.end_ms - 1)
        return tick

    def prev_ms(self, before_ms: int) -> int | None:
        tick = self.trigger.prev_ms(before_ms)
        while tick is not None and (window := self._window(tick)) is not None:
            tick = self.trigger.prev_ms(window.start_ms)
        return tick

    def ticks_at(self, ms: int) -> bool:
        return self._window(ms) is None and self.trigger.ticks_at(ms)

    def describe(self) -> str:
        return self.trigger.describe()

    def _window(self, ms: int) -> Window | None:
        return next((each for each in self.windows if each.covers(ms)), None)
