"""Clocks that only pass when somebody waits, and an event loop that goes by one."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from threading import Event

from onthedot.clock import Clock


class CallClock:
    """The time inside one call: it begins when the call does, and passes only while the task waits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.waited_ms = 0

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.waited_ms

    def monotonic_ms(self) -> int:
        return self._clock.monotonic_ms() + self.waited_ms

    def wait(self, event: Event, for_ms: int | None) -> bool:
        if for_ms is None and not event.is_set():
            raise RuntimeError("a task waits for ever: nobody can wake it in virtual time")
        if not event.is_set():
            self.waited_ms += max(for_ms or 0, 0)
        return event.is_set()


class WorldClock:
    """The time of a world as its app reads it: whoever waits by it lets the world go on meanwhile."""

    def __init__(self, clock: Clock, pass_by: Callable[[int], None]) -> None:
        self._clock = clock
        self._pass_by = pass_by

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def monotonic_ms(self) -> int:
        return self._clock.monotonic_ms()

    def wait(self, event: Event, for_ms: int | None) -> bool:
        if not event.is_set():
            self._pass_by(for_ms or 0)
        return event.is_set()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which `asyncio.sleep` takes no time, and `time()` says how much it would have taken."""

    def __init__(self, clock: CallClock) -> None:
        super().__init__(_Skipping(clock))
        self._waits = clock

    def time(self) -> float:
        return self._waits.waited_ms / 1000


class _Skipping(selectors.DefaultSelector):
    """Where the loop would wait for a timer, the time has come at once; what is really ready goes first."""

    def __init__(self, clock: CallClock) -> None:
        super().__init__()
        self._waits = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:  # no timer at all: somebody in another thread will wake the loop
            return list(super().select(None))
        self._waits.waited_ms += -int(-timeout * 1000 // 1)
        return ready
