"""The only reader of time. Whatever needs to know the moment gets it as an argument, or gets a clock."""

from __future__ import annotations

from time import time_ns
from typing import Protocol


class Clock(Protocol):
    """Knows what time it is."""

    def now_ms(self) -> int:
        """Whole milliseconds since 1970-01-01T00:00Z."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Whole milliseconds since 1970-01-01T00:00Z."""
        return time_ns() // 1_000_000
