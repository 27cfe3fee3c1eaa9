"""Which days match a day rule: by month, and in blocks of 512 days as one big integer each."""

from __future__ import annotations

from datetime import date
from functools import cache, lru_cache

from onthedot.triggers.cron.fields import FIRST_YEAR, LAST_YEAR, DayRule, bits

BLOCK_BITS = 9
BLOCK_DAYS = 1 << BLOCK_BITS
LAST_BLOCK = (date(LAST_YEAR, 12, 31) - date(1970, 1, 1)).days >> BLOCK_BITS

_EPOCH = date(1970, 1, 1).toordinal()
_FULL_BLOCK = (1 << BLOCK_DAYS) - 1
_WEEKS = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28


class DayTable:
    """The matching days of one rule. Blocks are made when first asked for, and kept: 64 bytes for 512 days."""

    __slots__ = ("_all_days", "_rule", "blocks")

    def __init__(self, rule: DayRule) -> None:
        self._rule = rule
        self._all_days: int | None = None
        self.blocks: dict[int, int] = {}

    @property
    def all_days(self) -> int:
        """All matching days as one integer: bit n is day n. Made once, in less than a millisecond."""
        if self._all_days is None:
            self._all_days = _days_of_all_years(self._rule)
        return self._all_days

    def block(self, number: int) -> int:
        """Bit i is set if day number * 512 + i (days since 1970) matches; 0 outside 1970 to 2199."""
        found = self.blocks.get(number)
        if found is None:
            found = self.blocks[number] = self._make_block(number)
        return found

    def ceil(self, day: int) -> int | None:
        """The first matching day at or after this one, or None. O(blocks between)."""
        number = max(day, 0) >> BLOCK_BITS
        days = self.block(number) >> (day & BLOCK_DAYS - 1) if day >= 0 else self.block(number)
        day = max(day, 0)
        while not days:
            number += 1
            if number > LAST_BLOCK:
                return None
            day, days = number << BLOCK_BITS, self.block(number)
        return day + (days & -days).bit_length() - 1

    def floor(self, day: int) -> int | None:
        """The last matching day at or before this one, or None. O(blocks between)."""
        number = min(day >> BLOCK_BITS, LAST_BLOCK)
        days = self.block(number)
        if day >> BLOCK_BITS == number:
            days &= (2 << (day & BLOCK_DAYS - 1)) - 1
        while not days:
            number -= 1
            if number < 0:
                return None
            days = self.block(number)
        return (number << BLOCK_BITS) + days.bit_length() - 1

    def count(self, first: int, end: int) -> int:
        """How many days in [first, end) match. O(blocks between)."""
        first = max(first, 0)
        total = 0
        for number in range(first >> BLOCK_BITS, min((end - 1) >> BLOCK_BITS, LAST_BLOCK) + 1):
            days = self.block(number)
            base = number << BLOCK_BITS
            if first > base:
                days = days >> (first - base) << (first - base)
            if end - base < BLOCK_DAYS:
                days &= (1 << end - base) - 1
            total += days.bit_count()
        return total

    def _make_block(self, number: int) -> int:
        first = number << BLOCK_BITS
        start = date.fromordinal(first + _EPOCH)
        year, month, days = start.year, start.month, 0
        shift = 1 - start.day  # where the month's first day lies in the block
        while shift < BLOCK_DAYS:
            mask = month_mask(self._rule, year, month) >> 1
            days |= mask << shift if shift >= 0 else mask >> -shift
            shift += month_length(year, month)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return days & _FULL_BLOCK


@lru_cache(maxsize=4096)
def day_table(rule: DayRule) -> DayTable:
    """The table of the rule, shared by all triggers that have it."""
    return DayTable(rule)


def month_length(year: int, month: int) -> int:
    """28 to 31."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def month_mask(rule: DayRule, year: int, month: int) -> int:
    """The days of that month that match: bit 1 for the first, up to bit 31."""
    if not FIRST_YEAR <= year <= LAST_YEAR or not rule.years >> year - FIRST_YEAR & 1 or not rule.months >> month & 1:
        return 0
    return _days_of_month(rule, date(year, month, 1).isoweekday() % 7, month_length(year, month))


def _days_of_month(rule: DayRule, first_weekday: int, length: int) -> int:
    """The matching days of a month of that length which begins with that weekday; Sunday is 0."""
    by_day = _by_day(rule, first_weekday, length)
    by_weekday = _by_weekday(rule, first_weekday, length)
    matching = by_day & by_weekday if rule.both else by_day | by_weekday
    return matching & ((1 << length + 1) - 2)


def _by_day(rule: DayRule, first_weekday: int, length: int) -> int:
    mask = rule.days
    for before in bits(rule.from_last):
        if before < length:
            mask |= 1 << length - before
    for day in bits(rule.nearest):
        if day <= length:
            mask |= 1 << _nearest_workday(day, first_weekday, length)
    if rule.last_workday:
        mask |= 1 << _nearest_workday(length, first_weekday, length)
    return mask


def _nearest_workday(day: int, first_weekday: int, length: int) -> int:
    """Monday to Friday, never in another month: Saturday the 1st goes to Monday the 3rd."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _by_weekday(rule: DayRule, first_weekday: int, length: int) -> int:
    mask = _month_of(rule.weekdays, first_weekday)
    if rule.last_weekdays:
        mask |= _month_of(rule.last_weekdays, first_weekday) & -(1 << length - 6)
    for bit in bits(rule.nth_weekdays):
        weekday, nth = divmod(bit, 5)
        mask |= 1 << 1 + (weekday - first_weekday) % 7 + 7 * nth
    return mask


def _month_of(weekdays: int, first_weekday: int) -> int:
    """The weekdays, repeated over a month that begins with `first_weekday`; bit 1 is the first day."""
    week = (weekdays | weekdays << 7) >> first_weekday & 127
    return week * _WEEKS << 1


# all years at once: there are 14 different ones


@cache
def _kinds_of_years() -> tuple[tuple[int, int], ...]:
    """Of each year the weekday that it begins with, and the length of its February."""
    years = range(FIRST_YEAR, LAST_YEAR + 1)
    return tuple((date(year, 1, 1).isoweekday() % 7, month_length(year, 2)) for year in years)


def _days_of_all_years(rule: DayRule) -> int:
    kinds = _kinds_of_years()
    days = {kind: _days_of_year(rule, *kind) for kind in set(kinds)}
    return _in_a_row([(days[kind] if rule.years >> n & 1 else 0, 337 + kind[1]) for n, kind in enumerate(kinds)])


def _days_of_year(rule: DayRule, first_weekday: int, february: int) -> int:
    days = before = 0
    for month in range(1, 13):
        length = february if month == 2 else month_length(1970, month)
        if rule.months >> month & 1:
            days |= _days_of_month(rule, (first_weekday + before) % 7, length) >> 1 << before
        before += length
    return days


def _in_a_row(pieces: list[tuple[int, int]]) -> int:
    """Masks of so many bits each, one behind the other; two by two, so that few of the integers are long."""
    while len(pieces) > 1:
        odd = pieces[-1:] if len(pieces) % 2 else []
        pairs = zip(pieces[::2], pieces[1::2], strict=False)
        pieces = [(low | high << length, length + more) for (low, length), (high, more) in pairs] + odd
    return pieces[0][0]
