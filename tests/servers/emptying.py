"""Tables that several tests use one after the other are emptied between them: making them takes longer than a test.

The fixtures `postgresql_15_url` and `mariadb_url` are there for every test, as `mongodb_url` and `redis_url` are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest
import sqlalchemy
from sqlalchemy import delete
from sqlalchemy.pool import NullPool
from tests.servers import mariadb, postgresql

from onthedot.stores.open import open_store
from onthedot.stores.sql import tables

_DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "mysql": "mysql+pymysql"}


def empty(url: str) -> None:
    """Remove every row of ours but the version."""
    with _engine(url).begin() as connection:
        for table in tables.metadata.sorted_tables:
            if table is not tables.meta:
                connection.execute(delete(table))


@lru_cache(maxsize=8)
def _engine(url: str) -> sqlalchemy.Engine:
    """It remembers its statements, and what it asked the server at first; no connection."""
    parsed = sqlalchemy.make_url(url)
    return sqlalchemy.create_engine(parsed.set(drivername=_DRIVERS[parsed.drivername]), poolclass=NullPool)


@pytest.fixture(scope="session")
def postgresql_15_tables(postgresql_15_server: str) -> Iterator[str]:
    with postgresql.database_in(postgresql_15_server) as url:
        open_store(url, create=True).close()
        yield url


@pytest.fixture(scope="session")
def mariadb_tables(mariadb_server: str) -> Iterator[str]:
    with mariadb.database_in(mariadb_server) as url:
        open_store(url, create=True).close()
        yield url


@pytest.fixture
def postgresql_15_url(postgresql_15_tables: str) -> str:
    """The URL of a database whose tables are there, and empty."""
    empty(postgresql_15_tables)
    return postgresql_15_tables


@pytest.fixture
def mariadb_url(mariadb_tables: str) -> str:
    """The URL of a database whose tables are there, and empty."""
    empty(mariadb_tables)
    return mariadb_tables
