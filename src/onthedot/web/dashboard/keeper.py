"""What all pages of a process tell, read now and then for all who look."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Generic, TypeVar

from onthedot.errors import OnthedotError
from onthedot.stores.base import Store

T = TypeVar("T")
_FRESH_MS = 900
_PART = 20
"""Reading takes a twentieth of the time at most, however much there is to look at."""
_QUICK_MS = 40
"""Who looks waits for no longer reading than this; what takes longer is read behind their back."""
_log = logging.getLogger("onthedot.web")


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    value: T
    begun_ms: int
    took_ms: int


class Keeper(Generic[T]):
    """One thread reads, the others take what was read before; only the first of all must wait."""

    def __init__(self, what: str, read: Callable[[Store], T], monotonic_ms: Callable[[], int]) -> None:
        self._what = what
        self._look = read
        self._monotonic_ms = monotonic_ms
        self._held: _Held[T] | None = None
        self._reading = Lock()

    def read(self, store: Store) -> T:
        """A second old at most; older where reading takes long."""
        held = self._held
        if held is None:
            return self._read_first(store)
        if self._is_fresh(held) or not self._reading.acquire(blocking=False):
            return held.value
        if held.took_ms <= _QUICK_MS:
            return self._read(store)
        Thread(target=self._read_behind, args=(store,), name=self._what, daemon=True).start()
        return held.value

    def _read_first(self, store: Store) -> T:
        self._reading.acquire()
        if self._held is None:
            return self._read(store)
        self._reading.release()
        return self._held.value

    def _read(self, store: Store) -> T:
        """With the lock held, which it gives back."""
        try:
            begun_ms = self._monotonic_ms()
            value = self._look(store)
            self._held = _Held(value, begun_ms, self._monotonic_ms() - begun_ms)
        finally:
            self._reading.release()
        return value

    def _read_behind(self, store: Store) -> None:
        try:
            self._read(store)
        except OnthedotError as error:
            _log.warning("%s cannot be told: %s", self._what, error)

    def _is_fresh(self, held: _Held[T]) -> bool:
        return self._monotonic_ms() - held.begun_ms < max(_FRESH_MS, _PART * held.took_ms)
