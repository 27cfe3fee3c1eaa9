"""Hints from other processes, by publish and subscribe: a thread of its own, only while somebody listens; and with it
one that looks whether the primary is still the same.

A hint that is lost costs a poll interval at most, so nothing is done about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread, current_thread
from uuid import uuid4

from redis import exceptions

from onthedot.stores.redis.primary import FOLLOW_MS
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
        self._threads: list[Thread] = []
        self._pid = 0

    def add(self, wake: Callable[[], None]) -> Callable[[], None]:
        """From now on `wake` is called; what this returns ends it."""
        with self._lock:
            self._wakes.append(wake)
            if self._pid != os.getpid():
                self._pid, self._over = os.getpid(), Event()
                self._threads = [self._started(self._hear, "listen")]
                if self._server.primary is not None:
                    self._threads.append(self._started(self._follow, "follow"))

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
            threads, self._threads = self._threads, []
        for thread in threads:
            if thread is not current_thread():
                thread.join(2 * _QUIET_S)

    def _started(self, act: Callable[[Event], None], name: str) -> Thread:
        thread = Thread(target=act, args=(self._over,), name=f"onthedot-{name}", daemon=True)
        thread.start()
        return thread

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

    def _follow(self, over: Event) -> None:
        """Nobody waits at a server that is the primary no more: if it is frozen, it would be for long."""
        while not self._server.clock.wait(over, FOLLOW_MS):
            with suppress(exceptions.RedisError, OSError):
                self._server.follow()
