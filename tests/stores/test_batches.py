"""A batch is one statement on MariaDB and PostgreSQL too, whose drivers send rows one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from onthedot import every
from onthedot.errors import StoreError
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.open import open_store
from onthedot.stores.sql import mysql_batches, statements, tables
from onthedot.stores.sql.batches import Batch
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock

NOW_MS = 1_800_000_000_000
BY = Author("test", "test", "put")
MANY = 50


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture(params=["mariadb", "postgresql_15"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[SqlStore]:
    store = open_store(request.getfixturevalue(request.param), create=True, now_ms=clock)
    assert isinstance(store, SqlStore)
    store.join(Node("n", "n", tasks=("task",)), [])
    yield store
    store.close()


@contextmanager
def sent_by(store: SqlStore) -> Iterator[list[str]]:
    """What is sent: a batch that the driver does not send at once counts for each of its rows."""
    sent: list[str] = []

    def remember(
        _connection: object, _cursor: object, words: str, parameters: Any, _context: object, many: bool
    ) -> None:
        at_once = words.startswith("INSERT") and engine.dialect.name == "mysql"  # its driver makes one of them
        sent.extend([words] * (len(parameters) if many and not at_once else 1))

    engine = store._opened().engine
    event.listen(engine, "before_cursor_execute", remember)
    yield sent
    event.remove(engine, "before_cursor_execute", remember)


def test_planning_starting_and_finishing_many_takes_as_few_statements_as_for_two(
    store: SqlStore, clock: ManualClock
) -> None:
    _life(store, clock, 3)  # what is asked only once is asked here
    few = _life(store, clock, 2)
    many = _life(store, clock, MANY)
    assert many == few


def _life(store: SqlStore, clock: ManualClock, count: int) -> int:
    """How many statements it takes to plan, start and end one run each of so many schedules."""
    names = [f"{count}-{number}" for number in range(count)]
    store.change(names, edits.put(edits.Definition("task", every("1h"))), BY)
    clock.pass_by(3_600_000)
    with sent_by(store) as sent:
        planned = store.plan_due("n", 2 * MANY, 0, Decider(lambda: new_id(clock()))).effects
        started = store.start_due("n", ["task"], 2 * MANY).runs
        ended = store.finish("n", [Outcome(run.id, run.claim_no, "succeeded") for run in started]).recorded
    assert len(planned) == len(started) == len(ended) == count
    assert [run.state for run in store.runs(limit=count)] == ["succeeded"] * count
    store.change(names, edits.delete(), BY)
    return len(sent)


def test_whatever_stands_in_a_batch_comes_back_as_it_was(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql_batches, "_LONGEST", 100)
    texts = ["plain", "🦀 é ' \" \\ \n %s :given {", "x" * 50_000, "null", "NULL", "", "[1]", "{1}"]
    runs = [Run(f"run{number}", "task", "enqueue", 1, 1) for number in range(len(texts))]
    store.enqueue(runs)
    started = store.start_due("n", ["task"], 10).runs
    outcomes = [
        Outcome(run.id, run.claim_no, "failed", error=said, retry_after_ms=1000)
        for run, said in zip(started, texts, strict=True)
    ]
    store.finish("n", outcomes)
    found = {run.id: run for run in store.runs()}
    assert [found[run.id].error for run in started] == texts
    assert {(run.owner, run.slot, run.due_ms) for run in found.values()} == {(None, None, NOW_MS + 1000)}


def test_what_does_not_fit_is_refused_and_never_cut_off(store: SqlStore) -> None:
    store.enqueue([Run(f"run{number}", "task", "enqueue", 1, 1) for number in range(2)])

    def write() -> None:
        with store._writing() as connection:
            change_many = store._dialect.change_many
            assert change_many is not None
            change_many(connection, tables.runs.c.id, ["target"], [("x" * 37, "run0"), (None, "run1")])

    with pytest.raises(StoreError, match="too long"):
        write()


ALL = {name: each for name, each in vars(statements).items() if isinstance(each, Batch) and each._key is not None}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("store", ["mariadb"], indirect=True)
def test_a_batch_finds_its_rows_by_their_key_also_where_the_table_seems_to_be_empty(store: SqlStore, name: str) -> None:
    key, names = ALL[name]._key, ALL[name]._names[:-1]
    assert key is not None
    words = mysql_batches._statement(key, names).text
    with store._opened().engine.connect() as connection:
        _given, ours = connection.execute(text(f"EXPLAIN {words}"), {"given": "[]"}).all()
    assert ours[3] in ("eq_ref", "ref"), ours
