"""What an operator asks of a run: to stop, or to be done again."""

from __future__ import annotations

from onthedot.errors import Conflict, RunNotFound
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.values import replace
from onthedot.stores.base import Author
from onthedot.stores.engine.audit import run_changed
from onthedot.stores.engine.transactions import Transactions
from onthedot.stores.transaction import Transaction


class Operating(Transactions):
    """`request_cancel`, `cancels` and `retry`."""

    def request_cancel(self, run_id: str, reason: str, by: Author) -> Run:
        def work(rows: Transaction) -> Run:
            run = rows.live_runs([run_id]).get(run_id)
            if run is None:
                return self._ended_run(rows, run_id)
            if run.state is State.WAITING:
                cancelled = _cancelled(run, reason, rows.now_ms)
                self._end(rows, [cancelled])
                rows.add_changes(run_changed(run, cancelled, by, rows.now_ms))
                return cancelled
            asked = replace(run, cancel_requested_ms=run.cancel_requested_ms or rows.now_ms, reason=reason)
            rows.save_runs([asked])
            rows.add_changes(run_changed(run, asked, by, rows.now_ms))
            self._cancel_shards(rows, asked, reason)
            return rows.live_runs([run_id]).get(run_id) or self._ended_run(rows, run_id)

        run = self._transact(work)
        self._wake_blocked([run] if run.state is State.CANCELLED else [])
        self.notify()
        return run

    def _cancel_shards(self, rows: Transaction, parent: Run, reason: str) -> None:
        """A broadcast stops when its shards do: those that wait end at once, the others are asked."""
        if not parent.is_broadcast:
            return
        shards = rows.live_runs([each["run"] for each in parent.result["shards"]]).values()
        rows.save_runs(
            [
                replace(run, cancel_requested_ms=run.cancel_requested_ms or rows.now_ms, reason=reason)
                for run in shards
                if run.state is State.RUNNING
            ]
        )
        waiting = [run for run in shards if run.state is State.WAITING]
        self._end(rows, [_cancelled(run, reason, rows.now_ms) for run in waiting])

    def cancels(self, node_id: str) -> list[str]:
        return self._transact(
            lambda rows: [run.id for run in rows.owned_by(node_id) if run.cancel_requested_ms is not None]
        )

    def retry(self, run_id: str, claim_no: int, by: Author) -> Run:
        def work(rows: Transaction) -> Run:
            live = rows.live_runs([run_id]).get(run_id)
            run = live or self._ended_run(rows, run_id)
            if run.claim_no != claim_no or run.state not in FINAL - {State.SUCCEEDED}:
                raise Conflict(f"run {run_id} is {run.state} now; look at it again")
            if run.is_broadcast:
                raise Conflict(f"run {run_id} is a broadcast; retry those of its shards that went wrong")
            waiting = replace(
                run,
                state=State.WAITING,
                claim_no=run.claim_no + 1,
                due_ms=rows.now_ms,
                exempt=True,
                owner=None,
                slot=None,
                crashes=0,
                cancel_requested_ms=None,
                finished_ms=None,
                reason=None,
            )
            rows.revive_runs([waiting])
            rows.save_keys([Key(key.key, run.id) for key in self._keys_of(rows, run)])
            rows.add_changes(run_changed(run, waiting, by, rows.now_ms))
            return waiting

        run = self._transact(work)
        self.notify()
        return run

    @staticmethod
    def _keys_of(rows: Transaction, run: Run) -> list[Key]:
        """The run's key, unless it has expired and is another's now."""
        keys = rows.keys([] if run.key is None else [run.key])
        return [key for key in keys.values() if key.run_id == run.id]

    @staticmethod
    def _ended_run(rows: Transaction, run_id: str) -> Run:
        run = rows.ended_runs([run_id]).get(run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run


def _cancelled(run: Run, reason: str, now_ms: int) -> Run:
    return replace(run, state=State.CANCELLED, reason=reason, finished_ms=now_ms, blocked=False)
