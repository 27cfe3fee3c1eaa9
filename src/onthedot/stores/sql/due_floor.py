"""From which moment on a claim looks: below it nothing was due when this process last looked at everything.

Where somebody keeps an old transaction open, the server keeps every row as it was, and the index of what is due begins
with the moments of all that has long been done. A claim that begins at the beginning walks past them each time, and
takes longer with every tick. See docs/decisions/0015-floors-under-claims.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from onthedot.clock import Clock

LAG_MS = 10_000
"""So far behind now everything is looked at by every claim: what is on time, and was committed a little late."""
_LASTS_MS = 5000
"""A floor that nobody has laid anew for so long holds nothing."""


@dataclass(frozen=True, slots=True)
class Floor:
    """Of both indexes: moments below which nothing is due."""

    schedules_ms: int
    runs_ms: int

    def below(self, other: Floor) -> Floor:
        """The deeper one of both."""
        return Floor(min(self.schedules_ms, other.schedules_ms), min(self.runs_ms, other.runs_ms))


NO_FLOOR = Floor(-(1 << 62), -(1 << 62))
_NOTHING_WRITTEN = Floor(1 << 62, 1 << 62)


class Look:
    """Somebody looks at everything; what others commit meanwhile may not be in what is found."""

    def __init__(self) -> None:
        self.written = _NOTHING_WRITTEN
        self.found: Floor | None = None


class Floors:
    """A hint only: laid by whoever looks at everything, lowered by whoever writes below it. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._floor = NO_FLOOR
        self._until_ms = 0
        self._looks: set[Look] = set()

    def now(self) -> Floor:
        """Where a claim begins."""
        with self._lock:
            return self._floor if self._clock.monotonic_ms() < self._until_ms else NO_FLOOR

    @contextmanager
    def looking(self) -> Iterator[Look]:
        """Lays the floor that was found inside."""
        look = Look()
        with self._lock:
            self._looks.add(look)
        try:
            yield look
        finally:
            with self._lock:
                self._looks.discard(look)
                if look.found is not None:
                    self._floor = look.found.below(look.written)
                    self._until_ms = self._clock.monotonic_ms() + _LASTS_MS

    def lower(self, schedules_ms: Sequence[int], runs_ms: Sequence[int]) -> None:
        """Something that waits at these moments has been committed."""
        if not schedules_ms and not runs_ms:
            return
        lowest = Floor(min(schedules_ms, default=1 << 62), min(runs_ms, default=1 << 62))
        with self._lock:
            self._floor = self._floor.below(lowest)
            for look in self._looks:
                look.written = look.written.below(lowest)
