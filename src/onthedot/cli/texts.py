"""Moments and spans of time as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from onthedot.moments import from_ms
from onthedot.texts import counted, visible

__all__ = ["counted", "local_moment", "local_text", "needs_seconds", "span_text", "utc_text", "visible"]

_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


def span_text(ms: int) -> str:
    """The two largest units: "3h 12m", "45s", "1,204d 3h"; "0s" for less than a second."""
    seconds = ms // 1000
    for (large, size), (small, part) in pairwise(_UNITS):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size:,}{large}" + (f" {rest}{small}" if rest else "")
    return f"{seconds}s"


def local_moment(ms: int, zone: str) -> datetime:
    """The moment on the wall clock of the zone."""
    return from_ms(ms).astimezone(ZoneInfo(zone))


def local_text(ms: int, zone: str, *, seconds: bool = False) -> str:
    """ "Mon 2026-11-16 02:30 +01:00"."""
    when = local_moment(ms, zone)
    return f"{when:%a %Y-%m-%d} {_clock(when, seconds)} {when.isoformat()[-6:]}"


def utc_text(ms: int, *, weekday: bool = False, seconds: bool = False) -> str:
    """ "2026-11-16 01:30Z"."""
    when = from_ms(ms)
    return f"{when:%a %Y-%m-%d}"[0 if weekday else 4 :] + f" {_clock(when, seconds)}Z"


def needs_seconds(moments: Iterable[int]) -> bool:
    """Whether one of them does not lie on a whole minute."""
    return any(ms % 60_000 for ms in moments)


def _clock(when: datetime, seconds: bool) -> str:
    if not seconds:
        return f"{when:%H:%M}"
    return f"{when:%H:%M:%S}" + (f".{when.microsecond // 1000:03}" if when.microsecond else "")
