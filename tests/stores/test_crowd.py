"""Faults at connecting, before a commit and after it (the reply is lost); many nodes on the same rows at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pymysql
import pytest
from sqlalchemy import event
from tests.patience import LONGEST
from tests.stores.crowd import START_MS, Crowd

from onthedot import App
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock

CHANCE = 0.2
FEW, MANY = 800, pytest.param(4000, marks=pytest.mark.slow)
"""Operations of the whole crowd."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("onthedot.stores.sql.mysql.IDLE_IN_TRANSACTION_S", 60)  # this machine may be starved
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    patient = "?options=-c%20idle_in_transaction_session_timeout%3D60s" if request.param != "mariadb" else ""
    return str(request.getfixturevalue(request.param)) + patient


@contextmanager
def opened(url: str, clock: ManualClock, count: int) -> Iterator[list[Store]]:
    with ExitStack() as stack:
        stores = []
        for _ in range(count):
            stores.append(open_store(url, create=True, now_ms=clock))
            stack.callback(stores[-1].close)
        yield stores


class BadLuck:
    """One in five connections is not made, one in five commits is not made, one in five is, and nobody hears of it."""

    def __init__(self, stores: list[Store]) -> None:
        self.on = True
        self._dice = Random(1)
        for store in stores:
            assert isinstance(store, SqlStore)
            self._strike(store)

    def _strike(self, store: SqlStore) -> None:
        engine = store._opened().engine
        error = _ERRORS[engine.dialect.name]
        commit = engine.dialect.do_commit

        def unlucky_commit(connection: Any) -> None:
            lot = self._dice.random() if self.on else 1
            if lot < CHANCE:
                raise error()
            commit(connection)
            if lot < 2 * CHANCE:
                raise error()

        def unlucky_checkout(*_: object) -> None:
            if self.on and self._dice.random() < CHANCE:
                raise error()

        engine.dialect.do_commit = unlucky_commit  # type: ignore[method-assign, assignment]
        event.listen(engine, "checkout", unlucky_checkout)


def _sqlite_error() -> Exception:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


_ERRORS: dict[str, Callable[[], Exception]] = {
    "sqlite": _sqlite_error,
    "postgresql": lambda: psycopg.OperationalError("the connection is lost"),
    "mysql": lambda: pymysql.err.OperationalError(2013, "Lost connection to server during query"),
}


@pytest.mark.parametrize("operations", [FEW, MANY])
def test_every_promise_holds_when_a_fifth_of_all_connections_commits_and_replies_is_lost(
    url: str, clock: ManualClock, operations: int
) -> None:
    with opened(url, clock, 4) as stores:
        crowd = Crowd(stores, clock, operations)
        crowd.put_schedules()
        bad_luck = BadLuck(stores)
        crowd.work()
        bad_luck.on = False
        crowd.settle()
        crowd.check()
        assert crowd.failures > operations * CHANCE / 2


@pytest.mark.parametrize("operations", [FEW, MANY])
def test_ten_nodes_on_the_same_rows_share_them_without_an_error(url: str, clock: ManualClock, operations: int) -> None:
    with opened(url, clock, 10) as stores:
        crowd = Crowd(stores, clock, operations, schedules=6)
        crowd.put_schedules()
        crowd.work()
        crowd.settle()
        crowd.check()
        assert crowd.failures == 0
        if url.startswith("postgresql"):
            with psycopg.connect(url.partition("?")[0]) as connection:
                found = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
                assert found.fetchone() == (0,)


def test_what_nobody_was_notified_of_is_found_by_polling(postgresql_15: str) -> None:
    app = App(postgresql_15, node=NodeSettings(poll_ms=100))

    @app.task
    def mail() -> str:
        return "sent"

    with app.running():
        store = app.open_store()
        assert isinstance(store, SqlStore)
        with store._opened().engine.begin() as connection:  # a user's transaction never notifies
            run = app.enqueue(mail, connection=connection)
        assert app.runs.wait(run.id, timeout=LONGEST).result == "sent"
    app.close()
