"""Recording how runs ended, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.rules import end as ending
from onthedot.stores.base import Finished, LogLine
from onthedot.stores.engine.chains import followers
from onthedot.stores.engine.transactions import Transactions
from onthedot.stores.transaction import Transaction


class Finishing(Transactions):
    """`finish` and `log`."""

    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        finished, removable = self._transact(lambda rows: self._finish_alive(rows, node_id, outcomes))
        freed = {run.schedule_id for run in finished.recorded if run.schedule_id and run.policy.slots is not None}
        look_at = {*(self.behind(freed) if freed else ()), *removable}
        woken = self._look_at(look_at) + self._look_behind_groups(finished.recorded)
        return Finished(finished.recorded, finished.refused, finished.followed, woken + finished.followed)

    def _finish_alive(self, rows: Transaction, node_id: str, outcomes: Sequence[Outcome]) -> tuple[Finished, list[str]]:
        node = rows.node(node_id)
        if node is None or not node.lives:
            return Finished(refused=tuple(outcome.run_id for outcome in outcomes)), []
        return self._finish(rows, node_id, outcomes)

    def _finish(self, rows: Transaction, node_id: str, outcomes: Sequence[Outcome]) -> tuple[Finished, list[str]]:
        """What became of the outcomes, and the schedules that are to be removed if these were their last runs."""
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
        followed = self._follow(rows, self._settle(rows, recorded), schedules)
        removable = [each for each, standing in schedules.items() if standing.auto_remove and standing.ended]
        return Finished(tuple(recorded), tuple(refused), followed), removable

    def _follow(self, rows: Transaction, ended: Sequence[Run], schedules: Mapping[str, ScheduleSummary]) -> int:
        """Enqueue what comes after these, in the transaction that ends them: exactly once. How many runs that gave."""
        following = followers(ended, schedules, rows.now_ms, self.tasks)
        rows.save_runs(following)
        return len(following)

    def log(self, node_id: str, lines: Sequence[LogLine]) -> int:
        def work(rows: Transaction) -> int:
            live = rows.live_runs({line.run_id for line in lines})
            mine = [
                line
                for line in lines
                if line.run_id in live and ending.may_record(live[line.run_id], node_id, line.claim_no)
            ]
            rows.add_log(mine)
            return len(mine)

        return self._transact(work)
