"""Calendars and named triggers: which there are, the days of a year, who uses them, and forms to put and delete."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.calendar_sources import ics
from onthedot.app.trigger_text import read_whole_trigger
from onthedot.app.values import KeptCalendar
from onthedot.errors import Conflict, ExtraMissing, SettingsError, TriggerError, ValueNotFound
from onthedot.moments import from_ms
from onthedot.triggers.calendar_days import CalendarDays, days_named
from onthedot.triggers.codec import encode
from onthedot.triggers.dates import iso_day
from onthedot.triggers.written import written
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.charts.year import days_in, year_chart
from onthedot.web.dashboard.forms import Form, TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.questions import Question, ask
from onthedot.web.routes.router import ADMIN, VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_REFUSED = (SettingsError, TriggerError, ExtraMissing, ValueNotFound, Conflict)
Year = Annotated[int | None, Query(ge=1970, le=2199)]


@router.get("/calendars", **VIEWER)
def calendars_page(request: Request, app: TheApp) -> HTMLResponse:
    """All of them, and the named triggers."""
    return _page(request, app)


@router.post("/calendars", **ADMIN)
def put(request: Request, app: TheApp, form: TheForm) -> Response:
    """A calendar, or its next revision: lines of days, or the text of an .ics file."""
    name = form["name"].strip()
    try:
        kept = app.calendars.put(name, _like_before(app, form["of"], _days(form["days"])))
    except _REFUSED as error:
        if form["of"]:
            return _one(request, app, form["of"], None, form=form, wrong=str(error), status=422)
        return _page(request, app, form=form, wrong=str(error), status=422)
    return done(request, f"{kept.name} is at revision {kept.rev}", to=_path("calendars", kept.name))


@router.get("/calendars/{name}", **VIEWER)
def calendar_page(request: Request, app: TheApp, name: str, year: Year = None) -> HTMLResponse:
    """The days of a year, and who uses it."""
    return _one(request, app, name, year)


@router.get("/calendars/{name}/delete", **ADMIN)
def ask_delete_calendar(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """Only where nobody uses it."""
    app.calendars.get(name)
    said = "No schedule uses it. A later calendar of this name goes on with the next revision."
    path = f"{_path('calendars', name)}/delete"
    return ask(request, Question(f"Delete the calendar {name}?", said, path, "Delete it", page="calendars"))


@router.post("/calendars/{name}/delete", **ADMIN)
def delete_calendar(request: Request, app: TheApp, name: str) -> Response:
    """`Conflict` while anything uses it."""
    app.calendars.get(name)
    app.calendars.delete(name)
    return done(request, f"Deleted the calendar {name}", to="/calendars")


@router.post("/triggers", **ADMIN)
def put_trigger(request: Request, app: TheApp, form: TheForm) -> Response:
    """A named trigger, or its next revision."""
    try:
        trigger = read_whole_trigger(form["trigger"].strip(), tz=form["tz"].strip() or None)
        kept = app.triggers.put(form["name"].strip(), trigger)
    except _REFUSED as error:
        line = error.line if isinstance(error, TriggerError) else str(error)
        return _page(request, app, trigger_form=form, trigger_wrong=line, status=422)
    return done(request, f"{kept.name} is at revision {kept.rev}: {kept.trigger.describe()}", to="/calendars")


@router.get("/triggers/{name}/delete", **ADMIN)
def ask_delete_trigger(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """Only where nobody uses it."""
    app.triggers.get(name)
    said = "No schedule uses it. A later trigger of this name goes on with the next revision."
    path = f"{_path('triggers', name)}/delete"
    return ask(request, Question(f"Delete the trigger {name}?", said, path, "Delete it", page="calendars"))


@router.post("/triggers/{name}/delete", **ADMIN)
def delete_trigger(request: Request, app: TheApp, name: str) -> Response:
    """`Conflict` while anything uses it."""
    app.triggers.get(name)
    app.triggers.delete(name)
    return done(request, f"Deleted the trigger {name}", to="/calendars")


def _path(kind: str, name: str) -> str:
    return f"/{kind}/{quote(name, safe='')}"


def _days(text: str) -> CalendarDays:
    """A day or range in each line, and behind it what it is called; or an .ics file."""
    if "BEGIN:VCALENDAR" in text.upper():
        return ics(text.encode())
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return days_named([(words[0], words[1] if len(words) > 1 else "") for words in lines])


def _like_before(app: App, name: str, days: CalendarDays) -> CalendarDays:
    """Edited as text, it still comes from where it came from, and is worked out as far as it was: the doctor goes by
    that. A new file says so for itself."""
    if not name or days.source != "dates":
        return days
    before = app.calendars.get(name).days
    return replace(days, source=before.source, until=before.until)


def _page(
    request: Request,
    app: App,
    *,
    form: Form | None = None,
    wrong: str = "",
    trigger_form: Form | None = None,
    trigger_wrong: str = "",
    status: int = 200,
) -> HTMLResponse:
    calendars, triggers = app.calendars.list(), app.triggers.list()
    return render(
        request,
        "calendars.html",
        status,
        page="calendars",
        live="changes schedules",
        calendars=[(each, _until(each), app.calendars.users(each.name)) for each in calendars],
        triggers=[(each, written(encode(each.trigger)), app.triggers.users(each.name)) for each in triggers],
        form=form or Form(),
        wrong=wrong,
        trigger_form=trigger_form or Form(),
        trigger_wrong=trigger_wrong,
    )


def _one(
    request: Request,
    app: App,
    name: str,
    year: int | None,
    *,
    form: Form | None = None,
    wrong: str = "",
    status: int = 200,
) -> HTMLResponse:
    kept = app.calendars.get(name)
    shown = _shown_year(app, kept) if year is None else year
    lines = "\n".join(" ".join(filter(None, entry)) for entry in kept.days.entries())
    return render(
        request,
        "calendar.html",
        status,
        page="calendars",
        live="changes schedules",
        calendar=kept,
        until=_until(kept),
        users=app.calendars.users(name),
        year=shown,
        chart=year_chart(kept.days, shown),
        days=days_in(kept.days, shown),
        lines=lines if form is None else form["days"],
        wrong=wrong,
    )


def _shown_year(app: App, kept: KeptCalendar) -> int:
    """This one; or the nearest that has any day."""
    this = from_ms(app.now_ms()).year
    first, last = (date.fromisoformat(iso_day(day)).year for day in (kept.days.ranges[0][0], kept.days.ranges[-1][1]))
    return min(max(this, first), last)


def _until(kept: KeptCalendar) -> str:
    return "" if kept.days.until is None else iso_day(kept.days.until)
