"""What only a store in a database can promise: bad rows, forks, shared transactions, locks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from tests.patience import LONGEST_S

from onthedot import every
from onthedot.errors import SchemaError, StoreError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.stores.sql import driver
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
BY = Author("test", "test", "put")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path, clock: ManualClock) -> Iterator[Store]:
    store = open_store(f"sqlite:///{path}", create=True, now_ms=clock)
    yield store
    store.close()


def _put(store: Store, *names: str) -> None:
    store.change(names, edits.put(edits.Definition("task", every("1m"))), BY)


def _by_hand(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(statement).fetchall()
        connection.commit()
        return found


@pytest.mark.parametrize("column", ["definition", "args", "policy", "tags"])
def test_a_row_that_cannot_be_read_is_parked_and_shown_and_the_rest_of_its_batch_is_planned(
    store: Store, path: Path, clock: ManualClock, column: str
) -> None:
    _put(store, "bad", "good")
    _by_hand(path, f"UPDATE onthedot_schedules SET {column} = '{{broken' WHERE name = 'bad'")
    clock.pass_by(60_000)
    store.join(Node("n", "n"), [])
    store.plan_due("n", 10, 0, Decider(lambda: new_id(clock())))
    bad, good = store.schedules()
    assert "unreadable" in (bad.error or "")
    assert good.error is None
    assert [run.schedule for run in store.runs()] == ["good"]
    kept = _by_hand(path, f"SELECT {column} FROM onthedot_schedules WHERE name = 'bad'")
    assert kept == [("{broken",)], "what could not be read is never overwritten"


FORKING = """
import os, threading
from onthedot import every
from onthedot.errors import StoreError
from onthedot.rules import edits
from onthedot.model.change import Author
from onthedot.stores.open import open_store
from onthedot.stores.sql import sqlite_forks
store = open_store("sqlite:///FOLDER/a.db", create=True)
put = lambda name: store.change([name], edits.put(edits.Definition("task", every("1m"))), Author("w", "s", "put"))
put("before")
names = lambda: [row.name for row in store.schedules()]
"""


def _forked(tmp_path: Path, program: str) -> None:
    lines = FORKING.replace("FOLDER", str(tmp_path)) + program
    subprocess.run([sys.executable, "-W", "error", "-W", "ignore:.*fork", "-c", lines], check=True, timeout=LONGEST_S)


def test_a_store_that_was_opened_before_a_fork_works_on_both_sides(tmp_path: Path) -> None:
    _forked(
        tmp_path,
        """
begun = threading.Event()

def write():
    with store.begin():
        begun.set()
        while sqlite_forks._gate.acquire(blocking=False):  # until somebody is about to fork
            sqlite_forks._gate.release()

writing = threading.Thread(target=write)
writing.start()
begun.wait()
child = os.fork()  # while another thread writes
if child == 0:
    assert not sqlite_forks._open, "SQLite still thinks that this process has the file open"
    put("child")
    store.close()
    os._exit(0 if names() == ["before", "child"] else 1)
assert os.waitpid(child, 0)[1] == 0
writing.join()
put("parent")
assert names() == ["before", "child", "parent"]
store.close()
""",
    )


def test_a_child_of_who_forks_inside_a_transaction_is_told_so_and_touches_nothing(tmp_path: Path) -> None:
    _forked(
        tmp_path,
        """
