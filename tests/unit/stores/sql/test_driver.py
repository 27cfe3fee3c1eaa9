"""Statements that go past SQLAlchemy are the same for whoever looks at them, and fail as the others do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, create_engine, event, literal, select, text
from sqlalchemy.dialects.mysql.pymysql import dialect as mysql_dialect
from sqlalchemy.exc import DBAPIError, IntegrityError

from onthedot.stores.sql import driver

ASK: Any = select(literal("x"), bindparam("given"))
WRITE = text("INSERT INTO things VALUES (:id, :name)")


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        yield connection
    engine.dispose()


def test_what_is_given_and_what_stands_in_the_statement_both_arrive(connection: Connection) -> None:
    assert [tuple(row) for row in driver.fetch(connection, ASK, {"given": 7, "other": 8})] == [("x", 7)]
    assert driver.write(connection, WRITE, {"id": 1, "name": "one"}) == 1
    assert driver.write_text(connection, "INSERT INTO things VALUES (?, ?)", [(2, "two"), (3, "three")]) == 2
    assert driver.write_text(connection, "DELETE FROM things WHERE id = ?", [(2,)]) == 1
    assert connection.exec_driver_sql("SELECT name FROM things").scalars().all() == ["one", "three"]


def test_who_listens_to_sqlalchemy_hears_of_every_statement(connection: Connection) -> None:
    heard: list[str] = []

    def remember(_: Any, __: Any, statement: str, *___: Any) -> None:
        heard.append(statement.split(maxsplit=1)[0])

    event.listen(connection, "before_cursor_execute", remember)
    driver.fetch(connection, ASK, {"given": 7})
    driver.write(connection, WRITE, {"id": 1, "name": "one"})
    driver.write_text(connection, "INSERT INTO things VALUES (?, ?)", [(2, "two"), (3, "three")])
    driver.write_text(connection, "DELETE FROM things WHERE id = ?", [(2,)])
    assert heard == ["SELECT", "INSERT", "INSERT", "DELETE"]


def test_what_the_database_refuses_is_sqlalchemy_s_error(connection: Connection) -> None:
    driver.write(connection, WRITE, {"id": 1, "name": "one"})
    with pytest.raises(IntegrityError) as refused:
        driver.write(connection, WRITE, {"id": 1, "name": "again"})
    assert not refused.value.connection_invalidated
    with pytest.raises(DBAPIError):
        driver.fetch(connection, text("SELECT nothing FROM nowhere"))


def test_a_connection_that_was_interrupted_in_the_midst_of_an_answer_is_not_used_again(connection: Connection) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driver._run(connection, "SELECT 1", (), interrupt)
    assert connection.invalidated


def test_mariadb_and_mysql_in_one_process_do_not_share_what_was_written_for_one_of_them() -> None:
    one, other = mysql_dialect(is_mariadb=True), mysql_dialect(is_mariadb=False)
    assert one.driver == other.driver
    assert driver._flavour(one) != driver._flavour(other)
