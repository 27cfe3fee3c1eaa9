"""Users' functions, called in threads of their own: none of them can hold up, or end, who has something to tell."""

from __future__ import annotations

import atexit
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Condition, Thread, current_thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from onthedot.clock import SystemClock

MOST_WAITING = 10_000
"""How many items wait for a function that is slower than what it is told; the rest is dropped."""
LAST_WORDS_MS = 5000
"""How long whoever ends waits for functions to hear what they were told."""
IDLE_S = 60.0
"""How long a thread waits for the next item before it ends."""

T = TypeVar("T")

_log = logging.getLogger("onthedot")
_clock = SystemClock()  # whatever time it is elsewhere, users' functions take real time


class Hook(Generic[T]):
    """One function, which gets items in the order in which they were put, one at a time. Thread-safe.

    Its thread is made with the first item in each process, so that a fork harms nothing.
    """

    def __init__(self, function: Callable[[T], object], on_broken: Callable[[T, BaseException], None]) -> None:
        self.function = function
        self.dropped = 0
        """How many items it was never told, because too many were waiting."""
        self._on_broken = on_broken
        self._lanes: dict[int, _Lane[T]] = {}
        _all.add(self)

    @property
    def name(self) -> str:
        """What to call it when something must be said of it."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def put(self, item: T) -> None:
        """Have the function called with it, soon. Never waits; drops the item if too many are waiting."""
        lane = self._lanes.get(os.getpid())
        if lane is None:
            lane = self._lanes.setdefault(os.getpid(), _Lane(self._call, self.name))
        if not lane.put(item):
            self.dropped += 1

    def drain(self, until_ms: int) -> bool:
        """Wait until the function has heard all that was put, up to this monotonic moment; says whether it has."""
        lane = self._lanes.get(os.getpid())
        return lane is None or lane.drain(until_ms)

    def _call(self, item: T) -> None:
        try:
            self.function(item)
        except BaseException as error:  # SystemExit too: it would end this thread, and the user hear no more
            with suppress(BaseException):
                self._on_broken(item, error)


class _Lane(Generic[T]):
    """What waits for a function in one process, and the thread that calls it."""

    def __init__(self, call: Callable[[T], None], name: str) -> None:
        self._call = call
        self._name = name
        self._changed = Condition()
        self._waiting: deque[T] = deque()
        self._thread: Thread | None = None
        self._busy = False
        self._drops = 0
        """How many items were dropped since the function last kept up."""
        self._stuck = False
        """Somebody has waited in vain for it, and nothing has moved since."""

    def put(self, item: T) -> bool:
        """Whether there was room for it."""
        with self._changed:
            if len(self._waiting) < MOST_WAITING and self._has_thread():
                self._waiting.append(item)
                self._changed.notify_all()
                return True
            self._drops += 1
            if self._drops > 1:
                return False
        _log.warning("the hook %s does not keep up: what it is told is dropped from now on", self._name)
        return False

    def drain(self, until_ms: int) -> bool:
        if current_thread() is self._thread:
            return True  # it is the function itself that asks
        with self._changed:
            for_ms = 0 if self._stuck else max(until_ms - _clock.monotonic_ms(), 0)
            done = self._changed.wait_for(self._is_done, for_ms / 1000)
            self._stuck = not done
            return done

    def _is_done(self) -> bool:
        return not self._waiting and not self._busy

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = Thread(target=self._run, name=f"onthedot-hook-{self._name}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more, or the program is about to end
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while self._take():
            self._call(self._waiting.popleft())
            self._note_done()

    def _take(self) -> bool:
        """Wait for an item, and say whether there is one; without any for long, the thread ends."""
        with self._changed:
            self._busy = self._changed.wait_for(lambda: bool(self._waiting), IDLE_S)
            if not self._busy:
                self._thread = None
            return self._busy

    def _note_done(self) -> None:
        with self._changed:
            self._busy = self._stuck = False
            drops = 0 if self._waiting else self._drops
            self._drops -= drops
            self._changed.notify_all()
        if drops:
            _log.warning("the hook %s keeps up again; it was not told %s events", self._name, f"{drops:,}")


def drain(hooks: Iterable[Hook[Any]], for_ms: int) -> bool:
    """Wait so long in all until each function has heard what it was told; says whether all have."""
    until_ms = _clock.monotonic_ms() + for_ms
    heard = [hook.drain(until_ms) for hook in hooks]
    return all(heard)


_all: WeakSet[Hook[Any]] = WeakSet()


def _at_exit() -> None:
    """A program that ends right after something happened: who asked to be told of it is told."""
    drain(list(_all), LAST_WORDS_MS)


atexit.register(_at_exit)
