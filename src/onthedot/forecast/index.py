"""An immutable, sorted index of coming runs, and the holder in which one index replaces another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, overload

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


_CHUNK = 4096
_coming_run = partial(tuple.__new__, ComingRun)
"""From a pair, in half the time that the class takes for two arguments."""


class Busy(NamedTuple):
    """A stretch of time, by its beginning, and how many runs begin in it."""

    at: datetime
    runs: int


class ComingRuns(Sequence[ComingRun]):
    """Runs of an index, in order: a view, which costs nothing to take. Each run is made when it is read.

    It can be asked for its length, by number, by slice (a view again) and for its runs one after the other, and equals
    any sequence of the same runs. It stays as it is when another index takes the place of its own.
    """

    __slots__ = ("_after_ms", "_base_ms", "_names", "_ranks")
    __hash__ = None  # type: ignore[assignment]  # it equals lists, which have no hash either

    def __init__(self, base_ms: int, after_ms: Moments, ranks: Ranks, names: Sequence[str]) -> None:
        self._base_ms = base_ms
        self._after_ms = after_ms
        self._ranks = ranks
        self._names = names

    def __len__(self) -> int:
        return len(self._ranks)

    @overload
    def __getitem__(self, place: int) -> ComingRun: ...

    @overload
    def __getitem__(self, place: slice) -> ComingRuns: ...

    def __getitem__(self, place: int | slice) -> ComingRun | ComingRuns:
        if isinstance(place, slice):
            return ComingRuns(self._base_ms, self._after_ms[place], self._ranks[place], self._names)
        after_ms, rank = self._after_ms[place], self._ranks[place]  # an IndexError where there is none
        return ComingRun(from_ms(self._base_ms + int(after_ms)), self._names[int(rank)])

    def __iter__(self) -> Iterator[ComingRun]:
        for first in range(0, len(self), _CHUNK):
            yield from self._made(slice(first, first + _CHUNK))

    def _made(self, part: slice) -> Iterator[ComingRun]:
        """Many at once, in a third of the time that one after the other takes: runs of a moment share its datetime."""
        after = self._after_ms[part].tolist()
        at = {ms: from_ms(self._base_ms + ms) for ms in dict.fromkeys(after)}
        names = map(self._names.__getitem__, self._ranks[part].tolist())
        return map(_coming_run, zip(map(at.__getitem__, after), names, strict=True))

    def per_name(self) -> dict[str, int]:
        """How many of them each name has, in the order of the names; who has none is left out. No run is made."""
        counts = np.bincount(self._ranks)
        ranks = np.flatnonzero(counts)
        names = map(self._names.__getitem__, ranks.tolist())
        return dict(zip(names, counts[ranks].tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return f"<{len(self):,} coming runs, from {self[0].at} to {self[-1].at}>" if len(self) else "<no coming runs>"


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

    def query(self, start: datetime | str, end: datetime | str) -> ComingRuns:
        """The runs in [start, end), in order, as a view. O(log n), however many they are; `list(…)` makes them all."""
        first, last = self._place(ceil_ms(start)), self._place(ceil_ms(end))
        return ComingRuns(self._base_ms, self._after_ms[first:last], self._ranks[first:last], self.names)

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
        return np.diff(self._places(edges))

    def _place(self, moment_ms: int) -> int:
        """How many runs come before the moment. O(log n)."""
        after_ms = moment_ms - self._base_ms
        if after_ms <= 0:
            return 0
        if not len(self) or after_ms > self._after_ms[-1]:
            return len(self)
        return int(self._after_ms.searchsorted(self._after_ms.dtype.type(after_ms)))

    def _places(self, moments_ms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of many at once, in a tenth of the time; compared in the type of the index, which would be copied else."""
        if not len(self):
            return np.zeros(len(moments_ms), np.int64)
        last = int(self._after_ms[-1])
        after_ms = moments_ms - self._base_ms
        within = np.clip(after_ms, 0, last).astype(self._after_ms.dtype)
        return np.where(after_ms > last, len(self), self._after_ms.searchsorted(within))

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
    bits = _rank_bits(name_count)
    packed = _packed(after_ms, ranks, bits)
    packed.sort()
    sorted_ranks = (packed & np.uint64((1 << bits) - 1)).astype(ranks.dtype)
    packed >>= np.uint64(bits)
    return packed.astype(after_ms.dtype), sorted_ranks


def merged(one: tuple[Moments, Ranks], other: tuple[Moments, Ranks], name_count: int) -> tuple[Moments, Ranks]:
    """Two pairs of arrays, each in order, as one. O(n) in the first, O(m log n) in the second."""
    bits = _rank_bits(name_count)
    places = np.searchsorted(_packed(*one, bits), _packed(*other, bits)) + np.arange(len(other[0]))
    from_one = np.ones(len(one[0]) + len(other[0]), np.bool_)
    from_one[places] = False
    after_ms, ranks = np.empty(len(from_one), one[0].dtype), np.empty(len(from_one), one[1].dtype)
    after_ms[from_one], ranks[from_one] = one
    after_ms[places], ranks[places] = other
    return after_ms, ranks


def _rank_bits(name_count: int) -> int:
    return max(name_count - 1, 1).bit_length()


def _packed(after_ms: Moments, ranks: Ranks, bits: int) -> npt.NDArray[np.uint64]:
    packed = after_ms.astype(np.uint64)
    packed <<= np.uint64(bits)
    packed |= ranks
    return packed


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
