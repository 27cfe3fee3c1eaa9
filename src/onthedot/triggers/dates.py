"""Dates to leave out: listed ones, ranges of them, and calendars that are named here and filled in elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from onthedot.errors import TriggerError
from onthedot.triggers.pinned import Pin, Pinned, Use

_EPOCH = date(1970, 1, 1).toordinal()

DateLike = date | str | tuple[date | str, date | str]


def dates(*items: DateLike | Dates | Iterable[DateLike]) -> Dates:
    """A set of dates: `date` values, ISO text, ranges, or iterables of these.

    A range is "2026-12-24..2027-01-01" or a pair; both ends are included.
    """
    ranges = sorted(span for item in items for span in _spans(item))
    if not ranges:
        raise TriggerError("no dates were given", hint='write dates("2026-12-25", "2026-12-26")')
    return Dates(tuple(_merged(ranges)))


def calendar(name: str) -> Calendar:
    """A calendar by name, as `app.calendars` keeps it. Without a store: `trigger.with_calendars({name: dates(…)})`."""
    if not isinstance(name, str) or not name.strip():
        raise TriggerError(f"a calendar is named by text, not {name!r}", hint='write calendar("de")')
    if "/" in name:
        raise TriggerError(f"the name of a calendar has no slash: {name!r}")
    return Calendar(name)


@dataclass(frozen=True, slots=True)
class Dates:
    """Made by `dates()`: ranges of days since 1970, both ends included, ascending, with a day free between any two."""

    ranges: tuple[tuple[int, int], ...]

    def span_of(self, day: int) -> tuple[int, int] | None:
        """The range that holds the day, or None. O(log ranges)."""
        place = bisect_right(self.ranges, (day, 1 << 60)) - 1
        if place >= 0 and day <= self.ranges[place][1]:
            return self.ranges[place]
        return None

    @property
    def dates(self) -> Dates:
        """Itself, as a calendar has its dates."""
        return self

    def with_pins(self, pins: Mapping[Use, Pin]) -> Dates:
        """Itself: dates name nothing."""
        return self

    def describe(self) -> str:
        """ "2026-12-25 and 2 more dates" and the like."""
        texts = self.texts()
        if len(texts) > 3:
            return f"{', '.join(texts[:2])} and {len(texts) - 2} more"
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

    def texts(self) -> list[str]:
        """Each range as `dates()` reads it."""
        return [
            iso_day(first) if first == last else f"{iso_day(first)}..{iso_day(last)}" for first, last in self.ranges
        ]

    def __str__(self) -> str:
        return f"dates({', '.join(repr(text) for text in self.texts())})"


@dataclass(frozen=True, slots=True)
class Calendar:
    """Made by `calendar()`. Equal by name: the content changes with the years and is no part of the definition."""

    name: str
    content: Dates | None = field(default=None, compare=False)
    pin: Pin | None = field(default=None, compare=False)
    """The revision that a schedule goes by."""

    @property
    def use(self) -> Use:
        """What it names."""
        return Use("calendar", self.name)

    @property
    def dates(self) -> Dates:
        """What it holds; an error while the content is not handed in."""
        if self.content is not None:
            return self.content
        if self.pin is None:
            raise TriggerError(
                f"calendar {self.name!r} has no content",
                hint=f'hand it in: trigger.with_calendars({{"{self.name}": dates(…)}})',
            )
        from onthedot.triggers.calendar_days import days_of

        return days_of(Pinned(self.use, self.pin))

    def span_of(self, day: int) -> tuple[int, int] | None:
        """The range that holds the day, or None; an error while the content is not handed in."""
        return self.dates.span_of(day)

    def filled(self, calendars: Mapping[str, Dates]) -> Calendar:
        """Itself with its content, if that is among them."""
        return Calendar(self.name, calendars[self.name]) if self.name in calendars else self

    def with_pins(self, pins: Mapping[Use, Pin]) -> Calendar:
        """Itself at that revision, if one is told."""
        return Calendar(self.name, pin=pins[self.use]) if self.use in pins else self

    def describe(self) -> str:
        """ "the dates of calendar de"."""
        return f"the dates of calendar {self.name}"

    def __str__(self) -> str:
        return f"calendar({self.name!r})"


Excluded = Dates | Calendar


def refuse_lazy(item: object) -> None:
    """A set that grows while it is asked (the `holidays` package by default) is no value, and is refused."""
    if getattr(item, "expand", False) and hasattr(item, "years"):
        kind = type(item).__name__
        raise TriggerError(
            f"{kind} grows while it is asked, so it is no fixed set of dates",
            hint=f"name the years: dates(*holidays.{kind}(years=range(2026, 2036), expand=False))",
        )


def _spans(item: object) -> list[tuple[int, int]]:
    refuse_lazy(item)
    if isinstance(item, Dates):
        return list(item.ranges)
    if isinstance(item, str) and ".." in item:
        first, _, last = item.partition("..")
        return [_range(first, last)]
    if isinstance(item, date | str):
        day = _day(item)
        return [(day, day)]
    if isinstance(item, tuple) and len(item) == 2:
        return [_range(*item)]
    if isinstance(item, Iterable):
        return [span for inner in item for span in _spans(inner)]
    raise TriggerError(f"{item!r} is no date", hint='write "2026-12-25"')


def _range(first: object, last: object) -> tuple[int, int]:
    start, end = _day(first), _day(last)
    if end < start:
        raise TriggerError(f"the dates {first}..{last} run backwards", hint="exchange them")
    return start, end


def _day(item: object) -> int:
    if isinstance(item, datetime):
        raise TriggerError(f"{item} is a moment, not a date", hint="use its .date()")
    if isinstance(item, date):
        return item.toordinal() - _EPOCH
    try:
        return date.fromisoformat(str(item).strip()).toordinal() - _EPOCH
    except ValueError:
        raise TriggerError(f"{item!r} is no date", hint='write "2026-12-25"') from None


def _merged(ranges: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    first, last = ranges[0]
    for start, end in ranges[1:]:
        if start > last + 1:
            yield first, last
            first, last = start, end
        last = max(last, end)
    yield first, last


def iso_day(day: int) -> str:
    """A day since 1970 as ISO text."""
    return date.fromordinal(day + _EPOCH).isoformat()
