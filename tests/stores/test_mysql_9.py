"""MySQL 9, put to the promises that its own ways of locking could break.

To every one of them by `scripts/test-slow` (test_mysql.py). MariaDB, which is put to all of them each time,
shares every line of code with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pymysql
import pytest
from tests.patience import LONGEST_S
from tests.servers.emptying import empty
from tests.servers.mariadb import connect, database_in

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS, TestKeys, TestManyThreadsAtOnce

__all__ = ["TestKeys", "TestManyThreadsAtOnce"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(scope="session")
def database(mysql_9_server: str) -> Iterator[str]:
    """One for all tests, since making one takes longer than most of them."""
    with database_in(mysql_9_server) as url:
        yield url


@pytest.fixture
def store(database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", LONGEST_S * 1000)  # this machine may be starved
    store = open_store(database, create=True, now_ms=clock)
    yield store
    store.close()
    empty(database)


def test_it_is_a_mysql_without_sha1(mysql_9: str) -> None:
    """So that what passes here rests on no digest that MySQL has given up."""
    with closing(connect(mysql_9)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        assert int(cursor.fetchone()[0].partition(".")[0]) >= 9
        with pytest.raises(pymysql.OperationalError, match="SHA1 does not exist"):
            cursor.execute("SELECT SHA1('onthedot')")


def test_a_user_with_a_password_is_let_in(mysql_9: str) -> None:
    """MySQL 9 knows no other way than caching_sha2_password, for which the driver must speak TLS by itself."""
    with closing(connect(mysql_9)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER 'ada'@'%' IDENTIFIED BY 'secret'")
        cursor.execute("GRANT ALL ON *.* TO 'ada'@'%'")
    parts = urlsplit(mysql_9)
    store = open_store(parts._replace(netloc=f"ada:secret@127.0.0.1:{parts.port}").geturl(), create=True)
    assert store.schedules() == []
    store.close()
