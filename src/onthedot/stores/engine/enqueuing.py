"""Enqueuing: one run per key, however often it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onthedot.errors import StoreUnavailable
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.base import Author
from onthedot.stores.engine.audit import run_changed
from onthedot.stores.engine.transactions import Transactions
from onthedot.stores.transaction import Transaction


class Enqueuing(Transactions):
    """`enqueue`, in a transaction of our own or in the caller's."""

    def enqueue(self, runs: Sequence[Run], connection: Any = None, by: Author | None = None) -> list[Run]:
        if connection is not None:
            return self.enqueue_in(connection, runs, by)
        stored = self._transact(lambda rows: self._enqueue(rows, runs, by))
        self.notify()
        return stored

    def enqueue_in(self, connection: Any, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        """Enqueue in the caller's own transaction, where the store can."""
        raise StoreUnavailable(f"{type(self).__name__} has no transactions to share; leave connection= out")

    @staticmethod
    def _enqueue(rows: Transaction, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        keys = rows.keys({run.key for run in runs if run.key is not None})
        id_of = {key: known.run_id for key, known in keys.items()}
        wanted = [run.id if run.key is None else id_of.setdefault(run.key, run.id) for run in runs]
        live = rows.live_runs(wanted)  # before history: a run that ends between the two reads is then found in it
        known = {**rows.ended_runs(wanted), **live}
        known |= {key.run_id: _pruned(key) for key in keys.values() if key.run_id not in known}
        fresh = {
            run.id: replace(run, created_ms=rows.now_ms, due_ms=run.due_ms or rows.now_ms)
            for run, run_id in zip(runs, wanted, strict=True)
            if run_id == run.id and run_id not in known
        }
        rows.save_runs(list(fresh.values()))
        rows.save_keys([Key(run.key, run.id) for run in fresh.values() if run.key is not None])
        if by is not None:
            rows.add_changes([line for run in fresh.values() for line in run_changed(None, run, by, rows.now_ms)])
        return [known[run_id] if run_id in known else fresh[run_id] for run_id in wanted]


def _pruned(key: Key) -> Run:
    """What is left of a run whose history is gone while its key still stands."""
    state = State.SUCCEEDED if key.state is None else State(key.state)
    return Run(key.run_id, "", "enqueue", 0, 0, state=state, key=key.key, reason="its history has been pruned")
