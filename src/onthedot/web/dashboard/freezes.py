"""Freezes: which there are, a form for another, and the thaw; and the ticks of one schedule that are to be skipped."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.errors import Conflict, MomentError, SettingsError
from onthedot.model.freeze import Freeze
from onthedot.model.schedule import Schedule
from onthedot.moments import iso
from onthedot.texts import counted
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.forms import Form, TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.questions import Input, Question, ask
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import OPERATOR, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_ORDER = {"active": 0, "coming": 1, "over": 2}


@router.get("/freezes", **VIEWER)
def freezes_page(request: Request, app: TheApp) -> HTMLResponse:
    """Those that last, those to come, those that are over."""
    return _page(request, app)


@router.post("/freezes", **OPERATOR)
def create(request: Request, app: TheApp, form: TheForm) -> Response:
    """A new one, or another window under its name."""
    name = form["name"].strip()
    where = {key: form[key].strip() for key in ("tag", "pattern") if form[key].strip()}
    whom = {("name" if key == "pattern" else key): value for key, value in where.items()}
    try:
        made = app.freezes.put(name, form["start"].strip(), form["end"].strip(), where=whom or None)
    except (SettingsError, MomentError) as error:
        return _page(request, app, form=form, wrong=str(error), status=422)
    undo = Undo(_thaw_path(made.name), word="Thaw it")
    return done(request, f"{made.name} freezes {whom_of(made)}", undo, to="/freezes")


@router.get("/freezes/{name}/thaw", **OPERATOR)
def ask_thaw(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """It goes on from now; nothing is caught up."""
    freeze = app.freezes.get(name)
    coming = freeze.state(app.now_ms()) == "coming"
    said = (
        "It has not begun, and never will."
        if coming
        else "Its schedules run again from their next ticks on. What it left out so far is not caught up."
    )
    return ask(request, Question(f"Thaw {freeze.name}?", said, _thaw_path(name), "Thaw it", page="freezes"))


@router.post("/freezes/{name}/thaw", **OPERATOR)
def thaw(request: Request, app: TheApp, name: str) -> Response:
    """End it now."""
    app.freezes.thaw(name)
    return done(request, f"Thawed {name}", to="/freezes")


@router.get("/schedules/{name}/skip", **OPERATOR)
def ask_skip(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """How many?"""
    return ask(request, _skip_question(app.schedules.get(name)))


@router.post("/schedules/{name}/skip", **OPERATOR)
def skip(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """Leave out the next ticks; 0 takes that back."""
    try:
        count = form.number("n")
        moved = app.schedules.skip_next(name, 1 if count is None else count)
    except (SettingsError, Conflict) as error:
        return ask(request, _skip_question(app.schedules.get(name), form["n"], str(error)), 422)
    path = f"/schedules/{quote(name, safe='')}"
    if not moved.skips:
        return done(request, f"{name} skips nothing any more", to=path)
    told = f"{name} skips {counted(moved.skips, 'tick')}, and runs next at {moved.next_run_at:%Y-%m-%d %H:%M:%S} UTC"
    return done(request, told, Undo(f"{path}/skip", {"n": "0"}), to=path)


def _skip_question(schedule: Schedule, given: str = "1", wrong: str = "") -> Question:
    many = Input("n", "How many ticks", given, mono=True, required=True, wrong=wrong, hint="0 takes a skip back")
    said = "They are left out, told as skipped, and not caught up. It goes on with the tick after them."
    path = f"/schedules/{quote(schedule.name, safe='')}/skip"
    return Question(f"Skip the next ticks of {schedule.name}?", said, path, "Skip them", [many], page="schedules")


def _thaw_path(name: str) -> str:
    return f"/freezes/{quote(name, safe='')}/thaw"


def whom_of(freeze: Freeze) -> str:
    """Whom it concerns, in words."""
    parts = [f"those with the tag {freeze.tag}"] if freeze.tag is not None else []
    parts += [f"those named {freeze.pattern}"] if freeze.pattern is not None else []
    return " and ".join(parts) or "all schedules"


def _page(request: Request, app: App, *, form: Form | None = None, wrong: str = "", status: int = 200) -> HTMLResponse:
    now_ms = app.now_ms()
    found = sorted(app.freezes.list(), key=lambda each: (_ORDER[each.state(now_ms)], each.start_ms, each.name))
    return render(
        request,
        "freezes.html",
        status,
        page="freezes",
        live="changes",
        freezes=found,
        whom=whom_of,
        form=form or Form(),
        wrong=wrong,
        example=(iso(now_ms // 3_600_000 * 3_600_000 + 3_600_000), iso(now_ms // 3_600_000 * 3_600_000 + 90_000_000)),
    )
