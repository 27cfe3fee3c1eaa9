"""The search for cron ticks in the readable way: slow, short, and true by definition.

By definition: every matching label of the wall clock counts at the instants that the zone gives it (`Zone.resolve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache

from onthedot.triggers.cron.days import month_mask
from onthedot.triggers.cron.fields import FIRST_YEAR, LAST_YEAR, DayRule, Fields, bits
from onthedot.triggers.zones import Fold, Gap, Zone

FIRST_SECOND = 0
END_SECOND = (date(LAST_YEAR + 1, 1, 1) - date(FIRST_YEAR, 1, 1)).days * 86_400

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_END_DAY = END_SECOND // 86_400
_JUMP_DAYS = 2  # label and instant differ by less, also while a whole day is jumped over


@dataclass(frozen=True, slots=True)
class ReadableSearch:
    """A cron text in a zone, searched day by day and label by label."""

    fields: Fields
    zone: Zone
    gap: Gap
    fold: Fold

    def ceil(self, second: int) -> int | None:
        """The first tick at or after the second, or None."""
        least = max(second, FIRST_SECOND)
        days = range(least // 86_400 - _JUMP_DAYS, _END_DAY + _JUMP_DAYS)
        return self._best(days, lambda tick: least <= tick < END_SECOND, min)

    def floor(self, second: int) -> int | None:
        """The last tick at or before the second, or None."""
        most = min(second, END_SECOND - 1)
        days = range(most // 86_400 + _JUMP_DAYS, -1 - _JUMP_DAYS, -1)
        return self._best(days, lambda tick: FIRST_SECOND <= tick <= most, max)

    def between(self, start: int, end: int) -> list[int]:
        """All ticks in [start, end), ascending."""
        days = range(start // 86_400 - _JUMP_DAYS, end // 86_400 + _JUMP_DAYS + 1)
        least, most = max(start, FIRST_SECOND), min(end, END_SECOND)
        return sorted({tick for day in days for tick in self._ticks_of(day) if least <= tick < most})

    def _best(self, days: range, counts: Callable[[int], bool], best: Callable[[Iterable[int]], int]) -> int | None:
        """The best tick of the first days that have any; a few days more, for labels and instants may change order."""
        found: set[int] = set()
        days_left = len(days)
        for day in days:
            found |= {tick for tick in self._ticks_of(day) if counts(tick)}
            days_left = min(days_left, 2 * _JUMP_DAYS + 1) if found else days_left
            days_left -= 1
            if days_left == 0:
                break
        return best(found) if found else None

    def _ticks_of(self, day: int) -> Iterable[int]:
        """The instants of all labels of a day (counted from 1970), in the order of the labels."""
        when = date.fromordinal(day + _EPOCH_ORDINAL)
        if not _days_of(self.fields.day_rule, when.year, when.month) >> when.day & 1:
            return
        for hour in bits(self.fields.hours):
            for minute in bits(self.fields.minutes):
                for second in bits(self.fields.seconds):
                    label = day * 86_400 + hour * 3600 + minute * 60 + second
                    yield from self.zone.resolve(label, self.gap, self.fold)


@cache
def _days_of(rule: DayRule, year: int, month: int) -> int:
    return month_mask(rule, year, month)
