"""The ticks that have gone by while a schedule is paused or parked: nobody has decided on them, and they do not run."""

from __future__ import annotations

from itertools import islice

from onthedot.errors import TriggerError
from onthedot.model.schedule import Schedule
from onthedot.triggers.codec import decode
from onthedot.web.dashboard.charts.columns import LeftOut

_MOST_COUNTED = 100


def withheld(schedule: Schedule, now_ms: int) -> LeftOut | None:
    """As if it were decided now; None where there are none. Counting stops early."""
    if schedule.deleted or (schedule.enabled and schedule.error is None):
        return None
    try:
        ticks = decode(schedule.trigger).between_ms(schedule.settled_ms + 1, now_ms + 1)
        found = [*islice(ticks, _MOST_COUNTED)]
    except TriggerError:
        return None
    if not found:
        return None
    reason = "paused" if schedule.error is None else "parked"
    counted = len(found) < _MOST_COUNTED
    return LeftOut(found[0], found[-1] if counted else now_ms, reason, len(found) if counted else None)
