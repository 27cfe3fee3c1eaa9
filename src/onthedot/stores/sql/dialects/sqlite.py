"""SQLite: one file, one writer at a time, no server."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

from onthedot.stores.sql.dialects.base import Dialect, Fault

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


SQLITE = Dialect(
    name="sqlite",
    also_known_as=frozenset(),
    fault=_fault,
    exclusive=True,
    upgrades_itself=True,
    most_values=500,  # 999 at most before 3.32
    nests_limits=True,
    begin_writing="BEGIN IMMEDIATE",
    take_write_lock="UPDATE onthedot_meta SET version_num = version_num WHERE version_num = ''",
)
