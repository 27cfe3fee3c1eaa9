"""Wake-up by PostgreSQL's LISTEN and NOTIFY. A hint only: what is lost here, polling finds."""

from __future__ import annotations

import os
import random
import select
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha1
from threading import Event, Lock, Thread
from typing import Any, cast

import sqlalchemy
from sqlalchemy import text

from onthedot.clock import SystemClock

_BETWEEN_MS = 10
"""Notifying takes a lock that all commits of the server share, so however often it is asked for, it is not oftener."""
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 10_000
_NOTIFY = text("SELECT pg_notify(:channel, :sender)")


class NotifyChannel:
    """One process's ear and voice. The ear has a connection and a thread of its own, only while somebody listens."""

    def __init__(self, engine: sqlalchemy.Engine, schema: str | None, wake: Callable[[], None]) -> None:
        self._engine = engine
        self._name = "onthedot" if schema is None else f"onthedot_{sha1(schema.encode()).hexdigest()[:16]}"
        self._sender = f"{os.getpid()}.{random.getrandbits(64):x}"
        self._wake = wake
        self._lock = Lock()
        self._wanted = False
        self._voice: Thread | None = None
        self._ear: _Ear | None = None

    # speaking

    def announce(self) -> None:
        """Tell the other processes, soon, and once for all that is asked for meanwhile. Never waits for the server."""
        with self._lock:
            self._wanted = True
            if self._voice is None:
                self._voice = Thread(target=self._speak, name="onthedot-notify")
                self._voice.start()

    def _speak(self) -> None:
        while self._still_wanted():
            try:
                with self._engine.connect() as connection, connection.begin():
                    connection.execute(_NOTIFY, {"channel": self._name, "sender": self._sender})
            except sqlalchemy.exc.SQLAlchemyError:
                continue  # whoever misses it polls
            SystemClock().wait(Event(), _BETWEEN_MS)

    def _still_wanted(self) -> bool:
        with self._lock:
            wanted, self._wanted = self._wanted, False
            if not wanted:
                self._voice = None
            return wanted

    # listening

    def listen(self) -> None:
        """From now on `wake` is called when another process has something to say."""
        with self._lock:
            if self._ear is None:
                self._ear = _Ear(self._engine, self._name, self._sender, self._wake)

    def unlisten(self) -> None:
        with self._lock:
            ear, self._ear = self._ear, None
        if ear is not None:
            ear.close()

    def close(self) -> None:
        """Say what is left to say, and let go of everything."""
        self.unlisten()
        with self._lock:
            voice = self._voice
        if voice is not None:
            voice.join()


class _Ear:
    """A thread that hears one channel, and connects anew, less and less often, while the server is away."""

    def __init__(self, engine: sqlalchemy.Engine, name: str, own: str, wake: Callable[[], None]) -> None:
        self._engine, self._name, self._own, self._wake = engine, name, own, wake
        self._stopping = Event()
        self._door, self._bell = os.pipe()
        self._thread = Thread(target=self._run, name="onthedot-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        os.write(self._bell, b".")
        self._thread.join()
        os.close(self._door)
        os.close(self._bell)

    def _run(self) -> None:
        pause_ms = _FIRST_PAUSE_MS
        while not self._stopping.is_set():
            try:
                with self._connected() as connection:
                    pause_ms = _FIRST_PAUSE_MS
                    self._wake()  # something may have been said while nobody heard
                    self._hear(connection)
            except Exception:  # whatever happened to the connection: another one, until told to stop
                SystemClock().wait(self._stopping, int(pause_ms * random.uniform(0.5, 1)))
                pause_ms = min(pause_ms * 2, _LONGEST_PAUSE_MS)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        pooled = self._engine.raw_connection()
        own = cast(Any, pooled.driver_connection)
        pooled.detach()
        with closing(own) as connection:
            connection.autocommit = True
            connection.execute(f"LISTEN {self._name}")
            yield connection

    def _hear(self, connection: Any) -> None:
        while not self._stopping.is_set():
            select.select([connection.fileno(), self._door], [], [])
            if any(notice.payload != self._own for notice in connection.notifies(timeout=0)):
                self._wake()
