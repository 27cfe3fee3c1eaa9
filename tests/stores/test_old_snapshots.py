"""Somebody keeps a transaction open on PostgreSQL: old rows stay, and neither claims nor pruning walk past them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event

from onthedot import every
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock

NOW_MS = 1_800_000_000_000
SCHEDULES, ROUNDS = 200, 200
BY = Author("test", "test", "put")
CLAIMS = ("FOR NO KEY UPDATE", "count(*)")
"""What stands in the statements that find due schedules, and count them."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture(params=[15, pytest.param(18, marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[SqlStore]:
    """Its schedules have been moved by one second again and again, and a snapshot keeps all of that."""
    url = request.getfixturevalue(f"postgresql_{request.param}")
    store = open_store(f"{url}?options=-c%20idle_in_transaction_session_timeout%3D60s", create=True, now_ms=clock)
    assert isinstance(store, SqlStore)
    store.join(Node("n", "n", tasks=("task",)), [])
    names = [f"s{number}" for number in range(SCHEDULES)]
    store.change(names, edits.put(edits.Definition("task", every("1s"))), BY)
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as others:
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM onthedot_schedules")
        for _ in range(ROUNDS):
            others.execute("UPDATE onthedot_schedules SET next_run_ms = next_run_ms + 1000")
        others.execute("VACUUM ANALYZE onthedot_schedules")
        clock.pass_by(ROUNDS * 1000)
        yield store
        store.close()


def pages(connection: Connection, words: str, parameters: Any) -> int:
    """How many pages the server touches for a statement."""
    explained = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {words}", parameters).scalar_one()
    (plan,) = explained
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def test_the_pages_that_a_claim_touches_do_not_grow_with_the_age_of_a_snapshot(
    store: SqlStore, clock: ManualClock
) -> None:
    from_the_beginning = _pages_of_a_claim(store, clock)
    assert store.upcoming(clock(), clock() + 5000)
    from_the_floor = _pages_of_a_claim(store, clock)
    assert from_the_beginning > SCHEDULES, "the snapshot has kept nothing, and so nothing is tested here"
    assert from_the_floor < from_the_beginning / 10, (from_the_floor, from_the_beginning)


def _pages_of_a_claim(store: SqlStore, clock: ManualClock) -> int:
    """All statements with which due schedules are looked for; nothing is due just now."""
    sent: list[tuple[str, Any]] = []

    def remember(_connection: object, _cursor: object, words: str, parameters: Any, *_: object) -> None:
        if any(each in words for each in CLAIMS) and "next_run_ms" in words.partition("WHERE")[2]:
            sent.append((words, parameters))

    engine = store._opened().engine
    event.listen(engine, "before_cursor_execute", remember)
    assert store.plan_due("n", 10, 0, Decider(lambda: new_id(clock()))).effects == ()
    event.remove(engine, "before_cursor_execute", remember)
    assert len(sent) == 3
    with engine.connect() as connection:
        return sum(pages(connection, *each) for each in sent)


def test_the_pages_that_pruning_touches_do_not_grow_with_what_it_has_forgotten(store: SqlStore) -> None:
    blank = Run("", "task", "enqueue", 1, 1, State.SUCCEEDED, attempt=1)
    with store.begin() as rows:
        rows.end_runs([replace(blank, id=new_id(number), finished_ms=number) for number in range(4000)])
    touched = [_pages_of_pruning(store) for _ in range(15)]
    assert touched[-1] < 2 * touched[2], touched


def _pages_of_pruning(store: SqlStore) -> int:
    """The search for the next 200 old runs, which are then forgotten."""
    sent: list[tuple[str, Any]] = []

    def remember(_connection: object, _cursor: object, words: str, parameters: Any, *_: object) -> None:
        if "ORDER BY onthedot_history.finished_ms " in words and "BETWEEN" in words:
            sent.append((words, parameters))

    engine = store._opened().engine
    event.listen(engine, "before_cursor_execute", remember)
    assert store.prune(Retention(per_schedule=10_000), limit=200).runs == 200
    event.remove(engine, "before_cursor_execute", remember)
    ((words, parameters),) = sent
    with engine.connect() as connection:
        return pages(connection, words, parameters)
