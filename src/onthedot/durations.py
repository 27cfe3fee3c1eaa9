"""Durations, as users write them: `timedelta`, or text such as "90s", "15m", "2h30m", "1d"."""

from __future__ import annotations

import re
from datetime import timedelta

from onthedot.errors import DurationError

LONGEST_MS = 230 * 365 * 86_400_000
"""As long as the time line of onthedot, nearly: what is longer is a slip, and no database could count it."""
MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

_PART = re.compile(r"(\d+)(?:\.(\d+))?\s*([a-z]+)?\s*")
_WORDS = {
    "second": "s", "seconds": "s", "sec": "s", "secs": "s",
    "minute": "m", "minutes": "m", "min": "m", "mins": "m",
    "hour": "h", "hours": "h", "hr": "h", "hrs": "h",
    "day": "d", "days": "d", "week": "w", "weeks": "w",
}  # fmt: skip
_MOST_DIGITS = 40
_CALENDAR = {"mo", "mon", "month", "months", "y", "yr", "year", "years"}
_SPOKEN = (("d", "h", 10), ("h", "m", 1 << 30), ("m", "s", 10))
"""The units of a spoken duration, and from how many of the larger on the smaller is left out."""
_SHORT = {"m": "min"}
_EXAMPLES = 'write it like "90s", "15m", "2h30m" or "1d"'


def to_duration_ms(duration: timedelta | str) -> int:
    """Whole milliseconds, zero or more. "1d" is always 24 hours."""
    if isinstance(duration, timedelta):
        ms = _from_timedelta(duration)
    elif isinstance(duration, str):
        ms = _from_text(duration)
    else:
        raise DurationError(f"a duration is a timedelta or text, not {duration!r}; {_EXAMPLES}")
    if ms > LONGEST_MS:
        raise DurationError(f"a duration of more than 230 years is refused; {_EXAMPLES}")
    return ms


def format_duration(ms: int) -> str:
    """The shortest text that `to_duration_ms` reads back: 5400000 gives "1h30m"."""
    if ms == 0:
        return "0s"
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, ms = divmod(ms, MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def spoken_duration(ms: int) -> str:
    """As people say it, in two units at most: 3 ms, 7.4 s, 41 s, 8 min 42 s, 46 min, 11 h 30 min, 5 d 14 h."""
    if ms < MS["s"]:
        return f"{ms} ms"
    if ms < 10 * MS["s"]:
        return f"{ms // 100 / 10:.1f} s"
    if ms < MS["m"]:
        return f"{ms // 1000} s"
    large, small, most = next(each for each in _SPOKEN if ms >= MS[each[0]])
    whole, rest = ms // MS[large], ms % MS[large] // MS[small]
    first = f"{whole:,} {_SHORT.get(large, large)}"
    return first if rest == 0 or whole >= most else f"{first} {rest} {_SHORT.get(small, small)}"


def _from_timedelta(duration: timedelta) -> int:
    if duration < timedelta(0):
        raise DurationError(f"a duration cannot be negative: {duration}")
    ms, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise DurationError(f"a duration counts whole milliseconds: {duration} does not")
    return ms


def _from_text(text: str) -> int:
    rest = text.strip().lower()
    if rest.startswith("-"):
        raise DurationError(f"a duration cannot be negative: {text!r}")
    if not rest:
        raise DurationError(f"a duration is missing; {_EXAMPLES}")
    position, total = 0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise DurationError(f"{text!r} is no duration; {_EXAMPLES}")
        total += _part_ms(part[1], part[2] or "", _unit_ms(part[3], text), text)
        position = part.end()
    return total


def _part_ms(whole: str, decimals: str, unit_ms: int, text: str) -> int:
    if len(whole) + len(decimals) > _MOST_DIGITS:
        raise DurationError(f"a duration of more than 230 years is refused: {text[:40]!r}…; {_EXAMPLES}")
    scale: int = 10 ** len(decimals)
    ms, rest = divmod(int(whole + decimals) * unit_ms, scale)
    if rest:
        raise DurationError(f"a duration counts whole milliseconds: {text!r} does not")
    return ms


def _unit_ms(unit: str | None, text: str) -> int:
    if unit is None:
        raise DurationError(f"{text!r} lacks a unit; {_EXAMPLES}")
    if unit in _CALENDAR:
        raise DurationError(f"{text!r}: months and years differ in length; use cron, such as cron('0 0 1 * *')")
    short = _WORDS.get(unit, unit)
    if short not in MS:
        raise DurationError(f"{text!r}: no unit {unit!r}; the units are w, d, h, m, s and ms")
    return MS[short]
