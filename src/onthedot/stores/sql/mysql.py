"""A store in a MariaDB or MySQL database, shared by any number of machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy import URL, BigInteger, Connection, event, literal_column, text
from sqlalchemy.exc import DBAPIError

from onthedot.errors import SettingsError
from onthedot.model.finding import Finding, Level
from onthedot.stores.hosts import Host
from onthedot.stores.sql import mysql_hosts
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
from onthedot.stores.sql.given_rows import JsonTable
from onthedot.stores.sql.mysql_batches import change_many
from onthedot.stores.sql.plain_mysql import SERVER_MS, OnMysql
from onthedot.stores.sql.store import SqlStore


def open_mysql(
    url: str, place: str, *, create: bool, upgrade: bool, now_ms: Callable[[], int] | None = None
) -> SqlStore:
    """The store at this URL; its options are those of PyMySQL."""
    load_driver("pymysql", url.partition("://")[0], "PyMySQL", "mysql")
    parsed, hosts = server_url(url, "mysql+pymysql", place)
    if "schema" in parsed.query:
        raise SettingsError(f"{place}: schema= is for PostgreSQL; here a schema is a database: name another one")
    store = SqlStore(lambda: _engine(parsed, hosts), MYSQL, place, now_ms)
    try:
        store.prepare_or_close(create=create, upgrade=upgrade)
    except TypeError as error:  # what PyMySQL says to an option that it does not know
        raise SettingsError(f"{place}: {error}") from error
    return store


def _engine(url: URL, hosts: Sequence[Host]) -> sqlalchemy.Engine:
    given = {
        "connect_timeout": CONNECT_S,
        "read_timeout": ANSWER_S,
        "write_timeout": ANSWER_S,
        "charset": "utf8mb4",
    }
    engine = pooled_engine(url, connect_args={name: value for name, value in given.items() if name not in url.query})
    event.listen(engine, "connect", _set_up)
    if hosts:
        mysql_hosts.use_any_of(engine, hosts)
    return engine


def _set_up(connection: Any, _entry: object) -> None:
    # Strict: what does not fit is an error, never cut off. What only MariaDB knows stands in its own kind of comment.
    with connection.cursor() as cursor:
        cursor.execute(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
            f"innodb_lock_wait_timeout = {STATEMENT_S // 3} "
            f"/*M!100302 , idle_transaction_timeout = {IDLE_IN_TRANSACTION_S}, max_statement_time = {STATEMENT_S} */"
        )


# what its errors mean

_FAULTS = {
    1020: Fault.CLASH,  # the record has changed since it was read
    # Another makes the tables, through another server of a cluster, which has locks of its own:
    1050: Fault.CLASH,  # the table was made meanwhile
    1061: Fault.CLASH,  # the index was
    1684: Fault.CLASH,  # the table is being made
    1062: Fault.CLASH,  # duplicate entry
    1205: Fault.CLASH,  # waited too long for a lock
    1213: Fault.CLASH,  # deadlock
    1044: Fault.NOT_LET_IN,
    1045: Fault.NOT_LET_IN,
    1698: Fault.NOT_LET_IN,
    1049: Fault.NO_DATABASE,
    1142: Fault.READ_ONLY,
    1143: Fault.READ_ONLY,
    1227: Fault.READ_ONLY,
    1146: Fault.NO_TABLES,
    1040: Fault.AWAY,  # too many connections
    1047: Fault.AWAY,  # in no majority of its Galera cluster
    1053: Fault.AWAY,  # it shuts down
    1077: Fault.AWAY,
    1079: Fault.AWAY,
    1129: Fault.AWAY,
    1152: Fault.AWAY,
    1158: Fault.AWAY,
    1159: Fault.AWAY,
    1160: Fault.AWAY,
    1161: Fault.AWAY,
    1180: Fault.AWAY,  # there was no majority at the commit
    1184: Fault.AWAY,
    1203: Fault.AWAY,
    1290: Fault.AWAY,  # read-only: a copy, until the other one is back
    1317: Fault.AWAY,  # interrupted
    1836: Fault.AWAY,
    1927: Fault.AWAY,  # the connection was killed
    1969: Fault.AWAY,  # max_statement_time
    3024: Fault.AWAY,  # max_execution_time
    4031: Fault.AWAY,  # idle for too long
}


def _fault(error: DBAPIError) -> Fault:
    arguments = getattr(error.orig, "args", ())
    code = arguments[0] if arguments and isinstance(arguments[0], int) else None
    if code in _FAULTS:
        return _FAULTS[code]
    lost = error.connection_invalidated or type(error.orig).__name__ == "InterfaceError"
    return Fault.AWAY if lost or (code is not None and 2000 <= code < 2100) else Fault.OTHER


# making the tables


_CREATION = "SHA2(CONCAT('onthedot ', DATABASE()), 256)"  # whatever else their URLs say, they mean the same tables


def _hold_creation(connection: Connection) -> bool:
    return bool(connection.execute(text(f"SELECT GET_LOCK({_CREATION}, 0)")).scalar_one() == 1)


def _let_go_of_creation(connection: Connection) -> None:
    connection.execute(text(f"SELECT RELEASE_LOCK({_CREATION})")).scalar_one()


# its health

_VARIABLES = text("""
    SHOW SESSION VARIABLES WHERE Variable_name IN
        ('tx_isolation', 'transaction_isolation', 'log_bin', 'binlog_format', 'innodb_flush_log_at_trx_commit')
""")
_LEAVE_IT = "the store sets it by itself: remove init_command from the URL, or init_connect on the server"
_LOST_WITH = {"0": "server", "2": "machine"}


def _examine(connection: Connection, _old_ms: int) -> list[Finding]:
    said = {str(name): str(value) for name, value in connection.execute(_VARIABLES)}
    level = said.get("transaction_isolation") or said.get("tx_isolation", "unknown")
    found = [
        Finding(Level.OK, "isolation", level)
        if level == "READ-COMMITTED"
        else Finding(Level.PROBLEM, "isolation", f"{level}, not READ-COMMITTED", _LEAVE_IT)
    ]
    if said.get("log_bin") == "ON" and said.get("binlog_format") == "STATEMENT":
        what = "binlog_format is STATEMENT, which refuses the writes of READ COMMITTED"
        found.append(Finding(Level.PROBLEM, "binlog", what, "SET GLOBAL binlog_format = 'ROW', or MIXED"))
    flush = said.get("innodb_flush_log_at_trx_commit", "1")
    if flush in ("0", "2"):
        what = f"innodb_flush_log_at_trx_commit is {flush}: a crash of the {_LOST_WITH[flush]} loses the last second"
        found.append(Finding(Level.WARNING, "durability", what, "set it to 1, or ticks of that second run again"))
    return found


# what differs from other databases

MYSQL = Dialect(
    name="mysql",
    also_known_as=frozenset({"mariadb"}),
    fault=_fault,
    exclusive=False,
    upgrades_itself=False,
    most_values=10_000,
    given=JsonTable(),
    plain=OnMysql(),
    groups_by_jumping=True,
    change_many=change_many,
    clock=literal_column(SERVER_MS, BigInteger),
    begin_snapshot="SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    hold_creation=_hold_creation,
    let_go_of_creation=_let_go_of_creation,
    examine=_examine,
)
