"""Starting waiting runs, and recording how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.outcome import Outcome
from onthedot.model.rules import ending, starting
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.base import Finished, LogLine, Started
from onthedot.stores.engine.transactions import Transactions, by_schedule
from onthedot.stores.rows import Rows


class Running(Transactions):
    """`start_due`, `finish` and `log`."""

    def start_due(self, node_id: str, tasks: Sequence[str], limit: int) -> Started:
        if limit <= 0:
            return Started()
        started = self._transact(lambda rows: self._start_due(rows, node_id, tasks, limit))
        self._look_again(started.skipped)
        return started

    def _start_due(self, rows: Rows, node_id: str, tasks: Sequence[str], limit: int) -> Started:
        candidates = _candidates(rows, node_id, tasks, limit)
        ids = {run.schedule_id for run in candidates if run.schedule_id is not None}
        schedules = rows.schedules_if_free(ids)
        self._alive(rows, node_id)
        live = by_schedule(rows.live_of(list(schedules)))
        alone = rows.live_runs([run.id for run in candidates if run.schedule_id is None])
        begun = [
            starting.started(run, node_id, rows.now_ms)
            for run in sorted(alone.values(), key=lambda run: (run.due_ms, -run.policy.priority, run.id))
            if run.state is State.WAITING
        ][:limit]
        skipped: list[Run] = []
        changed: list[Run] = []
        touched: list[Schedule] = []
        startable = frozenset(run.id for run in candidates)
        for schedule in schedules.values():
            starts = starting.judge(
                schedule,
                live.get(schedule.id, ()),
                startable,
                node_id=node_id,
                now_ms=rows.now_ms,
                free=limit - len(begun),
            )
            touched += [] if starts.schedule is None else [starts.schedule]
            changed += starts.changed
            begun += starts.started
            skipped += starts.skipped
        rows.save_schedules(touched)
        rows.save_runs([*changed, *begun])
        self._end(rows, skipped)
        return Started(tuple(begun), tuple(skipped), passed_over=len(schedules) < len(ids))

    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        finished = self._transact(lambda rows: self._finish(rows, node_id, outcomes))
        return Finished(finished.recorded, finished.refused, woken=self._look_again(finished.recorded))

    def _finish(self, rows: Rows, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        node = rows.node(node_id)
        if node is None or not node.lives:
            return Finished(refused=tuple(outcome.run_id for outcome in outcomes))
        live = rows.live_runs([outcome.run_id for outcome in outcomes])
        schedules = rows.standing({run.schedule_id for run in live.values() if run.schedule_id is not None})
        recorded: list[Run] = []
        refused: list[str] = []
        for outcome in outcomes:
            run = live.get(outcome.run_id)
            if run is None or not ending.may_record(run, node_id, outcome.claim_no):
                refused.append(outcome.run_id)
                continue
            recorded.append(ending.settle(run, schedules.get(run.schedule_id or ""), outcome, rows.now_ms))
            live[run.id] = recorded[-1]
        self._settle(rows, recorded)
        return Finished(tuple(recorded), tuple(refused))

    def log(self, node_id: str, lines: Sequence[LogLine]) -> int:
        def work(rows: Rows) -> int:
            live = rows.live_runs({line.run_id for line in lines})
            mine = [
                line
                for line in lines
                if line.run_id in live and ending.may_record(live[line.run_id], node_id, line.claim_no)
            ]
            rows.add_log(mine)
            return len(mine)

        return self._transact(work)


def _candidates(rows: Rows, node_id: str, tasks: Sequence[str], limit: int) -> list[Run]:
    """Up to so many due runs that may begin here; those that must not yet, do not hide the others."""
    own = rows.owned_by(node_id)
    asked = limit
    while True:
        due = rows.due_runs(node_id, tasks, asked)
        chosen = _one_crashed_at_most(due, own)
        if len(chosen) >= limit or len(due) < asked:
            return chosen[:limit]
        asked *= 4


def _one_crashed_at_most(candidates: Sequence[Run], own: Sequence[Run]) -> list[Run]:
    """A run that has crashed a node begins only while no other such run is here, so that the culprit stands out."""
    crashed_here = any(run.crashes for run in own)
    chosen: list[Run] = []
    for run in candidates:
        if run.crashes and crashed_here:
            continue
        crashed_here = crashed_here or run.crashes > 0
        chosen.append(run)
    return chosen
