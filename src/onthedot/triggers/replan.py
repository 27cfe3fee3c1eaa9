"""Where a schedule goes on, and when exactly a tick fires: pure rules that the planner applies."""

from __future__ import annotations

from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.keys import spread_over


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
    until = getattr(trigger, "repeat_until", None)
    if until is not None:
        room = min(room, until - tick_ms + 1)
    return tick_ms + spread_over(key, f"jitter/{tick_ms}", max(room, 1))


def goes_on_after_ms(old: Trigger, new: Trigger, last_tick_ms: int | None, now_ms: int) -> int:
    """After a change of trigger, the moment after which the new one's ticks count.

    It is never before now, so nothing fires for the past. Where only the zone of a schedule at fixed times changed, it
    is also not before the last tick's time on the new zone's wall clock: nine o'clock in Berlin and nine o'clock in New
    York are the same nine o'clock of the same day, and it has been.
    """
    if last_tick_ms is None or not isinstance(old, Cron) or not isinstance(new, Cron):
        return now_ms
    if old.zone is new.zone or not new.fields.fixed:
        return now_ms
    label = old.zone.label(last_tick_ms // 1000)
    return max(now_ms, last_tick_ms, *(second * 1000 for second in new.zone.resolve(label, "shift", "last")))