with store.begin():
    child = os.fork()
    if child == 0:
        try:
            put("child")
        except StoreError as error:
            os._exit(0 if "forked inside a transaction" in str(error) and "\\n" not in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
assert names() == ["before"]
store.close()
""",
    )


def _run(run_id: str = "run", key: str | None = None) -> Run:
    return Run(run_id, "task", "enqueue", START_MS, START_MS, key=key)


@pytest.fixture
def engine(path: Path, store: Store) -> Iterator[sqlalchemy.Engine]:
    assert store is not None
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.01})
    yield engine
    engine.dispose()


def test_a_run_enqueued_in_the_callers_transaction_exists_when_that_commits(
    store: Store, engine: sqlalchemy.Engine
) -> None:
    with engine.begin() as connection:
        store.enqueue([_run(key="k")], connection)
        assert store.runs() == []
    assert [run.id for run in store.runs()] == ["run"]
    with engine.begin() as connection:
        (again,) = store.enqueue([_run("other", key="k")], connection)
    assert again.id == "run"


def test_a_run_enqueued_in_the_callers_transaction_never_was_when_that_is_rolled_back(
    store: Store, engine: sqlalchemy.Engine
) -> None:
    with engine.connect() as connection:
        store.enqueue([_run(key="k")], connection)
        connection.rollback()
    assert store.runs() == []
    assert [run.id for run in store.enqueue([_run("other", key="k")])] == ["other"]


def test_a_transaction_that_began_with_a_read_and_was_overtaken_is_refused_with_the_remedy(
    store: Store, engine: sqlalchemy.Engine
) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM onthedot_runs").fetchall()
        store.enqueue([_run("first")])
        with pytest.raises(StoreError, match="BEGIN IMMEDIATE"):
            store.enqueue([_run()], connection)


def test_what_is_no_connection_or_one_without_our_tables_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="SQLAlchemy Connection"):
        store.enqueue([_run()], "sqlite:///other.db")
    other = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/other.db")
    with other.connect() as connection, pytest.raises(SchemaError, match="no tables of onthedot"):
        store.enqueue([_run()], connection)
    other.dispose()


def test_a_writer_that_holds_the_file_too_long_is_reported_in_one_line_and_leaves_readers_alone(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", 20)
    monkeypatch.setattr("onthedot.stores.sql.sqlite._BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
            _put(store, "a")
        assert "\n" not in str(caught.value)
        assert store.schedules() == []
        other.execute("ROLLBACK")
    _put(store, "a")


def test_an_edit_that_writes_to_its_own_store_is_told_so_instead_of_waiting_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", 20)

    def edit(*_: object) -> Effects:
        _put(store, "inner")
        raise AssertionError

    with pytest.raises(StoreUnavailable, match="another thread"):
        store.change(["outer"], edit, BY)


def test_a_transaction_that_fails_half_way_leaves_nothing_behind(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.change(["a", "b"], lambda before, now_ms: _fails_on("b", before, now_ms), BY)
    assert store.schedules() == []
    assert store.changes() == []


def _fails_on(name: str, before: Before, now_ms: int) -> Effects:
    if before.name == name:
        raise ZeroDivisionError
    return edits.put(edits.Definition("task", every("1m")))(before, now_ms)


def test_what_is_closed_opens_anew_with_the_next_call(store: Store) -> None:
    _put(store, "a")
    store.close()
    store.close()
    assert [row.name for row in store.schedules()] == ["a"]


def test_a_thousand_names_and_ids_are_asked_for_at_once(store: Store) -> None:
    names = [f"schedule {number:04}" for number in range(1200)]
    _put(store, *names)
    assert [row.name for row in store.schedules(names=names, limit=2000)] == names
    runs = [_run(f"run {number:04}", key=f"k{number}") for number in range(1200)]
    assert len(store.enqueue(runs)) == 1200
    assert [run.id for run in store.enqueue(runs)] == [run.id for run in runs]
    assert len(store.runs(ids=[run.id for run in runs], limit=2000)) == 1200


def test_who_decides_has_the_file_and_nobody_writes_meanwhile(store: Store, path: Path, clock: ManualClock) -> None:
    """What was read is then still so when it is written; whoever began with a read would have to begin again."""
    _put(store, "a")
    clock.pass_by(60_000)
    store.join(Node("n", "n"), [])
    refused: list[str] = []

    def decide(rows: Sequence[Before], situation: Situation) -> Sequence[Effects]:
        with closing(sqlite3.connect(path, timeout=0)) as other, pytest.raises(sqlite3.OperationalError) as busy:
            other.execute("UPDATE onthedot_nodes SET name = 'other'")
        refused.append(str(busy.value))
        return [Effects() for _ in rows]

    store.plan_due("n", 10, 0, decide)
    assert refused == ["database is locked"]


def test_no_two_live_runs_are_of_one_tick_whoever_writes_them(store: Store) -> None:
    """The net under the watermark."""
    ticks = [Run(name, "task", "tick", START_MS, START_MS, schedule_id="s") for name in ("a", "b")]
    store.enqueue(ticks[:1])
    with pytest.raises(StoreUnavailable):
        store.enqueue(ticks[1:])
    by_hand = [Run(name, "task", "manual", START_MS, START_MS, schedule_id="s") for name in ("c", "d")]
    assert len(store.enqueue(by_hand)) == 2, "what is no tick may be of the same moment"


def test_keys_of_ticks_outlive_the_pruning_of_all_others(store: Store, path: Path, clock: ManualClock) -> None:
    _by_hand(path, "INSERT INTO onthedot_keys VALUES ('t:schedule:5', 'r', 1, NULL), ('k:task:x', 'r', 1, NULL)")
    assert store.prune(Retention()).keys == 1
    assert _by_hand(path, "SELECT key FROM onthedot_keys") == [("t:schedule:5",)]


def test_nodes_that_have_long_been_gone_are_forgotten_but_not_those_that_still_hold_runs(
    store: Store, path: Path, clock: ManualClock
) -> None:
    for name in ("gone", "holds", "lives"):
        store.join(Node(name, name), [])
    store.enqueue([_run()])
    store.start_due("holds", ["task"], 1)
    _by_hand(path, "UPDATE onthedot_nodes SET state = 'dead' WHERE id <> 'lives'")
    clock.pass_by(Retention().nodes_ms)
    store.prune(Retention())
    assert _by_hand(path, "SELECT id FROM onthedot_nodes ORDER BY id") == [("holds",), ("lives",)]


def test_a_question_that_is_asked_again_and_again_takes_no_more_memory(store: Store) -> None:
    _put(store, "a", "b")

    def ask(number: int) -> None:
        assert [row.name for row in store.schedules(names=["a", f"none-{number}"], task="task")] == ["a"]
        assert store.runs(ids=[f"none-{number}"], schedule="a") == []

    ask(0)
    known = len(driver._known)
    for number in range(1, 5):
        ask(number)
    assert len(driver._known) == known
