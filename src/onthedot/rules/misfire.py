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
    """The first and the last moment that are not run."""
    settled_ms: int
    """Everything up to here is decided."""


def select(trigger: Trigger, first_ms: int, policy: Policy, now_ms: int) -> Selection:
    """Judge the ticks in [first, now]; `first_ms` is a tick, or a moment to run at all the same, at or before now.

    Up to `grace` late is not a misfire. If any tick is later than that: `fire_once` runs the latest, `skip` those
    within grace, `catch_up` the latest ones within its window, at most `max_catch_up`.
    """
    on_time_from = now_ms - policy.grace_ms
    if first_ms >= on_time_from:
        return _all(trigger, first_ms, now_ms)
    latest = max(trigger.prev_ms(now_ms + 1) or first_ms, first_ms)
    settled_ms = now_ms
    match policy.misfire:
        case "fire_once":
            fire = [latest]
        case "skip":
            fire = list(islice(trigger.between_ms(on_time_from, now_ms + 1), MOST_AT_ONCE))
            settled_ms = now_ms if len(fire) < MOST_AT_ONCE else fire[-1]
        case "catch_up":
            from_ms = max(first_ms, now_ms - policy.catch_up_window_ms)
            fire = _last(trigger, latest, first_ms, from_ms, policy.max_catch_up)
    if fire and fire[0] == first_ms:
        return Selection(tuple(fire), None, settled_ms)
    last_missed = trigger.prev_ms(fire[0]) if fire else latest
    return Selection(tuple(fire), (first_ms, max(last_missed or first_ms, first_ms)), settled_ms)


def _all(trigger: Trigger, first_ms: int, now_ms: int) -> Selection:
    later = islice(trigger.between_ms(first_ms + 1, now_ms + 1), MOST_AT_ONCE)
    fire = (first_ms, *later)
    return Selection(fire, None, now_ms if len(fire) <= MOST_AT_ONCE else fire[-1])


def _last(trigger: Trigger, latest: int, first_ms: int, from_ms: int, count: int) -> list[int]:
    """Up to `count` moments from the latest back to `from_ms`, ascending; the first one need not be a tick."""
    moments: list[int] = []
    moment = latest
    while moment >= from_ms and len(moments) < count:
        moments.append(moment)
        if moment == first_ms:
            break
        moment = max(trigger.prev_ms(moment) or first_ms, first_ms)
    return moments[::-1]
