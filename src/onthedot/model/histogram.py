"""Histograms of durations: twelve buckets for each factor of ten, so a value is known to a fifth of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, log10

Histogram = Mapping[int, int]
"""How many there are, by bucket."""

_EACH = 12


def bucket_of(ms: int) -> int:
    """Where a duration belongs; nothing at all has a bucket of its own, 0."""
    return 0 if ms <= 0 else 1 + floor(_EACH * log10(ms) + 1e-9)


def value_of(bucket: int) -> int:
    """The duration that stands for a bucket: its upper end, so that no percentile is told shorter than it was."""
    return 0 if bucket <= 0 else max(ceil(10 ** (bucket / _EACH)) - 1, 1)


def added(histograms: Iterable[Histogram]) -> dict[int, int]:
    """All of them as one."""
    total: dict[int, int] = {}
    for each in histograms:
        for bucket, count in each.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


def percentile(histogram: Histogram, part: float) -> int | None:
    """The duration that so large a part does not exceed; None where there is nothing."""
    left = part * sum(histogram.values())
    for bucket in sorted(histogram):
        left -= histogram[bucket]
        if left <= 0:
            return value_of(bucket)
    return None
