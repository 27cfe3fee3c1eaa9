"""PostgreSQL through PgBouncer in transaction mode: the promises that a lost session could break, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from threading import Event
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, text
from tests.patience import LONGEST, LONGEST_S
from tests.servers.emptying import empty
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgresql import database_in

from onthedot import App
from onthedot.errors import SettingsError, StoreError
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.sql.postgresql import SESSION
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS, TestFinishingAndStarting, TestKeys, TestManyThreadsAtOnce

__all__ = ["TestFinishingAndStarting", "TestKeys", "TestManyThreadsAtOnce"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(scope="module")
def direct(postgresql_15_server: str, pgbouncer: PgBouncer) -> Iterator[str]:
    """The database without PgBouncer."""
    with database_in(postgresql_15_server) as url:
        yield url


@pytest.fixture(scope="module")
def database(direct: str, pgbouncer: PgBouncer) -> str:
    return f"{urlsplit(pgbouncer.url)._replace(path=urlsplit(direct).path).geturl()}?pgbouncer=transaction"


@pytest.fixture
def store(database: str, direct: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", LONGEST_S * 1000)  # this machine may be starved
    monkeypatch.setitem(SESSION, "idle_in_transaction_session_timeout", 60_000)
    store = open_store(database, create=True, now_ms=clock)
    yield store
    store.close()
    empty(direct)


def test_each_transaction_has_our_settings_and_leaves_none_to_others(store: Store, database: str) -> None:
    assert isinstance(store, SqlStore)

    def settings(connection: Connection) -> dict[str, str]:
        asked = text("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")
        return {str(name): str(value) for name, value in connection.execute(asked, {"names": list(SESSION)})}

    ours = {name: str(value) for name, value in SESSION.items()}
    assert store._reading(settings) == ours
    assert store._reading(settings, snapshot=True) == ours
    with store.begin() as tx:
        assert settings(tx._connection) == ours
    with store._opened().engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
        assert settings(plain)["statement_timeout"] == "0"


def test_what_was_enqueued_through_it_is_heard_by_those_that_are_connected_directly(store: Store, direct: str) -> None:
    deaf, heard = Event(), Event()
    store.listen(deaf.set)
    with closing(open_store(direct, create=False)) as other:
        end = other.listen(heard.set)
        assert heard.wait(LONGEST_S)  # it is connected
        heard.clear()
        store.enqueue([Run("run", "task", "enqueue", 0, 0)])
        assert heard.wait(LONGEST_S)
        end()


def test_a_node_behind_it_finds_what_others_enqueue_by_polling(database: str, direct: str) -> None:
    with closing(open_store(database, create=True)) as nodes, closing(open_store(direct, create=False)) as others:
        app = App(database, store=nodes)

        @app.task
        def double(number: int) -> int:
            return 2 * number

        app.start()
        try:
            asking = App(direct, store=others)
            ids = [asking.enqueue("double", args={"number": number}, unchecked=True).id for number in range(20)]
            assert [asking.runs.wait(each, timeout=LONGEST).result for each in ids] == [2 * each for each in range(20)]
        finally:
            app.stop()
    empty(direct)


def test_who_does_not_know_that_it_stands_between_is_told_what_to_write(database: str) -> None:
    with pytest.raises(StoreError, match=r"is behind PgBouncer .*; add pgbouncer=transaction to the URL$") as caught:
        open_store(database.partition("?")[0], create=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("pgbouncer=yes", "pgbouncer= takes transaction, which does for its session mode, too"),
        ("pgbouncer=transaction&pgbouncer=session", "pgbouncer= takes transaction, which does for its session mode"),
        ("pgbouncer=transaction&options=-cjit%3Don", "options= belongs to a session, which PgBouncer shares"),
    ],
)
def test_what_the_url_cannot_mean_is_said_in_one_line(options: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(f"postgresql://db/jobs?{options}", create=False)
    assert str(caught.value).startswith(f"postgresql://db/jobs?{options}: {said}")
