"""A store in a PostgreSQL database, or in one schema of it, shared by any number of machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy import URL, BigInteger, Connection, event, literal_column, text
from sqlalchemy.exc import DBAPIError

from onthedot.durations import format_duration
from onthedot.errors import SettingsError
from onthedot.model.finding import Finding, Level
from onthedot.stores.hosts import Host
from onthedot.stores.sql import pgbouncer
from onthedot.stores.sql.ahead_postgresql import plan_ahead
from onthedot.stores.sql.connect import (
    ANSWER_S,
    CONNECT_S,
    IDLE_IN_TRANSACTION_S,
    STATEMENT_S,
    load_driver,
    pooled_engine,
    server_url,
)
from onthedot.stores.sql.dialect import Dialect, Fault
from onthedot.stores.sql.given_rows import Unnest
from onthedot.stores.sql.notify import NotifyChannel
from onthedot.stores.sql.plain_postgresql import OnPostgresql
from onthedot.stores.sql.postgres_batches import change_many, insert_many
from onthedot.stores.sql.store import SqlStore

SESSION = {
    "statement_timeout": STATEMENT_S * 1000,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_S * 1000,
    # Whatever is asked often has its index. A server that goes by statistics reads a small table whole, or sorts what
    # the index has in order, and keeps that plan while the table grows: until it looks again, a minute later.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # With these there is one good plan for a statement, whatever it is given. The server would make one each time, and
    # that takes longer than a step of plain runs.
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",  # it would take what is forbidden, where there is no other way, for a huge task
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
    several: Mapping[str, str]
    """Which servers to try, and which of them will do, where the URL names several."""
    pooled: bool
    """PgBouncer is between us and the server, and no session is ours."""


def open_postgresql(
    url: str, place: str, *, create: bool, upgrade: bool, now_ms: Callable[[], int] | None = None
) -> SqlStore:
    """The store at this URL: `?schema=`, `?read_timeout=` (in seconds) and `?pgbouncer=` are ours, the rest libpq's."""
    load_driver("psycopg", "postgresql", "psycopg", "postgresql")
    parsed, options = _split(*server_url(url, "postgresql+psycopg", place), place)
    dialect = pgbouncer.always_in_transactions(POSTGRESQL) if options.pooled else POSTGRESQL
    channel = pgbouncer.DeafChannel if options.pooled else NotifyChannel
    schema = options.schema
    store = SqlStore(lambda: _engine(parsed, options), dialect, place, now_ms, schema=schema, channel=channel)
    store.prepare_or_close(create=create, upgrade=upgrade)
    return store


def _can_be_named(schema: str) -> bool:
    """A % would be read by the driver, which takes what follows it for a parameter."""
    return 0 < len(schema.encode()) <= 63 and "%" not in schema


def _split(url: URL, hosts: Sequence[Host], place: str) -> tuple[URL, _Options]:
    schema = url.query.get("schema")
    if schema is not None and (not isinstance(schema, str) or not _can_be_named(schema)):
        raise SettingsError(f"{place}: schema= takes one name of at most 63 bytes, without %")
    seconds = url.query.get("read_timeout", str(ANSWER_S))
    if not isinstance(seconds, str) or not seconds.isdecimal() or int(seconds) == 0:
        raise SettingsError(f"{place}: read_timeout= takes whole seconds, like read_timeout={ANSWER_S}")
    pooled = pgbouncer.is_between(url, place)
    ours = _Options(schema, int(seconds) * 1000, _several(url, hosts, place), pooled)
    return url.difference_update_query(["schema", "read_timeout", pgbouncer.OPTION]), ours


def _several(url: URL, hosts: Sequence[Host], place: str) -> dict[str, str]:
    """One that can be written: a copy would be asked in vain until the end of its days."""
    if not hosts and not isinstance(url.query.get("host"), tuple):
        return {}
    wanted = url.query.get("target_session_attrs", "read-write")
    if wanted not in ("read-write", "primary"):
        raise SettingsError(f"{place}: a store is written, so target_session_attrs= takes read-write or primary")
    named = {
        "host": ",".join(each.name for each in hosts),
        "port": ",".join("" if each.port is None else str(each.port) for each in hosts),
    }
    return {"target_session_attrs": str(wanted), **(named if hosts else {})}


def _engine(url: URL, ours: _Options) -> sqlalchemy.Engine:
    options = {
        **_SOCKET,
        **ours.several,
        "application_name": "onthedot",
        **(pgbouncer.DRIVER if ours.pooled else {"options": _session(url)}),
    }
    given = {name: value for name, value in options.items() if name == "options" or name not in url.query}
    engine = pooled_engine(
        url.difference_update_query(["options"]),
        # A statement alone is no transaction of three round trips. Changed for each use, that would cost more than some
        # statements do; so it stays, and transactions begin where the store says so.
        "READ COMMITTED" if ours.pooled else "AUTOCOMMIT",
        connect_args=given,
        paramstyle="format",  # by position: a batch is then handed to the driver as it is
    )
    _bound(engine, ours.read_ms)
    if ours.pooled:
        pgbouncer.set_for_each_transaction(engine, SESSION)
    return engine if ours.schema is None else engine.execution_options(schema_translate_map={None: ours.schema})


