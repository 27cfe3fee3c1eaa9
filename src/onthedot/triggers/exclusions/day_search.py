"""Finds whole seconds, day by day: the days at hand one after the other, all others at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import or_
from typing import TypeGuard

from onthedot.moments import END_MS, FIRST_MS
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.exclusions.clock_days import ALL_DAYS, DAY, DAYS, END, bits_of, lowest, part_of_day
from onthedot.triggers.exclusions.day_masks import Interval, ever, wall_times
from onthedot.triggers.exclusions.day_sets import DaySets, both, minus, within
from onthedot.triggers.exclusions.expression import Either, Expression, Just, Minus, OnDates, leaves_of, value_of
from onthedot.triggers.exclusions.finder import Finder
from onthedot.triggers.exclusions.live_days import FixedDays, LiveDays, SparseDays

NEAR_DAYS = 8
"""So many days are looked at one by one, which is enough for most questions and needs no tables."""
MOST_KINDS = 64
"""Intervals that give more kinds of days than this are not put into tables."""
_FEW_DAYS = 32
"""So many days that may have a tick are not worth a table."""
_FEW_MASKS, _MANY_MASKS = 300, 4000
"""To count ticks, so many masks are made one by one: where there are tables, and where there are none."""

Daily = Interval | Cron | OnDates


class DaySearch(Finder):
    """What is left of a base, in whole seconds. A question costs some microseconds for each leaf and day at hand.

    The first one that goes further makes tables of all days, in about a millisecond; after that the next day with a
    tick, however far, is the lowest bit of an integer.
    """

    def __init__(
        self, base: Daily, without: Expression[Daily], roughly: Expression[Daily], hint: Finder | None
    ) -> None:
        """`roughly` is `without` with less in it, so that it fits into tables; the hint finds too much as well."""
        self._base = base
        self._expression: Expression[Daily] = Minus(Just(base), without)
        self._roughly = roughly
        self._exact = roughly == without and not _is_sparse(base)
        self._hint = hint
        self._days: LiveDays | None = None

    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        first, end = _seconds(after_ms + 1, end_ms)
        for day, mask in self._masks(first // DAY, -(-end // DAY)):
            if found := mask & part_of_day(first, end, day):
                return (day * DAY + lowest(found)) * 1000
        return None

    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        first, end = _seconds(start_ms + 1, before_ms)
        for day, mask in self._masks_back(-(-end // DAY) - 1, first // DAY):
            if found := mask & part_of_day(first, end, day):
                return (day * DAY + found.bit_length() - 1) * 1000
        return None

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        first, end = _seconds(start_ms, end_ms)
        for day, mask in self._masks(first // DAY, -(-end // DAY)):
            seconds = bits_of(mask & part_of_day(first, end, day))
            yield from [(day * DAY + second) * 1000 for second in seconds]

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        count = count_ms(self._expression, start_ms, end_ms, _FEW_MASKS if self._exact else _MANY_MASKS)
        if count is not None or not self._exact:
            return count
        sets = within(self._sets(), *_seconds(start_ms, end_ms))
        return sum(mask.bit_count() * days.bit_count() for mask, days in sets.items())

    @property
    def days(self) -> LiveDays:
        """The days on which something is left, and perhaps some more."""
        if self._days is None:
            self._days = self._live_days()
        return self._days

    def _live_days(self) -> LiveDays:
        may_be_left = left_of({ever(self._base): ALL_DAYS}, self._roughly)
        days = _all_days(may_be_left)
        if days.bit_count() <= _FEW_DAYS:  # often none, or the last one, which a zone ends hours early
            return FixedDays(days)
        return SparseDays(self._base, may_be_left) if _is_sparse(self._base) else FixedDays(_all_days(self._sets()))

    def _sets(self) -> DaySets:
        return left_of(day_sets(self._base), self._roughly)

    def _masks(self, day: int, end: int) -> Iterator[tuple[int, int]]:
        """The days in [day, end) on which something is left, with their masks."""
        empty = 0
        while day < end:
            mask = mask_of(self._expression, day)
            if mask:
                yield day, mask
            empty = 0 if mask else empty + 1
            day = day + 1 if empty < NEAR_DAYS else self._day_from(day + 1)

    def _masks_back(self, day: int, first: int) -> Iterator[tuple[int, int]]:
        """The days from this one back to the first on which something is left, with their masks."""
        empty = 0
        while day >= first:
            mask = mask_of(self._expression, day)
            if mask:
                yield day, mask
            empty = 0 if mask else empty + 1
            day = day - 1 if empty < NEAR_DAYS else self._day_back_from(day - 1)

    def _day_from(self, day: int) -> int:
        """The next day, at or after this one, on which something may be left; or the end."""
        hint = day * DAY * 1000 if self._hint is None else self._hint.next_ms(day * DAY * 1000 - 1)
        return DAYS if hint is None or day >= DAYS else self.days.first_from(hint // 1000 // DAY)

    def _day_back_from(self, day: int) -> int:
        """The last day, at or before this one, on which something may be left; or -1."""
        hint = day * DAY * 1000 if self._hint is None else self._hint.prev_ms((day + 1) * DAY * 1000)
        return -1 if hint is None or day < 0 else self.days.last_to(hint // 1000 // DAY)


def mask_of(expression: Expression[Daily], day: int) -> int:
    """The seconds of that day that the expression leaves."""

    def on_day(leaf: Daily) -> int:
        return leaf.mask(day) if isinstance(leaf, Interval) else wall_times(leaf).mask(day)

    return value_of(expression, on_day)


def count_ms(expression: Expression[Daily], start_ms: int, end_ms: int, most: int = _MANY_MASKS) -> int | None:
    """How many seconds it leaves in [start, end); None where more masks than these would have to be made."""
    first, end = _seconds(start_ms, end_ms)
    days = range(first // DAY, -(-end // DAY))
    if len(days) * sum(1 for _ in leaves_of(expression)) > most:
        return None
    return sum((mask_of(expression, day) & part_of_day(first, end, day)).bit_count() for day in days)


def _seconds(start_ms: int, end_ms: int) -> tuple[int, int]:
    """The whole seconds [first, end) of the time line that lie in [start, end)."""
    end = min(max(-(-end_ms // 1000), 0), END)
    return min(max(-(-start_ms // 1000), 0), end), end


# tables of all days


def _all_days(sets: DaySets) -> int:
    return reduce(or_, sets.values(), 0)


@lru_cache(maxsize=64)
def day_sets(leaf: Daily) -> DaySets:
    """All days of a leaf."""
    return leaf.day_sets() if isinstance(leaf, Interval) else wall_times(leaf).day_sets()


def left_of(sets: DaySets, without: Expression[Daily]) -> DaySets:
    """What the expression leaves of the sets. They only shrink, so that they stay few where the base is sparse."""
    match without:
        case Just(leaf=leaf):
            return minus(sets, day_sets(leaf)) if sets else sets
        case Either(parts=parts):
            for part in parts:
                sets = left_of(sets, part)
            return sets
        case Minus():
            return minus(sets, _in(sets, without))


def _in(sets: DaySets, expression: Expression[Daily]) -> DaySets:
    """Those of the sets that are in the expression."""
    match expression:
        case Just(leaf=leaf):
            return both(sets, day_sets(leaf)) if sets else sets
        case Either():
            return minus(sets, left_of(sets, expression))
        case Minus(base=base, without=without):
            return left_of(_in(sets, base), without)


def _is_sparse(base: Daily) -> TypeGuard[Interval]:
    return isinstance(base, Interval) and base.kinds > MOST_KINDS
