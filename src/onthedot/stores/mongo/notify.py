"""Waking other processes: a hint through a change stream, so that what one machine enqueues begins at once on another.

Whoever has news writes a document of its own, without waiting for an answer; whoever listens follows that one small
collection. Following the runs themselves would make the server look at every write of every run for each listener.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread

import pymongo
from bson import ObjectId
from pymongo.collection import Collection
from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from onthedot.clock import Clock
from onthedot.errors import StoreError
from onthedot.stores.mongo.mapping import Document

Wake = Callable[[], None]

_AWAIT_MS = 500
_AGAIN_MS = 1000
_NOTIFY_S = 1.0
_NO_ANSWER = WriteConcern(w=0)


class ChangeStream:
    """A thread follows the collection only while somebody listens; what it misses, polling finds."""

    def __init__(self, collection: Callable[[], Collection[Document]], clock: Clock) -> None:
        self._collection = collection
        self._clock = clock
        self._name = str(ObjectId())
        self._lock = Lock()
        self._listeners: list[Wake] = []
        self._stop: Event | None = None

    def listen(self, wake: Wake) -> Callable[[], None]:
        """Call `wake` for news of this process and of others; returns what ends it."""
        with self._lock:
            self._listeners.append(wake)
            if self._stop is None:
                self._stop = Event()
                Thread(target=self._follow, args=(self._stop,), name="onthedot-wakes", daemon=True).start()

        def end() -> None:
            with self._lock:
                if wake in self._listeners:
                    self._listeners.remove(wake)
                if not self._listeners:
                    self._stop_following()

        return end

    def notify(self) -> None:
        """There is news: tell the listeners here, and those of other processes."""
        self._wake()
        news = {"$inc": {"count": 1}, "$currentDate": {"at": True}}
        with suppress(PyMongoError), pymongo.timeout(_NOTIFY_S):
            self._collection().with_options(write_concern=_NO_ANSWER).update_one({"_id": self._name}, news, upsert=True)

    def close(self) -> None:
        """End the thread; listeners of this process stay."""
        with self._lock:
            self._stop_following()

    def _stop_following(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _wake(self) -> None:
        for wake in list(self._listeners):
            wake()

    def _follow(self, stop: Event) -> None:
        """Through fail-overs: the driver resumes a stream by itself, and what it cannot resume begins anew."""
        while not stop.is_set():
            with suppress(PyMongoError, StoreError):
                self._follow_one_stream(stop)
            if not self._clock.wait(stop, _AGAIN_MS):
                self._wake()  # something may have been missed

    def _follow_one_stream(self, stop: Event) -> None:
        others = [{"$match": {"documentKey._id": {"$ne": self._name}}}]
        with self._collection().watch(others, max_await_time_ms=_AWAIT_MS) as stream:
            while not stop.is_set():
                if stream.try_next() is not None and not stop.is_set():
                    self._wake()
