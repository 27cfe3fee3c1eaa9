"""Celery's schedules as triggers: intervals, crontabs, single moments. What has no trigger is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from celery.schedules import BaseSchedule, crontab, schedule

from celery import Celery
from onthedot.app.callables import described
from onthedot.app.files.machine_zone import machine_zone
from onthedot.app.moving.cron_fields import field, on_days
from onthedot.errors import SettingsError, TriggerError
from onthedot.storable import brief
from onthedot.triggers.at import at
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import cron
from onthedot.triggers.every import every
from onthedot.triggers.zones import get_zone

_OF_DJANGO = {"TzAwareCrontab", "clocked"}
"""Classes of django-celery-beat, which may stand in a beat_schedule too."""

Bounds = Mapping[str, datetime | None]


def trigger_of(given: Any, zone: str, *, bounds: Bounds | None = None, last: datetime | None = None) -> Trigger:
    """The trigger that ticks when a Celery schedule, or a moment, is due; `TriggerError` where there is none.

    `bounds` are `starts_at` and `repeat_until`; an interval goes on in step with when it was last due, where that is
    known.
    """
    if isinstance(given, datetime):
        return at(given, tz=zone)
    kind = _kind(given)
    limits: dict[str, Any] = {name: each for name, each in (bounds or {}).items() if each is not None}
    if kind in (timedelta, schedule):
        interval = given if kind is timedelta else given.run_every
        trigger: Trigger = every(interval, anchor=last or limits.get("starts_at"), **limits)
        return trigger
    if kind is crontab:
        return _crontab_trigger(given, _own_zone(given) or zone, limits)
    moment: datetime = given.clocked_time
    return at(moment, tz=zone)


def _crontab_trigger(given: crontab, zone: str, limits: Mapping[str, Any]) -> Trigger:
    """Celery wants day *and* weekday to fit."""
    time = f"{field(given.minute, range(60))} {field(given.hour, range(24))}"
    month = field(given.month_of_year, range(1, 13))

    def made(day: str, weekday: str) -> Trigger:
        return cron(f"{time} {day} {month} {weekday}", tz=zone, **limits)

    return on_days(made, field(given.day_of_month, range(1, 32)), given.day_of_week)


def zone_of(celery_app: Celery) -> str:
    """By whose clock the app's crontabs go; `SettingsError` where its setting names none."""
    try:
        zone = celery_app.timezone
    except (LookupError, ValueError, TypeError, OSError, AttributeError):  # Celery asks zoneinfo for whatever is there
        raise SettingsError(f"timezone: {_no_zone(celery_app.conf.timezone)}") from None
    return str(getattr(zone, "key", None) or celery_app.conf.timezone or machine_zone())


def _no_zone(given: object) -> str:
    """Why it is none, with the nearest that is one."""
    try:
        get_zone(given if isinstance(given, str) else "")
    except TriggerError as error:
        if isinstance(given, str):
            return error.line
    return f"{brief(given)} is no name of a time zone; write 'Europe/Berlin'"


def _kind(given: Any) -> type:
    found = next((kind for kind in (timedelta, schedule, crontab) if type(given) is kind), None)
    if found is not None:
        return found
    name, module = type(given).__name__, type(given).__module__
    if module.startswith("django_celery_beat.") and name in _OF_DJANGO:
        return type(given) if name == "clocked" else crontab
    if name == "solar":
        raise TriggerError("solar events cannot be converted", hint="leave this entry to a beat of its own")
    if not isinstance(given, BaseSchedule):
        raise TriggerError(f"{described(given)} is no schedule", hint="write crontab(…) or a timedelta")
    raise TriggerError(
        f"{module}.{name} is a class of your own, and cannot be converted", hint="write crontab(…) or a timedelta"
    )


def _own_zone(given: crontab) -> str | None:
    """Of a crontab that has a clock of its own: that of its zone, by name; `TriggerError` where it has none."""
    named = getattr(given.__dict__.get("tz"), "key", None)
    if named is not None or given.nowfun is None:
        return named
    moment = given.nowfun()
    named = getattr(getattr(moment, "tzinfo", None), "key", None)
    if named is None:
        raise TriggerError("its nowfun tells no time zone", hint="give it one: datetime.now(ZoneInfo('Europe/Berlin'))")
    return str(named)
