"""What needs somebody, read now and then for all pages of a process."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from onthedot.insight.needs import Need, read_needs
from onthedot.stores.base import Store

_FRESH_MS = 1000
_PART = 20
"""Reading takes a twentieth of the time at most, however much there is to look at."""


class NeedsKeeper:
    """One thread reads, the others take what was read before; only the first of all waits."""

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        self._monotonic_ms = monotonic_ms
        self._held: tuple[int, int, list[Need]] | None = None
        self._lock = Lock()

    def read(self, store: Store) -> list[Need]:
        """A second old at most; older where it takes long."""
        held = self._held
        if held is not None and (self._is_fresh(held) or self._lock.locked()):
            return held[2]
        with self._lock:
            if self._held is not held and self._held is not None:
                return self._held[2]
            begun_ms = self._monotonic_ms()
            needs = read_needs(store)
            took_ms = self._monotonic_ms() - begun_ms
            self._held = begun_ms, took_ms, needs
        return needs

    def _is_fresh(self, held: tuple[int, int, list[Need]]) -> bool:
        begun_ms, took_ms, _ = held
        return self._monotonic_ms() - begun_ms < max(_FRESH_MS, _PART * took_ms)
