"""What an operator asks of a run: to stop, or to be done again."""

from __future__ import annotations

from onthedot.errors import Conflict, RunNotFound
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.values import replace
from onthedot.stores.base import Author
from onthedot.stores.engine.audit import run_changed
from onthedot.stores.engine.finishing import Tasks, end_waiting
from onthedot.stores.engine.settling import ask_to_stop, cancelled, raise_versions, revive
from onthedot.stores.transaction import Transaction


def request_cancel(tx: Transaction, run_id: str, reason: str, by: Author, tasks: Tasks) -> Run:
    """At once where it waits; else its owner is asked, or those of its shards."""
    run = tx.live_runs([run_id]).get(run_id)
    if run is None:
        return _ended_run(tx, run_id)
    if run.state is State.WAITING:
        after = cancelled(run, reason, tx.now_ms)
        end_waiting(tx, after, tasks)
        tx.add_changes(run_changed(run, after, by, tx.now_ms))
        return after
    asked = replace(run, cancel_requested_ms=run.cancel_requested_ms or tx.now_ms, reason=reason)
    tx.add_changes(run_changed(run, asked, by, tx.now_ms))
    ask_to_stop(tx, [asked])
    return tx.live_runs([run_id]).get(run_id) or _ended_run(tx, run_id)


def retry(tx: Transaction, run_id: str, claim_no: int, by: Author) -> Run:
    """An ended run waits again, if it still has the claim number that the operator was shown."""
    found = tx.ended_runs([run_id]).get(run_id)  # a run never changes its schedule, whose lock comes first
    schedules = tx.lock_schedules([] if found is None or found.schedule_id is None else [found.schedule_id])
    run = tx.live_runs([run_id]).get(run_id) or _ended_run(tx, run_id)
    if run.claim_no != claim_no or run.state not in FINAL - {State.SUCCEEDED}:
        raise Conflict(f"run {run_id} is {run.state} now; look at it again")
    if run.is_broadcast:
        raise Conflict(f"run {run_id} is a broadcast; retry those of its shards that went wrong")
    waiting = replace(
        run,
        state=State.WAITING,
        claim_no=run.claim_no + 1,
        due_ms=tx.now_ms,
        exempt=True,
        owner=None,
        slot=None,
        crashes=0,
        cancel_requested_ms=None,
        finished_ms=None,
        reason=None,
        progress=None,
        earlier=run.earlier_with(run.finished_ms or tx.now_ms, run.state, run.error),
    )
    raise_versions(tx, schedules.values())
    revive(tx, waiting)
    tx.save_keys([Key(key.key, run.id) for key in _keys_of(tx, run)])
    tx.add_changes(run_changed(run, waiting, by, tx.now_ms))
    return waiting


def _keys_of(tx: Transaction, run: Run) -> list[Key]:
    """The run's key, unless it has expired and is another's now."""
    keys = tx.keys([] if run.key is None else [run.key])
    return [key for key in keys.values() if key.run_id == run.id]


def _ended_run(tx: Transaction, run_id: str) -> Run:
    run = tx.ended_runs([run_id]).get(run_id)
    if run is None:
        raise RunNotFound(run_id)
    return run
