"""Pauses of the garbage collector: where a process is a node and nothing else, they are made rare; elsewhere they come
a moment later where a crowd begins (docs/decisions/0090-collections-wait.md).

A full collection looks at every object of the process, those of imported modules and declared schedules too, and holds
up every thread meanwhile: 43 ms with a thousand schedules, in the middle of a second in which all of them are due.
"""

from __future__ import annotations

import gc
from threading import Lock

from onthedot.clock import Clock
from onthedot.forks import tell_of_forks

_THRESHOLDS = (50_000, 20, 100)
"""Objects between two collections of the youngest; collections between those of the older ones. A run makes dozens of
objects, which are gone without the collector; what it is needed for are cycles, in what tasks leave behind."""


def make_pauses_rare() -> None:
    """What is there now is taken to stay, and is looked at no more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


CROWD = 100
"""Where so many runs begin together, collections wait for them,"""
HELD_FOR_MS = 1000
"""and for no longer than this."""
BETWEEN_MS = 50
"""So long they have their turn before they wait again."""


class _Collector:
    """That of this process, and how many nodes of it have a crowd. Whoever has turned it off keeps that."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._holders = 0
        self._to_be_enabled = False
        tell_of_forks(self)

    def hold(self) -> None:
        """One more; under the lock."""
        self._holders += 1
        if self._holders == 1 and gc.isenabled():
            self._to_be_enabled = True
            gc.disable()

    def let_go(self) -> None:
        """One less; under the lock."""
        self._holders -= 1
        if self._holders == 0:
            self._go_on()

    def after_fork(self) -> None:
        """In a child no node lives, and nobody would ever turn it on again."""
        self.lock = Lock()
        self._holders = 0
        self._go_on()

    def _go_on(self) -> None:
        if self._to_be_enabled:
            self._to_be_enabled = False
            gc.enable()


_collector = _Collector()


class Collections:
    """Those of this process, which wait while a crowd begins: for one node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held_since_ms: int | None = None
        self._again_ms = 0

    def note(self, begins: int) -> None:
        """So many runs begin now."""
        now_ms = self._clock.monotonic_ms()
        with _collector.lock:
            if begins < CROWD or self._held_since_ms is not None or now_ms < self._again_ms:
                return
            self._held_since_ms = now_ms
            _collector.hold()

    def look(self, *, crowd_goes_on: bool) -> None:
        """After each step, and now and then by another thread: they go on when the crowd is over, or has lasted long
        enough."""
        since_ms = self._held_since_ms
        if since_ms is not None and (not crowd_goes_on or self._clock.monotonic_ms() - since_ms >= HELD_FOR_MS):
            self.let_go()

    def let_go(self) -> None:
        """They go on; may be called again."""
        with _collector.lock:
            if self._held_since_ms is None:
                return
            self._held_since_ms = None
            self._again_ms = self._clock.monotonic_ms() + BETWEEN_MS
            _collector.let_go()
