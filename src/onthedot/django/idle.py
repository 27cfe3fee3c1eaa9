"""The connections of Django's that a node's threads keep for their next run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any
from weakref import WeakSet

from asgiref.sync import sync_to_async
from django.db import connections


class IdleConnections:
    """Between two runs, as Django has it between two requests. Each belongs to its thread, which nobody can be asked to
    close: so they are noted, and closed when the node has stopped."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._noted: WeakSet[Any] = WeakSet()

    def around(self) -> Iterator[None]:
        """What Django does around each request, around each run."""
        self._take()
        try:
            yield
        finally:
            self._leave()

    async def around_async(self) -> AsyncIterator[None]:
        """The same in the thread in which Django's asynchronous calls reach the database."""
        await sync_to_async(self._take)()
        try:
            yield
        finally:
            await sync_to_async(self._leave)()

    def close(self) -> None:
        """Nobody uses them now: a test database could not be dropped while they are open."""
        with self._lock:
            idle, self._noted = [*self._noted], WeakSet()
        for each in idle:
            each.inc_thread_sharing()
            with suppress(Exception):  # the server may be gone
                each.close()
            each.dec_thread_sharing()

    def after_fork(self) -> None:
        """They are the parent's."""
        self._lock, self._noted = Lock(), WeakSet()

    def _take(self) -> None:
        own = _of_this_thread()
        with self._lock:
            self._noted.difference_update(own)
        _close_old(own)

    def _leave(self) -> None:
        own = _of_this_thread()
        _close_old(own)
        with self._lock:
            self._noted.update(each for each in own if each.connection is not None and not each.in_atomic_block)


def _of_this_thread() -> list[Any]:
    return list(connections.all(initialized_only=True))


def _close_old(own: list[Any]) -> None:
    """Django's own would also close what is inside a transaction: that of a test, in which `inline` calls a task."""
    for connection in own:
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
