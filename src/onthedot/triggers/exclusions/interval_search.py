"""Finds ticks of an interval by their number: where other intervals are taken away, or all ticks for a while."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import chain
from math import lcm

from onthedot.moments import END_MS, FIRST_MS
from onthedot.triggers.exclusions.clock_days import comb, lowest, run
from onthedot.triggers.exclusions.expression import Expression, Just, leaves_of, replaced, value_of
from onthedot.triggers.exclusions.finder import Finder
from onthedot.triggers.exclusions.lattice import Lattice

MOST_TURNS = 1 << 18
"""A pattern that repeats only after more ticks than these is not made."""
MOST_SPANS = 20_000
"""So many ticks of a rare interval are held one by one instead."""

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Turns:
    """Each `every`-th tick of a lattice, from number `turn` on, within spans [first, end) of milliseconds."""

    every: int = 1
    turn: int = 0
    spans: Spans = ((FIRST_MS, END_MS),)


class IntervalSearch(Finder):
    """What is left of a lattice. Between the edges of spans all repeats itself, so one pattern answers for a stretch.

    O(log stretches), plus a step for each stretch passed over.
    """

    def __init__(self, lattice: Lattice, expression: Expression[Turns]) -> None:
        leaves = list(dict.fromkeys(leaves_of(expression)))
        numbers = {leaf: number for number, leaf in enumerate(leaves)}
        self._lattice = lattice
        self._expression: Expression[int] = replaced(expression, lambda leaf, _: Just(numbers[leaf]))
        self._period = lcm(*(leaf.every for leaf in leaves))
        self._combs = [comb(leaf.every, self._period) << leaf.turn for leaf in leaves]
        self._spans = [list(chain.from_iterable(leaf.spans)) for leaf in leaves]
        self._edges = sorted({FIRST_MS, END_MS, *chain.from_iterable(self._spans)})
        self._patterns: dict[tuple[int, ...], int] = {}

    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        for stretch in self._stretches(after_ms + 1, end_ms):
            first, end = self._numbers(stretch, after_ms + 1, end_ms)
            pattern = self._pattern(stretch) if first < end else 0
            if pattern:
                number = first + lowest(pattern >> first % self._period)
                if number < end:
                    return self._moment(number)
        return None

    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        for stretch in reversed(self._stretches(start_ms + 1, before_ms)):
            first, end = self._numbers(stretch, start_ms + 1, before_ms)
            pattern = self._pattern(stretch) if first < end else 0
            if pattern:
                top = self._period + (end - 1) % self._period
                number = end - 1 - top + (pattern & run(0, top + 1)).bit_length() - 1
                if number >= first:
                    return self._moment(number)
        return None

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        return sum(self._count(stretch, start_ms, end_ms) for stretch in self._stretches(start_ms, end_ms))

    def _count(self, stretch: int, start_ms: int, end_ms: int) -> int:
        first, end = self._numbers(stretch, start_ms, end_ms)
        pattern = self._pattern(stretch) if first < end else 0
        if not pattern:
            return 0
        turns, rest = divmod(end - first, self._period)
        part = pattern >> first % self._period & run(0, rest)
        return turns * (pattern.bit_count() // 2) + part.bit_count()

    def _stretches(self, start_ms: int, end_ms: int) -> range:
        """The numbers of the stretches that have a part in [start, end)."""
        first = max(bisect_right(self._edges, start_ms) - 1, 0)
        return range(first, min(bisect_left(self._edges, end_ms), len(self._edges) - 1))

    def _numbers(self, stretch: int, start_ms: int, end_ms: int) -> tuple[int, int]:
        """The numbers [first, end) of the ticks in [start, end) that lie in the stretch."""
        start_ms, end_ms = max(self._edges[stretch], start_ms), min(self._edges[stretch + 1], end_ms)
        step, phase = self._lattice
        return -((phase - start_ms) // step), -((phase - end_ms) // step)

    def _moment(self, number: int) -> int:
        return self._lattice.phase + number * self._lattice.step

    def _pattern(self, stretch: int) -> int:
        """Which of the numbers 0 to period - 1 are left, twice in a row, so that a search can begin anywhere in it."""
        inside = tuple(bisect_right(edges, self._edges[stretch]) & 1 for edges in self._spans)
        if inside not in self._patterns:
            once = value_of(self._expression, lambda leaf: self._combs[leaf] if inside[leaf] else 0)
            self._patterns[inside] = once | once << self._period
        return self._patterns[inside]
