"""Reads the moments of the next seconds into the ring. Hints only: they own nothing, and every node holds the same."""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.node.ring import TimeRing
from onthedot.stores.base import Store

LOOK_AHEAD_MS = 5000


class ReadAhead:
    """Reads once a second, whoever calls how often."""

    def __init__(self, store: Store, ring: TimeRing[int], *, every_ms: int = 1000) -> None:
        self._store = store
        self._ring = ring
        self._every_ms = every_ms
        self._next_ms = 0

    def run_once(self, now_ms: int, *, at_once: bool = False) -> bool:
        """Read if it is time; says whether it did."""
        if not at_once and now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._every_ms
        for moment_ms in self._store.upcoming(now_ms, now_ms + LOOK_AHEAD_MS):
            self._ring.put(moment_ms, moment_ms)
        return True

    def remember(self, moments_ms: Iterable[int], now_ms: int) -> None:
        """Hold moments that were just decided: the next reading may come too late for them."""
        for moment_ms in moments_ms:
            if now_ms < moment_ms <= now_ms + LOOK_AHEAD_MS:
                self._ring.put(moment_ms, moment_ms)

    def due_in_ms(self, now_ms: int) -> int:
        """How long until the next reading."""
        return max(self._next_ms - now_ms, 0)
