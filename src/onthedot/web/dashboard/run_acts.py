"""Asking before runs are cancelled, retried, or done once more; and doing them once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.errors import Conflict, SettingsError
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.rules import backfill
from onthedot.storable import can_be_kept
from onthedot.texts import counted
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.questions import Input, Question, ask
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import OPERATOR
from onthedot.web.security import TheApp

router = new_pages()

_MOST = 200
_WHAT_A_FLOW_REPEATS = (
    "The steps that went badly are done again, and those that were skipped for them; what went well stays. "
)
_WHAT_A_BROADCAST_REPEATS = "The shards that went badly are done again; what went well stays. "
_REASON = Input("reason", "Why? Kept with the run, and shown to everybody who asks")


@router.get("/runs/{run_id}/retry", **OPERATOR)
def ask_retry(request: Request, app: TheApp, run_id: str) -> HTMLResponse:
    """Under the same id, and only if it is still as it was seen."""
    run = app.runs.get(run_id)
    _check_retry(run)
    said = (
        f"{_WHAT_A_BROADCAST_REPEATS if run.is_broadcast else _WHAT_A_FLOW_REPEATS if run.is_flow else ''}"
        "It waits again under the same id, and begins as soon as a node is free, also while its schedule is paused. "
        f"This will be attempt {run.attempt + 1}. You see claim {run.claim_no}: if somebody begins it before you, "
        "nothing is done."
    )
    fields = {"claim_no": str(run.claim_no)}
    title = f"Retry this run of {_name(run)}?"
    path = f"/runs/{run.id}/retry"
    return ask(request, Question(title, said, path, "Retry it", (), fields, "Leave it", page="runs"))


@router.get("/runs/{run_id}/again", **OPERATOR)
def ask_again(request: Request, app: TheApp, run_id: str) -> HTMLResponse:
    """A new run with the same arguments."""
    run = _repeatable(app.runs.get(run_id))
    what = f"{len(run.args)} arguments" if len(run.args) != 1 else "argument"
    given = f"the same {what}" if run.args else "no arguments, as this one"
    said = f"A new run of {_name(run)} begins now, with {given}. This one stays as it is."
    return ask(request, Question(f"Run {_name(run)} now?", said, f"/runs/{run.id}/again", "Run now", page="runs"))


@router.post("/runs/{run_id}/again", **OPERATOR)
def again(request: Request, app: TheApp, run_id: str) -> Response:
    """Of its schedule where it has one that is still there; else one-off."""
    run = _repeatable(app.runs.get(run_id))
    is_there = run.schedule is not None and bool(app.open_store().schedules(names=[run.schedule]))
    if run.schedule is not None and is_there:
        made = app.schedules.trigger(run.schedule, args=dict(run.args))
    else:
        made = app.enqueue(run.task, args=dict(run.args))
    undo = Undo(f"/runs/{made.id}/cancel", {"reason": "asked for by mistake"}, "Cancel it")
    return done(request, f"{_name(run)} runs now", undo, to=f"/runs/{made.id}")


@router.get("/runs-bulk", **OPERATOR)
def ask_bulk(request: Request, app: TheApp, act: str = "") -> HTMLResponse:
    """One act on the runs that were picked: what will become of each is counted."""
    ids = [each for each in dict.fromkeys(request.query_params.getlist("id")) if can_be_kept(each)][:_MOST]
    if act not in ("cancel", "retry"):
        raise SettingsError(f"no act {act!r}; there are cancel, retry")
    runs = app.open_store().runs(ids=ids, limit=_MOST) if ids else []
    if not runs:
        raise SettingsError("pick some runs first")
    return ask(request, _cancel_question(runs) if act == "cancel" else _retry_question(runs))


def _cancel_question(runs: Sequence[Run]) -> Question:
    states = Counter(run.state for run in runs)
    waiting, running = states[State.WAITING], states[State.RUNNING]
    told = [
        _of(waiting, "waits and ends at once", "wait and end at once"),
        _of(
            running,
            "is under way: it is asked to stop, and shows it when it has",
            "are under way: they are asked to stop",
        ),
        _of(len(runs) - waiting - running, "has ended, and stays as it is", "have ended, and stay as they are"),
    ]
    live = [run.id for run in runs if not run.is_final]
    return _question("cancel", runs, live, told, [_REASON])


def _retry_question(runs: Sequence[Run]) -> Question:
    again = [run for run in runs if may_retry(run)]
    live = sum(not run.is_final for run in runs)
    well = sum(run.state is State.SUCCEEDED for run in runs)
    told = [
        _of(
            len(again),
            "waits again, and begins as soon as a node is free",
            "wait again, and begin as soon as nodes are free",
        ),
        _of(well, "has succeeded, and stays so", "have succeeded, and stay so"),
        _of(live, "has not ended, and is left alone", "have not ended, and are left alone"),
        _of(len(runs) - len(again) - live - well, "cannot be retried", "cannot be retried"),
    ]
    return _question("retry", runs, [run.id for run in again], told, [])


def _question(
    act: str, runs: Sequence[Run], ids: Sequence[str], told: Sequence[str], inputs: Sequence[Input]
) -> Question:
    if not ids:
        raise Conflict(f"none of these runs can be {'cancelled' if act == 'cancel' else 'retried'}: {_joined(told)}")
    return Question(
        f"{act.capitalize()} {told_of(runs)}?",
        f"{_joined(told)}.",
        "/runs-bulk",
        f"{act.capitalize()} {len(ids):,}",
        inputs,
        {"act": act, "id": ids},
        "Leave them",
        page="runs",
    )


def told_of(runs: Sequence[Run]) -> str:
    """ "this run of ledger-close", or "3 runs"."""
    return f"this run of {_name(runs[0])}" if len(runs) == 1 else counted(len(runs), "run")


def may_retry(run: Run) -> bool:
    """Whether it ended without success, and by itself."""
    ended_badly = run.is_final and run.state is not State.SUCCEEDED
    return ended_badly and not isinstance(run, UnreadableRun)


def _repeatable(run: Run) -> Run:
    """`Conflict` for a step: what it was given came from the others. And for a backfill, whose list is of its day."""
    if run.task == backfill.TASK:
        raise Conflict(f"run {run.id} is a backfill, of ticks that were found then; begin another at its schedule")
    if run.is_step:
        raise Conflict(
            f"run {run.id} is a step of a flow, which gives it its arguments; retry the flow {run.parent_id}"
        )
    return run


def _check_retry(run: Run) -> None:
    if not may_retry(run):
        raise Conflict(f"run {run.id} is {run.state}: only one that ended without success can be retried")


def _of(count: int, one: str, many: str) -> str:
    return "" if count == 0 else f"{count:,} {one if count == 1 else many}"


def _joined(told: Sequence[str]) -> str:
    return "; ".join(filter(None, told))


def _name(run: Run) -> str:
    return run.title
