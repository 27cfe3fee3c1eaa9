"""The ticks of a schedule, one after the other: what became of those that are over, and those that come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onthedot.errors import TriggerError
from onthedot.model.decision import Decision
from onthedot.model.mark import Mark
from onthedot.model.schedule import Schedule
from onthedot.stores.base import Store
from onthedot.triggers.codec import decode

BEADS = 24
MOST_TICKS = 500
_LEAST_COMING = 10


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment of a schedule: a run, why there was none (for a whole range of them), or still to come."""

    at_ms: int
    """Of a range the last one."""
    run: Mark | None = None
    decision: Decision | None = None

    @property
    def kind(self) -> Literal["run", "decision", "coming"]:
        """What it is."""
        if self.run is not None:
            return "run"
        return "coming" if self.decision is None else "decision"


def read_ticks(
    store: Store, schedule: Schedule, first_ms: int | None, last_ms: int | None, limit: int
) -> tuple[Tick, ...]:
    """In [first, last], oldest first; where they are more than `limit`, those around now: a fifth of them to come."""
    most_coming = limit if last_ms is not None else max(limit // 5, min(limit, _LEAST_COMING))
    runs = not schedule.is_undeclared(store.now_ms())
    coming = [Tick(ms) for ms in _coming(schedule, first_ms or 0, last_ms, most_coming) if runs]
    past = _past(store, [schedule], first_ms or 0, 1 << 62 if last_ms is None else last_ms, limit)
    return (*past.get(schedule.id, ())[-max(limit - len(coming), limit // 2) :], *coming)[:limit]


def read_beads(store: Store, schedules: Sequence[Schedule], each: int = BEADS) -> dict[str, tuple[Tick, ...]]:
    """The newest ticks of many schedules by their names, oldest first; in a round trip or two."""
    past = _past(store, schedules, 0, 1 << 62, each)
    return {schedule.name: past.get(schedule.id, ())[-each:] for schedule in schedules}


def _past(
    store: Store, schedules: Sequence[Schedule], first_ms: int, last_ms: int, each: int
) -> dict[str, tuple[Tick, ...]]:
    found = store.ticks([schedule.id for schedule in schedules], first_ms=first_ms, last_ms=last_ms, each=each)
    by_id: dict[str, list[Tick]] = {}
    for mark in found.marks:
        by_id.setdefault(mark.schedule_id, []).append(Tick(mark.scheduled_ms, run=mark))
    for decision in found.decisions:
        by_id.setdefault(decision.schedule_id, []).append(Tick(decision.last_ms, decision=decision))
    return {schedule_id: _in_order(ticks) for schedule_id, ticks in by_id.items()}


def _in_order(ticks: Iterable[Tick]) -> tuple[Tick, ...]:
    return tuple(sorted(ticks, key=lambda tick: (tick.at_ms, "" if tick.run is None else tick.run.id)))


def _coming(schedule: Schedule, first_ms: int, last_ms: int | None, most: int) -> Iterator[int]:
    """As things stand; none of one that is paused, parked or at its end."""
    if not schedule.enabled or schedule.error is not None or schedule.deleted:
        return
    try:
        trigger = decode(schedule.trigger)
    except TriggerError:
        return
    moment = schedule.next_run_ms
    if moment is not None and moment < first_ms:
        moment = trigger.next_ms(first_ms - 1)
    while moment is not None and most > 0 and (last_ms is None or moment <= last_ms):
        yield moment
        moment, most = trigger.next_ms(moment), most - 1
