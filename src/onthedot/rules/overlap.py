"""How many runs of a schedule may run at once, cluster-wide: by slots, which are taken under the schedule's lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onthedot.model.run import Run, slot_name
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import replace


class Slot(NamedTuple):
    """Whether one more run may start, and the slot that it must take (none where any number may run)."""

    free: bool
    name: str | None = None


def slot_for(schedule: Schedule, live: Sequence[Run], kept: int = 0) -> Slot:
    """Room for one more run of the schedule beside its live runs, and beside so many slots that are kept for others.

    All that run count, with whichever slot or none: they may have begun when more were allowed.
    """
    slots = schedule.policy.slots
    if slots is None:
        return Slot(True)
    running = [run for run in live if run.counts_for_slots]
    if len(running) + kept >= slots:
        return Slot(False)
    taken = {run.slot for run in running}
    names = (slot_name(schedule.id, number) for number in range(slots))
    return Slot(True, next(name for name in names if name not in taken))


def free_slots(schedule: Schedule, live: Iterable[Run]) -> int | None:
    """How many more runs may start beside the live ones; None for any number."""
    slots = schedule.policy.slots
    if slots is None:
        return None
    return max(slots - sum(run.counts_for_slots for run in live), 0)


def holds_back(run: Run, schedule: Schedule | ScheduleSummary, now_ms: int | None = None) -> bool:
    """Whether a pause of the schedule holds this run, or a freeze; of a freeze only a whole schedule knows."""
    if run.cause != "tick" or run.exempt:
        return False
    if isinstance(schedule, Schedule) and now_ms is not None and schedule.frozen_at(now_ms) is not None:
        return True
    return not schedule.enabled


def gives_way_to(run: Run, newer: Run) -> bool:
    """Whether a run of a `cover` schedule is replaced by a newer tick: it waits, and was never begun."""
    return run.is_waiting_tick and run.scheduled_ms < newer.scheduled_ms


def asked_to_stop(live: Iterable[Run], now_ms: int) -> list[Run]:
    """Those that run, asked to make way, as far as they were not asked before."""
    return [
        _asked(run, "covered by a newer run", now_ms)
        for run in live
        if run.counts_for_slots and run.cancel_requested_ms is None
    ]


def _asked(run: Run, reason: str, now_ms: int) -> Run:
    """A flow is found by the poll until its steps have been asked."""
    until_ms = now_ms if run.is_flow else run.until_ms
    return replace(run, cancel_requested_ms=now_ms, reason=reason, until_ms=until_ms)


def waits(run: Run, now_ms: int) -> bool:
    """Whether its moment has come and it has not begun."""
    return run.state is State.WAITING and run.due_ms <= now_ms
