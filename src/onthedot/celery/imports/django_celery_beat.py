"""django-celery-beat: its tables, read and never written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta, tzinfo
from typing import Any

import sqlalchemy
from celery.schedules import crontab

from onthedot.app.moving.reading import reading_engine
from onthedot.app.moving.report import Report
from onthedot.celery.imports.rows import Row, aware, report_of
from onthedot.errors import SettingsError
from onthedot.storable import brief
from onthedot.stores.open import mask_url, sql_dialect_of

SOURCE = "django-celery-beat"
_PREFIX = "django_celery_beat_"
_KINDS = {
    "crontab": f"{_PREFIX}crontabschedule",
    "interval": f"{_PREFIX}intervalschedule",
    "clocked": f"{_PREFIX}clockedschedule",
}
_TASKS = f"{_PREFIX}periodictask"
_CRONTAB = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_CARRIED = ("queue", "exchange", "routing_key", "priority")
_NAIVE = (
    "USE_TZ is False: start_time, expires and clocked_time are taken as UTC, as django-celery-beat itself takes them;"
    " look at the schedules that have one"
)

Record = Mapping[str, Any]
Read = Callable[[str], Sequence[Record]]
"""From the name of a table to its rows."""


def read_database(url: str) -> Report:
    """What stands in the database at this URL, which may be of any kind that a store of ours may be in."""
    dialect, _ = sql_dialect_of(url)
    if dialect is None:
        raise SettingsError(f"{mask_url(url)} is no SQL database; name the one that Django uses")
    engine = reading_engine(url, "a database")
    try:
        with engine.connect() as connection:
            return _report(lambda table: [*connection.execute(sqlalchemy.text(f"SELECT * FROM {table}")).mappings()])
    except sqlalchemy.exc.SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise SettingsError(f"{mask_url(url)}: the tables of {SOURCE} cannot be read: {said}") from None
    finally:
        engine.dispose()


def read_django() -> Report:
    """The same from inside a Django project, through its own connection."""
    from django.apps import apps
    from django.conf import settings
    from django.db import Error
    from django.utils.timezone import get_default_timezone

    if not apps.ready or not apps.is_installed("django_celery_beat"):
        raise SettingsError(
            f"import {SOURCE}: name the URL of its database, or call it as manage.py onthedot where"
            " django_celery_beat is installed"
        )
    names = {model._meta.db_table: model for model in apps.get_app_config("django_celery_beat").get_models()}
    in_utc = settings.USE_TZ or not getattr(settings, "DJANGO_CELERY_BEAT_TZ_AWARE", True)
    try:
        report = _report(
            lambda table: [*names[table].objects.values()], last_in=UTC if in_utc else get_default_timezone()
        )
    except Error as error:
        raise SettingsError(f"the tables of {SOURCE} cannot be read: {error}") from None
    return report if settings.USE_TZ else replace(report, notes=(*report.notes, _NAIVE))


def _report(read: Read, *, last_in: tzinfo = UTC) -> Report:
    """In what zone its beat writes when it was there last, where the database keeps none."""
    kinds = {kind: {row["id"]: row for row in read(table)} for kind, table in _KINDS.items()}
    tasks = sorted(read(_TASKS), key=lambda row: str(row["name"]))
    return report_of(SOURCE, ((str(row["name"]), row) for row in tasks), lambda row: _row(row, kinds, last_in))


def _row(row: Record, kinds: Mapping[str, Mapping[Any, Record]], last_in: tzinfo) -> Row:
    schedule, zone = _schedule(row, kinds)
    starts_at = aware(row["start_time"])
    return Row(
        name=row["name"],
        task=row["task"],
        schedule=schedule,
        zone=zone,
        args=_json(row, "args", []),
        kwargs=_json(row, "kwargs", {}),
        options=dict(_options(row)),
        enabled=bool(row["enabled"]) and not (row["one_off"] and row["total_run_count"]),
        once=bool(row["one_off"]),
        starts_at=starts_at,
        repeat_until=aware(row["expires"]),
        last=aware(row["last_run_at"], last_in),
        since=None if starts_at else aware(row["date_changed"]),
    )


def _schedule(row: Record, kinds: Mapping[str, Mapping[Any, Record]]) -> tuple[Any, str]:
    if row.get("solar_id") is not None:
        raise SettingsError("solar events cannot be converted; leave this one to a beat of its own")
    kind = next((each for each in _KINDS if row[f"{each}_id"] is not None), None)
    if kind is None:
        raise SettingsError("it has no schedule")
    said = kinds[kind].get(row[f"{kind}_id"])
    if said is None:
        raise SettingsError(f"its {kind} {row[f'{kind}_id']} is not in the table {_KINDS[kind]}")
    if kind == "crontab":
        return crontab(**{name: said[name] for name in _CRONTAB}), str(said["timezone"])
    if kind == "interval":
        return timedelta(**{said["period"]: said["every"]}), "UTC"
    return aware(said["clocked_time"]), "UTC"


def _options(row: Record) -> Iterator[tuple[str, Any]]:
    """As its beat sends them."""
    yield from ((name, row[name]) for name in _CARRIED if row[name] not in (None, ""))
    expires = aware(row["expires"]) or row["expire_seconds"]
    if expires is not None:
        yield "expires", expires
    yield "headers", {**_json(row, "headers", {}), "periodic_task_name": row["name"]}


def _json(row: Record, name: str, default: Any) -> Any:
    try:
        found = json.loads(row[name]) if row[name] else default
    except ValueError:
        raise SettingsError(f"{name}: {brief(row[name])} is no JSON") from None
    if type(found) is not type(default):
        raise SettingsError(f"{name}: {brief(row[name])} is no JSON {'list' if default == [] else 'object'}")
    return found
