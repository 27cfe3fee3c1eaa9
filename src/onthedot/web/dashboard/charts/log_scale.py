"""A logarithmic scale for durations: from some that are near nothing to the longest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

_S, _MIN, _H, _D = 1000, 60_000, 3_600_000, 86_400_000
NICE = {
    1: "1 ms", 10: "10 ms", 100: "100 ms", _S: "1 s", 3 * _S: "3 s", 10 * _S: "10 s", 30 * _S: "30 s",
    _MIN: "1 min", 3 * _MIN: "3 min", 10 * _MIN: "10 min", 30 * _MIN: "30 min", _H: "1 h", 4 * _H: "4 h",
    12 * _H: "12 h", _D: "1 d", 7 * _D: "7 d", 30 * _D: "30 d", 365 * _D: "365 d",
}  # fmt: skip
"""Durations that people think in, up to a year."""
_LEAST_LENGTH = 4.0


@dataclass(frozen=True, slots=True)
class LogScale:
    """Lengths between a least one and `length`, for values between `low_ms` and `high_ms`."""

    low_ms: int
    high_ms: int
    length: float

    def __call__(self, ms: int) -> float:
        """How long a bar is for this value; one that can be seen even for the least."""
        inside = min(max(ms, self.low_ms), self.high_ms)
        part = log(inside / self.low_ms) / log(self.high_ms / self.low_ms)
        return _LEAST_LENGTH + (self.length - _LEAST_LENGTH) * part

    def lines(self, apart: float) -> list[int]:
        """Values to draw a line at: the greatest first, none nearer to another than `apart`."""
        chosen: list[int] = []
        for each in reversed([ms for ms in NICE if self.low_ms < ms <= self.high_ms]):
            if not chosen or self(chosen[-1]) - self(each) >= apart:
                chosen.append(each)
        return chosen


def scale_of(values: Iterable[int], length: float) -> LogScale:
    """One in which all of them can be told apart from nothing, and the longest nearly fills it."""
    found = sorted(max(value, 1) for value in values) or [1000]
    low = max((ms for ms in NICE if ms * 3 <= found[0]), default=1)
    high = min((ms for ms in NICE if ms >= found[-1]), default=found[-1])
    return LogScale(low, max(high, low * 10), length)
