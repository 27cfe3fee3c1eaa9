"""How many runs of a schedule may run at once, cluster-wide: by slots, which are taken under the schedule's lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onthedot.model.run import Run, slot_name, slot_number
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import replace


class Room(NamedTuple):
    """Whether one more run may start, and the slot that it must take (none where any number may run)."""

    free: bool
    slot: str | None = None


def room_for(schedule: Schedule, live: Sequence[Run]) -> Room:
    """Room for one more run of the schedule beside its live runs."""
    slots = schedule.policy.slots
    if slots is None:
        return Room(True)
    taken = {slot_number(run.slot) for run in live if run.state is State.RUNNING and run.slot} if live else ()
    for number in range(slots):
        if number not in taken:
            return Room(True, slot_name(schedule.id, number))
    return Room(False)


def free_slots(schedule: Schedule, live: Iterable[Run]) -> int | None:
    """How many more runs may start beside the live ones; None for any number."""
    slots = schedule.policy.slots
    if slots is None:
        return None
    return max(slots - sum(run.state is State.RUNNING and run.slot is not None for run in live), 0)


def holds_back(run: Run, schedule: Schedule | ScheduleSummary) -> bool:
    """Whether a pause of the schedule holds this run."""
    return not schedule.enabled and run.cause == "tick" and not run.exempt


def gives_way_to(run: Run, newer: Run) -> bool:
    """Whether a run of a `cover` schedule is replaced by a newer tick: it waits, and was never begun."""
    waits = run.state is State.WAITING and run.cause == "tick" and run.never_begun and not run.exempt
    return waits and not run.is_shard and run.scheduled_ms < newer.scheduled_ms


def asked_to_stop(live: Iterable[Run], now_ms: int) -> list[Run]:
    """Those that hold a slot, asked to make way, as far as they were not asked before."""
    return [
        replace(run, cancel_requested_ms=now_ms, reason="covered by a newer run")
        for run in live
        if run.state is State.RUNNING and run.slot is not None and run.cancel_requested_ms is None
    ]
