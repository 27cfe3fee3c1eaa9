"""A store in one SQLite file, shared by any number of processes on one machine."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Column, Connection
from sqlalchemy.exc import DBAPIError

from onthedot.errors import SchemaError, StoreError
from onthedot.stores.sql import driver
from onthedot.stores.sql.dialect import Dialect, Fault, Rows
from onthedot.stores.sql.given_rows import JsonEach
from onthedot.stores.sql.plain_sqlite import OnSqlite
from onthedot.stores.sql.sqlite_forks import ForkablePool, OwnConnection, refuse_inherited
from onthedot.stores.sql.store import SqlStore

_BUSY_SECONDS = 0.05
"""How long SQLite itself waits for a lock; the store then asks again, up to its own bound.

SQLite naps longer and longer, up to 100 ms: whoever has waited long would lose every race against who comes just now.
Asking every millisecond instead made ten planners on two cores slower by half: they took the time of who wrote.
"""


def open_sqlite(path: Path, *, create: bool, now_ms: Callable[[], int]) -> SqlStore:
    """The store in this file, with its tables of this version; a file that is not there is made only if `create`."""
    path = path.absolute()
    _check(path, create=create)
    store = SqlStore(lambda: _engine(path), SQLITE, f"sqlite:///{path}", now_ms)
    try:
        store.prepare(create=create, before_creation=lambda: _use_wal(path))
    except BaseException:
        store.close()
        raise
    return store


def _check(path: Path, *, create: bool) -> None:
    """What SQLite would only call "unable to open database file"."""
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path.parent} of the store does not exist; create it, or choose another")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, like sqlite:///{path / 'jobs.db'}")
    if not path.exists() and not create:
        raise SchemaError(f"no onthedot store at sqlite:///{path}: run `onthedot migrate` or start a node")
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise StoreError(f"{place} cannot be written by this user, and SQLite writes both a file and beside it")


def _engine(path: Path) -> sqlalchemy.Engine:
    return sqlalchemy.create_engine(
        "sqlite://", creator=lambda: _connect(path), poolclass=ForkablePool, pool_size=5, max_overflow=50
    )


def _connect(path: Path) -> sqlite3.Connection:
    refuse_inherited(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rwc",
        uri=True,
        factory=OwnConnection,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions begin where the store says so, not where the driver guesses
        check_same_thread=False,
    )
    # FULL: what was committed is on the disk, also after a power cut; NORMAL would lose the last runs, and repeat them.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16384")  # in kB; 2 MB by default, which ten thousand schedules outgrow
    connection.execute("PRAGMA wal_autocheckpoint = 4000")  # 16 MB: a batch of 500 writes about 1 MB
    return connection


def _use_wal(path: Path) -> None:
    """Readers and one writer at once; kept in the file, so that it is done once."""
    try:
        with closing(_connect(path)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.Error as error:
        raise DBAPIError.instance("PRAGMA journal_mode", None, error, sqlite3.Error) from error
    if mode != "wal":
        raise StoreError(f"{path} cannot use SQLite's WAL (journal_mode is {mode}); is it on a network drive?")


# what its errors mean

_FAULTS = {
    sqlite3.SQLITE_BUSY: Fault.BUSY,
    sqlite3.SQLITE_LOCKED: Fault.BUSY,
    sqlite3.SQLITE_IOERR: Fault.AWAY,
    sqlite3.SQLITE_FULL: Fault.AWAY,
    sqlite3.SQLITE_CANTOPEN: Fault.AWAY,
    sqlite3.SQLITE_PROTOCOL: Fault.BUSY,
    sqlite3.SQLITE_READONLY: Fault.READ_ONLY,
    sqlite3.SQLITE_PERM: Fault.READ_ONLY,
    sqlite3.SQLITE_NOTADB: Fault.NO_DATABASE,
    sqlite3.SQLITE_CORRUPT: Fault.NO_DATABASE,
}


def _fault(error: DBAPIError) -> Fault:
    cause = error.orig
    if not isinstance(cause, sqlite3.Error):
        return Fault.OTHER
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return Fault.OTHER
    if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Fault.CLASH
    if code == sqlite3.SQLITE_BUSY_SNAPSHOT:
        return Fault.READ_FIRST
    if "no such table" in str(cause):
        return Fault.NO_TABLES
    return _FAULTS.get(code & 0xFF, Fault.OTHER)


# what differs from other databases


def _change_many(connection: Connection, key: Column[Any], names: Sequence[str], rows: Rows) -> int | None:
    """Deletes only: what has many columns costs more as JSON than row by row."""
    if names:
        return None
    values = json.dumps([value for (value,) in rows])
    statement = f"DELETE FROM {key.table} WHERE {key.name} IN (SELECT value FROM json_each(?))"
    return driver.write_text(connection, statement, [(values,)])


SQLITE = Dialect(
    name="sqlite",
    also_known_as=frozenset(),
    fault=_fault,
    exclusive=True,
    upgrades_itself=True,
    most_values=500,  # 999 at most before 3.32
    given=JsonEach(),
    plain=OnSqlite() if sqlite3.sqlite_version_info >= (3, 35) else None,  # before it there was no RETURNING
    nests_limits=True,
    change_many=_change_many,
    begin_writing="BEGIN IMMEDIATE",
    begin_snapshot="BEGIN",
    take_write_lock="UPDATE onthedot_meta SET version_num = version_num WHERE version_num = ''",
)
