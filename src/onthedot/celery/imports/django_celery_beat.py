"""django-celery-beat: its tables, read and never written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy
from celery.schedules import crontab

from onthedot.app.moving.report import Report
from onthedot.celery.imports.rows import Row, aware, report_of
from onthedot.errors import SettingsError
from onthedot.stores.open import mask_url, sql_dialect_of

SOURCE = "django-celery-beat"
_PREFIX = "django_celery_beat_"
_KINDS = {
    "crontab": f"{_PREFIX}crontabschedule",
    "interval": f"{_PREFIX}intervalschedule",
    "clocked": f"{_PREFIX}clockedschedule",
}
_TASKS = f"{_PREFIX}periodictask"
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_CRONTAB = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_CARRIED = ("queue", "exchange", "routing_key", "priority")

Record = Mapping[str, Any]
Read = Callable[[str], Sequence[Record]]
"""From the name of a table to its rows."""


def read_database(url: str) -> Report:
    """What stands in the database at this URL, which may be of any kind that a store of ours may be in."""
    dialect, _ = sql_dialect_of(url)
    if dialect is None:
        raise SettingsError(f"{mask_url(url)} is no SQL database; name the one that Django uses")
    engine = sqlalchemy.create_engine(sqlalchemy.make_url(url).set(drivername=_DRIVERS[dialect]))
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

    if not apps.ready or not apps.is_installed("django_celery_beat"):
        raise SettingsError(
            f"import {SOURCE}: name the URL of its database, or call it as manage.py onthedot where"
            " django_celery_beat is installed"
        )
    names = {model._meta.db_table: model for model in apps.get_app_config("django_celery_beat").get_models()}
    return _report(lambda table: [*names[table].objects.values()])


def _report(read: Read) -> Report:
    kinds = {kind: {row["id"]: row for row in read(table)} for kind, table in _KINDS.items()}
    tasks = sorted(read(_TASKS), key=lambda row: str(row["name"]))
    return report_of(SOURCE, ((str(row["name"]), row) for row in tasks), lambda row: _row(row, kinds))


def _row(row: Record, kinds: Mapping[str, Mapping[Any, Record]]) -> Row:
    schedule, zone = _schedule(row, kinds)
    return Row(
        name=row["name"],
        task=row["task"],
        schedule=schedule,
        zone=zone,
        args=_json(row, "args", []),
        kwargs=_json(row, "kwargs", {}),
        options=dict(_options(row)),
        enabled=bool(row["enabled"]),
        once=bool(row["one_off"]),
        starts_at=aware(row["start_time"]),
        repeat_until=aware(row["expires"]),
        last=aware(row["last_run_at"]),
    )


def _schedule(row: Record, kinds: Mapping[str, Mapping[Any, Record]]) -> tuple[Any, str]:
    if row.get("solar_id") is not None:
        raise SettingsError("solar events cannot be converted; leave this one to a beat of its own")
    kind = next((each for each in _KINDS if row[f"{each}_id"] is not None), None)
    if kind is None:
        raise SettingsError("it has no schedule")
    said = kinds[kind][row[f"{kind}_id"]]
    if kind == "crontab":
        return crontab(**{name: said[name] for name in _CRONTAB}), str(said["timezone"])
    if kind == "interval":
        return timedelta(**{said["period"]: said["every"]}), "UTC"
    return aware(said["clocked_time"]), "UTC"


def _options(row: Record) -> Iterator[tuple[str, Any]]:
    yield from ((name, row[name]) for name in _CARRIED if row[name] not in (None, ""))
    if row["expire_seconds"] is not None:
        yield "expires", row["expire_seconds"]
    headers = _json(row, "headers", {})
    if headers:
        yield "headers", headers


def _json(row: Record, name: str, default: Any) -> Any:
    try:
        found = json.loads(row[name]) if row[name] else default
    except ValueError:
        raise SettingsError(f"{name}: {row[name]!r} is no JSON") from None
    if type(found) is not type(default):
        raise SettingsError(f"{name}: {row[name]!r} is no JSON {'list' if default == [] else 'object'}")
    return found
