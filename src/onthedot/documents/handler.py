"""Calling the user's handler, plain or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Lock, Thread
from typing import Any

Handler = Callable[[Any], Any]


class Caller:
    """Calls the handler and comes back when it is done.

    An `async def` one runs on one event loop for all workers, so that clients made there can be shared.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._opening = Lock()

    def __call__(self, document: Any) -> None:
        called = self._handler(document)
        if inspect.iscoroutine(called):
            error = asyncio.run_coroutine_threadsafe(_error_of(called), self._running_loop()).result()
            if error is not None:
                raise error

    def owns(self, thread: Thread) -> bool:
        return thread is self._thread

    def close(self) -> None:
        """End the event loop, if there is one; the next call would make another."""
        with self._opening:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Until it is closed: asyncio lets SystemExit and KeyboardInterrupt of any of its tasks end the loop."""
        while loop is self._loop:
            with suppress(BaseException):
                loop.run_forever()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._opening:
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._run, args=(loop,), name="onthedot-documents-loop", daemon=True)
                self._thread.start()
            return self._loop


async def _error_of(called: Coroutine[Any, Any, Any]) -> BaseException | None:
    """What it raises as a value: of a task that raises SystemExit nobody would ever hear."""
    try:
        await called
    except BaseException as error:
        return error
    return None
