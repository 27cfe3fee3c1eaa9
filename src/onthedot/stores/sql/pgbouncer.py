"""PostgreSQL behind PgBouncer in transaction mode, where each transaction may be in another session of the server.

What belongs to a session is lost there, or found by somebody else: settings, prepared statements, LISTEN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy
from sqlalchemy import URL, Connection, event

from onthedot.errors import SettingsError
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.notify import NotifyChannel

OPTION = "pgbouncer"
DRIVER = {"prepare_threshold": None}
"""The driver prepares no statement on the server."""


def is_between(url: URL, place: str) -> bool:
    """Whether the URL says so; `SettingsError` where it says something else, or what PgBouncer would not hand on."""
    said = url.query.get(OPTION)
    if said is None:
        return False
    if said != "transaction":
        raise SettingsError(f"{place}: {OPTION}= takes transaction, which does for its session mode, too")
    if "options" in url.query:
        raise SettingsError(f"{place}: options= belongs to a session, which PgBouncer shares; use ALTER ROLE … SET")
    return True


def set_for_each_transaction(engine: sqlalchemy.Engine, settings: Mapping[str, object]) -> None:
    """In one statement, and before any that reads, so that the transaction may still become a snapshot."""
    statement = "; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items())

    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql(statement)

    event.listen(engine, "begin", begin)


def always_in_transactions(dialect: Dialect) -> Dialect:
    """Also what only reads once is in one, which the driver begins, or its time-outs would not hold."""
    snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    return replace(dialect, begin_writing=None, begin_snapshot=snapshot)


class DeafChannel(NotifyChannel):
    """Speaks to those that are connected directly, and hears nobody."""

    def listen(self) -> None:
        """Polling finds whatever others have to say."""
