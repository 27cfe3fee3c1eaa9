"""Which days of a month match a day rule."""

from __future__ import annotations

from calendar import monthrange

from onthedot.triggers.cron.fields import FIRST_YEAR, LAST_YEAR, DayRule, bits


def month_mask(rule: DayRule, year: int, month: int) -> int:
    """The days of that month that match: bit 1 for the first, up to bit 31."""
    if not FIRST_YEAR <= year <= LAST_YEAR or not rule.years >> year - FIRST_YEAR & 1 or not rule.months >> month & 1:
        return 0
    first, length = monthrange(year, month)
    first_weekday = (first + 1) % 7  # Sunday is 0
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
    mask = 0
    for day in range(1, length + 1):
        weekday = (first_weekday + day - 1) % 7
        nth = 1 << weekday * 5 + (day - 1) // 7
        last = rule.last_weekdays if day + 7 > length else 0
        if (rule.weekdays | last) >> weekday & 1 or rule.nth_weekdays & nth:
            mask |= 1 << day
    return mask
