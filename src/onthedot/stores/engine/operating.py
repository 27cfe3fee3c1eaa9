"""What an operator asks of a run: to stop, or to be done again."""

from __future__ import annotations

from onthedot.errors import Conflict, RunNotFound
from onthedot.model.change import Author
from onthedot.model.key import Key
from onthedot.model.ledger import Ledger
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.values import replace
from onthedot.rules.flows import retrying, telling
from onthedot.rules.flows.making import waits_again
from onthedot.stores.engine.audit import run_changed
from onthedot.stores.engine.finishing import Tasks, end_waiting
from onthedot.stores.engine.graphs import graph_of
from onthedot.stores.engine.settling import cancelled, raise_versions
from onthedot.stores.transaction import Transaction


def request_cancel(tx: Transaction, run_id: str, reason: str, by: Author, tasks: Tasks, *, now: bool = False) -> Run:
    """At once where it waits; else its owner is asked. A flow is marked: whoever looks at it
    next asks its steps, with `now` also the closing ones."""
    run = tx.live_runs([run_id]).get(run_id)
    if run is None:
        return _ended_run(tx, run_id)
    if run.state is State.WAITING:
        after = cancelled(run, reason, tx.now_ms)
        end_waiting(tx, after, tasks)
        tx.add_changes(run_changed(run, after, by, tx.now_ms))
        return after
    if run.is_flow:
        stopped = telling.asked(run, reason, tx.now_ms, hard=now)
        tx.add_changes(run_changed(run, stopped, by, tx.now_ms))
        tx.save_runs([stopped])
        return stopped
    asked = replace(run, cancel_requested_ms=run.cancel_requested_ms or tx.now_ms, reason=reason)
    tx.add_changes(run_changed(run, asked, by, tx.now_ms))
    tx.save_runs([asked])
    return asked


def retry(tx: Transaction, run_id: str, claim_no: int, by: Author) -> Run:
    """An ended run waits again, if it still has the claim number that the operator was shown."""
    found = tx.ended_runs([run_id]).get(run_id)  # a run never changes its schedule, whose lock comes first
    schedules = tx.lock_schedules([] if found is None or found.schedule_id is None else [found.schedule_id])
    run = tx.live_runs([run_id]).get(run_id) or _ended_run(tx, run_id)
    if run.claim_no != claim_no or run.state not in FINAL - {State.SUCCEEDED}:
        raise Conflict(f"run {run_id} is {run.state} now; look at it again")
    if run.is_step:
        raise Conflict(f"run {run_id} is a step of flow {run.parent_id}; look at it again")
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
        error=None if run.is_flow else run.error,
        until_ms=None,
        progress=None,
        remote=None,
        earlier=run.earlier_with(run.finished_ms or tx.now_ms, run.state, run.error),
    )
    raise_versions(tx, schedules.values())
    tx.revive_runs([waiting])
    tx.save_keys([Key(key.key, run.id) for key in _keys_of(tx, run)])
    tx.add_changes(run_changed(run, waiting, by, tx.now_ms))
    return waiting


def flow_of(tx: Transaction, run_id: str) -> str | None:
    """The flow that a run in history is a step of."""
    run = tx.ended_runs([run_id]).get(run_id)
    return run.parent_id if run is not None and run.is_step else None


def retry_step(tx: Transaction, flow_id: str, run_id: str, claim_no: int, by: Author) -> Run:
    """A step of a flow that goes on waits again, where nothing rests on its end yet; else only the flow is retried."""
    found = _ended_run(tx, run_id)  # a tick of a backfill is a run of a schedule, whose lock comes first
    schedules = tx.lock_schedules([] if found.schedule_id is None else [found.schedule_id])
    flow = tx.live_runs([flow_id]).get(flow_id)
    step = _ended_run(tx, run_id)
    if step.claim_no != claim_no or step.state not in FINAL - {State.SUCCEEDED}:
        raise Conflict(f"run {run_id} is {step.state} now; look at it again")
    graph = None if flow is None or flow.graph is None else graph_of(tx, flow.graph)
    ledger = Ledger.from_json(None if flow is None else flow.ledger)
    why = retrying.why_not_alone(flow, step, graph, ledger)
    if why is not None or flow is None or graph is None:
        raise Conflict(f"step {step.step} cannot be retried by itself, as {why}; retry its flow, {flow_id}")
    waiting = replace(waits_again(step, ledger.fence, tx.now_ms), exempt=True)
    tx.save_runs([replace(flow, ledger=retrying.step_retried(ledger, graph, step).as_json())])
    raise_versions(tx, schedules.values())
    tx.revive_runs([waiting])
    tx.add_changes(run_changed(step, waiting, by, tx.now_ms))
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
