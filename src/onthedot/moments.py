"""Moments: aware datetimes outside, whole milliseconds since 1970-01-01T00:00Z inside.

onthedot's time line reaches from 1970-01-01T00:00Z (FIRST) up to, but not including, 2200-01-01T00:00Z (END).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from onthedot.errors import MomentError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS = 0
END_MS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp()) * 1000

_LEAST_MS, _MOST_MS = -62_135_596_800_000, 253_402_300_799_999
_MILLISECOND = timedelta(milliseconds=1)


def read_moment(moment: datetime | str) -> datetime:
    """The datetime itself, or the one that ISO text names; it may still be naive."""
    if isinstance(moment, datetime):
        return moment
    if not isinstance(moment, str):
        raise MomentError(f"a moment is an aware datetime or ISO text, not {moment!r}")
    try:
        return datetime.fromisoformat(moment.strip())
    except ValueError:
        raise MomentError(
            f"{moment!r} is no moment; write it like 2026-12-24T18:00Z or 2026-12-24 18:00+01:00"
        ) from None


def require_aware(moment: datetime) -> datetime:
    """The moment itself; a naive one is an error, since it names a different moment in every zone."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise MomentError(f"{moment.isoformat(sep=' ')} has no zone; add one, as in {moment.isoformat()}+00:00")
    return moment


def floor_ms(moment: datetime | str) -> int:
    """The last whole millisecond at or before the moment."""
    return within_years((require_aware(read_moment(moment)) - EPOCH) // _MILLISECOND, moment)


def ceil_ms(moment: datetime | str) -> int:
    """The first whole millisecond at or after the moment."""
    return within_years(-((EPOCH - require_aware(read_moment(moment))) // _MILLISECOND), moment)


def within_years(ms: int, moment: datetime | str) -> int:
    """An offset may carry a moment out of the years that there are."""
    if not _LEAST_MS <= ms <= _MOST_MS:
        raise MomentError(f"{moment} is not between the years 1 and 9999 of UTC")
    return ms


def from_ms(ms: int) -> datetime:
    """The aware UTC datetime of whole milliseconds since 1970."""
    seconds, rest = divmod(ms, 1000)  # faster than adding a timedelta to the epoch
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.replace(microsecond=rest * 1000) if rest else moment


def iso(ms: int) -> str:
    """ISO text in UTC, as short as it can be: 2026-12-24T18:00:00Z."""
    text = from_ms(ms).replace(tzinfo=None).isoformat(timespec="seconds" if ms % 1000 == 0 else "milliseconds")
    return f"{text}Z"
