"""What differs between databases, and nothing else: one small object each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from sqlalchemy import ColumnElement
from sqlalchemy.exc import DBAPIError


class Fault(Enum):
    """What a database's error means for us."""

    CLASH = auto()
    """Another transaction was first, and this one left nothing behind: once more."""
    BUSY = auto()
    """Locked by another for longer than we wait."""
    READ_FIRST = auto()
    """A transaction that began with a read can no longer write."""
    AWAY = auto()
    """It does not answer now, and may later."""
    READ_ONLY = auto()
    NO_TABLES = auto()
    NO_DATABASE = auto()
    """What is there is no database, or a damaged one."""
    OTHER = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One database. Locks that it does not have (`FOR UPDATE` on SQLite) its compiler leaves out by itself."""

    name: str
    begin_writing: str | None
    """How a transaction that will write begins; None: as the driver does it."""
    take_write_lock: str | None
    """First statement in a caller's transaction, where reading before writing could fail; None: not needed."""
    exclusive: bool
    """Whether a writing transaction has the whole database to itself: what it has read stays true, nothing is locked
    by others, and writers of one process had better queue in it."""
    clock: ColumnElement[int] | None
    """The server's time in milliseconds; None: there is no server, and this machine's clock is the store's."""
    fault: Callable[[DBAPIError], Fault]


# SQLite


_SQLITE_FAULTS = {
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


def _sqlite_fault(error: DBAPIError) -> Fault:
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
    return _SQLITE_FAULTS.get(code & 0xFF, Fault.OTHER)


SQLITE = Dialect(
    name="sqlite",
    begin_writing="BEGIN IMMEDIATE",
    take_write_lock="UPDATE onthedot_meta SET version_num = version_num WHERE version_num = ''",
    exclusive=True,
    clock=None,
    fault=_sqlite_fault,
)
