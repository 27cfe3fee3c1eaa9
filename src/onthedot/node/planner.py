"""Plans what is due: in batches; carefully after a process died; one by one where batches cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from onthedot.errors import Clash, NodeDead, StoreUnavailable
from onthedot.events import Event, Failure, FellBack, Recovered
from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.rules.quarantine import AT_ONCE, Quarantine, Step
from onthedot.stores.base import Planned, Store

BATCH = 500
FAILURES = 3
"""So many passes in a row must fail before schedules are planned one by one."""


class Planner:
    """One node's planning. `run_once` and `plan_one` are called by one thread, `be_careful` by any."""

    def __init__(self, store: Store, decide: Decide, emit: Callable[[Event], None]) -> None:
        self._store = store
        self._decide = decide
        self._emit = emit
        self._careful: Quarantine | None = None
        self._careful_batch = AT_ONCE
        self._asked: list[int] = []
        self._last_read: Sequence[Before] = ()
        self._failures = 0
        self._unwritable: set[str] = set()

    def be_careful(self, since_ms: int) -> None:
        """A process may have died of a plan: what is due by this moment is tried one by one."""
        self._asked.append(since_ms)

    def run_once(self, node_id: str, free_workers: int) -> Planned:
        """Plan a batch of what is due; if that has failed again and again, plan its schedules one by one."""
        try:
            planned = self._plan_batch(node_id, free_workers)
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

    def plan_one(self, node_id: str, schedule: Schedule) -> Effects | None:
        """Plan one schedule as it was read. None if it has changed since, or could not be written: nothing fires."""
        try:
            effects = self._plan_one(node_id, schedule)
        except Exception as error:
            if _is_of_the_store(error):
                raise
            if schedule.id not in self._unwritable:
                self._unwritable.add(schedule.id)
                self._emit(Failure(f"plan of {schedule.name}", error))
            return None
        self._unwritable.discard(schedule.id)
        return effects

    def _plan_batch(self, node_id: str, free_workers: int) -> Planned:
        careful = self._care()
        decide = self._noting(careful or self._decide)
        if careful is None:
            return self._store.plan_due(node_id, BATCH, free_workers, decide)
        planned = self._store.plan_due(node_id, self._careful_batch, free_workers, decide)
        careful.note(planned.effects)
        waits = careful.waits()
        steps = {effects.answer for effects in planned.effects if isinstance(effects.answer, Step)}
        self._careful_batch = AT_ONCE if steps else BATCH  # what is on time must not pay for what is not there
        more = planned.more or waits or Step.COUNTED in steps
        if not (more or planned.passed_over):
            self._careful, self._careful_batch = None, AT_ONCE
        moved = any(effects.schedule is not None for effects in planned.effects)
        return replace(planned, passed_over=planned.passed_over or waits, more=more and moved)

    def _care(self) -> Quarantine | None:
        """How careful to be from now on: as was asked meanwhile."""
        while self._asked:
            since_ms = self._asked.pop()
            self._careful = self._careful or Quarantine(self._decide, since_ms)
            self._careful.since_ms = max(self._careful.since_ms, since_ms)
        return self._careful

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
        careful = self._care()
        effects = self._store.plan_one(node_id, schedule.id, schedule.revision, careful or self._decide)
        if careful is None or effects is None:
            return effects
        careful.note([effects])
        if effects.answer is Step.COUNTED:
            effects = self._store.plan_one(node_id, schedule.id, schedule.revision, careful)
            careful.note([] if effects is None else [effects])
        return effects


def _is_of_the_store(error: Exception) -> bool:
    """Whether nothing at all can be written now, one by one or together."""
    return isinstance(error, NodeDead) or (isinstance(error, StoreUnavailable) and not isinstance(error, Clash))
