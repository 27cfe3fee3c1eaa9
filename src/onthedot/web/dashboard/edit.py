"""Define a schedule: a new one, or another revision of one that is there. Two who edit lose nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.errors import Conflict, OnthedotError, StaleRevision, StoreError, TriggerError
from onthedot.insight.story import change_fact
from onthedot.model.schedule import Schedule
from onthedot.moments import iso
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.definition_form import (
    MISFIRES,
    OVERLAPS,
    Fields,
    args_from,
    check_trigger,
    given_fields,
    options_from,
    shown_fields,
    taken_out,
    trigger_from,
    wrong_trigger,
)
from onthedot.web.dashboard.forms import TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import ADMIN, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

Text = Annotated[str, Query(max_length=4000)]
_LABELS = {
    "trigger": "Trigger", "tz": "Zone", "gap": "Gap", "fold": "Fold", "args": "Arguments", "overlap": "Overlap",
    "misfire": "Misfire", "grace": "Grace", "retries": "Retries", "timeout": "Time-out", "tags": "Tags",
    "options": "Other options",
}  # fmt: skip


@router.get("/preview", **VIEWER)
def preview(request: Request, app: TheApp, *, trigger: Text = "", tz: Text = "", gap: Text = "", fold: Text = "",
            name: Text = "") -> HTMLResponse:  # fmt: skip
    """What a trigger would do, as a part of a page: preview.js asks for it as one types."""
    given = Fields(trigger=trigger.strip(), tz=tz.strip(), gap=gap, fold=fold)
    return render(request, "checked.html", checked=check_trigger(app, given, name or None), iso=iso)


# one that is there


@router.get("/schedules/{name}/edit", **ADMIN)
def edit_page(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """All that can be said about it."""
    schedule = app.schedules.get(name)
    return _form(request, app, shown_fields(schedule), schedule)


@router.post("/schedules/{name}/edit", **ADMIN)
def edit(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """Fields that are there are changed, the others stay. `revision` is the one that was shown."""
    schedule = app.schedules.get(name)
    given = given_fields(form, shown_fields(schedule))
    if form["do"] != "save":
        return _form(request, app, given, schedule, revision=form.number("revision"))
    try:
        now = _save(app, schedule, given, form.number("revision"))
    except StaleRevision as stale:
        return _both(request, app, given, stale)
    except StoreError:
        raise
    except OnthedotError as error:
        return _form(request, app, given, schedule, error, revision=form.number("revision"))
    if now.revision == schedule.revision:
        return done(request, f"{name} was so already", to=_path(name))
    undo = Undo(_path(name, "put-back"), {"revision": str(schedule.revision)})
    return done(request, f"Changed {name}", undo, to=_path(name))


def _save(app: App, schedule: Schedule, given: Fields, revision: int | None) -> Schedule:
    """Only what differs from what is held is said anew. What another has changed meanwhile is never overwritten."""
    held = shown_fields(schedule)
    changed = given.differing(held)
    if revision is not None and revision != schedule.revision:
        raise StaleRevision(schedule.name, revision, schedule.revision)
    said: dict[str, Any] = {
        **taken_out(held, given),
        **options_from({name: changed[name] for name in changed if name != "args"}),
    }
    if {"trigger", "tz", "gap", "fold"} & set(changed):
        said["trigger"] = trigger_from(given)
    if "args" in changed:
        said["args"] = args_from(given.args)
    return app.schedules.update(schedule.name, revision=revision, **said) if said else schedule


def _both(request: Request, app: TheApp, given: Fields, stale: StaleRevision) -> HTMLResponse:
    """Somebody was first: what they have made of it, and what you wanted, beside each other."""
    schedule = app.schedules.get(stale.name)
    held = shown_fields(schedule)
    mine, theirs = asdict(given), asdict(held)
    last = next((each for each in app.schedules.changes(stale.name, limit=20) if "run" not in each.after), None)
    return render(
        request,
        "both.html",
        412,
        page="schedules",
        schedule=schedule,
        expected=stale.expected,
        lines=[(_LABELS[name], name, theirs[name], mine[name]) for name in mine if mine[name] or theirs[name]],
        last=None if last is None else change_fact(last),
    )


# a new one


@router.get("/new", **ADMIN)
def new_page(request: Request, app: TheApp, task: Text = "") -> HTMLResponse:
    """A schedule of a task that nodes publish."""
    return _form(request, app, Fields(trigger="", tz=""), None, task=task)


@router.post("/new", **ADMIN)
def create(request: Request, app: TheApp, form: TheForm) -> Response:
    """It must be new: nothing that is there is replaced."""
    given, name, task = given_fields(form, Fields()), form["name"].strip(), form["task"].strip()
    if form["do"] != "save":
        return _form(request, app, given, None, name=name, task=task)
    try:
        options, args = options_from(asdict(given)), args_from(given.args)
        app.schedules.put(name, task, trigger_from(given), args=args, revision=0, **options)
    except StoreError:
        raise
    except OnthedotError as error:
        said = Conflict(f"There is a schedule {name} already; edit that one, or take another name.")
        known = said if isinstance(error, StaleRevision) else error
        return _form(request, app, given, None, known, name=name, task=task)
    return done(request, f"{name} is planned", to=_path(name))


def _form(
    request: Request, app: App, given: Fields, schedule: Schedule | None, error: OnthedotError | None = None,
    *, revision: int | None = None, name: str = "", task: str = "",
) -> HTMLResponse:  # fmt: skip
    """The form with what was typed, what it would do, and what is wrong with it."""
    checked = check_trigger(app, given, name or (schedule.name if schedule else None)) if given.trigger else None
    if isinstance(error, TriggerError):
        checked = wrong_trigger(error, given.trigger)
    told = None if error is None or isinstance(error, TriggerError) else str(error)
    return render(
        request,
        "definition.html",
        422 if error is not None else 200,
        page="schedules",
        schedule=schedule,
        fields=given,
        checked=checked,
        told=told,
        revision=revision if revision is not None else (schedule.revision if schedule else 0),
        new_name=name,
        new_task=task,
        tasks=[] if schedule else app.tasks.list(),
        overlaps=OVERLAPS,
        misfires=MISFIRES,
        iso=iso,
    )


def _path(name: str, act: str = "") -> str:
    return f"/schedules/{quote(name, safe='')}{act and '/' + act}"
