"""What is wrong, looked at now and then: an examination costs more than a page may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from onthedot.clock import SystemClock
from onthedot.insight.doctor import examine
from onthedot.model.finding import Finding
from onthedot.stores.base import Store

_FRESH_MS = 10_000


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found, and when, by the store's clock."""

    at_ms: int
    findings: Sequence[Finding]


class Doctor:
    """Of one ASGI app: whoever asks within ten seconds is told the same."""

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        self._monotonic_ms = monotonic_ms
        self._held: tuple[int, Examination] | None = None
        self._lock = Lock()

    def look(self, store: Store) -> Examination:
        """The last examination; a new one if that is old. What is worst comes first."""
        with self._lock:
            now_ms = self._monotonic_ms()
            if self._held is None or now_ms - self._held[0] >= _FRESH_MS:
                found = sorted(examine(store, SystemClock()), key=lambda each: _ORDER[each.level])
                self._held = now_ms, Examination(store.now_ms(), found)
            return self._held[1]


_ORDER = {"problem": 0, "warning": 1, "ok": 2}
