"""redbeat: its hashes in Redis, read and never written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab

from onthedot.app.moving.report import Report
from onthedot.celery.imports.rows import Row, report_of
from onthedot.errors import DriverMissing, SettingsError
from onthedot.stores.open import mask_url

SOURCE = "redbeat"
PREFIX = "redbeat:"


def read_redis(url: str, *, prefix: str = PREFIX, zone: str = "UTC") -> Report:
    """What stands in this Redis below `redbeat_key_prefix`; crontabs go by the zone, which redbeat does not keep."""
    try:
        import redis
    except ModuleNotFoundError:
        raise DriverMissing("redis", "redis", "redis") from None
    try:
        with closing(redis.Redis.from_url(url, decode_responses=True)) as client:
            return report_of(SOURCE, _entries(client, prefix), lambda entry: _row(*entry, zone))
    except (redis.RedisError, ValueError, OSError) as error:
        raise SettingsError(f"{mask_url(url)} cannot be read: {error}") from None


def _entries(client: Any, prefix: str) -> Iterator[tuple[str, tuple[str, str | None]]]:
    for key in sorted(client.scan_iter(match=f"{prefix}*", _type="hash", count=1000)):
        definition, meta = client.hmget(key, "definition", "meta")
        if definition is not None:
            yield key.removeprefix(prefix), (definition, meta)


def _row(definition: str, meta: str | None, zone: str) -> Row:
    said = json.loads(definition)
    last = json.loads(meta or "{}").get("last_run_at")
    return Row(
        name=said["name"],
        task=said["task"],
        schedule=_schedule(said["schedule"]),
        zone=zone,
        args=said.get("args") or [],
        kwargs=said.get("kwargs") or {},
        options=said.get("options") or {},
        enabled=bool(said.get("enabled", True)),
        last=None if last is None else _moment(last),
    )


def _schedule(said: dict[str, Any]) -> Any:
    kind, fields = said.get("__type__"), {name: value for name, value in said.items() if name != "__type__"}
    match kind:
        case "interval":
            return timedelta(seconds=fields["every"])
        case "crontab":
            return crontab(**fields)
        case _:
            raise SettingsError(f"schedule: a {kind} cannot be converted; write it as crontab or interval")


def _moment(said: dict[str, Any]) -> datetime:
    fields = {name: value for name, value in said.items() if name not in ("__type__", "timezone")}
    zone = said.get("timezone", "UTC")
    known = timezone(timedelta(seconds=zone)) if isinstance(zone, int | float) else ZoneInfo(zone)
    return datetime(**fields, tzinfo=known).astimezone(UTC)
