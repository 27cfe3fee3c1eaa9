"""What a calendar holds: days, and what each of them is called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from onthedot.errors import TriggerError
from onthedot.triggers.dates import DateLike, Dates, dates, iso_day, refuse_lazy
from onthedot.triggers.pinned import Content, Pinned, read_as

MOST_DAYS = 20_000
"""So many ranges of days a calendar may have."""
MOST_NAME = 200
SOURCES = ("dates", "ics", "holidays")


@dataclass(frozen=True, slots=True)
class CalendarDays(Dates):
    """Dates with names. Where they come from, and how far they go, is told with them."""

    names: tuple[tuple[int, int, str], ...] = field(default=(), compare=False)
    """Ranges of days since 1970, by their beginning, each with its name."""
    source: str = field(default="dates", compare=False)
    until: int | None = field(default=None, compare=False)
    """The last day that it was worked out for; None where it is no matter of years."""

    @property
    def count(self) -> int:
        """How many days it holds."""
        return sum(last - first + 1 for first, last in self.ranges)

    def name_of(self, day: int) -> str:
        """What the day is called; nothing where it has no name. Of several the one that began last."""
        place = bisect_right(self.names, (day, 1 << 60, "")) - 1
        while place >= 0:
            first, last, name = self.names[place]
            if first <= day <= last:
                return name
            place -= 1
        return ""

    def entries(self) -> list[tuple[str, str]]:
        """Each range as `dates` reads it, and its name: in order, the nameless ones where no name covers them."""
        named = [(first, last, name) for first, last, name in self.names]
        covered = dates(*(_text(first, last) for first, last, _ in named)) if named else None
        bare = [(first, last, "") for first, last in _without(self.ranges, () if covered is None else covered.ranges)]
        return [(_text(first, last), name) for first, last, name in sorted([*named, *bare])]

    def content(self) -> dict[str, Any]:
        """As it is kept."""
        said: dict[str, Any] = {"days": [[text, name] if name else [text] for text, name in self.entries()]}
        said["source"] = self.source
        return said if self.until is None else {**said, "until": iso_day(self.until)}


Named = Iterable[tuple[DateLike, str]]


def calendar_days(given: Dates | Mapping[Any, Any] | Named | object, *, source: str = "dates") -> CalendarDays:
    """Dates, or a mapping of dates to names (as the `holidays` package has them), as the content of a calendar."""
    if isinstance(given, CalendarDays):
        return given
    refuse_lazy(given)
    if isinstance(given, Dates):
        return CalendarDays(given.ranges)
    if isinstance(given, Mapping):
        return days_named([(day, str(name or "")) for day, name in given.items()], source=source)
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TriggerError(
            f"{given!r} is no calendar", hint='write dates("2026-12-25"), ics("holidays.ics") or holidays_of("DE", …)'
        )
    return CalendarDays(dates(given).ranges)


def days_named(entries: Named, *, source: str = "dates", until: date | None = None) -> CalendarDays:
    """Days with their names."""
    listed = [(dates(day).ranges[0], " ".join(name.split())[:MOST_NAME]) for day, name in entries]
    if not listed:
        raise TriggerError("no dates were given", hint='write dates("2026-12-25", "2026-12-26")')
    if len(listed) > MOST_DAYS:
        raise TriggerError(f"a calendar has {MOST_DAYS:,} entries at most, not {len(listed):,}")
    names = tuple(sorted((first, last, name) for (first, last), name in listed if name))
    ranges = dates(*(_text(first, last) for (first, last), _ in listed)).ranges
    end = None if until is None else dates(until).ranges[0][0]
    return CalendarDays(ranges, names, source, end)


def days_from(content: Content) -> CalendarDays:
    """What `content` gave; `TriggerError` if that cannot be what was written."""
    try:
        entries = [(entry[0], entry[1] if len(entry) > 1 else "") for entry in content["days"]]
        until = content.get("until")
        source = str(content.get("source", "dates"))
        return days_named(entries, source=source, until=None if until is None else date.fromisoformat(until))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, TriggerError):
            raise
        raise TriggerError(f"the content of a calendar cannot be read: {type(error).__name__}: {error}") from None


def days_of(pinned: Pinned) -> CalendarDays:
    """What a revision of a calendar holds; `TriggerError` where no store has told it here."""
    return read_as(pinned, days_from)


def _text(first: int, last: int) -> str:
    return iso_day(first) if first == last else f"{iso_day(first)}..{iso_day(last)}"


def _without(ranges: Iterable[tuple[int, int]], taken: tuple[tuple[int, int], ...]) -> Iterable[tuple[int, int]]:
    """What of the ranges is in none of the taken ones; both are ascending and apart."""
    for first, last in ranges:
        start = first
        for begin, end in taken[max(bisect_right(taken, (start, -1)) - 1, 0) :]:
            if begin > last:
                break
            if end >= start:
                if begin > start:
                    yield start, begin - 1
                start = end + 1
        if start <= last:
            yield start, last