def _session(url: URL) -> str:
    """Our settings, and behind them those of the URL, which go before ours."""
    settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    return f"{settings} {url.query.get('options', '')}".strip()


def _bound(engine: sqlalchemy.Engine, read_ms: int) -> None:
    from onthedot.stores.sql import postgres_timeouts  # here, since it needs the driver

    def connect(_dialect: object, _entry: object, _given: object, options: dict[str, Any]) -> Any:
        return postgres_timeouts.connect(read_ms, options)

    event.listen(engine, "do_connect", connect)


# what its errors mean

_FAULTS = {
    "23505": Fault.CLASH,  # unique_violation
    "40001": Fault.CLASH,  # serialization_failure
    "40P01": Fault.CLASH,  # deadlock_detected
    "55P03": Fault.BUSY,  # lock_not_available
    "25006": Fault.AWAY,  # read_only_sql_transaction: this server is a copy, until the other one is back
    "25P03": Fault.AWAY,  # idle_in_transaction_session_timeout
    "57014": Fault.AWAY,  # query_canceled, by statement_timeout
    "28000": Fault.NOT_LET_IN,
    "28P01": Fault.NOT_LET_IN,
    "3D000": Fault.NO_DATABASE,
    "42P01": Fault.NO_TABLES,
    "42501": Fault.READ_ONLY,  # insufficient_privilege
    "26000": Fault.POOLED,  # a prepared statement is not there
    "42P05": Fault.POOLED,  # it is there already
}
_FAULTS_BY_CLASS = {
    "08": Fault.AWAY,  # connection
    "53": Fault.AWAY,  # out of resources, too many connections
    "57": Fault.AWAY,  # shutdown, starting up
    "58": Fault.AWAY,  # system
}
# A connection that was not made comes without a code.
_SAID_ON_CONNECTING = (
    ("password", Fault.NOT_LET_IN),
    ("pg_hba.conf", Fault.NOT_LET_IN),
    ('role "', Fault.NOT_LET_IN),
    ('database "', Fault.NO_DATABASE),
    ("invalid connection option", Fault.OTHER),
    ("unsupported startup parameter", Fault.POOLED),
)
_CONNECTION_ERRORS = frozenset({"OperationalError", "InterfaceError", "ConnectionTimeout", "PipelineAborted"})


def _fault(error: DBAPIError) -> Fault:
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return _FAULTS.get(code) or _FAULTS_BY_CLASS.get(code[:2], Fault.OTHER)
    said = str(error.orig)
    for words, fault in _SAID_ON_CONNECTING:
        if words in said:
            return fault
    kind = type(error.orig).__name__
    return Fault.AWAY if error.connection_invalidated or kind in _CONNECTION_ERRORS else Fault.OTHER


# making the tables


def _hold_creation(connection: Connection) -> bool:
    return bool(connection.execute(text("SELECT pg_try_advisory_xact_lock(hashtext('onthedot'))")).scalar_one())


# its health

# What keeps rows that nobody needs any more from being cleaned away, so that each claim reads past them.
_OLD = text("""
    SELECT pid, coalesce(nullif(application_name, ''), 'an unnamed program'), usename, state,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS bigint)
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
        AND xact_start <= clock_timestamp() - make_interval(secs => :old_s)
    ORDER BY xact_start
""")
_HIDDEN = text("""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = '<insufficient privilege>'
""")


def _examine(connection: Connection, old_ms: int) -> list[Finding]:
    old = [_old_transaction(*row) for row in connection.execute(_OLD, {"old_s": old_ms / 1000})]
    hidden = connection.execute(_HIDDEN).scalar_one()
    if hidden:
        what = f"{hidden} sessions of other users cannot be looked at"
        old.append(Finding(Level.WARNING, "snapshot", what, "GRANT pg_read_all_stats to this user to see them"))
    return old or [Finding(Level.OK, "snapshot", "no old transaction is open in this database")]


def _old_transaction(pid: int, program: str, user: str, state: str, seconds: int) -> Finding:
    """One that does nothing was forgotten; one that works may be a backup."""
    idle = state.startswith("idle")
    what = (
        f"a transaction has been open for {format_duration(seconds * 1000)} ({state}), and keeps old rows:"
        f" pid {pid}, {program}, user {user}"
    )
    remedy = f"end it there, or here by SELECT pg_terminate_backend({pid})" if idle else "let it end; claims are slower"
    return Finding(Level.PROBLEM if idle else Level.WARNING, "snapshot", what, remedy)


# what differs from other databases

POSTGRESQL = Dialect(
    name="postgresql",
    also_known_as=frozenset(),
    fault=_fault,
    exclusive=False,
    upgrades_itself=False,
    most_values=10_000,
    compares_rows=True,
    given=Unnest(),
    plain=OnPostgresql(),
    plan_ahead=plan_ahead,
    insert_many=insert_many,
    change_many=change_many,
    # now() would be when the transaction began, clock_timestamp() is no condition for an index. Never rounded up.
    clock=literal_column("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)", BigInteger),
    begin_writing="BEGIN ISOLATION LEVEL READ COMMITTED",
    begin_snapshot="BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    hold_creation=_hold_creation,
    examine=_examine,
)
