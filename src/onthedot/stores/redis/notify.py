"""Hints from other processes, by publish and subscribe: a thread of its own, only while somebody listens.

A hint that is lost costs a poll interval at most, so nothing is done about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread, current_thread
from uuid import uuid4

from redis import exceptions

from onthedot.stores.redis.server import Server

_QUIET_S = 0.5
"""How long the thread waits for a message before it looks whether anybody still listens."""
_PAUSES_MS = (100, 500, 2000, 5000)
"""After a broken connection, longer and longer."""


class Subscription:
    """Who listens in this process, and the thread that hears for them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel = server.key("wake")
        self._me = uuid4().hex
        self._wakes: list[Callable[[], None]] = []
        self._lock = Lock()
        self._over = Event()
        self._thread: Thread | None = None
        self._pid = 0

    def add(self, wake: Callable[[], None]) -> Callable[[], None]:
        """From now on `wake` is called; what this returns ends it."""
        with self._lock:
            self._wakes.append(wake)
            if self._pid != os.getpid():
                self._pid, self._over = os.getpid(), Event()
                self._thread = Thread(target=self._hear, args=(self._over,), name="onthedot-listen", daemon=True)
                self._thread.start()

        def end() -> None:
            with self._lock:
                if wake in self._wakes:
                    self._wakes.remove(wake)
                if not self._wakes:
                    self._stop()

        return end

    def tell(self) -> None:
        """Wake who listens here, and let the other processes know."""
        self._wake()
        with suppress(exceptions.RedisError, OSError):
            self._server.client.publish(self._channel, self._me)

    def close(self) -> None:
        """End the thread, whoever still listens; it comes back with the next one."""
        with self._lock:
            self._stop()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not current_thread():
            thread.join(2 * _QUIET_S)

    def _stop(self) -> None:
        self._over.set()
        self._pid = 0

    def _wake(self) -> None:
        for wake in list(self._wakes):
            wake()

    def _hear(self, over: Event) -> None:
        failures = 0
        while not over.is_set():
            try:
                with self._server.client.pubsub(ignore_subscribe_messages=True) as subscription:
                    subscription.subscribe(self._channel)
                    if failures:
                        self._wake()  # who knows what was missed meanwhile
                    failures = 0
                    while not over.is_set():
                        message = subscription.get_message(timeout=_QUIET_S)
                        if message is not None and message["data"] != self._me and not over.is_set():
                            self._wake()
            except (exceptions.RedisError, OSError):
                self._server.clock.wait(over, _PAUSES_MS[min(failures, len(_PAUSES_MS) - 1)])
                failures += 1
