"""SQLite and forks: no connection may be open when a process forks.

SQLite keeps in memory, for the whole process, which locks its connections hold on a file. A child inherits that memory
and not the locks: it takes for held what is not held, reads and writes beside the others, and the file is lost. So
before a fork connections are let come back and closed, and both sides open new ones.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from threading import Event, RLock, get_ident
from typing import Any
from weakref import WeakSet

from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from onthedot.clock import SystemClock
from onthedot.errors import StoreError

_WAIT_MS = 2000
"""How long a fork waits for statements that are under way."""
_LOOK_MS = 1


class OwnConnection(sqlite3.Connection):
    """Remembers whose it is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pid = os.getpid()
        _open.add(self)

    def close(self) -> None:
        super().close()
        _open.discard(self)


class ForkablePool(QueuePool):
    """A pool that lends nothing while the process forks."""

    _sqla_logger_namespace = "sqlalchemy.pool.impl.QueuePool"
    """What it says of its connections is SQLAlchemy's to say, and no log record of ours."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._borrowers: dict[ConnectionPoolEntry, int] = {}
        _pools.add(self)

    def _do_get(self) -> ConnectionPoolEntry:
        with _gate:
            entry = super()._do_get()
            self._borrowers[entry] = get_ident()
        return entry

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        self._borrowers.pop(record, None)
        super()._do_return_conn(record)

    def is_waited_for(self) -> bool:
        """Whether others have borrowed from it; what the asker itself has borrowed would be waited for in vain."""
        borrowers = list(self._borrowers.values())
        return bool(borrowers) and get_ident() not in borrowers

    def close_idle(self) -> None:
        """Have no connection, if all have come back."""
        if not self._borrowers:
            self.dispose()


_gate = RLock()
"""Held while the process forks, and while connections are lent."""
_open: WeakSet[OwnConnection] = WeakSet()
_pools: WeakSet[ForkablePool] = WeakSet()


def refuse_inherited(path: Path) -> None:
    """`StoreError` in a child whose parent had a connection open when it forked: its own would break the file."""
    if any(each.pid != os.getpid() for each in list(_open)):
        raise StoreError(
            f"this process was forked inside a transaction of its parent on a SQLite file, so SQLite can no longer be"
            f" used here, nor {path}: fork outside of transactions, or begin a fresh process"
        )


def _before_fork() -> None:
    _gate.acquire()
    clock, pools = SystemClock(), list(_pools)
    end_ms = clock.monotonic_ms() + _WAIT_MS
    while any(pool.is_waited_for() for pool in pools) and clock.monotonic_ms() < end_ms:
        clock.wait(Event(), _LOOK_MS)
    for pool in pools:
        pool.close_idle()


def _after_fork() -> None:
    """On both sides, in the thread that has forked."""
    _gate.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
