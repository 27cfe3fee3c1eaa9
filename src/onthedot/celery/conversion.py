"""Celery's schedules as triggers: intervals, crontabs, single moments. What has no trigger is refused by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from celery.schedules import BaseSchedule, crontab, schedule

from celery import Celery
from onthedot.app.callables import described
from onthedot.app.files.machine_zone import machine_zone
from onthedot.errors import TriggerError
from onthedot.triggers.at import at
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import cron
from onthedot.triggers.every import every

_WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
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
    """Celery wants day *and* weekday to fit, cron either of them: where both are restricted, the other weekdays of the
    days are taken away again."""
    time = f"{_field(given.minute, range(60))} {_field(given.hour, range(24))}"
    day, month = _field(given.day_of_month, range(1, 32)), _field(given.month_of_year, range(1, 13))
    weekday = _weekday_field(given.day_of_week)
    if day.startswith("*") or weekday.startswith("*"):  # then both must fit in cron too
        return cron(f"{time} {day} {month} {weekday}", tz=zone, **limits)
    others = _weekday_field({*range(7)} - given.day_of_week)
    return cron(f"{time} {day} {month} *", tz=zone, **limits) - cron(f"{time} * * {others}", tz=zone)


def zone_of(celery_app: Celery) -> str:
    """By whose clock the app's crontabs go."""
    return str(getattr(celery_app.timezone, "key", None) or celery_app.conf.timezone or machine_zone())


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


def _weekday_field(weekdays: Collection[int]) -> str:
    plain = _field(weekdays, range(7))
    if plain.startswith("*"):
        return plain
    return ",".join("-".join(_WEEK[int(number)] for number in part.split("-")) for part in plain.split(","))


def _field(values: Collection[int], everything: range) -> str:
    """A set of numbers as a field of cron, as short as people write it."""
    wanted = sorted(values)
    if wanted == [*everything]:
        return "*"
    for step in range(2, len(everything) // 2 + 1):
        if len(wanted) > 2 and wanted == [*everything[::step]]:
            return f"*/{step}"
    return ",".join(_span(part) for part in _consecutive(wanted))


def _consecutive(numbers: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return parts


def _span(part: Sequence[int]) -> str:
    return ",".join(map(str, part)) if len(part) < 3 else f"{part[0]}-{part[-1]}"
