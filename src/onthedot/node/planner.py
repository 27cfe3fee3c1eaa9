"""Plans what is due: in batches; what a dead process left overdue, or a store refuses together, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from onthedot.errors import Clash, NodeDead, StoreUnavailable
from onthedot.events import Event, Failure, FellBack, Parked, Recovered
from onthedot.model.schedule import Schedule
from onthedot.rules.ahead import Ahead
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.rules.plan import parking
from onthedot.rules.quarantine import AT_ONCE, Quarantine, Step
from onthedot.stores.answers import Planned
from onthedot.stores.base import Store

BATCH = 500
FAILURES = 3
"""So many passes in a row must fail before schedules are planned one by one."""


class Planner:
    """One node's planning. `run_once` and `plan_one` are called by one thread, `quarantine` by any."""

    def __init__(self, store: Store, decide: Decide, emit: Callable[[Event], None]) -> None:
        self._store = store
        self._decide = decide
        self._emit = emit
        self._quarantine: Quarantine | None = None
        self._quarantine_batch = AT_ONCE
        self._asked: list[int] = []
        self._last_read: Sequence[Before] = ()
        self._failures = 0
        self._refused: Counter[str] = Counter()
        """How often in a row the store has refused the plan of a schedule that stood alone."""

    def quarantine(self, since_ms: int) -> None:
        """A process may have died of a plan: what is due by this moment is tried one by one."""
        self._asked.append(since_ms)

    @property
    def is_careful(self) -> bool:
        """Whether anything is still to be tried one by one, as far as is known."""
        return self._quarantine is not None or bool(self._asked)

    def run_once(self, node_id: str, free_workers: int, most: int = BATCH) -> Planned:
        """Plan a batch of what is due; if that has failed again and again, plan its schedules one by one."""
        try:
            planned = self._plan_batch(node_id, free_workers, most)
        except Exception as error:
            if _is_of_the_store(error):
                raise
            self._failures += 1
            if self._failures < FAILURES:
                raise
            if self._failures == FAILURES:
                self._emit(FellBack(node_id, error))
            return self._plan_one_by_one(node_id)
        if self._failures >= FAILURES:
            self._emit(Recovered(node_id))
        self._failures = 0
        return planned

    def run_ahead(self, node_id: str, ahead: Sequence[Ahead], make_id: Callable[[], str]) -> Planned:
        """Plan what was decided before its moment; what is refused, or suspected, is planned as all else is."""
        if self._in_quarantine() is not None:
            return Planned((), more=True)
        try:
            return self._store.plan_ahead(node_id, ahead, make_id)
        except Exception as error:
            if _is_of_the_store(error):
                raise
            return Planned((), more=True)

    def plan_one(self, node_id: str, schedule: Schedule) -> Effects | None:
        """Plan one schedule as it was read. None if it has changed since, or could not be written: nothing fires."""
        try:
            effects = self._plan_one(node_id, schedule)
        except Exception as error:
            if _is_of_the_store(error):
                raise
            self._note_refusal(node_id, schedule, error)
            return None
        del self._refused[schedule.id]
        return effects

    def _note_refusal(self, node_id: str, schedule: Schedule, error: Exception) -> None:
        """One that stands alone is told of once, and parked after a few times, if the store takes at least that."""
        self._refused[schedule.id] += 1
        if self._refused[schedule.id] == 1:
            self._emit(Failure(f"plan of {schedule.name}", error))
        if self._refused[schedule.id] != FAILURES:
            return
        why = f"the store refuses its plan: {type(error).__name__}: {error}"
        with suppress(Exception):  # a row that refuses every write cannot be parked either, and nothing of it fires
            effects = self._store.plan_one(node_id, schedule.id, schedule.revision, parking(why))
            if effects is not None:
                self._emit(Parked(schedule.name, why))

    def _plan_batch(self, node_id: str, free_workers: int, most: int) -> Planned:
        quarantine = self._in_quarantine()
        decide = self._noting(quarantine or self._decide)
        if quarantine is None:
            return self._store.plan_due(node_id, most, free_workers, decide)
        planned = self._store.plan_due(node_id, self._quarantine_batch, free_workers, decide)
        quarantine.note(planned.effects)
        waits = quarantine.waits()
        steps = {effects.answer for effects in planned.effects if isinstance(effects.answer, Step)}
        self._quarantine_batch = AT_ONCE if steps else BATCH  # what is on time must not pay for what is not there
        more = planned.more or waits or Step.COUNTED in steps
        if not (more or planned.passed_over):
            self._quarantine, self._quarantine_batch = None, AT_ONCE
        moved = any(effects.schedule is not None for effects in planned.effects)
        return replace(planned, passed_over=planned.passed_over or waits, more=more and moved)

    def _in_quarantine(self) -> Quarantine | None:
        """What is tried one by one from now on, as was asked meanwhile; None: nothing."""
        while self._asked:
            since_ms = self._asked.pop()
            self._quarantine = self._quarantine or Quarantine(self._decide, since_ms)
            self._quarantine.since_ms = max(self._quarantine.since_ms, since_ms)
        return self._quarantine

    def _noting(self, decide: Decide) -> Decide:
        def decide_and_note(rows: Sequence[Before], situation: Situation) -> Sequence[Effects]:
            self._last_read = rows
            return decide(rows, situation)

        return decide_and_note

    def _plan_one_by_one(self, node_id: str) -> Planned:
        rows = self._last_read
        found = [self.plan_one(node_id, row.schedule) for row in rows if row.schedule is not None]
        planned = tuple(effects for effects in found if effects is not None and effects.schedule is not None)
        return Planned(planned, more=bool(planned) and len(rows) >= AT_ONCE)

    def _plan_one(self, node_id: str, schedule: Schedule) -> Effects | None:
        quarantine = self._in_quarantine()
        effects = self._store.plan_one(node_id, schedule.id, schedule.revision, quarantine or self._decide)
        if quarantine is None or effects is None:
            return effects
        quarantine.note([effects])
        if effects.answer is Step.COUNTED:
            effects = self._store.plan_one(node_id, schedule.id, schedule.revision, quarantine)
            quarantine.note([] if effects is None else [effects])
        return effects


def _is_of_the_store(error: Exception) -> bool:
    """Whether nothing at all can be written now, one by one or together."""
    away = isinstance(error, StoreUnavailable) and not isinstance(error, Clash)
    return away or isinstance(error, (NodeDead, OSError))
