"""Where a schedule goes on, and when exactly a tick fires: pure rules that the planner applies."""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.combine import Exclusion, Simple, Union
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays
from onthedot.triggers.stable_hash import spread_over


def due_ms(trigger: Trigger, tick_ms: int, jitter_ms: int, key: str) -> int:
    """When a tick fires: up to `jitter_ms` after it, the same for the same key and tick.

    Always before the next tick, and never after the trigger's end.
    """
    if jitter_ms <= 0:
        return tick_ms
    room = jitter_ms + 1
    following = trigger.next_ms(tick_ms)
    if following is not None:
        room = min(room, following - tick_ms)
    end_ms = _end_of_tick(trigger, tick_ms)
    if end_ms is not None:
        room = min(room, end_ms - tick_ms + 1)
    return tick_ms + spread_over(key, f"jitter/{tick_ms}", max(room, 1))


def goes_on_after_ms(old: Trigger, new: Trigger, last_tick_ms: int | None, now_ms: int) -> int:
    """After a change of trigger, the moment after which the new one's ticks count.

    It is never before now, so nothing fires for the past. Where only the zone of a schedule at fixed times changed, it
    is also not before the last tick's time on the new zone's wall clock: nine o'clock in Berlin and nine o'clock in New
    York are the same nine o'clock of the same day, and it has been.
    """
    if last_tick_ms is None:
        return now_ms
    parts = [part for part in _simple_parts(new) if not isinstance(part, At)]
    new_zones = {part.zone for part in parts}
    old_zones = {part.zone for part in _simple_parts(old) if part.ticks_at(last_tick_ms)}
    fixed = all(isinstance(part, EveryDays) or (isinstance(part, Cron) and part.fields.fixed) for part in parts)
    if not fixed or len(new_zones) != 1 or len(old_zones) != 1 or new_zones == old_zones:
        return now_ms
    label = old_zones.pop().label(last_tick_ms // 1000)
    return max(now_ms, last_tick_ms, *(second * 1000 for second in new_zones.pop().resolve(label, "shift", "last")))


def _end_of_tick(trigger: Trigger, tick_ms: int) -> int | None:
    """The latest end of what made the tick; None where nothing ends it."""
    plain = trigger.plain()
    if not isinstance(plain, Union):
        return plain.end_ms
    ends = [_end_of_tick(part, tick_ms) for part in plain.parts if part.ticks_at(tick_ms)]
    return None if None in ends or not ends else max(end for end in ends if end is not None)


def _simple_parts(trigger: Trigger) -> Iterator[Simple]:
    """The cron texts, intervals and moments that a trigger is made of; what it excludes does not count."""
    match trigger.plain():
        case Union(parts=parts):
            for part in parts:
                yield from _simple_parts(part)
        case Exclusion(base=base):
            yield base
        case Cron() | Every() | EveryDays() | At() as simple:
            yield simple
