"""Hearing signals. A handler may interrupt anything, itself too: so it does nothing but put a number into a queue."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from onthedot.forks import tell_of_forks

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C has ended."""


@contextmanager
def signals_heard(
    *numbers: int, at_once: Callable[[int], None] = lambda number: None
) -> Iterator[Callable[[int], int | None]]:
    """Until the end of the block these signals end nothing. Gives what waits for one, so many milliseconds at most.

    In the main thread only. The locks of `threading` may not be taken again by whom a signal interrupts while he holds
    them; those of a `SimpleQueue` may. `at_once` is called inside the handler, and must be as careful.
    """
    heard: SimpleQueue[int] = SimpleQueue()

    def next_signal(for_ms: int) -> int | None:
        try:
            return heard.get(timeout=for_ms / 1000)
        except Empty:
            return None

    def hear(number: int, _: object) -> None:
        at_once(number)
        heard.put(number)

    previous = _Handlers({number: signal.signal(number, hear) for number in numbers})
    tell_of_forks(previous)
    try:
        yield next_signal
    finally:
        previous.put_back()


class _Handlers:
    """Who heard signals before; in a child, where nobody waits for them in this block, they hear them again."""

    def __init__(self, handlers: Mapping[int, Any]) -> None:
        self._handlers = dict(handlers)

    def put_back(self) -> None:
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def after_fork(self) -> None:
        self.put_back()


class Patience:
    """Ends the process at the third Ctrl-C, wherever it is stuck. A SIGTERM is as good as the first one."""

    def __init__(self, last_words: str) -> None:
        self._last_words = f"{last_words}\n".encode()
        self._asked = 0

    def __call__(self, number: int) -> None:
        self._asked = self._asked + 1 if number == signal.SIGINT else max(self._asked, 1)
        if self._asked >= 3:
            os.write(2, self._last_words)
            os._exit(INTERRUPTED)
