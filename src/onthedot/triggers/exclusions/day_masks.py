"""At which seconds of a UTC day something ticks, as a mask of 86,400 bits; and the same for all days at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from onthedot.triggers.cron.times import seconds_of_day
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Dates
from onthedot.triggers.exclusions.clock_days import ALL_DAYS, DAY, DAYS, END, comb, kinds_of_days, lowest, part_of_day
from onthedot.triggers.exclusions.day_sets import DaySets, Gathered, within
from onthedot.triggers.exclusions.expression import OnDates
from onthedot.triggers.zones import WallClock

WHOLE_DAY = (1 << DAY) - 1


@dataclass(frozen=True, slots=True)
class Interval:
    """Whole seconds phase + n * step that lie in [first, end)."""

    step: int
    phase: int
    first: int = 0
    end: int = END

    def mask(self, day: int) -> int:
        """Its seconds of that day."""
        start = (self.phase - day * DAY) % self.step
        if start >= DAY:
            return 0
        return comb(self.step, DAY) << start & part_of_day(self.first, self.end, day)

    @property
    def kinds(self) -> int:
        """How many different masks its days have."""
        common = gcd(self.step, DAY)
        return min(self.step // common, DAY // common)

    def day_sets(self) -> DaySets:
        """All its days."""
        found = Gathered()
        period = self.step // gcd(self.step, DAY)
        for day in range(min(period, DAYS)):
            start = (self.phase - day * DAY) % self.step
            if start < DAY:
                found.add(comb(self.step, DAY) << start & WHOLE_DAY, comb(period, DAYS) << day & ALL_DAYS)
        return within(found, self.first, self.end)


@dataclass(frozen=True, slots=True)
class WallTimes:
    """Times on a wall clock, of certain dates: what a cron text says, and what excluded dates are."""

    clock: WallClock
    times: int
    """Bit n: the second n of the day."""
    dates: int
    """Bit n + 1: the date n, counted from 1970; so there is room for the dates around the time line."""
    first: int = 0
    end: int = END
    """The instants between which they count."""

    def mask(self, day: int) -> int:
        """Its seconds of that day."""
        return self._unbounded(day) & part_of_day(self.first, self.end, day)

    def day_sets(self) -> DaySets:
        """All its days, from one of each kind: those that the clock goes through alike, with the same dates around."""
        found = Gathered()
        around = (0,) if self.clock.zone.offsets == (0,) else (-1, 0, 1)
        for kind in kinds_of_days(self.clock.zone):
            kinds = [kind]
            for away in around:
                taken = self.dates >> away + 1
                kinds = [part for days in kinds for part in (days & taken, days ^ (days & taken)) if part]
            for days in kinds:
                found.add(self._unbounded(lowest(days)), days)
        return within(found, self.first, self.end)

    def _unbounded(self, day: int) -> int:
        zone, start = self.clock.zone, day * DAY
        mask = 0
        for segment in range(zone.segment(start), zone.segment(start + DAY - 1) + 1):
            offset = zone.offsets[segment]
            for label, times in self._pieces(*self._labels(segment, start)):
                mask |= times << label - offset - start
            instant = zone.bounds(segment)[0]
            if self.clock.gap == "shift" and start <= instant:
                swallowed = self._pieces(instant + zone.offsets[segment - 1], instant + offset)
                mask |= any(times for _, times in swallowed) << instant - start
        return mask

    def _labels(self, segment: int, start: int) -> tuple[int, int]:
        """The labels [first, last) that count in a segment, as far as it lies in the day that begins at `start`."""
        zone, offset = self.clock.zone, self.clock.zone.offsets[segment]
        if self.clock.fold == "both":
            first, end = zone.bounds(segment)
            return max(first, start) + offset, min(end, start + DAY) + offset
        starts, ends = zone.windows(self.clock.fold)
        return max(starts[segment], start + offset), min(ends[segment], start + DAY + offset)

    def _pieces(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The times in the labels [first, last), date by date: of each its first label, and the times from there on."""
        for date in range(first // DAY, -(-last // DAY) if first < last else first // DAY):
            if self.dates >> date + 1 & 1:
                start, end = max(first - date * DAY, 0), min(last - date * DAY, DAY)
                times = self.times if end - start == DAY else self.times >> start & (1 << end - start) - 1
                yield date * DAY + start, times


def ever(leaf: Interval | Cron | OnDates) -> int:
    """All seconds of a day at which it may tick on some day; perhaps some more."""
    if isinstance(leaf, Interval):
        step = gcd(leaf.step, DAY)
        return comb(step, DAY) << leaf.phase % step
    if isinstance(leaf, OnDates) or not leaf.zone.whole_minutes:
        return WHOLE_DAY
    return (leaf.fields.seconds | 1) * comb(
        60, DAY
    )  # jumps are on whole minutes: second 0 is where a gap moves ticks to


@lru_cache(maxsize=1024)
def wall_times(leaf: Cron | OnDates) -> WallTimes:
    """What a cron text, or dates, say."""
    if isinstance(leaf, OnDates):
        return WallTimes(WallClock(leaf.zone, "skip", "both"), WHOLE_DAY, _dates(leaf.dates))
    fields, search = leaf.fields, leaf.search
    times = seconds_of_day(fields.hours, fields.minutes, fields.seconds)
    return WallTimes(search.wall_clock, times, search.days.all_days << 1, search.first, search.end)


def _dates(dates: Dates) -> int:
    text = bytearray(b"0") * (DAYS + 2)
    for first, last in dates.ranges:
        start, end = max(first + 1, 0), max(first + 1, 0, min(last + 2, DAYS + 2))
        text[start:end] = b"1" * (end - start)
    return int(text[::-1], 2)
