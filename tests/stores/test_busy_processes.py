"""A process that is busy elsewhere in a transaction: the server cuts it off after 2 s, and it begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest
import sqlalchemy
from sqlalchemy import Connection, event, text
from tests.patience import LONGEST_S

from onthedot.errors import StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.run import Run
from onthedot.stores import roll_up
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.stores.sql.store import SqlStore

WHO_AM_I = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}
IS_HERE = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE pid = :id",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE id = :id",
}
BY = Author("me", "test", "cancel")
RUN = Run("run", "task", "enqueue", 1, 1)


@pytest.fixture(params=["postgresql_15_url", "mariadb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[SqlStore]:
    store = open_store(request.getfixturevalue(request.param), create=True)
    assert isinstance(store, SqlStore)
    store.enqueue([RUN])
    yield store
    store.close()


def be_busy(connection: Connection, observer: sqlalchemy.Engine) -> None:
    """Do something else until the server has lost its patience with this connection."""
    name = connection.dialect.name
    connection.exec_driver_sql("SELECT count(*) FROM onthedot_runs").scalar_one()  # else MariaDB begins nothing
    mine = connection.exec_driver_sql(WHO_AM_I[name]).scalar_one()
    for _ in range(int(LONGEST_S * 100)):
        with observer.connect() as other:
            if not other.execute(text(IS_HERE[name]), {"id": mine}).scalar_one():
                return
        Event().wait(0.01)
    raise AssertionError("the server has not cut it off")


@pytest.fixture
def observer(store: SqlStore) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(store._opened().engine.url)
    yield engine
    engine.dispose()


def test_reads_that_shall_see_one_state_are_made_again_where_they_were_cut_off(
    store: SqlStore, observer: sqlalchemy.Engine
) -> None:
    calls: list[Connection] = []

    def work(connection: Connection) -> int:
        calls.append(connection)
        if len(calls) == 1:
            be_busy(connection, observer)
        return int(connection.exec_driver_sql("SELECT 42").scalar_one())

    assert store._reading(work, snapshot=True) == 42
    assert len(calls) == 2


def test_a_process_that_is_busy_after_its_reads_has_the_answer_all_the_same(
    store: SqlStore, observer: sqlalchemy.Engine
) -> None:
    calls: list[Connection] = []

    def work(connection: Connection) -> int:
        calls.append(connection)
        if len(calls) == 1:
            be_busy(connection, observer)
        return 42

    assert store._reading(work, snapshot=True) == 42


def test_one_read_leaves_no_transaction_open_or_is_made_again(store: SqlStore, observer: sqlalchemy.Engine) -> None:
    calls: list[Connection] = []

    def work(connection: Connection) -> int:
        calls.append(connection)
        if len(calls) == 1 and not is_idle(connection, observer):
            be_busy(connection, observer)
        return 42

    assert store._reading(work) == 42
    assert len(calls) == (1 if store._dialect.name == "postgresql" else 2)


def is_idle(connection: Connection, observer: sqlalchemy.Engine) -> bool:
    """Whether the server knows that nothing more comes."""
    if connection.dialect.name != "postgresql":
        return False
    mine = connection.exec_driver_sql(WHO_AM_I["postgresql"]).scalar_one()
    with observer.connect() as other:
        state = other.execute(text("SELECT state FROM pg_stat_activity WHERE pid = :id"), {"id": mine}).scalar_one()
    return bool(state == "idle")


def test_the_runs_that_are_asked_for_come_also_where_the_process_was_busy_between_two_statements(
    store: SqlStore, observer: sqlalchemy.Engine
) -> None:
    busy: list[str] = []

    def between(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if "FROM onthedot_runs" in statement and not busy:
            busy.append(statement)
            be_busy(connection, observer)

    event.listen(store._opened().engine, "after_cursor_execute", between)
    assert [run.id for run in store.runs(ids=["run"])] == ["run"]
    assert len(busy) == 1


def test_a_reader_that_is_cut_off_again_and_again_is_told(
    store: SqlStore, observer: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", 100)

    def work(connection: Connection) -> int:
        be_busy(connection, observer)
        return int(connection.exec_driver_sql("SELECT 42").scalar_one())

    with pytest.raises(StoreUnavailable, match="does not answer"):
        store._reading(work, snapshot=True)


# what writes


def busy_between(store: SqlStore, observer: sqlalchemy.Engine, words: str, times: int) -> list[str]:
    """Be busy after a statement with those words, the first few times; the statements after which it was."""
    busy: list[str] = []

    def between(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if words in statement and len(busy) < times:
            busy.append(statement)
            be_busy(connection, observer)

    event.listen(store._opened().engine, "after_cursor_execute", between)
    return busy


def test_what_writes_is_made_again_where_it_was_cut_off_before_its_commit(
    store: SqlStore, observer: sqlalchemy.Engine
) -> None:
    busy = busy_between(store, observer, "FOR UPDATE", times=1)
    store.request_cancel("run", "not wanted", BY)
    assert [run.state for run in store.runs(ids=["run"])] == ["cancelled"]
    assert [change.by.what for change in store.changes()] == ["cancel"]
    assert len(busy) == 1


def test_who_is_cut_off_again_while_writing_is_told(store: SqlStore, observer: sqlalchemy.Engine) -> None:
    busy = busy_between(store, observer, "FOR UPDATE", times=2)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.request_cancel("run", "not wanted", BY)
    assert [run.state for run in store.runs(ids=["run"])] == ["waiting"]
    assert len(busy) == 2


def test_who_is_cut_off_at_the_commit_is_told_since_nobody_knows_what_became_of_it(
    store: SqlStore, observer: sqlalchemy.Engine
) -> None:
    busy = busy_between(store, observer, "INSERT INTO onthedot_runs", times=1)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.enqueue([Run("other", "task", "enqueue", 1, 1)])
    assert len(busy) == 1


def test_what_is_old_is_forgotten_though_it_was_cut_off(
    store: SqlStore, observer: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roll_up, "ROLL_UP_AFTER_MS", 0)  # else it would stay for a minute
    store.request_cancel("run", "not wanted", BY)
    busy = busy_between(store, observer, "FROM onthedot_logs", times=1)
    store.prune(Retention(history_ms=0))
    assert store.runs(ids=["run"]) == []
    assert len(busy) == 1
