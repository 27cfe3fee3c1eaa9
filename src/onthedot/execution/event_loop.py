"""Where `async def` tasks run: on the surrounding event loop, or on one of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock, Thread, get_ident
from typing import Any

from onthedot.execution.deadlines import place_of

LAST_STEP_S = 10.0
"""How long a closing loop waits for the step that it is in."""


class EventLoop:
    """Made with the first task that needs it. Thread-safe."""

    def __init__(self, on_error: Callable[[BaseException], None] = lambda error: None) -> None:
        self._on_error = on_error
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closing = False
        self._asked_ms: int | None = None
        self._thread_id: int | None = None

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this loop, which somebody else runs."""
        self._loop = loop

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Have it called on the loop, soon."""
        self._running().call_soon_threadsafe(function, *args)

    def spawn(self, coroutine: Any) -> asyncio.Task[None]:
        """A task for it; to be called on the loop."""
        return self._running().create_task(coroutine)

    def held_up_ms(self, now_ms: int) -> int:
        """How long it has not come to what it was asked to do; asks it anew. To be called now and then."""
        asked_ms = self._asked_ms
        if asked_ms is not None:
            return now_ms - asked_ms
        if self._loop is not None and not self._loop.is_closed():
            self._asked_ms = now_ms
            self.call(self._turn)
        return 0

    def _turn(self) -> None:
        self._asked_ms = None
        self._thread_id = get_ident()

    @property
    def at_work(self) -> asyncio.Task[Any] | None:
        """The task whose step it is in just now, asked from outside."""
        return None if self._loop is None else asyncio.current_task(self._loop)

    @property
    def place(self) -> str:
        """Where it stands just now."""
        return "nowhere" if self._thread_id is None else place_of(self._thread_id)

    def close(self) -> None:
        """End the loop if it is ours. One that a task holds up is left behind."""
        if self._thread is not None and self._loop is not None:
            self._closing = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(LAST_STEP_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is not None and not self._loop.is_closed():
            return self._loop
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._run, args=(loop,), name="onthedot-loop", daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Until it is closed: asyncio lets SystemExit and KeyboardInterrupt of any of its tasks end the loop."""
        self._thread_id = get_ident()
        while not self._closing and not loop.is_closed():
            try:
                loop.run_forever()
            except BaseException as error:
                self._on_error(error)
        loop.close()
