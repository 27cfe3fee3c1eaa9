"""What is read now and then for all who look: where that takes long, it is read behind their back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Semaphore, Thread
from typing import Generic, TypeVar

from onthedot.errors import OnthedotError
from onthedot.stores.base import Store

OLD_MS = 60_000
"""What is older was of another time: for that nobody looked, and who looks now waits."""
_PART = 20
"""Reading takes a twentieth of the time at most, however much there is to look at."""
_QUICK_MS = 40
"""Who looks waits for no longer reading than this."""
_behind = Semaphore(1)
"""One keeper of a process at a time reads behind: each would keep a connection, and a node beside them needs some."""
_log = logging.getLogger("onthedot.web")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Held(Generic[Value]):
    value: Value
    begun_ms: int
    took_ms: int


class Keeper(Generic[Value]):
    """One thread reads, the others take what was read before; only the first of all must wait.

    `fresh_ms`: what is younger is good enough for everybody. With 0 it is read for each who asks, as long as that is
    quick.
    """

    def __init__(self, read: Callable[[Store], Value], monotonic_ms: Callable[[], int], fresh_ms: int) -> None:
        self._read_from = read
        self._monotonic_ms = monotonic_ms
        self._fresh_ms = fresh_ms
        self._held: _Held[Value] | None = None
        self._reading = Lock()

    def read(self, store: Store) -> Value:
        """`fresh_ms` old at most; where reading takes long, twenty times as old as that takes."""
        held = self._held
        if held is None or self._is_old(held):
            return self._read_unless_read(store)
        if self._is_fresh(held):
            return held.value
        if held.took_ms <= _QUICK_MS:
            return self._read(store) if self._reading.acquire(blocking=self._fresh_ms == 0) else held.value
        if self._reading.acquire(blocking=False):
            self._begin_behind(store)
        return held.value

    def _read_unless_read(self, store: Store) -> Value:
        """Whoever comes second takes what the first one read."""
        self._reading.acquire()
        held = self._held
        if held is None or self._is_old(held):
            return self._read(store)
        self._reading.release()
        return held.value

    def _read(self, store: Store) -> Value:
        """With the lock held, which it gives back."""
        try:
            begun_ms = self._monotonic_ms()
            value = self._read_from(store)
            self._held = _Held(value, begun_ms, self._monotonic_ms() - begun_ms)
        finally:
            self._reading.release()
        return value

    def _begin_behind(self, store: Store) -> None:
        """With the lock held, which it gives back where there is no thread for it: whoever looks next tries again."""
        if not _behind.acquire(blocking=False):
            self._reading.release()
            return
        try:
            Thread(target=self._read_behind, args=(store,), name="keeper", daemon=True).start()
        except RuntimeError as error:
            _behind.release()
            self._reading.release()
            _log.warning("what is shown cannot be read anew: %s", error)

    def _read_behind(self, store: Store) -> None:
        try:
            self._read(store)
        except OnthedotError as error:
            _log.warning("what is shown cannot be read anew: %s", error)
        finally:
            _behind.release()

    def _is_fresh(self, held: _Held[Value]) -> bool:
        slow_ms = _PART * held.took_ms if held.took_ms > _QUICK_MS else 0
        return self._monotonic_ms() - held.begun_ms < max(self._fresh_ms, slow_ms)

    def _is_old(self, held: _Held[Value]) -> bool:
        return self._monotonic_ms() - held.begun_ms >= max(OLD_MS, 2 * _PART * held.took_ms)
