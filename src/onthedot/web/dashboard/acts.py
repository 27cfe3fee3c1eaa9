"""Every form that changes something. Each leads back to where it stood, says there what it did, and offers to undo it.

The field `back` is the page to return to. Undo is a new act, in the audit like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from fastapi import Request, Response

from onthedot.app.acting import author
from onthedot.app.app import App
from onthedot.app.bulk import Done, bulk, check_expected, check_many
from onthedot.app.put_back import put_back
from onthedot.errors import ArgumentsError, Conflict, MomentError, OnthedotError, SettingsError, StoreError
from onthedot.model.token import Role
from onthedot.texts import counted
from onthedot.web.dashboard import toast as toasts
from onthedot.web.dashboard.argument_fields import PREFIX, WHOLE, read_arguments, with_problem
from onthedot.web.dashboard.asks import delete_question, published, reschedule_question, trigger_question
from onthedot.web.dashboard.forms import Form, TheForm, own_path
from onthedot.web.dashboard.page_route import new_pages, to_page
from onthedot.web.dashboard.questions import ask
from onthedot.web.dashboard.toast import Toast, Undo
from onthedot.web.problems import Refused
from onthedot.web.routes.router import ADMIN, OPERATOR
from onthedot.web.security import TheApp, TheCaller

router = new_pages()


def done(request: Request, text: str, undo: Undo | None = None, *, to: str = "/") -> Response:
    """Back to the page of the form, which says this once."""
    root = request.scope.get("root_path") or ""
    response = to_page(own_path(request, request.state.form["back"]) or f"{root}{to}")
    toasts.leave(request, response, Toast(text, undo))
    return response


def _path(name: str, act: str = "") -> str:
    return f"/schedules/{quote(name, safe='')}{act and '/' + act}"


# one schedule


@router.post("/schedules/{name}/pause", **OPERATOR)
def pause(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """From now on no tick of it starts."""
    did = app.schedules.pause_counted(name, note=form["note"] or None)
    return done(request, f"Paused {name}{_skipped(did.skipped)}", Undo(_path(name, "resume")), to=_path(name))


@router.post("/schedules/{name}/resume", **OPERATOR)
def resume(request: Request, app: TheApp, name: str) -> Response:
    """Go on from now."""
    note = app.schedules.get(name).paused_note or ""
    app.schedules.resume_counted(name)
    return done(request, f"Resumed {name}", Undo(_path(name, "pause"), {"note": note}), to=_path(name))


@router.post("/schedules/{name}/trigger", **OPERATOR)
def trigger(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """A run now: with its own arguments if the form has none."""
    schedule = app.schedules.get(name)
    if WHOLE not in form.fields and not form.below(PREFIX):
        run = app.schedules.trigger(name)
        return _triggered(request, name, run.id)
    task = published(app, schedule.task)
    values, inputs = read_arguments(form, task)
    if any(each.wrong for each in inputs):
        return ask(request, trigger_question(schedule, task, inputs), 422)
    try:
        run = app.schedules.trigger(name, args=values)
    except ArgumentsError as error:
        return ask(request, trigger_question(schedule, task, with_problem(inputs, error)), 422)
    return _triggered(request, name, run.id)


def _triggered(request: Request, name: str, run_id: str) -> Response:
    undo = Undo(f"/runs/{run_id}/cancel", {"reason": "triggered by mistake"}, "Cancel it")
    return done(request, f"{name} runs now", undo, to=_path(name))


@router.post("/schedules/{name}/reschedule", **OPERATOR)
def reschedule(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """Run next at this moment instead."""
    try:
        moved = app.schedules.reschedule(name, form["at"].strip())
    except (MomentError, Conflict) as error:
        return ask(request, reschedule_question(app.schedules.get(name), form["at"], str(error)), 422)
    return done(request, f"{name} runs next at {moved.next_run_at:%Y-%m-%d %H:%M:%S} UTC", to=_path(name))


@router.post("/schedules/{name}/delete", **ADMIN)
def delete(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """Its name must be typed. Its history stays."""
    schedule = app.schedules.get(name)
    if form["name"] != name:
        would = app.schedules.delete_counted(name, dry_run=True)
        wrong = "this is not its name"
        return ask(request, delete_question(schedule, would.skipped, would.running, form["name"], wrong), 422)
    did = app.schedules.delete_counted(name)
    undo = Undo(_path(name, "put-back"), {"revision": str(schedule.revision)}, "Put it back")
    return done(request, f"Deleted {name}{_skipped(did.skipped)}", undo, to="/schedules")


@router.post("/schedules/{name}/put-back", **ADMIN)
def undo_change(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """The definition of an earlier revision; also of a schedule that was deleted."""
    revision = form.number("revision")
    if revision is None:
        raise SettingsError("put back: which revision?")
    before = app.schedules.remembered(name)
    by = author("put back")
    assert by is not None
    put_back(app.open_store(), app.schedules, name, revision, by)
    if before.deleted:
        return done(request, f"{name} is back", to=_path(name))
    undo = Undo(_path(name, "put-back"), {"revision": str(before.revision)})
    return done(request, f"{name} is as in revision {revision} again", undo, to=_path(name))


def _skipped(skipped: int) -> str:
    return f", skipped {counted(skipped, 'run')}" if skipped else ""


# many schedules


@router.post("/bulk", **OPERATOR)
def act_on_many(request: Request, app: TheApp, form: TheForm, caller: TheCaller) -> Response:
    """One act on many: each stands for itself."""
    act, names = form["act"], [*dict.fromkeys(form.all("name"))]
    if act not in _DID:
        raise SettingsError(f"no act {act!r}; there are {', '.join(_DID)}")
    if act in _OF_ADMINS and not caller.may(Role.ADMIN):
        raise Refused(403, "role", f"admin is needed to {act}; {caller.name} is {caller.role}")
    check_many(names)
    check_expected(names, form.number("expect"))
    revisions = _revisions(app, names) if act == "delete" else {}
    results = _do(app, form, act, names)
    return done(request, _told(act, results), _undo_of(act, results, revisions, form["note"]), to="/schedules")


_DID = {"pause": "Paused", "resume": "Resumed", "trigger": "Triggered", "delete": "Deleted", "put back": "Put back"}
_OF_ADMINS = frozenset({"delete", "put back"})
"""As each of them is for one schedule: putting back defines."""
_REVERSE = {"pause": "resume", "resume": "pause"}


def _do(app: App, form: Form, act: str, names: Sequence[str]) -> list[Done]:
    match act:
        case "pause":
            return bulk(app.schedules, "pause", names, note=form["note"] or None)
        case "resume" | "trigger" | "delete":
            return bulk(app.schedules, act, names)
        case _:
            return _put_all_back(app, form)


def _revisions(app: App, names: Sequence[str]) -> dict[str, int]:
    return {each.name: each.revision for each in app.open_store().schedules(names=names, limit=len(names) or 1)}


def _put_all_back(app: App, form: Form) -> list[Done]:
    by = author("put back")
    assert by is not None
    results = []
    for name, revision in zip(form.all("name"), form["revisions"].split(), strict=False):
        try:
            put_back(app.open_store(), app.schedules, name, int(revision), by)
            results.append(Done(name))
        except StoreError:
            raise
        except (OnthedotError, ValueError) as error:
            results.append(Done(name, error=error if isinstance(error, OnthedotError) else SettingsError(str(error))))
    return results


def _told(act: str, results: Sequence[Done]) -> str:
    well = [each for each in results if each.error is None]
    what = well[0].name if len(well) == 1 else counted(len(well), "schedule")
    skipped = sum(each.affected.skipped for each in well if each.affected is not None)
    refused = [each for each in results if each.error is not None]
    told = f"{_DID[act]} {what}{_skipped(skipped)}"
    return told + (f"; {len(refused):,} refused: {refused[0].error}" if refused else "")


def _undo_of(act: str, results: Sequence[Done], revisions: dict[str, int], note: str) -> Undo | None:
    names = [each.name for each in results if each.error is None]
    if not names:
        return None
    if act in _REVERSE:
        return Undo("/bulk", {"act": _REVERSE[act], "name": names, "note": note})
    if act == "delete":
        kept = [name for name in names if name in revisions]
        return Undo(
            "/bulk",
            {"act": "put back", "name": kept, "revisions": " ".join(str(revisions[name]) for name in kept)},
            "Put back",
        )
    return None


# runs, nodes


@router.post("/runs/{run_id}/cancel", **OPERATOR)
def cancel(request: Request, app: TheApp, form: TheForm, caller: TheCaller, run_id: str) -> Response:
    """A waiting run ends at once; a running one is asked to stop."""
    run = app.runs.cancel(run_id, reason=form["reason"] or f"cancelled by {caller.name}", now=form["now"] == "1")
    name = run.title
    told = f"Cancelled {name}" if run.is_final else f"{name} is asked to stop"
    undo = Undo(f"/runs/{run_id}/retry", word="Run it after all") if run.is_final else None
    return done(request, told, undo, to=f"/runs/{run_id}")


@router.post("/runs/{run_id}/retry", **OPERATOR)
def retry(request: Request, app: TheApp, form: TheForm, run_id: str) -> Response:
    """Have it done again, if it is still as it was seen."""
    run = app.runs.retry(run_id, claim_no=form.number("claim_no"))
    undo = Undo(f"/runs/{run_id}/cancel", {"reason": "retried by mistake"}, "Cancel it")
    return done(request, f"{run.title} is tried again", undo, to=f"/runs/{run_id}")


@router.post("/runs-bulk", **OPERATOR)
def act_on_many_runs(request: Request, app: TheApp, form: TheForm, caller: TheCaller) -> Response:
    """Cancel or retry the runs that were picked; each stands for itself."""
    acts = {
        "cancel": lambda run_id: app.runs.cancel(run_id, reason=form["reason"] or f"cancelled by {caller.name}"),
        "retry": app.runs.retry,
    }
    if form["act"] not in acts:
        raise SettingsError(f"no act {form['act']!r}; there are {', '.join(acts)}")
    refused: list[str] = []
    picked = [*dict.fromkeys(form.all("id"))]
    check_many(picked, "runs")
    for run_id in picked:
        try:
            acts[form["act"]](run_id)
        except StoreError:
            raise  # what the store refuses now, it refuses of all that are left
        except OnthedotError as error:
            refused.append(str(error))
    word = "Cancelled" if form["act"] == "cancel" else "Tried again:"
    told = f"{word} {counted(len(picked) - len(refused), 'run')}"
    return done(request, told + (f"; {len(refused):,} refused: {refused[0]}" if refused else ""), to="/runs")


@router.post("/nodes/{node}/drain", **OPERATOR)
def drain(request: Request, app: TheApp, node: str) -> Response:
    """It takes no more runs, and stops when it has none."""
    drained = app.nodes.drain(node)
    return done(request, f"{drained.name} drains: it takes no more runs, and stops when it has none", to="/nodes")


@router.post("/nodes/{node}/forget", **OPERATOR)
def forget(request: Request, app: TheApp, node: str) -> Response:
    """Of one that is gone; what it did stays in history."""
    name = next((each.name for each in app.nodes.gone(1000) if each.id == node), node)
    app.nodes.forget(node)
    return done(request, f"{name} is forgotten; what it did stays in history, under its id", to="/nodes")
