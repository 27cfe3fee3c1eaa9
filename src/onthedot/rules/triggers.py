"""The trigger of a schedule, decoded once for each definition rather than once for each tick."""

from __future__ import annotations

from onthedot.model.schedule import Json, Schedule
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

_MOST = 100_000
_decoded: dict[int, tuple[Json, Trigger]] = {}


def trigger_of(schedule: Schedule) -> Trigger:
    """What `decode` gives. Rows that were defined alike share their JSON, so its identity finds the trigger."""
    known = _decoded.get(id(schedule.trigger))
    if known is not None and known[0] is schedule.trigger:
        return known[1]
    trigger = decode(schedule.trigger)
    if len(_decoded) >= _MOST:
        _decoded.clear()
    _decoded[id(schedule.trigger)] = schedule.trigger, trigger  # the row is kept, so that its identity stays its own
    return trigger
