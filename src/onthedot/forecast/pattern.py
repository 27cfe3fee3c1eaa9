"""Many cron schedules that share a wall clock, expanded together in the order of (time, rank) without sorting.

Which minutes of an hour a schedule fires in does not depend on the hour or the day. So all pairs (minute, rank) are
laid out once, in order; each hour takes those whose schedule is active in it, and an hour or a day that is like one
before it is taken over as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onthedot.triggers.cron.days import DayTable
from onthedot.triggers.cron.search import Search

_KEPT = 4_000_000
"""How many runs of remembered hours and days a pattern keeps at most."""


class Piece(NamedTuple):
    """Runs in order: milliseconds after `base_ms`, and the rank of each."""

    base_ms: int
    after_ms: npt.NDArray[np.int32] | npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int32]


_Body = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


class Pattern:
    """Cron schedules at second 0, by ascending rank. All moments here are labels of the wall clock that they share."""

    def __init__(
        self, searches: Sequence[Search], ranks: npt.NDArray[np.int32], search_of: npt.NDArray[np.intp]
    ) -> None:
        """The schedule of rank ranks[i] ticks as searches[search_of[i]] says."""
        minutes = np.array([search.fields.minutes for search in searches], "<u8")[search_of]
        hours = np.array([search.fields.hours for search in searches], "<u4")[search_of]
        self._active = _planes(hours, 24)
        flat = np.flatnonzero(_planes(minutes, 60))
        minute, place = np.divmod(flat.astype(np.int32), np.int32(len(ranks)))
        self._minute_ms = minute * np.int32(60_000)
        self._place = place.astype(np.intp)  # gathering by any other type of integer costs three times as much
        self._ranked = ranks[place]
        self._tables, table_of = _tables([search.days for search in searches])
        self._table_of = table_of[search_of]
        self._days: dict[bytes, _Body] = {}
        self._hours: dict[tuple[bytes, int], _Body] = {}
        self._kept = 0

    def pieces(self, first: int, last: int) -> Iterator[Piece]:
        """The runs whose label lies in [first, last) seconds, in order."""
        first, last = -(-first // 60), -(-last // 60)  # whole minutes from here on
        while first < last:
            day, minute = divmod(first, 1440)
            if minute == 0 and last - first >= 1440:
                yield Piece(day * 86_400_000, *self._day(self._days_key(day)))
                first += 1440
                continue
            hour, minute = divmod(minute, 60)
            until = min(60, minute + last - first)
            body = self._hour(self._days_key(day), hour)
            yield Piece(day * 86_400_000 + hour * 3_600_000, *_cut(body, minute, until))
            first += until - minute

    def ranks_in(self, first: int, last: int) -> npt.NDArray[np.int32]:
        """The ranks that have a run whose label lies in [first, last) seconds."""
        found = [piece.ranks for piece in self.pieces(first, last)]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int32)

    def _days_key(self, day: int) -> bytes:
        """Which day tables match that day; days with the same key have the same runs."""
        return bytes(table.block(day >> 9) >> (day & 511) & 1 for table in self._tables)

    def _day(self, key: bytes) -> _Body:
        if key not in self._days:
            bodies = [self._hour(key, hour) for hour in range(24)]
            after = np.concatenate([after + np.int32(hour * 3_600_000) for hour, (after, _) in enumerate(bodies)])
            self._keep(len(after))
            self._days[key] = after, np.concatenate([ranks for _, ranks in bodies])
        return self._days[key]

    def _hour(self, key: bytes, hour: int) -> _Body:
        body = self._hours.get((key, hour))
        if body is None:
            active = self._active[hour]
            if 0 in key:
                active = active & np.frombuffer(key, np.bool_)[self._table_of]
            chosen = np.flatnonzero(active[self._place])
            if len(chosen) == len(self._place):
                body = self._minute_ms, self._ranked
            else:
                body = self._minute_ms.take(chosen), self._ranked.take(chosen)
            self._keep(len(body[0]))
            self._hours[key, hour] = body
        return body

    def _keep(self, count: int) -> None:
        """Makes room for so many more runs to remember."""
        self._kept += count
        if self._kept > _KEPT:
            self._days.clear()
            self._hours.clear()
            self._kept = count


def _cut(body: _Body, minute: int, until: int) -> _Body:
    if minute == 0 and until == 60:
        return body
    first, last = np.searchsorted(body[0], (minute * 60_000, until * 60_000))
    return body[0][first:last], body[1][first:last]


def _planes(masks: npt.NDArray[np.uint32] | npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.bool_]:
    """Row i, column j: whether bit i of mask j is set."""
    octets = masks.view(np.uint8).reshape(len(masks), masks.itemsize)
    return np.unpackbits(np.ascontiguousarray(octets.T), axis=0, count=count, bitorder="little").view(np.bool_)


def _tables(tables: Sequence[DayTable]) -> tuple[list[DayTable], npt.NDArray[np.int32]]:
    """The different tables, and for each search the number of its table."""
    distinct = list(dict.fromkeys(tables))
    numbers = {table: number for number, table in enumerate(distinct)}
    return distinct, np.fromiter(map(numbers.__getitem__, tables), np.int32, len(tables))
