"""Ticks of the past are filled in: a form for the range, what would be done and why, and the button that begins it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import Request, Response
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.backfill import Backfill
from onthedot.errors import Conflict, MomentError, SettingsError
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms, iso, read_moment
from onthedot.rules.backfill import MOST_AT_ONCE
from onthedot.texts import counted
from onthedot.web.dashboard.acts import done
from onthedot.web.dashboard.forms import Form, TheForm
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.schedule_rows import when_of
from onthedot.web.dashboard.schedule_ticks import TickView
from onthedot.web.dashboard.toast import Undo
from onthedot.web.routes.router import OPERATOR
from onthedot.web.security import TheApp

router = new_pages()

FIELDS = ("start", "end", "which", "limit", "order", "beside")
_MINUTE = 60_000
_LISTED = 100
"""So many ticks are listed; all are counted."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the page says of what was asked for; nothing before anything was."""

    would: Backfill | None = None
    wrong: str = ""

    @property
    def status(self) -> int:
        return 422 if self.wrong else 200


@router.get("/schedules/{name}/backfill", **OPERATOR)
def backfill_page(request: Request, app: TheApp, name: str) -> HTMLResponse:
    """The form; once it is sent, with the ticks that it would fill in."""
    schedule = app.schedules.get(name)
    form = Form({key: [request.query_params[key]] for key in FIELDS if key in request.query_params})
    looked = Looked() if "which" not in form.fields else _look(app, schedule, form)
    return _page(request, app, schedule, form, looked)


@router.post("/schedules/{name}/backfill", **OPERATOR)
def backfill(request: Request, app: TheApp, form: TheForm, name: str) -> Response:
    """Begin it; from then on the page of its run shows how far it is."""
    schedule = app.schedules.get(name)
    try:
        begun = app.schedules.backfill(name, **_asked(schedule, form))
    except (SettingsError, MomentError, Conflict) as error:
        return _page(request, app, schedule, form, Looked(wrong=str(error)))
    if begun.run is None:
        return _page(request, app, schedule, form, Looked(begun))
    path = f"/runs/{quote(begun.run.id, safe='')}"
    told = f"Fills in {counted(len(begun.ticks), 'tick')} of {name}"
    return done(request, told, Undo(f"{path}/cancel", word="Stop it"), to=path)


def _look(app: App, schedule: Schedule, form: Form) -> Looked:
    try:
        return Looked(app.schedules.backfill(schedule.name, **_asked(schedule, form), dry_run=True))
    except (SettingsError, MomentError) as error:
        return Looked(wrong=str(error))


def _asked(schedule: Schedule, form: Form) -> dict[str, Any]:
    limit = form.number("limit")
    return {
        "start": _moment(form["start"], schedule),
        "end": _moment(form["end"], schedule),
        "which": form["which"] or "missing",
        "limit": 1 if limit is None else limit,
        "order": form["order"] or "oldest",
        "beside": bool(form["beside"]),
    }


def _moment(text: str, schedule: Schedule) -> datetime:
    """One without a zone is meant on the wall clock of the schedule."""
    moment = read_moment(text.strip())
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(when_of(schedule).zone or "UTC"))


def shown_range(view: TickView, now_ms: int) -> tuple[str, str]:
    """The range that the chart of a schedule shows, for this form: up to now, where the newest are shown."""
    if not view.past:
        return iso((now_ms // _MINUTE + 1) * _MINUTE - 86_400_000), iso((now_ms // _MINUTE + 1) * _MINUTE)
    last_ms = now_ms if view.is_now else max(getattr(each, "last_ms", each.at_ms) for each in view.past)
    return iso(view.past[0].at_ms), iso((last_ms // _MINUTE + 1) * _MINUTE)


def _page(request: Request, app: App, schedule: Schedule, form: Form, looked: Looked) -> HTMLResponse:
    now_ms = app.now_ms()
    ticks = looked.would.ticks if looked.would is not None else ()
    return render(
        request,
        "backfill.html",
        looked.status,
        page="schedules",
        schedule=schedule,
        form=form,
        own=when_of(schedule).zone or None,
        would=looked.would,
        wrong=looked.wrong,
        ticks=[(ceil_ms(each.at), each.why) for each in ticks[:_LISTED]],
        more=max(len(ticks) - _LISTED, 0),
        most=MOST_AT_ONCE,
        fields={key: form[key] for key in FIELDS if form[key]},
        example=(iso(now_ms // 86_400_000 * 86_400_000 - 7 * 86_400_000), iso(now_ms // 86_400_000 * 86_400_000)),
    )
