"""redbeat: its hashes in Redis, read and never written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab

from onthedot.app.moving.report import Report
from onthedot.celery.imports.rows import Row, report_of
from onthedot.errors import DriverMissing, SettingsError
from onthedot.storable import brief
from onthedot.stores.open import mask_url
from onthedot.triggers.zones import get_zone

SOURCE = "redbeat"
PREFIX = "redbeat:"

Entry = tuple[bytes, bytes | None]
"""Its definition, and what it remembers."""


def read_redis(url: str, *, prefix: str = PREFIX, zone: str = "UTC") -> Report:
    """What stands in this Redis below `redbeat_key_prefix`; crontabs go by the zone, which redbeat does not keep."""
    try:
        import redis
    except ModuleNotFoundError:
        raise DriverMissing("redis", "redis", "redis") from None
    get_zone(zone)
    try:
        with closing(redis.Redis.from_url(url)) as client:
            found = [*_entries(client, prefix)]
    except (redis.RedisError, ValueError, TypeError, OSError) as error:  # TypeError: an option that it does not know
        raise SettingsError(f"{mask_url(url)} cannot be read: {error}") from None
    return report_of(SOURCE, found, lambda entry: _row(*entry, zone))


def _entries(client: Any, prefix: str) -> Iterator[tuple[str, Entry]]:
    pattern = re.sub(r"([*?\[\]\\])", r"\\\1", prefix) + "*"
    for key in sorted(client.scan_iter(match=pattern, _type="hash", count=1000)):
        definition, meta = client.hmget(key, "definition", "meta")
        if definition is not None:
            yield key.decode(errors="replace").removeprefix(prefix), (definition, meta)


def _row(definition: bytes, meta: bytes | None, zone: str) -> Row:
    said, remembered = _object("definition", definition), _object("meta", meta or b"{}")
    return Row(
        name=said["name"],
        task=said["task"],
        schedule=_schedule(said["schedule"]),
        zone=zone,
        args=said.get("args") or [],
        kwargs=said.get("kwargs") or {},
        options=said.get("options") or {},
        enabled=bool(said.get("enabled", True)),
        last=remembered.get("last_run_at"),
    )


def _object(name: str, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, object_hook=_with_moments)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise SettingsError(f"its {name} is no JSON: {brief(text.decode(errors='replace'))}") from None
    if not isinstance(found, dict):
        raise SettingsError(f"its {name} is no JSON object: {brief(found)}")
    return found


def _with_moments(said: dict[str, Any]) -> Any:
    """Moments are written in a way of its own, among the arguments too."""
    return _moment(said) if said.get("__type__") == "datetime" and "year" in said else said


def _schedule(said: Any) -> Any:
    kind = said.get("__type__") if isinstance(said, dict) else None
    fields = {name: value for name, value in said.items() if name != "__type__"} if kind else {}
    match kind:
        case "interval":
            return timedelta(seconds=fields["every"])
        case "crontab":
            return crontab(**fields)
        case None:
            raise SettingsError(f"schedule: {brief(said)} is none of redbeat's")
        case _:
            raise SettingsError(f"schedule: a {kind} cannot be converted; write it as crontab or interval")


def _moment(said: dict[str, Any]) -> datetime:
    fields = {name: value for name, value in said.items() if name not in ("__type__", "timezone")}
    zone = said.get("timezone", "UTC")
    known = timezone(timedelta(seconds=zone)) if isinstance(zone, int | float) else ZoneInfo(zone)
    return datetime(**fields, tzinfo=known)
