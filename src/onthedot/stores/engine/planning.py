"""Planning: lock what is due, ask what becomes of it, write that."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.stores.base import Planned
from onthedot.stores.engine.transactions import Transactions, by_schedule
from onthedot.stores.transaction import Transaction

_ON_TIME_MS = 10_000


class Planning(Transactions):
    """`plan_due` and `plan_one`."""

    def plan_due(self, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        planned = self._transact(lambda rows: self._plan_due(rows, node_id, limit, free_workers, decide))
        self._wake_blocked([run for effects in planned.effects for run in effects.runs if run.blocked])
        if any(run.target not in (None, node_id) for effects in planned.effects for run in effects.runs):
            self.notify()
        return planned

    def _plan_due(self, rows: Transaction, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        """Where all that was found is left alone (newer than this node), it looks further, so that nothing hides."""
        while True:
            due, passed_over = rows.due_schedules(limit, rows.now_ms - _ON_TIME_MS)
            effects = self._decided(rows, node_id, due, free_workers, decide)
            full = len(due) >= limit
            if not full or any(each.schedule is not None for each in effects):
                self._write(rows, effects)
                return Planned(tuple(effects), passed_over, more=full)
            limit *= 4

    def _decided(
        self, rows: Transaction, node_id: str, due: Sequence[Schedule], free_workers: int, decide: Decide
    ) -> list[Effects]:
        node = self._alive(rows, node_id)
        if not due:
            return []
        live = by_schedule(rows.live_of([schedule.id for schedule in due]))
        befores = [Before(schedule.name, schedule, tuple(live.get(schedule.id, ()))) for schedule in due]
        nodes = tuple(rows.nodes())
        by_load = any(schedule.policy.route == "busyover" for schedule in due)
        busy = {each.id: len(rows.owned_by(each.id)) for each in nodes} if by_load else {}
        return list(decide(befores, Situation(rows.now_ms, node, free_workers, nodes, busy)))

    def plan_one(self, node_id: str, schedule_id: str, revision: int, decide: Decide) -> Effects | None:
        def work(rows: Transaction) -> Effects | None:
            schedule = rows.schedules_if_free([schedule_id]).get(schedule_id)
            if schedule is None or not _may_be_planned(schedule, revision):
                self._alive(rows, node_id)
                return None
            effects = self._decided(rows, node_id, [schedule], 0, decide)
            self._write(rows, effects)
            return effects[0]

        effects = self._transact(work)
        if effects is not None:
            self._wake_blocked([run for run in effects.runs if run.blocked])
        return effects


def _may_be_planned(schedule: Schedule, revision: int) -> bool:
    """Whatever its mode, if it is still what the planner has read."""
    sound = schedule.enabled and not schedule.deleted and schedule.error is None
    return sound and schedule.revision == revision
