"""A store in a PostgreSQL database, or in one schema of it, shared by any number of machines."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy
from sqlalchemy import URL

from onthedot.errors import SettingsError
from onthedot.stores.sql.channel import Channel
from onthedot.stores.sql.dialects.postgresql import POSTGRESQL
from onthedot.stores.sql.pooling import (
    CONNECT_S,
    IDLE_IN_TRANSACTION_S,
    STATEMENT_S,
    load_driver,
    pooled_engine,
    server_url,
)
from onthedot.stores.sql.store import SqlStore

_SESSION = {
    "statement_timeout": STATEMENT_S * 1000,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_S * 1000,
}
# Nobody waits for ever on a socket whose other end is gone: seconds until the first question, between, and how many.
_SOCKET = {
    "connect_timeout": CONNECT_S,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": STATEMENT_S * 1000,
}


def open_postgresql(
    url: str, place: str, *, create: bool, upgrade: bool, now_ms: Callable[[], int] | None = None
) -> SqlStore:
    """The store at this URL; `?schema=` names the schema, all other options are those of libpq."""
    load_driver("psycopg", "postgresql", "psycopg", "postgresql")
    parsed, schema = _split_schema(server_url(url, "postgresql+psycopg", place), place)
    store = SqlStore(lambda: _engine(parsed, schema), POSTGRESQL, place, now_ms, schema=schema, channel=Channel)
    store.prepare_or_close(create=create, upgrade=upgrade)
    return store


def _split_schema(url: URL, place: str) -> tuple[URL, str | None]:
    schema = url.query.get("schema")
    if schema is not None and (not isinstance(schema, str) or not schema or len(schema.encode()) > 63):
        raise SettingsError(f"{place}: schema= takes one name of at most 63 bytes")
    return url.difference_update_query(["schema"]), schema


def _engine(url: URL, schema: str | None) -> sqlalchemy.Engine:
    settings = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    options = {
        **_SOCKET,
        "application_name": "onthedot",
        "options": f"{settings} {url.query.get('options', '')}".strip(),
    }
    given = {name: value for name, value in options.items() if name == "options" or name not in url.query}
    engine = pooled_engine(
        url.difference_update_query(["options"]),
        connect_args=given,
        paramstyle="format",  # by position: a batch is then handed to the driver as it is
    )
    return engine if schema is None else engine.execution_options(schema_translate_map={None: schema})
