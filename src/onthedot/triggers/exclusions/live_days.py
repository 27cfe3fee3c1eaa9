"""On which days something may be left: asked for the next or the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from onthedot.triggers.exclusions.clock_days import DAY, DAYS, bits_of, lowest, run
from onthedot.triggers.exclusions.day_masks import Interval
from onthedot.triggers.exclusions.day_sets import DaySets

_CHUNK = 4096


class LiveDays(Protocol):
    """A set of days."""

    def first_from(self, day: int) -> int:
        """The first of them at or after that day, or the number of all days."""

    def last_to(self, day: int) -> int:
        """The last of them at or before that day, or -1."""


class FixedDays:
    """Days that are known, as one integer."""

    def __init__(self, days: int) -> None:
        self._days = days

    def first_from(self, day: int) -> int:
        later = self._days >> day
        return day + lowest(later) if later else DAYS

    def last_to(self, day: int) -> int:
        return (self._days & run(0, day + 1)).bit_length() - 1


class SparseDays:
    """The days of an interval that has hardly two days alike, such as every("12345s"), on which some of it is left.

    Each day is looked at when it is asked about, 4,096 at a time; that takes half a microsecond a day.
    """

    def __init__(self, base: Interval, left: DaySets) -> None:
        """`left` are the seconds that are not excluded, whether the interval ticks at them or not."""
        self._base = base
        inside = run(base.first // DAY, -(-base.end // DAY))
        self._left = [(f"{mask:0{DAY}b}"[::-1].encode(), days & inside) for mask, days in left.items()]
        self._chunks: dict[int, int] = {}

    def first_from(self, day: int) -> int:
        for chunk in range(day // _CHUNK, -(-DAYS // _CHUNK)):
            later = self._chunk(chunk) >> max(day - chunk * _CHUNK, 0)
            if later:
                return max(day, chunk * _CHUNK) + lowest(later)
        return DAYS

    def last_to(self, day: int) -> int:
        for chunk in range(day // _CHUNK, -1, -1):
            earlier = self._chunk(chunk) & run(0, day - chunk * _CHUNK + 1)
            if earlier:
                return chunk * _CHUNK + earlier.bit_length() - 1
        return -1

    def _chunk(self, number: int) -> int:
        if number not in self._chunks:
            self._chunks[number] = sum(1 << day for day in self._days(number * _CHUNK))
        return self._chunks[number]

    def _days(self, first: int) -> Iterator[int]:
        """The days of a chunk, counted from its first."""
        phase, step = self._base.phase, self._base.step
        for free, days in self._left:
            for day in bits_of(days >> first & (1 << _CHUNK) - 1):
                if b"1" in free[(phase - (first + day) * DAY) % step :: step]:
                    yield day
