"""SQLAlchemy over Django's own connection, which stays Django's: nothing here begins, ends or closes anything of it.

Without that a `with` of SQLAlchemy around one statement would roll the user's transaction back on its way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy
from django.db import connections
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.mysql.mysqldb import MySQLDialect_mysqldb
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from sqlalchemy.engine.default import DefaultDialect as _Base
else:
    _Base = object


class _Borrowed(_Base):
    """Savepoints are made; the rest of a connection's life is not ours."""

    def on_connect_url(self, url: sqlalchemy.URL) -> Callable[[Any], Any] | None:
        """Nothing is set up: SQLite's would put another REGEXP in the place of Django's."""
        return None

    def do_begin(self, dbapi_connection: Any) -> None: ...
    def do_commit(self, dbapi_connection: Any) -> None: ...
    def do_rollback(self, dbapi_connection: Any) -> None: ...
    def do_close(self, dbapi_connection: Any) -> None: ...
    def do_terminate(self, dbapi_connection: Any) -> None: ...


class BorrowedSqlite(_Borrowed, SQLiteDialect_pysqlite):
    """Python's own driver."""

    supports_statement_cache = True


class BorrowedPsycopg(_Borrowed, PGDialect_psycopg):
    """psycopg 3."""

    supports_statement_cache = True


class BorrowedMysqlclient(_Borrowed, MySQLDialect_mysqldb):
    """mysqlclient."""

    supports_statement_cache = True


class BorrowedPymysql(_Borrowed, MySQLDialect_pymysql):
    """PyMySQL, where it stands in for mysqlclient."""

    supports_statement_cache = True


for _kind in (BorrowedSqlite, BorrowedPsycopg, BorrowedMysqlclient, BorrowedPymysql):
    registry.register(f"onthedot.{_kind.__name__.lower()}", __name__, _kind.__name__)


def borrowing_engine(alias: str) -> sqlalchemy.Engine:
    """An engine whose connections are Django's of this thread, whichever that is just then."""
    options: dict[str, Any] = {}
    connection = connections[alias]
    match connection.vendor, connection.Database.__name__:
        case "sqlite", _:
            kind: type = BorrowedSqlite
        case "postgresql", _:
            kind = BorrowedPsycopg
            # as our own engine has it; and what is not used is not asked for
            options = {"paramstyle": "format", "use_native_hstore": False}
        case _, "pymysql":
            kind = BorrowedPymysql
        case _:
            kind = BorrowedMysqlclient
    return sqlalchemy.create_engine(
        f"onthedot+{kind.__name__.lower()}://",
        creator=lambda: _of_this_thread(alias),
        poolclass=NullPool,
        pool_reset_on_return=None,
        **options,
    )


def _of_this_thread(alias: str) -> Any:
    connection = connections[alias]
    connection.ensure_connection()
    return connection.connection
