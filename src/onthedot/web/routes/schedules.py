"""Schedules: look at them, define them, and see what they will do."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Response

from onthedot.app.app import App
from onthedot.app.clock_notes import zone_of
from onthedot.app.json_documents import decision_document, schedule_state
from onthedot.app.queries import ORDERS, STATES
from onthedot.errors import Conflict, ScheduleNotFound, StaleRevision, TriggerError
from onthedot.insight.story import read_story
from onthedot.insight.ticks import MOST_TICKS
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms, from_ms, iso
from onthedot.triggers import decode, encode
from onthedot.web import models
from onthedot.web.reading import (
    change_page,
    etag,
    fact_model,
    moment_models,
    now_ms_of,
    options_of,
    revision_of,
    run_model,
    schedule_model,
    tick_model,
    trigger_of,
)
from onthedot.web.routes.router import ADMIN, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()

IfMatch = Annotated[str | None, Header(description="The ETag of the schedule that is to be changed.")]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/schedules", **VIEWER)
def list_schedules(
    app: TheApp,
    *,
    q: Annotated[str, Query(max_length=200, description="Part of the name or of the task's, whatever the case.")] = "",
    state: Annotated[str | None, Query(description=", ".join(STATES))] = None,
    tag: str | None = None,
    task: str | None = None,
    sort: Annotated[str, Query(description=", ".join(ORDERS))] = "name",
    cursor: str = "",
    limit: Limit = 50,
) -> models.SchedulePage:
    """A page of schedules, by name or by their next moment; all that is given must hold."""
    page = app.schedules.list(q=q, state=state, tag=tag, task=task, sort=sort, cursor=cursor, limit=limit)
    now_ms = now_ms_of(app)
    return models.SchedulePage(schedules=[schedule_model(each, now_ms) for each in page], cursor=page.cursor)


@router.post("/schedules", status_code=201, **ADMIN)
def create_schedule(app: TheApp, given: models.NamedDefinition, response: Response) -> models.Schedule:
    """A new schedule; 409 if there is one of that name."""
    try:
        return _put(app, given.name, given, 0, response)
    except StaleRevision:
        raise Conflict(f"there is a schedule named {given.name!r} already; PUT replaces it") from None


@router.get("/schedules/{name}", **VIEWER)
def show_schedule(app: TheApp, name: str, response: Response) -> models.Schedule:
    """One schedule."""
    return _told(app, app.schedules.get(name), response)


@router.put("/schedules/{name}", **ADMIN)
def put_schedule(
    app: TheApp,
    name: str,
    *,
    given: models.Definition,
    response: Response,
    if_match: IfMatch = None,
    if_none_match: Annotated[str | None, Header(description="*: only if there is none yet.")] = None,
) -> models.Schedule:
    """Create it, or replace its definition; its history and an operator's pause stay."""
    return _put(app, name, given, revision_of(if_match, if_none_match), response)


@router.put("/templates/{name}", **ADMIN)
def put_template(app: TheApp, name: str, given: models.Template) -> models.TemplateSchedules:
    """Several schedules `name[key]` that differ in their arguments, together: created, changed, and those that are no
    longer meant deleted."""
    options = options_of(given.options)
    put = app.schedules.put(name, given.task, trigger_of(given.trigger), args=given.args, each=given.each, **options)
    now_ms = now_ms_of(app)
    return models.TemplateSchedules(schedules=[schedule_model(each, now_ms) for each in put])


@router.patch("/schedules/{name}", **ADMIN)
def update_schedule(
    app: TheApp, name: str, given: models.Fields, response: Response, if_match: IfMatch = None
) -> models.Schedule:
    """Change what is named, and leave the rest."""
    changed = app.schedules.update(
        name,
        trigger=None if given.trigger is None else trigger_of(given.trigger),
        args=given.args,
        revision=revision_of(if_match),
        **options_of(given.options),
    )
    return _told(app, changed, response)


@router.delete("/schedules/{name}", status_code=204, **ADMIN)
def delete_schedule(app: TheApp, name: str, if_match: IfMatch = None) -> None:
    """Delete it; its history stays."""
    app.schedules.get(name)
    if not app.schedules.delete(name, revision=revision_of(if_match)):
        raise ScheduleNotFound(name)


