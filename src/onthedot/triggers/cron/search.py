"""Finds ticks: the first at or after a second, the last at or before one.

By definition: every matching label of the wall clock counts at the instants that the zone gives it (`Zone.resolve`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from onthedot.triggers.cron.days import month_mask
from onthedot.triggers.cron.fields import FIRST_YEAR, LAST_YEAR, Fields, bits
from onthedot.triggers.zones import Fold, Gap, Zone

FIRST_SECOND = 0
END_SECOND = (date(LAST_YEAR + 1, 1, 1) - date(FIRST_YEAR, 1, 1)).days * 86_400

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_END_DAY = END_SECOND // 86_400
_JUMP_DAYS = 2  # no wall clock jumps further than that


@dataclass(frozen=True, slots=True)
class Search:
    """A cron text in a zone, ready to be searched."""

    fields: Fields
    zone: Zone
    gap: Gap
    fold: Fold

    def ceil(self, second: int) -> int | None:
        """The first tick at or after the second, or None."""
        start = max(second, FIRST_SECOND) // 86_400 - _JUMP_DAYS
        return self._best(range(start, _END_DAY + 1), lambda tick: max(second, FIRST_SECOND) <= tick < END_SECOND, min)

    def floor(self, second: int) -> int | None:
        """The last tick at or before the second, or None."""
        start = min(second, END_SECOND) // 86_400 + _JUMP_DAYS
        return self._best(
            range(start, -1 - _JUMP_DAYS, -1), lambda tick: FIRST_SECOND <= tick <= min(second, END_SECOND - 1), max
        )

    def _best(self, days: range, counts, best) -> int | None:  # type: ignore[no-untyped-def]
        found: int | None = None
        days_left = len(days)
        for day in days:
            ticks = [tick for tick in self._ticks_of(day) if counts(tick)]
            if ticks:
                if found is None:
                    days_left = (
                        2 * _JUMP_DAYS + 1
                    )  # a later label can only be an earlier instant within the size of a jump
                found = best([*ticks, *([] if found is None else [found])])
            days_left -= 1
            if days_left == 0:
                break
        return found

    def _ticks_of(self, day: int) -> Iterable[int]:
        if not 0 <= day + _EPOCH_ORDINAL < date.max.toordinal():
            return
        when = date.fromordinal(day + _EPOCH_ORDINAL)
        if not month_mask(self.fields.day_rule, when.year, when.month) >> when.day & 1:
            return
        for hour in bits(self.fields.hours):
            for minute in bits(self.fields.minutes):
                for second in bits(self.fields.seconds):
                    label = day * 86_400 + hour * 3600 + minute * 60 + second
                    yield from self.zone.resolve(label, self.gap, self.fold)
