"""One schedule: what became of its ticks, why, what comes, its rules, and who changed it."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.app.json_documents import schedule_state
from onthedot.errors import MomentError
from onthedot.insight.alerts import alerts_of
from onthedot.insight.held import why_held
from onthedot.insight.schedule_history import Gap, Pause, read_history
from onthedot.insight.story import Story, change_fact, read_story
from onthedot.model.alert import AlertState
from onthedot.model.schedule import Schedule
from onthedot.model.step_status import StepStatus, statuses
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, from_ms, iso, read_moment
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.alerts import rule_of
from onthedot.web.dashboard.backfill import shown_range
from onthedot.web.dashboard.charts.flow import draw as draw_flow
from onthedot.web.dashboard.definition_form import shown_fields
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.rules_card import rules_of
from onthedot.web.dashboard.schedule_rows import when_of
from onthedot.web.dashboard.schedule_ticks import charts_of, read_ticks
from onthedot.web.dashboard.spoken import spoken
from onthedot.web.dashboard.statistics import brief, rate_text
from onthedot.web.dashboard.zones import zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_CHANGES = 8
_FACT_MARKS = {
    "left_out": "skipped", "coming": "waiting", "created": "waiting", "changed": "waiting", "deleted": "cancelled",
    "resumed": "resumed", "node": "lost", "node_died": "lost", "handed_back": "waiting", "parked": "parked",
}  # fmt: skip
"""The mark of each kind of fact, where it is not that of a state."""


@router.get("/schedules/{name}", **VIEWER)
def schedule_page(
    request: Request, app: TheApp, name: str, tick: Annotated[str, Query(max_length=100)] = ""
) -> HTMLResponse:
    """Also of one that was deleted: its history can be asked."""
    schedule = app.schedules.remembered(name)
    store = app.open_store()
    now_ms, when = store.now_ms(), when_of(schedule)
    zone = zone_of(request).at(when.zone or None)
    asked_ms, wrong = _asked(tick, when.zone)
    view = read_ticks(store, schedule, asked_ms, now_ms)
    wide, narrow = charts_of(view, Addresses.of(request), zone)
    story = _story(app, schedule, view.chosen_ms)
    return render(
        request,
        "schedule.html",
        page="schedules",
        live="schedules runs",
        schedule=schedule,
        state=schedule_state(schedule, now_ms),
        held=why_held(schedule, store.nodes(), now_ms),
        frozen=schedule.frozen_at(now_ms),
        when=when,
        view=view,
        shown_range=shown_range(view, now_ms),
        wide=wide,
        narrow=narrow,
        story=story,
        asked=tick,
        wrong=wrong,
        fact_mark=_fact_mark,
        say=lambda text: spoken(text, now_ms, zone),
        iso=iso,
        brief_iso=_brief_iso,
        rules=rules_of(schedule),
        alerts=alerts_of(schedule, store.alert_states([schedule.id]).get(schedule.id, AlertState())),
        alert_rule=rule_of,
        changes=[change_fact(each) for each in app.schedules.changes(name, limit=_CHANGES)],
        gone=_gone(app, schedule, now_ms),
        pause=_pause(app, schedule, now_ms),
        fields=shown_fields(schedule),
        week=brief(app, name),
        rate=rate_text,
        graph=_graph(app, schedule, Addresses.of(request)),
    )


def _graph(app: App, schedule: Schedule, addresses: Addresses) -> tuple[Markup, Markup] | None:
    """Of a flow: its steps as a picture, for wide pages and narrow ones."""
    graph = None if schedule.graph is None else app.open_store().graph(schedule.graph)
    if graph is None or not graph.steps:
        return None
    steps = statuses(graph, None)

    def link(step: StepStatus) -> str:
        return addresses("/runs", task=step.task)

    return draw_flow(steps, link, live=False), draw_flow(steps, link, live=False, down=True)


def _asked(text: str, zone: str) -> tuple[int | None, str]:
    """The moment, and what is wrong with it. One without a zone is meant on the wall clock of the schedule."""
    if not text.strip():
        return None, ""
    try:
        moment = read_moment(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(zone or "UTC"))
        ms = ceil_ms(moment)
    except MomentError as error:
        return None, str(error)
    return (ms, "") if FIRST_MS <= ms < END_MS else (None, f"{text} is of another age")


def _story(app: App, schedule: Schedule, moment_ms: int) -> Story:
    found = app.schedules.explain(schedule.name, from_ms(moment_ms))
    return read_story(app.open_store(), schedule, moment_ms, found)


def _pause(app: App, schedule: Schedule, now_ms: int) -> Pause | None:
    """Who paused it; None of one that is not paused, or where that is forgotten."""
    return None if schedule.enabled else read_history(app.open_store(), schedule.name).pause_at(now_ms, now_ms)


def _gone(app: App, schedule: Schedule, now_ms: int) -> Gap | None:
    """Who deleted it, and when; None of one that is there."""
    if not schedule.deleted:
        return None
    return read_history(app.open_store(), schedule.name).gap_at(now_ms + 1, gone_ms=schedule.settled_ms)


def _brief_iso(ms: int) -> str:
    """Without seconds where there are none: as one would type it."""
    return iso(ms).replace(":00Z", "Z") if ms % 60_000 == 0 else iso(ms)


def _fact_mark(kind: str) -> str:
    return _FACT_MARKS.get(kind, kind)
