"""From when, and until when, a trigger ticks."""

from __future__ import annotations

import re
from datetime import datetime

from onthedot.errors import MomentError, TriggerError
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, floor_ms, iso, read_moment, require_aware, within_years
from onthedot.triggers.zones import get_zone, label_of

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def to_instant_ms(moment: datetime | str, tz: str | None, *, round_up: bool) -> int:
    """Milliseconds of a moment; a naive one is a time on the wall clock of the zone beside it, if there is one."""
    when = read_moment(moment)
    if when.tzinfo is not None or tz is None:
        aware = require_aware(when)
        try:
            return ceil_ms(aware) if round_up else floor_ms(aware)
        except MomentError:  # its offset carries it out of the years that there are
            raise TriggerError("this moment can never fire", hint="ticks lie between 1970 and 2199") from None
    label, zone = label_of(when), get_zone(tz)
    second = zone.resolve(label, "shift", "last" if when.fold else "first")[0]
    if zone.label(second) != label:
        return second * 1000  # the end of a gap, which no fraction of a second makes later
    rest = -(-when.microsecond // 1000) if round_up else when.microsecond // 1000
    return within_years(second * 1000 + rest, moment)


def read_bounds(
    starts_at: datetime | str | None, repeat_until: datetime | str | None, tz: str | None
) -> tuple[int | None, int | None]:
    """Both ends in milliseconds, both inclusive; a date as an end means all of that day."""
    start = None if starts_at is None else to_instant_ms(starts_at, tz, round_up=True)
    until = None if repeat_until is None else to_instant_ms(_end_of_day(repeat_until), tz, round_up=False)
    if start is not None and until is not None and until < start:
        raise TriggerError(
            f"repeat_until {repeat_until} is before starts_at {starts_at}", hint="this can never fire; exchange them"
        )
    if (start is not None and not start < END_MS) or (until is not None and until < FIRST_MS):
        raise TriggerError("this can never fire: ticks lie between 1970 and 2199")
    return None if start is None else max(start, FIRST_MS), None if until is None else min(until, END_MS - 1)


def _end_of_day(moment: datetime | str) -> datetime | str:
    is_date = isinstance(moment, str) and _DATE.fullmatch(moment.strip())
    return f"{moment.strip()} 23:59:59.999" if isinstance(moment, str) and is_date else moment


def describe_bounds(starts_at: int | None, repeat_until: int | None) -> str:
    """ "" or ", from 2026-01-01T00:00:00Z, until …"."""
    start = "" if starts_at is None else f", from {iso(starts_at)}"
    until = "" if repeat_until is None else f", until {iso(repeat_until)}"
    return start + until
