"""A store in a MariaDB or MySQL database, shared by any number of machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy
from sqlalchemy import URL, event

from onthedot.errors import SettingsError
from onthedot.stores.sql.dialects.mariadb import MARIADB
from onthedot.stores.sql.pooling import (
    ANSWER_S,
    CONNECT_S,
    IDLE_IN_TRANSACTION_S,
    STATEMENT_S,
    load_driver,
    pooled_engine,
    server_url,
)
from onthedot.stores.sql.store import SqlStore


def open_mariadb(
    url: str, place: str, *, create: bool, upgrade: bool, now_ms: Callable[[], int] | None = None
) -> SqlStore:
    """The store at this URL; its options are those of PyMySQL."""
    load_driver("pymysql", url.partition("://")[0], "PyMySQL", "mysql")
    parsed = server_url(url, "mysql+pymysql", place)
    if "schema" in parsed.query:
        raise SettingsError(f"{place}: schema= is for PostgreSQL; here a schema is a database: name another one")
    store = SqlStore(lambda: _engine(parsed), MARIADB, place, now_ms)
    try:
        store.prepare_or_close(create=create, upgrade=upgrade)
    except TypeError as error:  # what PyMySQL says to an option that it does not know
        raise SettingsError(f"{place}: {error}") from error
    return store


def _engine(url: URL) -> sqlalchemy.Engine:
    given = {
        "connect_timeout": CONNECT_S,
        "read_timeout": ANSWER_S,
        "write_timeout": ANSWER_S,
        "charset": "utf8mb4",
    }
    engine = pooled_engine(url, connect_args={name: value for name, value in given.items() if name not in url.query})
    event.listen(engine, "connect", _set_up)
    return engine


def _set_up(connection: Any, _entry: object) -> None:
    # Strict: what does not fit is an error, never cut off. What only MariaDB knows stands in its own kind of comment.
    with connection.cursor() as cursor:
        cursor.execute(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
            f"innodb_lock_wait_timeout = {STATEMENT_S // 3} "
            f"/*M!100302 , idle_transaction_timeout = {IDLE_IN_TRANSACTION_S}, max_statement_time = {STATEMENT_S} */"
        )
