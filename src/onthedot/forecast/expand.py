"""From triggers to an index of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
import numpy.typing as npt

from onthedot.durations import to_duration_ms
from onthedot.errors import ForecastTooLarge, TriggerError
from onthedot.forecast.arrays import label_window, ticks_of
from onthedot.forecast.index import Moments, Ranks, RunIndex, in_order, moment_type, rank_type
from onthedot.forecast.pattern import Pattern, Stretch
from onthedot.moments import ceil_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.search import Search
from onthedot.triggers.zones import WallClock

MAX_RUNS = 10_000_000
"""What `forecast` holds at most unless told otherwise: 60 MB for a window of a month."""

_PIECE_RUNS = 2_000_000


def forecast(
    triggers: Mapping[str, Trigger], start: datetime | str, end: datetime | str, *, max_runs: int = MAX_RUNS
) -> RunIndex:
    """An index of all runs in [start, end). `ForecastTooLarge` if there are more than `max_runs`: see `stream`."""
    return Expansion(triggers).index(ceil_ms(start), ceil_ms(end), max_runs)


def stream(
    triggers: Mapping[str, Trigger], start: datetime | str, end: datetime | str, *, step: timedelta | str | None = None
) -> Iterator[RunIndex]:
    """The runs in [start, end) as indexes of one stretch after another, however many there are.

    Left to itself it takes stretches that cannot hold more than two million runs, an hour at most.
    """
    expansion = Expansion(triggers)
    start_ms, end_ms = ceil_ms(start), ceil_ms(end)
    step_ms = _safe_step_ms(len(triggers)) if step is None else to_duration_ms(step)
    for first in range(start_ms, end_ms, step_ms):
        yield expansion.index(first, min(first + step_ms, end_ms), MAX_RUNS)


def _safe_step_ms(trigger_count: int) -> int:
    seconds = _PIECE_RUNS // max(trigger_count, 1)
    return 60_000 * max(1, min(60, seconds // 60))


class Expansion:
    """Triggers prepared for expansion; each `index` call costs about as much as its runs."""

    def __init__(self, triggers: Mapping[str, Trigger]) -> None:
        self._names = sorted(triggers)
        self._triggers = list(map(triggers.__getitem__, self._names))
        # Triggers that were defined alike share their search, so there are far fewer of these to look at.
        searches: list[Search | None] = [getattr(trigger, "search", None) for trigger in self._triggers]
        self._searches = list(dict.fromkeys(searches))
        numbers = {search: number for number, search in enumerate(self._searches)}
        self._search_of = np.fromiter(map(numbers.__getitem__, searches), np.intp, len(searches))
        self._clocks = self._sort_out()
        alone = np.ones(len(self._searches), np.bool_)
        alone[[number for together in self._clocks.values() for number in together]] = False
        self._others: list[int] = np.flatnonzero(alone[self._search_of]).tolist()
        self._patterns: dict[tuple[WallClock, ...], Pattern] = {}

    def _sort_out(self) -> dict[WallClock, list[int]]:
        """The numbers of the searches that can be expanded together, by their wall clock."""
        clocks: dict[WallClock, list[int]] = {}
        for number, search in enumerate(self._searches):
            if search is not None and search.on_the_minute:
                clocks.setdefault(search.wall_clock, []).append(number)
        return clocks

    def index(self, start_ms: int, end_ms: int, max_runs: int) -> RunIndex:
        """The index of [start, end)."""
        streams = [*self._pattern_streams(start_ms, end_ms), *self._other_streams(start_ms, end_ms, max_runs)]
        pieces = list(_bounded((piece for stream in streams for piece in stream), max_runs))
        after_ms, ranks = self._written(pieces, start_ms, end_ms)
        if len(streams) > 1:
            after_ms, ranks = in_order(after_ms, ranks, len(self._names))
        return RunIndex(start_ms, after_ms, ranks, self._names)

    def _pattern_streams(self, start_ms: int, end_ms: int) -> Iterator[Iterable[Piece]]:
        """Pieces, each stream in order by itself; only clocks that do not agree on the window come apart."""
        start, end = -(-start_ms // 1000), -(-end_ms // 1000)
        steady: dict[int, list[WallClock]] = {}
        for clock in self._clocks if start < end else ():
            offset = _steady_offset(clock, start, end)
            if offset is None:
                yield from self._jumping(clock, start, end)
            else:
                steady.setdefault(offset, []).append(clock)
        for offset, clocks in steady.items():
            yield _stretches(self._pattern(clocks), start + offset, end + offset, offset)

    def _jumping(self, clock: WallClock, start: int, end: int) -> Iterator[Iterable[Piece]]:
        """A clock that jumps inside the window: segment by segment, and what its gaps have shifted."""
        pattern, zone = self._pattern([clock]), clock.zone
        for segment in range(zone.segment(start), zone.segment(end - 1) + 1):
            first, last = label_window(clock, segment, start, end)
            offset, instant = zone.offsets[segment], zone.bounds(segment)[0]
            yield _stretches(pattern, first, last, offset)
            if clock.gap == "shift" and start <= instant < end:
                swallowed = pattern.ranks_in(instant + zone.offsets[segment - 1], instant + offset)
                extra = np.setdiff1d(swallowed, pattern.ranks_in(instant + offset, instant + offset + 1))
                yield [_Ticks(np.full(len(extra), instant * 1000), extra)]

    def _pattern(self, clocks: Sequence[WallClock]) -> Pattern:
        key = tuple(clocks)
        if key not in self._patterns:
            numbers = [number for clock in clocks for number in self._clocks[clock]]
            local = np.full(len(self._searches), -1, np.intp)
            local[numbers] = np.arange(len(numbers))
            ranks = np.flatnonzero(local[self._search_of] >= 0).astype(rank_type(len(self._names)))
            searches = [search for number in numbers if (search := self._searches[number]) is not None]
            self._patterns[key] = Pattern(searches, ranks, local[self._search_of[ranks]])
        return self._patterns[key]

    def _other_streams(self, start_ms: int, end_ms: int, max_runs: int) -> Iterator[Iterable[Piece]]:
        left = max_runs
        for rank in self._others:
            try:
                ticks = ticks_of(self._triggers[rank], start_ms, end_ms, left)
            except TriggerError as error:
                raise TriggerError(f"{self._names[rank]}: {error.reason}", hint=error.hint) from None
            except ForecastTooLarge:
                raise ForecastTooLarge(max_runs) from None
            left -= len(ticks)
            yield [_Ticks(ticks, np.full(len(ticks), rank, rank_type(len(self._names))))]

    def _written(self, pieces: Sequence[Piece], start_ms: int, end_ms: int) -> tuple[Moments, Ranks]:
        """All pieces one after the other, in two arrays; nothing is made before it is counted."""
        count = sum(piece.count for piece in pieces)
        after_ms = np.empty(count, moment_type(end_ms - start_ms))
        ranks = np.empty(count, rank_type(len(self._names)))
        first = 0
        for piece in pieces:
            last = first + piece.count
            piece.write(start_ms, after_ms[first:last], ranks[first:last])
            first = last
        return after_ms, ranks


class Piece(Protocol):
    """Runs in order, counted, and made when they are written."""

    @property
    def count(self) -> int: ...

    def write(self, start_ms: int, after_ms: Moments, ranks: Ranks) -> None:
        """Puts moments (as milliseconds after the start) and ranks into arrays of that count."""


@dataclass(frozen=True, slots=True)
class _Patterned:
    """A stretch of a pattern, on a wall clock that is `offset` seconds ahead of UTC."""

    pattern: Pattern
    stretch: Stretch
    offset: int

    @property
    def count(self) -> int:
        return self.stretch.count

    def write(self, start_ms: int, after_ms: Moments, ranks: Ranks) -> None:
        self.pattern.write(self.stretch, self.stretch.base_ms - self.offset * 1000 - start_ms, after_ms, ranks)


@dataclass(frozen=True, slots=True)
class _Ticks:
    """Runs that are arrays already."""

    moments: npt.NDArray[np.int64]
    ranks: Ranks

    @property
    def count(self) -> int:
        return len(self.ranks)

    def write(self, start_ms: int, after_ms: Moments, ranks: Ranks) -> None:
        np.subtract(self.moments, start_ms, out=after_ms, casting="unsafe")
        ranks[:] = self.ranks


def _stretches(pattern: Pattern, first: int, last: int, offset: int) -> Iterator[Piece]:
    return (_Patterned(pattern, stretch, offset) for stretch in pattern.stretches(first, last))


def _steady_offset(clock: WallClock, start: int, end: int) -> int | None:
    """The offset that holds over the whole window, or None if the wall clock jumps in it (or repeats itself still)."""
    segment = clock.zone.segment(start)
    offset = clock.zone.offsets[segment]
    starts, ends = clock.zone.windows(clock.fold)
    if starts[segment] < start + offset and end + offset <= ends[segment]:
        return offset
    return None


def _bounded(pieces: Iterable[Piece], max_runs: int) -> Iterator[Piece]:
    count = 0
    for piece in pieces:
        count += piece.count
        if count > max_runs:
            raise ForecastTooLarge(max_runs)
        yield piece
