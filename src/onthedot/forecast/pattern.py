"""Many cron schedules, each on its own wall clock, expanded together in the order of (moment, rank) without sorting.

While no wall clock jumps, which minutes of a UTC hour a schedule fires in depends on neither the hour nor the day. So
all pairs (minute, rank) are laid out once, in order; each hour takes those whose schedule is active in it, and a day
that is like one before it is taken over as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onthedot.forecast.index import Moments, Ranks
from onthedot.triggers.cron.days import BLOCK_BITS, BLOCK_DAYS, DayTable
from onthedot.triggers.cron.search import Search

_KEPT = 4_000_000
"""How many runs of remembered days a pattern keeps at most."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some minutes of an hour, or a whole day, and how many runs they hold. The base is in milliseconds."""

    base_ms: int
    key: bytes
    hour: int | None
    minute: int
    until: int
    count: int


class Rows(NamedTuple):
    """Searches by minute and hour, as masks, and by the number of their day table.

    Each is on a clock that is `lead` hours ahead.
    """

    minutes: npt.NDArray[np.uint64]
    hours: npt.NDArray[np.uint32]
    tables: npt.NDArray[np.intp]
    lead: npt.NDArray[np.intp]

    @classmethod
    def of(cls, searches: Sequence[Search], tables: Mapping[DayTable, int]) -> Rows:
        """One for each search, on its own clock."""
        return cls(
            np.array([search.fields.minutes for search in searches], "<u8"),
            np.array([search.fields.hours for search in searches], "<u4"),
            np.array([tables[search.days] for search in searches], np.intp),
            np.zeros(len(searches), np.intp),
        )

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """All of them, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def in_utc(self, offset: int, *, late: bool = False) -> Rows:
        """The same, seen in UTC, from a clock that is so many seconds ahead.

        One that is half an hour ahead shows the first half of its hours in the second half of ours: so there are two
        rows for each, one for the minutes in which it is still in the hour that begins ours, one for the late ones.
        """
        lead, ahead = divmod(offset // 60, 60)
        minutes = self.minutes >> np.uint64(ahead)
        if late:
            lead, minutes = lead + 1, (self.minutes & np.uint64((1 << ahead) - 1)) << np.uint64(60 - ahead)
        turn = np.uint32(lead % 24)
        hours = (self.hours >> turn | self.hours << np.uint32(24) - turn) & np.uint32((1 << 24) - 1)
        return Rows(minutes, hours, self.tables, np.full(len(minutes), lead, np.intp))


class Pattern:
    """Cron schedules at second 0, by ascending rank. All moments here are those of one clock: UTC, or one's own."""

    def __init__(self, rows: Rows, tables: Sequence[DayTable], ranks: Ranks, row_of: npt.NDArray[np.intp]) -> None:
        """The schedule of rank ranks[i] ticks as row row_of[i] says; a rank may stand twice, with two rows."""
        self._active = _planes(rows.hours[row_of], 24)
        minute_planes = _planes(rows.minutes[row_of], 60)
        minute, place = np.divmod(np.flatnonzero(minute_planes).astype(np.int32), np.int32(len(ranks)))
        self._place = place.astype(np.intp)  # gathering by any other type of integer costs three times as much
        self._minute_ms = minute.astype(np.uint32) * np.uint32(60_000)
        self._ranked = ranks[place]
        self._fires = minute_planes.sum(axis=0, dtype=np.int64)
        self._row_of = row_of
        used, table_of = np.unique(rows.tables, return_inverse=True)
        self._tables = [tables[number] for number in used]
        shifts = (np.arange(24)[:, None] + rows.lead) // 24
        self._shifts = np.unique(shifts).tolist()
        self._in_key = table_of * len(self._shifts) + np.searchsorted(self._shifts, shifts)
        """For each hour and row, where in a key it stands whether the row's own date matches."""
        self._counts: dict[tuple[bytes, int], int] = {}
        self._days: dict[bytes, tuple[npt.NDArray[np.uint32], Ranks]] = {}
        self._kept = 0

    def stretches(self, first: int, last: int) -> Iterator[Stretch]:
        """What lies in [first, last) seconds, in order, counted but not yet made."""
        first, last = -(-first // 60), -(-last // 60)  # whole minutes from here on
        while first < last:
            day, minute = divmod(first, 1440)
            key = self._key(day)
            if minute == 0 and last - first >= 1440:
                count = sum(self._count(key, hour) for hour in range(24))
                yield Stretch(day * 86_400_000, key, None, 0, 1440, count)
                first += 1440
                continue
            hour, minute = divmod(minute, 60)
            until = min(60, minute + last - first)
            whole = until - minute == 60
            count = self._count(key, hour) if whole else len(self._chosen(key, hour, minute, until))
            yield Stretch(day * 86_400_000 + hour * 3_600_000, key, hour, minute, until, count)
            first += until - minute

    def write(self, stretch: Stretch, base_ms: int, moments: Moments, ranks: Ranks) -> None:
        """Makes the runs of a stretch, into arrays of its count, as milliseconds after its own base plus `base_ms`."""
        after_ms, its_ranks = self._made(stretch)
        wide = moments.dtype  # said, because numpy 1 adds in the type of `after_ms`, which is full after 49 days
        if base_ms < 0:  # an hour that began before the window; its first runs did not
            np.subtract(after_ms, wide.type(-base_ms), out=moments, dtype=wide)
        else:
            np.add(after_ms, wide.type(base_ms), out=moments, dtype=wide)
        ranks[:] = its_ranks

    def ranks_in(self, first: int, last: int) -> Ranks:
        """The ranks that have a run in [first, last) seconds, ascending."""
        found = [self._made(stretch)[1] for stretch in self.stretches(first, last)]
        return np.unique(np.concatenate(found)) if found else self._ranked[:0]

    def _made(self, stretch: Stretch) -> tuple[npt.NDArray[np.uint32], Ranks]:
        if stretch.hour is None:
            return self._day(stretch.key)
        chosen = self._chosen(stretch.key, stretch.hour, stretch.minute, stretch.until)
        return self._minute_ms.take(chosen), self._ranked.take(chosen)

    def _key(self, day: int) -> bytes:
        """Which day tables match that day, and those around it that clocks ahead or behind still or already have.

        Days with the same key have the same runs.
        """
        days = [day + shift for shift in self._shifts]
        return bytes(
            table.block(each >> BLOCK_BITS) >> (each & BLOCK_DAYS - 1) & 1 for table in self._tables for each in days
        )

    def _active_in(self, key: bytes, hour: int) -> npt.NDArray[np.bool_]:
        active: npt.NDArray[np.bool_] = self._active[hour]
        if 0 not in key:
            return active
        matches: npt.NDArray[np.bool_] = np.frombuffer(key, np.bool_)[self._in_key[hour]]
        return active & matches[self._row_of]

    def _count(self, key: bytes, hour: int) -> int:
        if (key, hour) not in self._counts:
            self._counts[key, hour] = int(self._fires @ self._active_in(key, hour))
        return self._counts[key, hour]

    def _chosen(self, key: bytes, hour: int, minute: int = 0, until: int = 60) -> npt.NDArray[np.intp]:
        """Which of the pairs fire in those minutes of the hour."""
        chosen = np.flatnonzero(self._active_in(key, hour)[self._place])
        if until - minute < 60:
            first, last = np.searchsorted(self._minute_ms, (minute * 60_000, until * 60_000))
            chosen = chosen[np.searchsorted(chosen, first) : np.searchsorted(chosen, last)]
        return chosen

    def _day(self, key: bytes) -> tuple[npt.NDArray[np.uint32], Ranks]:
        if key not in self._days:
            chosen = [self._chosen(key, hour) for hour in range(24)]
            after_ms = [self._minute_ms.take(some) + np.uint32(hour * 3_600_000) for hour, some in enumerate(chosen)]
            self._make_room(sum(map(len, chosen)))
            self._days[key] = np.concatenate(after_ms), self._ranked.take(np.concatenate(chosen))
        return self._days[key]

    def _make_room(self, count: int) -> None:
        self._kept += count
        if self._kept > _KEPT:
            self._days.clear()
            self._kept = count


def _planes(masks: npt.NDArray[np.uint32] | npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.bool_]:
    """Row i, column j: whether bit i of mask j is set."""
    octets = masks.view(np.uint8).reshape(len(masks), masks.itemsize)
    return np.unpackbits(np.ascontiguousarray(octets.T), axis=0, count=count, bitorder="little").view(np.bool_)
