"""Ticks that did not become runs, as one span: what a decision records."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.triggers.base import Trigger


@dataclass(frozen=True, slots=True)
class Span:
    """The first and the last of some ticks, and how many they are (None where counting would cost too much)."""

    first_ms: int
    last_ms: int
    count: int | None


def span(trigger: Trigger, first_ms: int, last_ms: int, also_ms: int | None = None) -> Span | None:
    """The ticks in [first, last]; None where there are none.

    `also_ms`, if it lies in there, counts like a tick: the moment that a schedule was rescheduled to need not be one.
    """
    first, last = trigger.next_ms(first_ms - 1), trigger.prev_ms(last_ms + 1)
    ticks = None
    if first is not None and last is not None and first_ms <= first <= last <= last_ms:
        ticks = Span(first, last, trigger.count_ms(first, last + 1))
    if also_ms is None or not first_ms <= also_ms <= last_ms or trigger.ticks_at(also_ms):
        return ticks
    if ticks is None:
        return Span(also_ms, also_ms, 1)
    count = None if ticks.count is None else ticks.count + 1
    return Span(min(also_ms, ticks.first_ms), max(also_ms, ticks.last_ms), count)
