"""A store in a PostgreSQL database, or in one schema of it, shared by any number of machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy import URL, event

from onthedot.errors import SettingsError
from onthedot.stores.sql.channel import Channel
from onthedot.stores.sql.dialects.postgresql import POSTGRESQL
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

SESSION = {
    "statement_timeout": STATEMENT_S * 1000,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_S * 1000,
    # Batches join what they are given with our rows, by their key; else a small table would be read whole each time.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
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


@dataclass(frozen=True, slots=True)
class _Options:
    """What a URL says behind its question mark and libpq does not know."""

    schema: str | None
    read_ms: int


def open_postgresql(
    url: str, place: str, *, create: bool, upgrade: bool, now_ms: Callable[[], int] | None = None
) -> SqlStore:
    """The store at this URL: `?schema=` names the schema, `?read_timeout=` is in seconds, all else is for libpq."""
    load_driver("psycopg", "postgresql", "psycopg", "postgresql")
    parsed, options = _split(server_url(url, "postgresql+psycopg", place), place)
    schema = options.schema
    store = SqlStore(lambda: _engine(parsed, options), POSTGRESQL, place, now_ms, schema=schema, channel=Channel)
    store.prepare_or_close(create=create, upgrade=upgrade)
    return store


def _split(url: URL, place: str) -> tuple[URL, _Options]:
    schema = url.query.get("schema")
    if schema is not None and (not isinstance(schema, str) or not schema or len(schema.encode()) > 63):
        raise SettingsError(f"{place}: schema= takes one name of at most 63 bytes")
    seconds = url.query.get("read_timeout", str(ANSWER_S))
    if not isinstance(seconds, str) or not seconds.isdecimal() or int(seconds) == 0:
        raise SettingsError(f"{place}: read_timeout= takes whole seconds, like read_timeout={ANSWER_S}")
    return url.difference_update_query(["schema", "read_timeout"]), _Options(schema, int(seconds) * 1000)


def _engine(url: URL, ours: _Options) -> sqlalchemy.Engine:
    settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
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
    _bound(engine, ours.read_ms)
    return engine if ours.schema is None else engine.execution_options(schema_translate_map={None: ours.schema})


def _bound(engine: sqlalchemy.Engine, read_ms: int) -> None:
    from onthedot.stores.sql import answering  # here, since it needs the driver

    def connect(_dialect: object, _entry: object, _given: object, options: dict[str, Any]) -> Any:
        return answering.connect(read_ms, options)

    event.listen(engine, "do_connect", connect)
