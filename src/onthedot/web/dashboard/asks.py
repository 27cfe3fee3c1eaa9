"""The pages that ask before an act, and say what it will do: by a dry run, under the same locks as the act itself."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from fastapi import Request
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.bulk import ACTS, Act, Done, bulk
from onthedot.errors import NodeNotFound, SettingsError, TokenNotFound
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.model.task_info import TaskInfo
from onthedot.texts import counted
from onthedot.web.dashboard.argument_fields import inputs_of
from onthedot.web.dashboard.forms import own_path
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.questions import Input, Question, ask
from onthedot.web.routes.router import ADMIN, OPERATOR, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_KEYS = (
    (("/",), "find"),
    (("g", "o"), "overview; g t timeline, g s schedules, g r runs, g n nodes"),
    (("j", "k"), "move down and up a list"),
    (("x",), "select"),
    (("Enter",), "open"),
    (("p",), "pause or resume"),
    (("t",), "trigger"),
    (("e",), "edit"),
    (("w",), "why did it, or did it not, run?"),
    (("c",), "cancel"),
    (("z",), "undo"),
    (("?",), "all keys"),
    (("Esc",), "back"),
)


@router.get("/keys", **VIEWER)
def keys(request: Request) -> HTMLResponse:
    """All of them."""
    root = request.scope.get("root_path") or ""
    return render(
        request, "keys.html", keys=_KEYS, back=own_path(request, request.headers.get("referer", "")) or f"{root}/"
    )


# one schedule


@router.get("/schedules/{name}/pause", **OPERATOR)
def ask_pause(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """What a pause would skip, and what goes on."""
    would = bulk(app.schedules, "pause", [app.schedules.get(name).name], dry_run=True)
    return ask(request, _pause_question(would))


@router.get("/schedules/{name}/trigger", **OPERATOR)
def ask_trigger(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """With which arguments?"""
    schedule = app.schedules.get(name)
    task = published(app, schedule.task)
    return ask(request, trigger_question(schedule, task, inputs_of(task, schedule.args)))


@router.get("/schedules/{name}/reschedule", **OPERATOR)
def ask_reschedule(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """When instead?"""
    return ask(request, reschedule_question(app.schedules.get(name)))


@router.get("/schedules/{name}/delete", **ADMIN)
def ask_delete(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """Type its name: what is deleted does not run."""
    schedule = app.schedules.get(name)
    would = app.schedules.delete_counted(name, dry_run=True)
    return ask(request, delete_question(schedule, would.skipped, would.running))


def trigger_question(schedule: Schedule, task: TaskInfo | None, inputs: Sequence[Input]) -> Question:
    """For the page that asks, and for the one that asks again."""
    known = "From what nodes publish of" if task is not None else "No live node publishes"
    told = f"{known} {schedule.task}. It runs now, whatever its plan is" + (
        "" if schedule.enabled else ", also while it is paused"
    )
    path = f"/schedules/{_quoted(schedule.name)}/trigger"
    return Question(f"Run {schedule.name} now?", f"{told}.", path, "Run now", inputs, leave="Cancel", page="schedules")


def reschedule_question(schedule: Schedule, given: str = "", wrong: str = "") -> Question:
    """For the page that asks, and for the one that asks again."""
    when = Input(
        "at",
        "Run next at, with its zone",
        given,
        mono=True,
        required=True,
        wrong=wrong,
        hint="2026-12-24T18:00Z, or 2026-12-24 18:00+01:00",
    )
    said = "It runs once at that moment instead of at its next one, and goes on by its trigger."
    path = f"/schedules/{_quoted(schedule.name)}/reschedule"
    return Question(f"Move the next run of {schedule.name}?", said, path, "Move it", [when], page="schedules")


def delete_question(schedule: Schedule, skipped: int, running: int, given: str = "", wrong: str = "") -> Question:
    """For the page that asks, and for the one that asks again."""
    who = {"code": "Code", "file": "A file"}.get(schedule.origin)
    back = "" if who is None else f"{who} declares it: the next deploy brings it back. To stop it, pause it. "
    name = Input("name", "Type its name", given, mono=True, must_be=schedule.name, wrong=wrong)
    path = f"/schedules/{_quoted(schedule.name)}/delete"
    said = f"{back}Its history stays. {told_of_runs(skipped, running)}"
    return Question(f"Delete {schedule.name}?", said, path, "Delete", [name], danger=True, page="schedules")


# many schedules


@router.get("/bulk", **OPERATOR)
def ask_bulk(request: Request, app: TheApp, act: str = "") -> HTMLResponse:
    """One act on the schedules that were picked: their names are in the address."""
    names = [*dict.fromkeys(request.query_params.getlist("name"))]
    if act not in ACTS:
        raise SettingsError(f"no act {act!r}; there are {', '.join(ACTS)}")
    if not names:
        raise SettingsError("pick some schedules first")
    would = bulk(app.schedules, act, names, dry_run=True)
    return ask(request, _pause_question(would) if act == "pause" else _bulk_question(act, would))


def _pause_question(would: Sequence[Done]) -> Question:
    note = Input("note", "Why? Shown to everybody who asks")
    one = len(would) == 1
    what = _affected(would)
    said = f"{'Its' if one else 'Their'} ticks are recorded as paused, and are not caught up. {what}"
    return Question(
        f"Pause {_named(would)}?",
        said,
        "/bulk",
        "Pause" if one else f"Pause {len(would):,}",
        [note],
        {"act": "pause", "name": [each.name for each in would], "expect": str(len(would))},
        "Leave it" if one else "Leave them",
        page="schedules",
    )


def _bulk_question(act: Act, would: Sequence[Done]) -> Question:
    said = {
        "pause": "",
        "resume": "They go on from now; what was missed is not caught up.",
        "trigger": "Each runs now with its own arguments, also while it is paused.",
        "delete": f"Their history stays. {_affected(would)} What code declares comes back with the next deploy.",
    }
    fields = {"act": act, "name": [each.name for each in would], "expect": str(len(would))}
    word, danger = f"{act.capitalize()} {len(would):,}", act == "delete"
    return Question(
        f"{act.capitalize()} {_named(would)}?",
        said[act],
        "/bulk",
        word,
        (),
        fields,
        "Leave them",
        danger=danger,
        page="schedules",
    )


def _affected(would: Sequence[Done]) -> str:
    found = [each.affected for each in would if each.affected is not None]
    refused = sum(each.error is not None for each in would)
    told = told_of_runs(sum(each.skipped for each in found), sum(each.running for each in found))
    return told + (f" {refused:,} will be refused." if refused else "")


def told_of_runs(skipped: int, running: int) -> str:
    """What becomes of runs: "1 waiting run will be skipped, 2 go on running." """
    waits = f"{counted(skipped, 'waiting run')} will be skipped" if skipped else "No waiting run is skipped"
    runs = f"{running:,} {'goes' if running == 1 else 'go'} on running" if running else "none is running"
    return f"{waits}, {runs}."


def _named(would: Sequence[Done]) -> str:
    return would[0].name if len(would) == 1 else counted(len(would), "schedule")


# runs and nodes


@router.get("/runs/{run_id}/cancel", **OPERATOR)
def ask_cancel(request: Request, app: TheApp, run_id: str) -> HTMLResponse:
    """A waiting run ends at once, a running one is asked to stop."""
    run = app.runs.get(run_id)
    said = "It waits: it ends at once." if run.state == "waiting" else "It is asked to stop, and shows it when it has."
    inputs = [Input("reason", "Why? Kept with the run")]
    if run.is_broadcast and run.state == "running":
        said = "Shards that wait end at once, running ones are asked to stop."
    elif run.is_flow and run.state == "running":
        said = (
            "Steps that wait end at once, running ones are asked to stop. Closing steps still run, unless you say so."
        )
        choices = (("", "Let the closing steps run"), ("1", "Stop those too"))
        inputs.append(Input("now", "Closing steps", kind="choice", choices=choices))
    name = run.title
    return ask(
        request,
        Question(
            f"Cancel this run of {name}?",
            said,
            f"/runs/{run_id}/cancel",
            "Cancel it",
            inputs,
            leave="Let it go on",
            page="runs",
        ),
    )


@router.get("/nodes/{node}/drain", **OPERATOR)
def ask_drain(request: Request, app: TheApp, node: str) -> HTMLResponse:
    """It takes no more runs, and stops when it has none."""
    found = node_of(app, node)
    others = [each for each in app.nodes.list() if each.id != found.id and each.state == "alive"]
    rest = (
        f"{counted(len(others), 'other node')} {'goes' if len(others) == 1 else 'go'} on"
        if others
        else "No other node takes runs: nothing will run"
    )
    said = f"It takes no more runs, ends those that it has, and stops. {rest}. To have it back, start it again."
    return ask(
        request,
        Question(
            f"Drain {found.name}?", said, f"/nodes/{_quoted(node)}/drain", "Drain it", danger=not others, page="nodes"
        ),
    )


@router.get("/tokens/{name}/revoke", **ADMIN)
def ask_revoke(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """It acts at once, everywhere."""
    known = app.tokens.list()
    if name not in {each.name for each in known}:
        raise TokenNotFound(name)
    last = len(known) == 1
    said = "From now on it opens nothing, nor does a browser that has signed in with it."
    said += " It is the last one: make another first, or nobody can sign in here." if last else ""
    return ask(
        request,
        Question(f"Revoke {name}?", said, f"/tokens/{_quoted(name)}/revoke", "Revoke", danger=True, page="tokens"),
    )


def node_of(app: App, node: str) -> Node:
    """By its id or name."""
    live = app.nodes.list()
    for each in live:
        if node in (each.id, each.name):
            return each
    raise NodeNotFound(node, [each.name for each in live])


def published(app: App, task: str) -> TaskInfo | None:
    """What is known of a task."""
    return next((each for each in app.tasks.list() if each.name == task), None)


def _quoted(name: str) -> str:
    return quote(name, safe="")
