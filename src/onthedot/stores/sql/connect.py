"""Connections to a server: a few, kept open, and looked at before they are used again after a pause."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import sqlalchemy
from sqlalchemy import URL, event
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from onthedot.clock import SystemClock
from onthedot.errors import DriverMissing, SettingsError
from onthedot.stores.hosts import Host, split_hosts

POOL_SIZE = 5
"""Planner, outcomes, heartbeat and those who ask: a node needs no connection per worker."""
MOST_BEYOND = 15
CONNECT_S = 5
STATEMENT_S = 15
"""Half a lease: what takes longer would cost the node its runs."""
ANSWER_S = STATEMENT_S + 5
"""The server ends a statement by itself, and says so; one that has said nothing for so long is stopped or cut off."""
IDLE_IN_TRANSACTION_S = 2
"""After so long the server cuts off whoever froze inside a transaction, and its locks are free."""
_TRUSTED_MS = 1000
"""A connection that was used so recently is taken to be alive; the next statement tells otherwise."""


def server_url(url: str, driver: str, place: str) -> tuple[URL, tuple[Host, ...]]:
    """The URL for SQLAlchemy, with our driver whatever the scheme says; and its hosts, where it names several."""
    without_hosts, hosts = split_hosts(url, place)
    try:
        parsed = sqlalchemy.make_url(without_hosts)
    except (ArgumentError, ValueError) as error:
        raise SettingsError(
            f"{place} cannot be read as a URL: write it like scheme://user:password@host/database"
        ) from error
    if not parsed.database:
        raise SettingsError(
            f"{place} names no database; write it like {parsed.drivername}://user:password@host/database"
        )
    return parsed.set(drivername=driver), hosts


def load_driver(module: str, scheme: str, package: str, extra: str) -> None:
    """`DriverMissing`, with the remedy, where the driver cannot be imported."""
    try:
        import_module(module)
    except ImportError as error:
        raise DriverMissing(scheme, package, extra) from error


def pooled_engine(url: URL, isolation_level: str = "READ COMMITTED", **options: Any) -> sqlalchemy.Engine:
    """An engine whose transactions are READ COMMITTED: they see, and lock, what others have committed meanwhile.

    With AUTOCOMMIT a transaction begins only where somebody says so, and says of which kind it is.
    """
    engine = sqlalchemy.create_engine(
        url,
        isolation_level=isolation_level,
        pool_size=POOL_SIZE,
        max_overflow=MOST_BEYOND,
        pool_timeout=STATEMENT_S,
        **options,
    )
    clock = SystemClock()

    def note_use(_connection: object, entry: ConnectionPoolEntry) -> None:
        entry.info["used_ms"] = clock.monotonic_ms()

    def look_at_it(connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        used_ms = entry.info.get("used_ms")
        if used_ms is None or clock.monotonic_ms() - used_ms < _TRUSTED_MS:
            return
        try:
            engine.dialect.do_ping(connection)
        except Exception as error:  # whatever it is, the connection is of no use; the pool makes another
            raise DisconnectionError from error

    event.listen(engine, "checkin", note_use)
    event.listen(engine, "checkout", look_at_it)
    return engine
