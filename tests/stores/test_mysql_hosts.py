"""Several hosts in the URL of MariaDB: those that are of no use are passed by, or left. Galera: tests/cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, text
from tests.servers.base import free_port
from tests.servers.mariadb import connect

from onthedot.errors import StoreUnavailable
from onthedot.stores.open import open_store
from onthedot.stores.sql.store import SqlStore
from onthedot.stores.transaction import CutOff


def _several(url: str) -> str:
    """Nobody listens at the first."""
    parts = urlsplit(url)
    return f"mariadb://root@127.0.0.1:{free_port()},{parts.hostname}:{parts.port}{parts.path}"


@pytest.fixture
def store(mariadb: str) -> Iterator[SqlStore]:
    with closing(open_store(_several(mariadb), create=True)) as store:
        assert isinstance(store, SqlStore)
        yield store


def test_a_server_that_is_not_there_is_passed_by(store: SqlStore) -> None:
    assert store.schedules() == []


@pytest.mark.parametrize("code", [1047, 1290])
def test_a_connection_whose_server_takes_no_work_any_more_is_given_up(store: SqlStore, code: int) -> None:
    before = store._reading(_number)
    with pytest.raises(CutOff), store.begin() as tx:
        tx._connection.execute(text(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'away'"))
    assert store._reading(_number) != before


def _number(connection: Connection) -> int:
    return int(connection.execute(text("SELECT CONNECTION_ID()")).scalar_one())


def test_where_none_can_be_written_each_is_named_with_its_reason_in_one_line(mariadb: str) -> None:
    url = _several(mariadb)
    first, second = urlsplit(url).netloc.partition("@")[2].split(",")
    with _read_only(mariadb), pytest.raises(StoreUnavailable) as caught:
        open_store(url, create=False)
    said = str(caught.value)
    assert said.startswith(f"{url} does not answer: ")
    assert said.endswith(f"; {second} is read-only")
    assert first.partition(":")[0] in said
    assert "\n" not in said


@contextmanager
def _read_only(url: str) -> Iterator[None]:
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL read_only = 1")
        try:
            yield
        finally:
            cursor.execute("SET GLOBAL read_only = 0")


def test_who_is_not_let_in_is_told_so_and_not_that_a_server_is_away(mariadb: str) -> None:
    with pytest.raises(Exception, match="does not let us in: Access denied"):
        open_store(_several(mariadb).replace("root@", "nobody:wrong@"), create=False)
