"""From triggers to an index of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from onthedot.durations import to_duration_ms
from onthedot.errors import ForecastTooLarge, TriggerError
from onthedot.forecast.arrays import label_window, ticks_of
from onthedot.forecast.index import Moments, Ranks, RunIndex, in_order, merged, moment_type, rank_type
from onthedot.forecast.pattern import Pattern, Rows, Stretch
from onthedot.moments import ceil_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.days import DayTable
from onthedot.triggers.cron.search import Search
from onthedot.triggers.zones import WallClock

MAX_RUNS = 10_000_000
"""What `forecast` holds at most unless told otherwise: 60 MB for a window of a month."""

_PIECE_RUNS = 2_000_000
_MOST_PATTERNS = 8


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


Clocks = tuple[tuple[WallClock, int], ...]
"""Wall clocks, each with the seconds that it is ahead of UTC for a while."""


class Expansion:
    """Triggers prepared for expansion; each `index` call costs about as much as its runs."""

    def __init__(self, triggers: Mapping[str, Trigger]) -> None:
        for name, trigger in triggers.items():
            if not isinstance(trigger, Trigger):
                raise TriggerError(f"{name}: {trigger!r} is no trigger", hint="write cron(…), every(…) or at(…)")
        self._names = sorted(triggers)
        self._triggers = [triggers[name].plain() for name in self._names]
        # Triggers that were defined alike share their search, so there are far fewer of these to look at.
        searches: list[Search | None] = [getattr(trigger, "search", None) for trigger in self._triggers]
        self._searches = list(dict.fromkeys(searches))
        numbers = {search: number for number, search in enumerate(self._searches)}
        self._search_of = np.fromiter(map(numbers.__getitem__, searches), np.intp, len(searches))
        self._tables: list[DayTable] = []
        self._clocks: dict[WallClock, list[int]] = {}
        """The numbers of the searches that can be expanded together, by their wall clock."""
        self._rows: dict[WallClock, Rows] = {}
        self._sort_out()
        alone = np.ones(len(self._searches), np.bool_)
        alone[[number for together in self._clocks.values() for number in together]] = False
        self._others: list[int] = np.flatnonzero(alone[self._search_of]).tolist()
        self._patterns: dict[Clocks, Pattern] = {}

    def _sort_out(self) -> None:
        together: dict[WallClock, list[Search]] = {}
        for number, search in enumerate(self._searches):
            if search is not None and search.on_the_minute:
                together.setdefault(search.wall_clock, []).append(search)
                self._clocks.setdefault(search.wall_clock, []).append(number)
        self._tables = list(dict.fromkeys(search.days for searches in together.values() for search in searches))
        tables = {table: number for number, table in enumerate(self._tables)}
        self._rows = {clock: Rows.of(searches, tables) for clock, searches in together.items()}

    def index(self, start_ms: int, end_ms: int, max_runs: int) -> RunIndex:
        """The index of [start, end)."""
        start, end = -(-start_ms // 1000), -(-end_ms // 1000)
        pieces = list(_bounded(self._together(start, end) if start < end else (), max_runs))
        left = max_runs - sum(piece.count for piece in pieces)
        others = list(self._apart(start_ms, end_ms, left, max_runs))
        in_order_already = self._written(pieces, start_ms, end_ms)
        if not others:
            return RunIndex(start_ms, *in_order_already, self._names)
        sorted_others = in_order(*self._written(others, start_ms, end_ms), len(self._names))
        return RunIndex(start_ms, *merged(in_order_already, sorted_others, len(self._names)), self._names)

    # schedules at second 0, which come out in order

    def _together(self, start: int, end: int) -> Iterator[Piece]:
        """The runs in [start, end), from one jump of any clock to the next."""
        spans = [(clock, *span) for clock in self._clocks for span in _spans(clock, start, end)]
        gaps = self._gaps(start, end)
        edges = {start, end, *(edge for *_, first, last in spans for edge in (first, last))}
        edges.update(edge for instant in gaps for edge in (instant, min(instant + 60, end)))
        for first, last in pairwise(sorted(edges)):
            clocks = tuple((clock, offset) for clock, offset, since, until in spans if since <= first and last <= until)
            if first in gaps:
                ranks = np.union1d(self._pattern(clocks).ranks_in(first, last), gaps[first])
                yield _Ticks(np.full(len(ranks), first * 1000), ranks)
            elif clocks:
                pattern = self._pattern(clocks)
                yield from (_Patterned(pattern, stretch) for stretch in pattern.stretches(first, last))

    def _gaps(self, start: int, end: int) -> dict[int, Ranks]:
        """Where gaps end in [start, end), and which ranks they have shifted there."""
        gaps: dict[int, Ranks] = {}
        for clock in self._clocks:
            zone = clock.zone
            for segment in range(zone.segment(start), zone.segment(end - 1) + 1) if clock.gap == "shift" else ():
                instant, offset = zone.bounds(segment)[0], zone.offsets[segment]
                if start <= instant and zone.offsets[segment - 1] < offset:
                    swallowed = self._pattern(((clock, 0),)).ranks_in(
                        instant + zone.offsets[segment - 1], instant + offset
                    )
                    gaps[instant] = np.union1d(gaps[instant], swallowed) if instant in gaps else swallowed
        return gaps

    def _pattern(self, clocks: Clocks) -> Pattern:
        if clocks not in self._patterns:
            if len(self._patterns) >= _MOST_PATTERNS:
                self._patterns.clear()
            self._patterns[clocks] = self._made_pattern(clocks)
        return self._patterns[clocks]

    def _made_pattern(self, clocks: Clocks) -> Pattern:
        rows = Rows.joined([self._rows[clock].in_utc(offset) for clock, offset in clocks])
        numbers = np.concatenate([self._clocks[clock] for clock, _ in clocks])
        place = np.full(len(self._searches), -1, np.intp)
        place[numbers] = np.arange(len(numbers))
        ranks = np.flatnonzero(place[self._search_of] >= 0).astype(rank_type(len(self._names)))
        row_of = place[self._search_of[ranks]]
        if not any(offset % 3600 for _, offset in clocks):
            return Pattern(rows, self._tables, ranks, row_of)
        late = Rows.joined([self._rows[clock].in_utc(offset, late=True) for clock, offset in clocks])
        rows, row_of = Rows.joined([rows, late]), np.column_stack((row_of, row_of + len(numbers))).ravel()
        fires = rows.minutes[row_of] != 0
        return Pattern(rows, self._tables, np.repeat(ranks, 2)[fires], row_of[fires])

    # all others

    def _apart(self, start_ms: int, end_ms: int, left: int, max_runs: int) -> Iterator[Piece]:
        for rank in self._others:
            try:
                ticks = ticks_of(self._triggers[rank], start_ms, end_ms, left)
            except TriggerError as error:
                raise TriggerError(f"{self._names[rank]}: {error.reason}", hint=error.hint) from None
            except ForecastTooLarge:
                raise ForecastTooLarge(max_runs) from None
            left -= len(ticks)
            if len(ticks):
                yield _Ticks(ticks, np.full(len(ticks), rank, rank_type(len(self._names))))

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
    """A stretch of a pattern in UTC."""

    pattern: Pattern
    stretch: Stretch

    @property
    def count(self) -> int:
        return self.stretch.count

    def write(self, start_ms: int, after_ms: Moments, ranks: Ranks) -> None:
        self.pattern.write(self.stretch, self.stretch.base_ms - start_ms, after_ms, ranks)


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


def _spans(clock: WallClock, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """How far the clock is ahead of UTC, from when until when its labels count; all in seconds."""
    zone = clock.zone
    for segment in range(zone.segment(start), zone.segment(end - 1) + 1):
        first, last = label_window(clock, segment, start, end)
        offset = zone.offsets[segment]
        if first < last:
            yield offset, first - offset, last - offset


def _bounded(pieces: Iterable[Piece], max_runs: int) -> Iterator[Piece]:
    count = 0
    for piece in pieces:
        count += piece.count
        if count > max_runs:
            raise ForecastTooLarge(max_runs)
        yield piece
