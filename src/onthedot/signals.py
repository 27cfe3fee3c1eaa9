"""Hearing signals. A handler may interrupt anything, itself too: so it does nothing but put a number into a queue."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue


@contextmanager
def signals_heard(*numbers: int) -> Iterator[Callable[[int], bool]]:
    """Until the end of the block these signals end nothing. Gives what waits for one, so many milliseconds at most.

    In the main thread only. The locks of `threading` may not be taken again by whom a signal interrupts while he holds
    them; those of a `SimpleQueue` may.
    """
    heard: SimpleQueue[int] = SimpleQueue()

    def was_heard(for_ms: int) -> bool:
        try:
            heard.get(timeout=for_ms / 1000)
        except Empty:
            return False
        return True

    previous = {number: signal.signal(number, lambda number, _: heard.put(number)) for number in numbers}
    try:
        yield was_heard
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
