"""Where the calls of `app.aio` are made: four threads of its own, whatever the program's loops do with theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar

from onthedot.forks import leave_alone

T = TypeVar("T")

THREADS = 4


class Calls:
    """May be used from any number of loops at once. Threads are made with the first call in each process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Its answer. Who is cancelled while it waits hears no more of it; the call itself is made all the same."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        context = copy_context()  # in whose name it is done, and in which trace

        def make() -> None:
            try:
                settle = answer.set_result, context.run(function, *args, **options)
            except BaseException as error:
                tell(loop, unless_done, answer, answer.set_exception, error)
            else:
                tell(loop, unless_done, answer, *settle)

        self.submit(make)
        return await answer

    def submit(self, function: Callable[[], object]) -> None:
        """Have it called in a thread."""
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, "onthedot-aio")
            self._threads.submit(function)

    def close(self) -> None:
        """Wait until all that was asked for is done; the next call makes new threads."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    def after_fork(self) -> None:
        """The threads are the parent's."""
        leave_alone(self._threads)
        self._lock, self._threads = Lock(), None


def tell(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
    """Have it called on the loop, soon; on one that has ended nobody waits any more."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *args)


def unless_done(answer: asyncio.Future[Any], settle: Callable[[Any], object], value: Any) -> None:
    """Settle it, unless who waited for it was cancelled meanwhile."""
    if not answer.done():
        settle(value)