@router.get("/schedules/{name}/next", **VIEWER)
def show_next(app: TheApp, name: str, n: Annotated[int, Query(ge=1, le=100)] = 5) -> models.Next:
    """The coming moments, as things stand; `held` says where these come to nothing, and why."""
    schedule = app.schedules.get(name)
    trigger = decode(schedule.trigger)
    ticks = [ceil_ms(each) for each in app.schedules.next(name, n)]
    return models.Next(
        name=schedule.name,
        state=schedule_state(schedule, now_ms_of(app)),
        held=app.schedules.held(name) if ticks else None,
        timezone=zone_of(trigger).name,
        moments=moment_models(trigger, ticks),
    )


@router.get("/schedules/{name}/explain", **VIEWER)
def explain(
    app: TheApp, name: str, at: Annotated[str | None, Query(description="The latest tick, if left out.")] = None
) -> models.Explanation:
    """Why it did, or did not, run at that moment; also of one that was deleted."""
    at_ms = _latest_tick_ms(app, app.schedules.remembered(name)) if at is None else ceil_ms(at)
    found = app.schedules.explain(name, from_ms(at_ms))
    story = read_story(app.open_store(), app.schedules.remembered(name), at_ms, found)
    return models.Explanation(
        name=name,
        moment=iso(at_ms),
        answer=story.answer,
        text=found.text,
        story=[fact_model(each) for each in story.facts],
        runs=[run_model(run) for run in found.runs],
        decisions=[decision_document(each) for each in found.decisions],
    )


def _latest_tick_ms(app: App, schedule: Schedule) -> int:
    """Of one that cannot be read, where it has stood since."""
    now_ms = now_ms_of(app)
    try:
        tick = decode(schedule.trigger).prev_ms(now_ms + 1)
    except TriggerError:
        tick = schedule.next_run_ms
    return now_ms if tick is None else tick


@router.get("/schedules/{name}/ticks", **VIEWER)
def list_ticks(
    app: TheApp,
    name: str,
    *,
    start: Annotated[str | None, Query(alias="from", description="As far as there is history, if left out.")] = None,
    end: Annotated[str | None, Query(alias="to", description="The next few ticks, if left out.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_TICKS)] = 100,
) -> models.Ticks:
    """Its ticks, oldest first: what became of them, why there was no run, and those that come. Where they are more than
    `limit`, those around now. Also of one that was deleted."""
    return models.Ticks(name=name, ticks=[tick_model(each) for each in app.schedules.ticks(name, start, end, limit)])


@router.get("/schedules/{name}/changes", **VIEWER)
def list_changes_of(app: TheApp, name: str, cursor: str | None = None, limit: Limit = 50) -> models.Changes:
    """The audit of one schedule, newest first; also of one that was deleted."""
    found = app.schedules.changes(name, cursor=cursor, limit=limit)
    if not found and cursor is None:
        app.schedules.get(name)
    return change_page(found)


@router.get("/changes", **VIEWER)
def list_changes(app: TheApp, cursor: str | None = None, limit: Limit = 50) -> models.Changes:
    """The audit, newest first."""
    return change_page(app.schedules.changes(cursor=cursor, limit=limit))


@router.post("/preview", **VIEWER)
def preview(app: TheApp, given: models.PreviewOf) -> models.Preview:
    """What a trigger would do, before it is kept."""
    trigger, ticks = app.schedules.preview(trigger_of(given.trigger), given.n, name=given.name)
    return models.Preview(
        words=trigger.describe(),
        timezone=zone_of(trigger).name,
        trigger=encode(trigger),
        moments=moment_models(trigger, ticks),
    )


def _put(app: App, name: str, given: models.Definition, revision: int | None, response: Response) -> models.Schedule:
    trigger, options = trigger_of(given.trigger), options_of(given.options)
    put = app.schedules.put(name, given.task, trigger, args=given.args, revision=revision, **options)
    return _told(app, put, response)


def _told(app: App, schedule: Schedule, response: Response) -> models.Schedule:
    response.headers["ETag"] = etag(schedule)
    return schedule_model(schedule, now_ms_of(app))
