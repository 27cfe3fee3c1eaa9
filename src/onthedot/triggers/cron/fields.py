"""What a cron text means, as bit masks, and what each field may hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

FIRST_YEAR, LAST_YEAR = 1970, 2199

WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)


def _names(words: tuple[str, ...], first: int) -> dict[str, int]:
    return {form: number for number, word in enumerate(words, first) for form in (word, word[:3])}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of the dialect: its name for people, its numbers, its names."""

    name: str
    low: int
    high: int
    names: dict[str, int]
    specials: str = ""
    """Which of the letters L, W, # and ? may stand here."""
    hash_high: int | None = None
    """The highest number that `H` picks; none where there is no `H`."""


SECOND = FieldSpec("second", 0, 59, {}, hash_high=59)
MINUTE = FieldSpec("minute", 0, 59, {}, hash_high=59)
HOUR = FieldSpec("hour", 0, 23, {}, hash_high=23)
DAY_OF_MONTH = FieldSpec("day of month", 1, 31, {}, specials="LW?", hash_high=28)  # 28, so that every month has it
MONTH = FieldSpec("month", 1, 12, _names(MONTHS, 1), hash_high=12)
DAY_OF_WEEK = FieldSpec("day of week", 0, 7, _names(WEEKDAYS, 0), specials="L#?", hash_high=6)
YEAR = FieldSpec("year", FIRST_YEAR, LAST_YEAR, {})

FIVE = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
SIX = (SECOND, *FIVE)
SEVEN = (*SIX, YEAR)

ALL_SECONDS = ALL_MINUTES = (1 << 60) - 1
ALL_HOURS = (1 << 24) - 1
ALL_DAYS_OF_MONTH = ((1 << 32) - 1) & ~1
ALL_MONTHS = ((1 << 13) - 1) & ~1
ALL_DAYS_OF_WEEK = (1 << 7) - 1
ALL_YEARS = (1 << (LAST_YEAR - FIRST_YEAR + 1)) - 1


@dataclass(frozen=True, slots=True)
class DayRule:
    """Which days match. Bit n of a mask stands for the number n; years count from 1970; Sunday is 0."""

    days: int = ALL_DAYS_OF_MONTH
    months: int = ALL_MONTHS
    weekdays: int = ALL_DAYS_OF_WEEK
    years: int = ALL_YEARS
    from_last: int = 0
    """`L-3` sets bit 3, `L` bit 0: that many days before the last day of the month."""
    nearest: int = 0
    """`15W` sets bit 15: the weekday (Monday to Friday) nearest to that day, in the same month."""
    last_workday: bool = False
    """`LW`: the last Monday-to-Friday day of the month."""
    last_weekdays: int = 0
    """`5L` sets bit 5: the last Friday of the month."""
    nth_weekdays: int = 0
    """`5#2` sets bit 5 * 5 + 1: the second Friday of the month."""
    both: bool = True
    """Day of month and day of week must both match (either begins with `*` or `?`); else one of them is enough."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A parsed cron text."""

    seconds: int
    minutes: int
    hours: int
    day_rule: DayRule
    fixed: bool
    """Neither second, minute nor hour begins with `*`: the schedule is at fixed times of the wall clock."""
    hashed: bool
    """The text has an `H`, so its meaning depends on a key."""


@lru_cache(maxsize=8192)
def bits(mask: int) -> tuple[int, ...]:
    """The numbers that are set, ascending."""
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)
