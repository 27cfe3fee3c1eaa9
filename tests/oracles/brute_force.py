"""Cron by brute force: walk through real time with `zoneinfo`, and read the text naively at every step.

It shares no code with onthedot, so that one mistake cannot hide in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Gap = Literal["shift", "skip"]
Fold = Literal["first", "last", "both"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY = timedelta(days=1)


def scan(
    text: str, tz: str, start: int, end: int, *, gap: Gap | None = None, fold: Fold | None = None, step: int = 1
) -> list[int]:
    """The epoch seconds in [start, end) at which the text ticks, looking only at multiples of `step` from `start`.

    A step of 60 is right where seconds are 0 and all jumps of the zone lie on whole minutes of whole minutes.
    """
    plan = NaiveCron(text)
    zone = ZoneInfo(tz)
    gap = gap or ("shift" if plan.fixed else "skip")
    fold = fold or ("first" if plan.fixed else "both")
    ticks = []
    before = datetime.fromtimestamp(start - step, zone)
    for instant in range(start, end, step):
        here = datetime.fromtimestamp(instant, zone)
        skipped = _skipped(before, here, step) if gap == "shift" else []
        if (plan.matches(here) and _counts(here, fold)) or any(plan.matches(label) for label in skipped):
            ticks.append(instant)
        before = here
    return ticks


def _counts(here: datetime, fold: Fold) -> bool:
    """Whether this occurrence of the label is one that the rule takes."""
    earlier, later = here.replace(fold=0).astimezone(UTC), here.replace(fold=1).astimezone(UTC)
    if not earlier < later or fold == "both":
        return True
    return here.astimezone(UTC) == (earlier if fold == "first" else later)


def _skipped(before: datetime, here: datetime, step: int) -> list[datetime]:
    """The labels that the wall clock jumped over between two looks at it."""
    label = before.replace(tzinfo=None, fold=0) + timedelta(seconds=step)
    labels = []
    while label < here.replace(tzinfo=None, fold=0):
        labels.append(label)
        label += timedelta(seconds=step)
    return labels


@dataclass(frozen=True, slots=True)
class _Day:
    """A date, with what the special letters ask about it."""

    when: date

    @property
    def weekday(self) -> int:
        return self.when.isoweekday() % 7

    @property
    def nth(self) -> int:
        """The how-maniest of its weekday in the month."""
        return sum(1 for day in self.days_of_month() if day.isoweekday() == self.when.isoweekday() and day <= self.when)

    @property
    def is_last_of_its_weekday(self) -> bool:
        return (self.when + 7 * _DAY).month != self.when.month

    def days_of_month(self) -> list[date]:
        first = self.when.replace(day=1)
        days = [first + n * _DAY for n in range(31)]
        return [day for day in days if day.month == first.month]

    def workday_nearest_to(self, number: int) -> date | None:
        """The Monday-to-Friday day of this month that is nearest to its n-th day; None if the month is too short."""
        days = self.days_of_month()
        if number > len(days):
            return None
        workdays = [day for day in days if day.isoweekday() <= 5]
        return min(workdays, key=lambda day: abs((day - days[number - 1]).days))


class NaiveCron:
    """A cron text of 5, 6 or 7 fields without `H`, read anew for every moment that it is asked about."""

    def __init__(self, text: str) -> None:
        words = text.lower().split()
        words = ["0", *words] if len(words) == 5 else words
        words = [*words, "*"] if len(words) == 6 else words
        self.second, self.minute, self.hour, self.day, self.month, self.weekday, self.year = words
        self.fixed = not any(word.startswith("*") for word in (self.second, self.minute, self.hour))
        self._seconds = _numbers(self.second, 0, 59)
        self._minutes = _numbers(self.minute, 0, 59)
        self._hours = _numbers(self.hour, 0, 23)
        self._dates: dict[date, bool] = {}

    def matches(self, label: datetime) -> bool:
        """Whether the wall clock's label is one that the text names."""
        if label.second not in self._seconds or label.minute not in self._minutes or label.hour not in self._hours:
            return False
        when = label.date()
        if when not in self._dates:
            self._dates[when] = self.matches_date(when)
        return self._dates[when]

    def matches_date(self, when: date) -> bool:
        """Whether the text names that day."""
        day = _Day(when)
        if when.month not in _numbers(self.month, 1, 12, _MONTHS) or when.year not in _numbers(self.year, 1970, 2199):
            return False
        by_day = any(_is_day(item, day) for item in self.day.split(","))
        by_weekday = any(_is_weekday(item, day) for item in self.weekday.split(","))
        combine: Callable[[list[bool]], bool] = all if self.day[0] in "*?" or self.weekday[0] in "*?" else any
        return combine([by_day, by_weekday])


def _is_day(item: str, day: _Day) -> bool:
    days = day.days_of_month()
    if item == "lw":
        return day.when == [each for each in days if each.isoweekday() <= 5][-1]
    if item.startswith("l"):
        before = int(item[2:] or 0)
        return len(days) - day.when.day == before
    if item.endswith("w"):
        return day.when == day.workday_nearest_to(int(item[:-1]))
    return day.when.day in _numbers(item.replace("?", "*"), 1, 31)


def _is_weekday(item: str, day: _Day) -> bool:
    if item.endswith("l"):
        return day.is_last_of_its_weekday and day.weekday == _number(item[:-1], _WEEKDAYS, 0) % 7
    if "#" in item:
        weekday, _, nth = item.partition("#")
        return day.weekday == _number(weekday, _WEEKDAYS, 0) % 7 and day.nth == int(nth)
    return day.weekday in {number % 7 for number in _numbers(item.replace("?", "*"), 0, 6, _WEEKDAYS)}


def _numbers(field: str, low: int, high: int, names: tuple[str, ...] = ()) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            first, last = str(low), str(high)
        elif not dash:
            last = str(high) if step else first
        found.update(_walk(_number(first, names, low), _number(last, names, low), low, high)[:: int(step or 1)])
    return found


def _walk(first: int, last: int, low: int, high: int) -> list[int]:
    """The numbers from first to last; past the highest it goes on with the lowest. Sunday may be 7, last or first."""
    walked = [low if first > max(high, last) else first]
    while walked[-1] != last:
        walked.append(low if walked[-1] == high and last < first else walked[-1] + 1)
    return walked


def _number(word: str, names: tuple[str, ...], low: int) -> int:
    return names.index(word[:3]) + low if word[:3] in names else int(word)
