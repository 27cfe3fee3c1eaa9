"""Finds ticks: the first at or after a second, the last at or before one.

By definition every matching label of the wall clock counts at the instants that the zone gives it (`Zone.resolve`);
the tests hold this search against that definition. It works on whole seconds: a table lookup finds the second, a binary
search the minute, the lowest set bit of a block of 512 days the day, another binary search the zone's segment.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from onthedot.moments import END_MS
from onthedot.triggers.cron.days import BLOCK_BITS, BLOCK_DAYS, day_table
from onthedot.triggers.cron.fields import DayRule, Fields, bits
from onthedot.triggers.cron.times import NONE, ceil_table, floor_table, minutes_of_day
from onthedot.triggers.zones import FAR, Fold, Gap, WallClock, Zone

END_SECOND = END_MS // 1000
_IN_BLOCK = BLOCK_DAYS - 1


class Search:
    """A cron text in a zone, ready to be searched. O(log n), plus a step for each 512 days or jump passed over."""

    __slots__ = (
        "_blocks", "_ceil_second", "_ends", "_first_second", "_first_time", "_floor_second", "_instants",
        "_last_second", "_last_time", "_minutes", "_offsets", "_shift", "_starts",
        "ceil", "days", "end", "fields", "first", "on_the_minute", "wall_clock",
    )  # fmt: skip

    ceil: Callable[[int], int | None]
    """The first tick at or after a second, or None."""

    def __init__(
        self, fields: Fields, zone: Zone, gap: Gap, fold: Fold, *, first: int = 0, end: int = END_SECOND
    ) -> None:
        """Ticks lie in [first, end), which must lie in 1970 to 2199."""
        self.fields = fields
        self.wall_clock = WallClock(zone, gap, fold)
        self.first = first
        self.end = end
        unbounded = first == 0 and end == END_SECOND
        self.on_the_minute = fields.seconds == 1 and unbounded and zone.whole_minutes
        """It ticks at second 0 of its minutes, without bounds: such searches can be expanded together."""
        self.days = day_table(fields.day_rule)
        self._blocks = self.days.blocks
        self._minutes = minutes_of_day(fields.hours, fields.minutes)
        self._ceil_second = ceil_table(fields.seconds)
        self._floor_second = floor_table(fields.seconds)
        self._first_second = self._ceil_second[0]
        self._last_second = self._floor_second[59]
        self._first_time = self._minutes[0] * 60 + self._first_second
        self._last_time = self._minutes[-1] * 60 + self._last_second
        self._instants = zone.instants
        self._offsets = zone.offsets
        self._starts, self._ends = zone.windows(fold)
        self._shift = gap == "shift"

    def __getattr__(self, name: str) -> Any:
        """Makes `ceil` when it is first asked for: most searches of a forecast never are."""
        if name != "ceil":
            raise AttributeError(name)
        self.ceil = self._quick_ceil()
        return self.ceil

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by what it was made from."""
        return _remade, (self.fields, *self.wall_clock, self.first, self.end)

    def _quick_ceil(self) -> Callable[[int], int | None]:
        """`_ceil` as a closure, for the usual case that the tick lies in the same segment of the zone.

        Attributes and calls are half of the time of a search; here there are none. All other cases go the long way.
        """
        first, end, instants, offsets = self.first, self.end, self._instants, self._offsets
        starts, ends = self._starts, self._ends
        minutes, count, ceil_second = self._minutes, len(self._minutes), self._ceil_second
        first_second, first_time = self._first_second, self._first_time
        blocks, next_day, every_day = self._blocks, self.days.ceil, self.fields.day_rule == DayRule()
        the_long_way, beyond = self._ceil, self._ceil_beyond

        def ceil(second: int) -> int | None:
            segment = bisect_left(instants, second) if instants else 0
            offset = offsets[segment]
            label = second + offset
            day, time = divmod(label, 86_400)
            days = 3 if every_day else blocks.get(day >> BLOCK_BITS)
            if days is None or second < first or label < starts[segment]:
                return the_long_way(second)
            if not every_day:
                days >>= day & _IN_BLOCK
            place = count
            if days & 1:
                minute, low = divmod(time, 60)
                low = ceil_second[low]
                if low == NONE:
                    minute += 1
                    low = first_second
                place = bisect_left(minutes, minute)
            if place < count:
                found = minutes[place]
                label = day * 86_400 + found * 60 + (low if found == minute else first_second)
            else:
                days >>= 1
                following = day + (days & -days).bit_length() if days else next_day(day + 1)
                if following is None:
                    return the_long_way(second)
                label = following * 86_400 + first_time
            if label < ends[segment]:
                return label - offset if label - offset < end else None
            return beyond(segment, second + offset, label)

        return ceil

    def _ceil(self, second: int) -> int | None:
        if second < self.first:
            second = self.first
        # At the very instant of a jump this takes the segment before it, which is then at its end: so a tick that a
        # gap has shifted to that instant is found in the same way as from far away.
        segment = bisect_left(self._instants, second)
        offset = self._offsets[segment]
        label = second + offset
        if label < self._starts[segment]:
            label = self._starts[segment]
        found = self._ceil_label(label)
        if found < self._ends[segment]:
            tick = found - offset
            return tick if tick < self.end else None
        return self._ceil_beyond(segment, label, found)

    def _ceil_beyond(self, segment: int, label: int, found: int) -> int | None:
        """Goes on after a segment that has no tick. `found` is the first matching label at or after `label`."""
        if self.wall_clock.fold == "first":  # nothing comes again, so all segments before that label can be passed over
            segment = max(segment, bisect_right(self._ends, found) - 1)
        for k in range(segment, len(self._instants)):
            instant, offset = self._instants[k], self._offsets[k + 1]
            if instant >= self.end:
                return None
            if self._shift and instant + self._offsets[k] <= found < instant + offset:
                return instant
            start = self._starts[k + 1]
            if start < label or found < start:
                found = self._ceil_label(start)
            label = start
            if found < self._ends[k + 1]:
                return found - offset if found - offset < self.end else None
        return None

    def floor(self, second: int) -> int | None:
        """The last tick at or before the second, or None."""
        if second >= self.end:
            second = self.end - 1
        segment = bisect_right(self._instants, second)
        offset = self._offsets[segment]
        label = second + offset
        if label >= self._ends[segment]:
            label = self._ends[segment] - 1
        found = self._floor_label(label)
        if found >= self._starts[segment]:
            return found - offset if found - offset >= self.first else None
        return self._floor_beyond(segment, label, found)

    def _floor_beyond(self, segment: int, label: int, found: int) -> int | None:
        """Goes back before a segment that has no tick. `found` is the last matching label at or before `label`."""
        for k in range(segment - 1, -1, -1):
            instant, offset = self._instants[k], self._offsets[k]
            if instant < self.first:
                return None
            if self._shift and instant + offset <= found < instant + self._offsets[k + 1]:
                return instant
            last = self._ends[k] - 1
            if last > label or found > last:
                found = self._floor_label(last)
            label = last
            if found >= self._starts[k]:
                return found - offset if found - offset >= self.first else None
        return None

    def count(self, first: int, end: int) -> int:
        """How many ticks lie in [first, end). The cost grows with the years between, not with the ticks."""
        first, end = max(first, self.first), min(end, self.end)
        total = 0
        for segment in range(bisect_right(self._instants, first), bisect_right(self._instants, end - 1) + 1):
            offset = self._offsets[segment]
            start, last = max(self._starts[segment], first + offset), min(self._ends[segment], end + offset)
            total += self._labels_before(last) - self._labels_before(start) if start < last else 0
            if segment and self._shift and first <= (instant := self._instants[segment - 1]) < end:
                swallowed = self._ceil_label(instant + self._offsets[segment - 1]) < instant + offset
                total += swallowed and not self.shows(instant + offset)
        return total

    def _labels_before(self, label: int) -> int:
        day, time = divmod(label, 86_400)
        minute, second = divmod(time, 60)
        seconds = bits(self.fields.seconds)
        total = self.days.count(0, day) * len(self._minutes) * len(seconds)
        if self.days.count(day, day + 1):
            place = bisect_left(self._minutes, minute)
            total += place * len(seconds)
            if place < len(self._minutes) and self._minutes[place] == minute:
                total += bisect_left(seconds, second)
        return total

    def fires(self) -> bool:
        """Whether there is any tick at all."""
        return self._ceil(0) is not None

    def shows(self, label: int) -> bool:
        """Whether the label itself matches, whatever the zone makes of it."""
        return self._ceil_label(label) == label

    def _ceil_label(self, label: int) -> int:
        """The first matching label at or after this one, or FAR."""
        day, time = divmod(label, 86_400)
        days = self._blocks.get(day >> BLOCK_BITS)
        if days is None:
            days = self.days.block(day >> BLOCK_BITS)
        days >>= day & _IN_BLOCK
        if days & 1:
            minute, second = divmod(time, 60)
            second = self._ceil_second[second]
            if second == NONE:
                minute += 1
                second = self._first_second
            place = bisect_left(self._minutes, minute)
            if place < len(self._minutes):
                found = self._minutes[place]
                if found != minute:
                    second = self._first_second
                return day * 86_400 + found * 60 + second
        days >>= 1
        if days:
            return (day + (days & -days).bit_length()) * 86_400 + self._first_time
        following = self.days.ceil(day + 1)
        return FAR if following is None else following * 86_400 + self._first_time

    def _floor_label(self, label: int) -> int:
        """The last matching label at or before this one, or -FAR."""
        day, time = divmod(label, 86_400)
        if self.days.block(day >> BLOCK_BITS) >> (day & _IN_BLOCK) & 1:
            minute, second = divmod(time, 60)
            second = self._floor_second[second]
            if second == NONE:
                minute -= 1
                second = self._last_second
            place = bisect_right(self._minutes, minute)
            if place:
                found = self._minutes[place - 1]
                if found != minute:
                    second = self._last_second
                return day * 86_400 + found * 60 + second
        preceding = self.days.floor(day - 1)
        return -FAR if preceding is None else preceding * 86_400 + self._last_time


def _remade(fields: Fields, zone: Zone, gap: Gap, fold: Fold, *bounds: int) -> Search:
    return Search(fields, zone, gap, fold, first=bounds[0], end=bounds[1])
