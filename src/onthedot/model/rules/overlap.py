"""How many runs of a schedule may run at once, cluster-wide: by slots, which are taken under the schedule's lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onthedot.model.run import Run, slot_name, slot_number
from onthedot.model.schedule import Schedule, Standing
from onthedot.model.states import State


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


def holds_back(run: Run, schedule: Schedule | Standing) -> bool:
    """Whether a pause of the schedule holds this run."""
    return not schedule.enabled and run.cause == "tick" and not run.exempt
