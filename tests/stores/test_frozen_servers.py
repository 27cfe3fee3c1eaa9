"""A server that stands still with all its connections: what is asked of it ends, and goes on when it answers again.

MongoDB and Redis are frozen in tests of their own: tests/unit/stores/mongo/test_store.py and test_redis_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from tests.patience import LONGEST_S
from tests.servers import mariadb, postgresql
from tests.servers.base import Server, running

from onthedot.errors import SettingsError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.open import open_store
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock
from onthedot.triggers.every import every

NOW_MS = 1_800_000_000_000
BY = Author("test", "test", "put")
NODE = Node("n", "n", tasks=("task",))
decide = Decider(lambda: new_id(NOW_MS))


@pytest.fixture(params=["postgresql", "mariadb"], scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    kind = postgresql.version_or_skip(15) if request.param == "postgresql" else mariadb.kind_or_skip()
    with running(kind) as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture
def store(server: Server, clock: ManualClock) -> Iterator[SqlStore]:
    """It gives up soon; one schedule is due in it, and one node lives."""
    module = postgresql if isinstance(server, postgresql.PostgreSQL) else mariadb
    with module.database_in(server.url) as url:
        open_store(url, create=True).close()  # which may take longer
        store = open_store(f"{url}?read_timeout=2&connect_timeout=2", create=False, now_ms=clock)
        assert isinstance(store, SqlStore)
        store.join(NODE, [])
        store.change(["s"], edits.put(edits.Definition("task", every("1m"))), BY)
        clock.pass_by(60_000)
        yield store
        store.close()


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def gives_up(server: Server, ask: Callable[[], object]) -> None:
    """Whether the server answers again or not: if it does not give up by itself, it is thawed to end the test."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        try:
            with pytest.raises(StoreUnavailable, match="does not answer") as caught:
                asked.result(LONGEST_S)
        finally:
            server.thaw()
    assert "\n" not in str(caught.value)


def test_whatever_is_asked_of_a_frozen_server_is_given_up_and_works_again_after_it(
    server: Server, store: SqlStore
) -> None:
    run = Run("run", "task", "enqueue", 1, 1, key="k:task:1")
    asks: list[Callable[[], object]] = [store.runs, lambda: store.enqueue([run]), lambda: store.renew(NODE)]
    for ask in asks:
        store.runs()  # a connection that was used just now is not looked at before it is used
        server.freeze()
        gives_up(server, ask)
        server.thaw()
    assert [each.id for each in store.enqueue([run])] == ["run"]
    assert [each.id for each in store.runs()] == ["run"]
    assert store.renew(NODE).node.id == "n"


def test_nobody_can_connect_to_a_frozen_server_and_that_is_said(server: Server, store: SqlStore) -> None:
    store.close()
    with frozen(server):
        gives_up(server, store.runs)
    assert store.runs() == []


def test_a_plan_that_was_not_committed_when_the_server_froze_is_made_again_once(
    server: Server, store: SqlStore, clock: ManualClock
) -> None:
    def decide_and_freeze(rows: Sequence[Before], situation: Situation) -> Sequence[Effects]:
        server.freeze()
        return decide(rows, situation)

    gives_up(server, lambda: store.plan_due("n", 10, 1, decide_and_freeze))
    planned: Sequence[Effects] = ()
    while not planned:  # until the server has seen that nobody is there any more, the schedule is locked
        planned = store.plan_due("n", 10, 1, decide).effects
    assert [run.scheduled_ms for run in store.runs()] == [clock()]


def test_a_plan_whose_commit_was_not_answered_is_made_once_and_found_at_the_next_renewal(
    server: Server, store: SqlStore, clock: ManualClock
) -> None:
    def freeze(_connection: Any) -> None:
        server.freeze()  # what is sent now is done when it thaws, and nobody hears the answer

    engine = store._opened().engine
    event.listen(engine, "commit", freeze)
    gives_up(server, lambda: store.plan_due("n", 10, 1, decide))
    event.remove(engine, "commit", freeze)
    while store.plan_due("n", 10, 1, decide).passed_over:
        pass  # the server has not come to the commit yet
    (own,) = store.renew(NODE).own
    assert (own.schedule, own.scheduled_ms) == ("s", clock())
    assert [run.id for run in store.runs()] == [own.id]


def test_no_wait_is_without_a_bound_where_the_url_says_nothing(server: Server) -> None:
    on_postgresql = isinstance(server, postgresql.PostgreSQL)
    with (postgresql if on_postgresql else mariadb).database_in(server.url) as url:
        store = open_store(url, create=True)
        assert isinstance(store, SqlStore)
        with store._opened().engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            if on_postgresql:
                shown = {"statement_timeout": "15s", "idle_in_transaction_session_timeout": "2s"}
                assert {name: connection.exec_driver_sql(f"SHOW {name}").scalar() for name in shown} == shown
                said = driver.info.get_parameters()
                assert (driver.read_ms, said["connect_timeout"], said["tcp_user_timeout"]) == (20_000, "5", "15000")
            else:
                asked = "SELECT @@max_statement_time, @@idle_transaction_timeout, @@innodb_lock_wait_timeout"
                assert connection.exec_driver_sql(asked).one() == (15, 2, 5)
                assert (driver.connect_timeout, driver._read_timeout, driver._write_timeout) == (5, 20, 20)
        store.close()


@pytest.mark.parametrize("given", ["soon", "0", "-1", "1.5"])
def test_a_read_timeout_that_is_no_number_of_seconds_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match="read_timeout= takes whole seconds"):
        open_store(f"postgresql://u@127.0.0.1/d?read_timeout={given}", create=True)
