"""`app.statistics` over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import of_onthedot
from onthedot.insight.statistics import Asked, Counts, ErrorGroup, Percentiles, Period, Statistics
from onthedot.moments import ceil_ms, from_ms, iso

Document = Mapping[str, Any]


def statistics(connection: Connection, asked: Asked, timezone: str) -> Statistics:
    """One request."""
    query = {"schedule": asked.schedule, "task": asked.task, "step": asked.step or None, "by": asked.by, "tz": timezone}
    return statistics_of(connection.get("statistics", since=iso(asked.first_ms), **query), ZoneInfo(timezone))


@of_onthedot
def statistics_of(document: Document, zone: ZoneInfo) -> Statistics:
    """What a document tells."""
    until = document["counted_until"]
    return Statistics(
        document["schedule"],
        document["task"],
        document["step"],
        from_ms(ceil_ms(document["since"])),
        from_ms(ceil_ms(document["until"])),
        None if until is None else from_ms(ceil_ms(until)),
        _counts(document),
        tuple(ErrorGroup(each["text"], each["count"]) for each in document["errors"]),
        document["by"],
        tuple(
            Period(_local(each["start"], zone), _local(each["end"], zone), _counts(each)) for each in document["series"]
        ),
    )


def _counts(document: Document) -> Counts:
    return Counts(dict(document["ended"]), _percentiles(document["lateness"]), _percentiles(document["duration"]))


def _percentiles(document: Document | None) -> Percentiles | None:
    return None if document is None else Percentiles(**document)


def _local(moment: str, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(moment).astimezone(zone)
