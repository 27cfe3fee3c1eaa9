"""Calendars and named triggers: look at them, put the next revision, delete them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from onthedot.app.json_documents import calendar_document, named_trigger_document
from onthedot.errors import ValueNotFound
from onthedot.web import models
from onthedot.web.reading import days_of, trigger_of
from onthedot.web.routes.router import ADMIN, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()

Revision = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest, if left out.")]


@router.get("/calendars", **VIEWER)
def list_calendars(app: TheApp) -> models.Calendars:
    """The latest revision of each, by name."""
    return models.Calendars(calendars=[models.Calendar(**calendar_document(each)) for each in app.calendars.list()])


@router.get("/calendars/{name}", **VIEWER)
def show_calendar(app: TheApp, name: str, rev: Revision = None) -> models.Calendar:
    """One of them, and who uses it."""
    return models.Calendar(**calendar_document(app.calendars.get(name, rev), app.calendars.users(name)))


@router.put("/calendars/{name}", **ADMIN)
def put_calendar(app: TheApp, name: str, given: models.CalendarGiven) -> models.Calendar:
    """Create it, or write its next revision; the schedules that use it are put anew with that."""
    return models.Calendar(**calendar_document(app.calendars.put(name, days_of(given)), app.calendars.users(name)))


@router.delete("/calendars/{name}", status_code=204, **ADMIN)
def delete_calendar(app: TheApp, name: str) -> None:
    """Delete it; 409 while anything uses it."""
    app.calendars.get(name)
    if not app.calendars.delete(name):
        raise ValueNotFound("calendar", name)


@router.get("/triggers", **VIEWER)
def list_triggers(app: TheApp) -> models.NamedTriggers:
    """The latest revision of each, by name."""
    found = [models.NamedTrigger(**named_trigger_document(each)) for each in app.triggers.list()]
    return models.NamedTriggers(triggers=found)


@router.get("/triggers/{name}", **VIEWER)
def show_trigger(app: TheApp, name: str, rev: Revision = None) -> models.NamedTrigger:
    """One of them, and who uses it."""
    return models.NamedTrigger(**named_trigger_document(app.triggers.get(name, rev), app.triggers.users(name)))


@router.put("/triggers/{name}", **ADMIN)
def put_trigger(app: TheApp, name: str, given: models.NamedTriggerGiven) -> models.NamedTrigger:
    """Create it, or write its next revision; the schedules that use it are put anew with that."""
    put = app.triggers.put(name, trigger_of(given.trigger))
    return models.NamedTrigger(**named_trigger_document(put, app.triggers.users(name)))


@router.delete("/triggers/{name}", status_code=204, **ADMIN)
def delete_trigger(app: TheApp, name: str) -> None:
    """Delete it; 409 while anything uses it."""
    app.triggers.get(name)
    if not app.triggers.delete(name):
        raise ValueNotFound("trigger", name)
