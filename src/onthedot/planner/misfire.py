"""Which undecided ticks fire, and which are recorded as not run: at a cost that does not grow with their number."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from onthedot.model.policy import Policy
from onthedot.triggers.base import Trigger

MOST_AT_ONCE = 1000
"""Ticks that one pass decides for one schedule; the rest follow in the next pass."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What becomes of the ticks from the first undecided one up to now."""

    fire: tuple[int, ...]
    missed: tuple[int, int] | None
    """The first and the last tick that are not run."""
    settled_ms: int
    """Everything up to here is decided."""


def select(trigger: Trigger, first_ms: int, policy: Policy, now_ms: int) -> Selection:
    """Judge the ticks in [first, now]; `first_ms` is a tick at or before now.

    Up to `grace` late is not a misfire. If any tick is later than that: `fire_once` runs the latest, `skip` those
    within grace, `catch_up` the latest ones within its window, at most `max_catch_up`.
    """
    on_time_from = now_ms - policy.grace_ms
    if first_ms >= on_time_from:
        return _all(trigger, first_ms, now_ms)
    latest = trigger.prev_ms(now_ms + 1)
    latest = first_ms if latest is None or latest < first_ms else latest
    match policy.misfire:
        case "fire_once":
            fire = [latest]
        case "skip":
            fire = list(islice(trigger.between_ms(max(first_ms, on_time_from), now_ms + 1), MOST_AT_ONCE))
        case "catch_up":
            fire = _last(trigger, latest, max(first_ms, now_ms - policy.catch_up_window_ms), policy.max_catch_up)
    last_missed = trigger.prev_ms(fire[0]) if fire else latest
    missed = None if last_missed is None or last_missed < first_ms else (first_ms, last_missed)
    if fire and fire[0] == first_ms:
        missed = None
    return Selection(tuple(fire), missed, now_ms)


def _all(trigger: Trigger, first_ms: int, now_ms: int) -> Selection:
    later = islice(trigger.between_ms(first_ms + 1, now_ms + 1), MOST_AT_ONCE)
    fire = (first_ms, *later)
    return Selection(fire, None, now_ms if len(fire) <= MOST_AT_ONCE else fire[-1])


def _last(trigger: Trigger, latest: int, from_ms: int, count: int) -> list[int]:
    """Up to `count` ticks from the latest back to `from_ms`, ascending."""
    ticks: list[int] = []
    tick: int | None = latest
    while tick is not None and tick >= from_ms and len(ticks) < count:
        ticks.append(tick)
        tick = trigger.prev_ms(tick)
    return ticks[::-1]
