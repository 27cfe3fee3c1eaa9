"""A clock that stands still until somebody sets it."""

from __future__ import annotations


class ManualClock:
    """Set `now_ms`, or let time `pass_by`; call it to read it, as stores do with their `now_ms` argument."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """Whole milliseconds since 1970-01-01T00:00Z."""
        return self.now_ms

    def pass_by(self, ms: int) -> None:
        """Let so much time pass; a negative number is a clock that was set back."""
        self.now_ms += ms
