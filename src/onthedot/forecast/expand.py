"""From triggers to an index of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from onthedot.durations import to_duration_ms
from onthedot.errors import ForecastTooLarge, TriggerError
from onthedot.forecast.arrays import label_window, ticks_of
from onthedot.forecast.index import Moments, Ranks, RunIndex, in_order
from onthedot.forecast.pattern import Pattern, Piece
from onthedot.moments import ceil_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.search import Search
from onthedot.triggers.zones import WallClock

MAX_RUNS = 10_000_000
"""What `forecast` holds at most unless told otherwise: 120 MB."""

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
        streams = [*self._pattern_streams(start_ms, end_ms, max_runs), *self._other_streams(start_ms, end_ms, max_runs)]
        moments, ranks = _joined(streams, max_runs)
        if len(streams) > 1:
            moments, ranks = in_order(moments, ranks, len(self._names))
        return RunIndex(moments, ranks, self._names)

    def _pattern_streams(self, start_ms: int, end_ms: int, max_runs: int) -> Iterator[list[Piece]]:
        """Lists of pieces, each in order; only those of clocks that do not agree on the window come apart."""
        start, end = -(-start_ms // 1000), -(-end_ms // 1000)
        steady: dict[int, list[WallClock]] = {}
        for clock in self._clocks:
            offset = _steady_offset(clock, start, end)
            if offset is None:
                yield from self._jumping(clock, start, end, max_runs)
            else:
                steady.setdefault(offset, []).append(clock)
        for offset, clocks in steady.items():
            pieces = self._pattern(clocks).pieces(start + offset, end + offset)
            yield [_shifted(piece, offset) for piece in _bounded(pieces, max_runs)]

    def _jumping(self, clock: WallClock, start: int, end: int, max_runs: int) -> Iterator[list[Piece]]:
        """A clock that jumps inside the window: segment by segment, and what its gaps have shifted."""
        pattern, zone = self._pattern([clock]), clock.zone
        for segment in range(zone.segment(start), zone.segment(end - 1) + 1):
            first, last = label_window(clock, segment, start, end)
            offset, instant = zone.offsets[segment], zone.bounds(segment)[0]
            yield [_shifted(piece, offset) for piece in _bounded(pattern.pieces(first, last), max_runs)]
            if clock.gap == "shift" and start <= instant < end:
                swallowed = pattern.ranks_in(instant + zone.offsets[segment - 1], instant + offset)
                extra = np.setdiff1d(swallowed, pattern.ranks_in(instant + offset, instant + offset + 1))
                yield [Piece(instant * 1000, np.zeros(len(extra), np.int32), extra)]

    def _pattern(self, clocks: Sequence[WallClock]) -> Pattern:
        key = tuple(clocks)
        if key not in self._patterns:
            numbers = [number for clock in clocks for number in self._clocks[clock]]
            local = np.full(len(self._searches), -1, np.intp)
            local[numbers] = np.arange(len(numbers))
            ranks = np.flatnonzero(local[self._search_of] >= 0).astype(np.int32)
            searches = [search for number in numbers if (search := self._searches[number]) is not None]
            self._patterns[key] = Pattern(searches, ranks, local[self._search_of[ranks]])
        return self._patterns[key]

    def _other_streams(self, start_ms: int, end_ms: int, max_runs: int) -> Iterator[list[Piece]]:
        left = max_runs
        for rank in self._others:
            try:
                ticks = ticks_of(self._triggers[rank], start_ms, end_ms, left)
            except TriggerError as error:
                raise TriggerError(f"{self._names[rank]}: {error.reason}", hint=error.hint) from None
            except ForecastTooLarge:
                raise ForecastTooLarge(max_runs) from None
            left -= len(ticks)
            yield [Piece(0, ticks, np.full(len(ticks), rank, np.int32))]


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
        count += len(piece.ranks)
        if count > max_runs:
            raise ForecastTooLarge(max_runs)
        yield piece


def _shifted(piece: Piece, offset: int) -> Piece:
    return Piece(piece.base_ms - offset * 1000, piece.after_ms, piece.ranks)


def _joined(streams: Iterable[list[Piece]], max_runs: int) -> tuple[Moments, Ranks]:
    """All pieces one after the other, in two arrays; counted before anything is made."""
    pieces = [piece for stream in streams for piece in stream]
    count = sum(len(piece.ranks) for piece in pieces)
    if count > max_runs:
        raise ForecastTooLarge(max_runs)
    moments, ranks = np.empty(count, np.int64), np.empty(count, np.int32)
    first = 0
    for base_ms, after_ms, piece_ranks in pieces:
        last = first + len(piece_ranks)
        np.add(after_ms, np.int64(base_ms), out=moments[first:last])
        ranks[first:last] = piece_ranks
        first = last
    return moments, ranks
