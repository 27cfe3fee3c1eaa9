"""An immutable, sorted index of coming runs, and the holder in which one index replaces another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onthedot.durations import to_duration_ms
from onthedot.moments import ceil_ms, from_ms

Moments = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]


class ComingRun(NamedTuple):
    """A run that is to come: its moment (aware UTC) and the name of its schedule."""

    at: datetime
    name: str


class Busy(NamedTuple):
    """A stretch of time, by its beginning, and how many runs begin in it."""

    at: datetime
    runs: int


class RunIndex:
    """Coming runs in the order of (moment, name). Immutable, so any number of threads may read it; 12 bytes a run."""

    __slots__ = ("_first", "_moments", "_ranks", "names")

    def __init__(self, moments: Moments, ranks: Ranks, names: Sequence[str]) -> None:
        """Takes arrays that are already in order; `from_arrays` takes any. Ranks count from 0 in the sorted names."""
        moments.setflags(write=False)
        ranks.setflags(write=False)
        self._moments = moments
        self._ranks = ranks
        self.names = tuple(names)
        self._first = ComingRun(from_ms(int(moments[0])), names[int(ranks[0])]) if len(moments) else None

    @classmethod
    def from_arrays(cls, epoch_seconds: npt.ArrayLike, name_numbers: npt.ArrayLike, names: Sequence[str]) -> RunIndex:
        """Sorts runs given as two arrays: seconds since 1970 (whole, or with milliseconds) and numbers into `names`.

        O(n log n), without a Python object per run. The same run given twice stays twice.
        """
        seconds, numbers = np.asarray(epoch_seconds), np.asarray(name_numbers)
        _refuse_misfits(seconds, numbers, names)
        order = sorted(range(len(names)), key=names.__getitem__)
        rank_of = np.empty(len(names), np.int32)
        rank_of[order] = np.arange(len(names), dtype=np.int32)
        whole = np.issubdtype(seconds.dtype, np.integer)
        moments = seconds.astype(np.int64) * 1000 if whole else np.rint(seconds * 1000).astype(np.int64)
        return cls(
            *in_order(moments, rank_of[numbers] if len(numbers) else np.empty(0, np.int32), len(names)),
            [names[i] for i in order],
        )

    def query(self, start: datetime | str, end: datetime | str) -> list[ComingRun]:
        """The runs in [start, end), in order. O(log n + results)."""
        first, last = np.searchsorted(self._moments, (ceil_ms(start), ceil_ms(end)))
        moments = self._moments[first:last].tolist()
        at = {ms: from_ms(ms) for ms in dict.fromkeys(moments)}
        names = self.names
        return [
            ComingRun(at[ms], names[rank]) for ms, rank in zip(moments, self._ranks[first:last].tolist(), strict=True)
        ]

    def peek(self) -> ComingRun | None:
        """The first run, or None. O(1)."""
        return self._first

    def busiest(self, bucket: timedelta | str, count: int) -> list[Busy]:
        """The fullest stretches of that length (counted from 1970), fullest first, earlier ones before later."""
        bucket_ms = to_duration_ms(bucket)
        buckets, counts = np.unique(self._moments // bucket_ms, return_counts=True)
        top = np.lexsort((buckets, -counts))[:count]
        return [Busy(from_ms(int(buckets[i]) * bucket_ms), int(counts[i])) for i in top]

    def counts(self, bucket: timedelta | str, start: datetime | str, end: datetime | str) -> npt.NDArray[np.int64]:
        """How many runs begin in each stretch of that length from `start` on; the last is cut off at `end`."""
        start_ms, end_ms = ceil_ms(start), ceil_ms(end)
        edges = np.append(np.arange(start_ms, end_ms, to_duration_ms(bucket)), end_ms)
        return np.diff(np.searchsorted(self._moments, edges)).astype(np.int64)

    def per_name(self) -> dict[str, int]:
        """How many runs each name has, in the order of the names."""
        return dict(zip(self.names, np.bincount(self._ranks, minlength=len(self.names)).tolist(), strict=True))

    @property
    def nbytes(self) -> int:
        """The memory that the runs take."""
        return self._moments.nbytes + self._ranks.nbytes

    def __len__(self) -> int:
        return len(self._moments)

    def __repr__(self) -> str:
        return f"<RunIndex of {len(self):,} runs, {len(self.names):,} names>"

    def _check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        later = np.diff(self._moments)
        assert len(self._moments) == len(self._ranks), "a rank for each moment"
        assert (later >= 0).all(), "moments ascend"
        assert (np.diff(self._ranks)[later == 0] >= 0).all(), "names ascend within a moment"
        assert list(self.names) == sorted(self.names), "ranks are the order of names"
        assert not len(self) or 0 <= self._ranks.min() <= self._ranks.max() < len(self.names), "every rank has a name"
        assert not self._moments.flags.writeable, "nobody can write moments"
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


def in_order(moments: Moments, ranks: Ranks, name_count: int) -> tuple[Moments, Ranks]:
    """Both arrays sorted by (moment, rank): packed into one integer each, since sorting those is by far the fastest."""
    if not len(moments):
        return moments.astype(np.int64), ranks.astype(np.int32)
    bits = max(name_count - 1, 1).bit_length()
    base = int(moments.min())
    packed = (moments - base).astype(np.uint64)
    packed <<= np.uint64(bits)
    packed |= ranks.astype(np.uint64)
    packed.sort()
    ranks = (packed & np.uint64((1 << bits) - 1)).astype(np.int32)
    packed >>= np.uint64(bits)
    return packed.astype(np.int64) + base, ranks


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
