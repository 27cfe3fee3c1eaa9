"""An immutable, sorted index of coming runs, and the holder in which one index replaces another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onthedot.durations import to_duration_ms
from onthedot.moments import ceil_ms, from_ms

Moments = npt.NDArray[np.integer[Any]]
"""Milliseconds after the beginning of an index: in 4 bytes for windows of up to 49 days, else in 8."""
Ranks = npt.NDArray[np.integer[Any]]
"""Numbers of names in their order: in 2 bytes for up to 65,536 names, else in 4."""


def moment_type(span_ms: int) -> type[np.integer[Any]]:
    """The smallest type that holds milliseconds up to this one."""
    return np.uint32 if span_ms < 1 << 32 else np.int64


def rank_type(name_count: int) -> type[np.integer[Any]]:
    """The smallest type that numbers so many names."""
    return np.uint16 if name_count <= 1 << 16 else np.uint32


class ComingRun(NamedTuple):
    """A run that is to come: its moment (aware UTC) and the name of its schedule."""

    at: datetime
    name: str


_coming_run = partial(tuple.__new__, ComingRun)
"""From a pair, in half the time that the class takes for two arguments."""


class Busy(NamedTuple):
    """A stretch of time, by its beginning, and how many runs begin in it."""

    at: datetime
    runs: int


class RunIndex:
    """Coming runs in the order of (moment, name). Immutable: any number of threads may read it. 6 to 12 bytes a run."""

    __slots__ = ("_after_ms", "_base_ms", "_first", "_ranks", "names")

    def __init__(self, base_ms: int, after_ms: Moments, ranks: Ranks, names: Sequence[str]) -> None:
        """Takes arrays that are already in order; `from_arrays` takes any. Ranks count from 0 in the sorted names."""
        after_ms.setflags(write=False)
        ranks.setflags(write=False)
        self._base_ms = base_ms
        self._after_ms = after_ms
        self._ranks = ranks
        self.names = tuple(names)
        self._first = ComingRun(from_ms(base_ms + int(after_ms[0])), names[int(ranks[0])]) if len(ranks) else None

    @classmethod
    def from_arrays(cls, epoch_seconds: npt.ArrayLike, name_numbers: npt.ArrayLike, names: Sequence[str]) -> RunIndex:
        """Sorts runs given as two arrays: seconds since 1970 (whole, or with milliseconds) and numbers into `names`.

        O(n log n), without a Python object per run. The same run given twice stays twice.
        """
        seconds, numbers = np.asarray(epoch_seconds), np.asarray(name_numbers)
        _refuse_misfits(seconds, numbers, names)
        order = sorted(range(len(names)), key=names.__getitem__)
        rank_of = np.empty(len(names), rank_type(len(names)))
        rank_of[order] = np.arange(len(names))
        sorted_names = [names[number] for number in order]
        if not len(numbers):
            return cls(0, np.empty(0, np.uint32), rank_of[:0], sorted_names)
        whole = np.issubdtype(seconds.dtype, np.integer)
        moments = seconds.astype(np.int64) * 1000 if whole else np.rint(seconds * 1000).astype(np.int64)
        base_ms = int(moments.min())
        moments -= base_ms
        after_ms = moments.astype(moment_type(int(moments.max())))
        return cls(base_ms, *in_order(after_ms, rank_of[numbers], len(names)), sorted_names)

    def query(self, start: datetime | str, end: datetime | str) -> list[ComingRun]:
        """The runs in [start, end), in order. O(log n + results)."""
        first, last = self._place(ceil_ms(start)), self._place(ceil_ms(end))
        after = self._after_ms[first:last].tolist()
        at = {ms: from_ms(self._base_ms + ms) for ms in dict.fromkeys(after)}
        names = map(self.names.__getitem__, self._ranks[first:last].tolist())
        return list(map(_coming_run, zip(map(at.__getitem__, after), names, strict=True)))

    def peek(self) -> ComingRun | None:
        """The first run, or None. O(1)."""
        return self._first

    def busiest(self, bucket: timedelta | str, count: int) -> list[Busy]:
        """The fullest stretches of that length (counted from 1970), fullest first, earlier ones before later."""
        bucket_ms = to_duration_ms(bucket)
        moments = self._after_ms.astype(np.int64) + self._base_ms
        buckets, counts = np.unique(moments // bucket_ms, return_counts=True)
        top = np.lexsort((buckets, -counts))[:count]
        return [Busy(from_ms(int(buckets[i]) * bucket_ms), int(counts[i])) for i in top]

    def counts(self, bucket: timedelta | str, start: datetime | str, end: datetime | str) -> npt.NDArray[np.int64]:
        """How many runs begin in each stretch of that length from `start` on; the last is cut off at `end`."""
        start_ms, end_ms = ceil_ms(start), ceil_ms(end)
        edges = np.append(np.arange(start_ms, end_ms, to_duration_ms(bucket)), end_ms)
        places = np.array([self._place(edge) for edge in edges.tolist()], np.int64)
        return places[1:] - places[:-1]

    def _place(self, moment_ms: int) -> int:
        """How many runs come before the moment. O(log n)."""
        after_ms = moment_ms - self._base_ms
        if after_ms <= 0:
            return 0
        if not len(self) or after_ms > self._after_ms[-1]:
            return len(self)
        return int(self._after_ms.searchsorted(self._after_ms.dtype.type(after_ms)))

    def per_name(self) -> dict[str, int]:
        """How many runs each name has, in the order of the names."""
        return dict(zip(self.names, np.bincount(self._ranks, minlength=len(self.names)).tolist(), strict=True))

    @property
    def nbytes(self) -> int:
        """The memory that the runs take."""
        return self._after_ms.nbytes + self._ranks.nbytes

    def __len__(self) -> int:
        return len(self._ranks)

    def __repr__(self) -> str:
        return f"<RunIndex of {len(self):,} runs, {len(self.names):,} names>"

    def _check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        later = np.diff(self._after_ms.astype(np.int64))
        ranks = self._ranks.astype(np.int64)
        assert len(self._after_ms) == len(ranks), "a rank for each moment"
        assert (later >= 0).all(), "moments ascend"
        assert (np.diff(ranks)[later == 0] >= 0).all(), "names ascend within a moment"
        assert list(self.names) == sorted(self.names), "ranks are the order of names"
        assert not len(ranks) or ranks.max() < len(self.names), "every rank has a name"
        assert not self._after_ms.flags.writeable, "nobody can write moments"
        assert not self._ranks.flags.writeable, "nobody can write ranks"


class IndexHolder:
    """Holds the index of the day. `swap` replaces it at once; a reader keeps the one that it took from `current`."""

    __slots__ = ("_current",)

    def __init__(self, index: RunIndex) -> None:
        self._current = index

    @property
    def current(self) -> RunIndex:
        """The index to read from. Take it once for all reads that must agree with each other."""
        return self._current

    def swap(self, index: RunIndex) -> RunIndex:
        """Puts another index in place and returns the one before it. Several swaps at once: one of them is last."""
        previous, self._current = self._current, index
        return previous


def in_order(after_ms: Moments, ranks: Ranks, name_count: int) -> tuple[Moments, Ranks]:
    """Both arrays sorted by (moment, rank): packed into one integer each, since sorting those is by far the fastest."""
    bits = max(name_count - 1, 1).bit_length()
    packed = after_ms.astype(np.uint64)
    packed <<= np.uint64(bits)
    packed |= ranks
    packed.sort()
    sorted_ranks = (packed & np.uint64((1 << bits) - 1)).astype(ranks.dtype)
    packed >>= np.uint64(bits)
    return packed.astype(after_ms.dtype), sorted_ranks


def _refuse_misfits(seconds: npt.NDArray[np.generic], numbers: npt.NDArray[np.generic], names: Sequence[str]) -> None:
    if seconds.shape != numbers.shape or seconds.ndim != 1:
        raise ValueError(f"two flat arrays of one length are wanted, not of shapes {seconds.shape} and {numbers.shape}")
    if len(set(names)) != len(names):
        raise ValueError("two names are the same; give each schedule a name of its own")
    if not len(numbers):
        return
    if not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"name_numbers must be whole numbers, not {numbers.dtype}")
    if numbers.min() < 0 or numbers.max() >= len(names):
        raise ValueError(f"name_numbers must lie in 0 to {len(names) - 1}, the numbers of the names")
    if not np.issubdtype(seconds.dtype, np.number) or not np.isfinite(seconds).all():
        raise ValueError("epoch_seconds must be finite numbers: seconds since 1970")
