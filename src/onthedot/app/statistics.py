"""What people may ask statistics for, checked, and as `insight.statistics` takes it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, MomentError, SettingsError
from onthedot.insight.statistics import Asked, By
from onthedot.model.hour import EVERYTHING
from onthedot.moments import ceil_ms
from onthedot.triggers.zones import get_zone

Since = datetime | timedelta | str
MONTH = "30d"
_MOST_MS = 31 * 86_400_000
_BY_HOUR_MS = 2 * 86_400_000
"""What is asked of no more than this is told hour by hour, if nothing else is said."""


def asked(
    now_ms: int,
    timezone: str,
    *,
    schedule: str | None,
    task: str | None,
    step: str,
    since: Since,
    by: By | None,
) -> Asked:
    """`SettingsError`, `MomentError`, `DurationError` or `TriggerError` say what is wrong."""
    if schedule is not None and task is not None:
        raise SettingsError("statistics: give schedule= or task=, not both; runs of a schedule are counted by its name")
    if step and schedule is None and task is None:
        raise SettingsError("statistics: step= is one of a flow's; give schedule= or task= too")
    if by not in (None, *get_args(By)):
        raise SettingsError(f"statistics: by= is {' or '.join(map(repr, get_args(By)))}, not {by!r}")
    first_ms = first_ms_of(since, now_ms)
    get_zone(timezone)
    return Asked(
        schedule if schedule is not None else EVERYTHING if task is None else f"/{task}",
        step,
        first_ms,
        now_ms,
        by or ("hour" if now_ms - first_ms <= _BY_HOUR_MS else "day"),
        ZoneInfo(timezone),
    )


def first_ms_of(since: Since, now_ms: int) -> int:
    """A duration until now, or a moment."""
    first_ms = ceil_ms(since) if isinstance(since, datetime) else _from_text_or_span(since, now_ms)
    if not now_ms - _MOST_MS <= first_ms < now_ms:
        raise MomentError(f"statistics: since= must lie in the last 31 days, {since!r} does not; write it like '30d'")
    return first_ms


def _from_text_or_span(since: timedelta | str, now_ms: int) -> int:
    try:
        return now_ms - to_duration_ms(since)
    except DurationError:
        if not isinstance(since, str) or "-" not in since:
            raise
    return ceil_ms(since)
