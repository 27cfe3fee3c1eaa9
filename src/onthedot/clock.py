"""The only reader of time, and the owner of waiting: handed in everywhere, so that virtual time works too."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Event
from typing import Protocol


class Clock(Protocol):
    """Tells the time, and waits for an event or a moment."""

    def now_ms(self) -> int:
        """The wall-clock time, in milliseconds since 1970."""

    def monotonic_ms(self) -> int:
        """Time that never steps, from an arbitrary beginning."""

    def wait(self, event: Event, for_ms: int | None) -> bool:
        """Wait until the event is set or so much time has passed; says whether it is set."""


class SystemClock:
    """This machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def wait(self, event: Event, for_ms: int | None) -> bool:
        return event.wait(None if for_ms is None else max(for_ms, 0) / 1000)


class ManualClock:
    """A clock that stands still until somebody moves it; whoever waits is woken when its moment has come."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0
        self._moved = Condition()

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        with self._moved:
            self._now_ms += by_ms
            self._monotonic_ms += by_ms
            self._moved.notify_all()

    def step(self, by_ms: int) -> None:
        """Set the wall clock forward or back, as an operator would: no time passes."""
        self._now_ms += by_ms

    def wait(self, event: Event, for_ms: int | None) -> bool:
        end_ms = None if for_ms is None else self._monotonic_ms + for_ms
        with self._moved:
            while not event.is_set() and (end_ms is None or self._monotonic_ms < end_ms):
                self._moved.wait(0.01)  # an event set by another thread does not notify us
        return event.is_set()


class StoreClock:
    """The store's time, told without asking it each time: monotonic time plus an offset.

    A wall clock that is wrong, or is set while we run, changes nothing. An answer of the store says between which
    bounds the offset lies: it was read after the question was sent and before the answer came. The offset moves only as
    far as an answer proves it wrong, so a quick answer sets it right and a slow one changes nothing.
    """

    _FIRST_QUESTIONS = 3

    def __init__(self, read_store_ms: Callable[[], int], clock: Clock) -> None:
        self._read_store_ms = read_store_ms
        self._clock = clock
        self.monotonic_ms = clock.monotonic_ms  # the same, and asked several times for each run
        self._offset_ms: int | None = None
        self.skew_ms = 0
        """How far this machine's wall clock is ahead of the store's."""

    def settle(self) -> None:
        """Ask a few times: the first answer may be slow, since the connection is made for it."""
        for _ in range(self._FIRST_QUESTIONS):
            self.measure()

    def measure(self) -> None:
        """Ask the store."""
        sent_ms = self._clock.monotonic_ms()
        store_ms = self._read_store_ms()
        self.note(store_ms, sent_ms, self._clock.monotonic_ms())
        self.skew_ms = self._clock.now_ms() - store_ms

    def note(self, store_ms: int, sent_ms: int, answered_ms: int) -> None:
        """The store's time was this at some moment between these two of our monotonic time."""
        least, most = store_ms - answered_ms, store_ms - sent_ms
        if self._offset_ms is None:
            self._offset_ms = (least + most) // 2
        self._offset_ms = min(max(self._offset_ms, least), most)

    def now_ms(self) -> int:
        if self._offset_ms is None:
            self.settle()
        return self.monotonic_ms() + (self._offset_ms or 0)

    def wait(self, event: Event, for_ms: int | None) -> bool:
        return self._clock.wait(event, for_ms)
