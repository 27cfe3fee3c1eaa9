"""The statements that run every second use their index, and sort nothing, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Connection, Select, event

from onthedot.model.states import State
from onthedot.stores.sql import queries as reading
from onthedot.stores.sql import statements, tables
from onthedot.stores.sql.sqlite import SQLITE

GIVEN = {
    "now_ms": 5,
    "floor_ms": 0,
    "from_ms": 1,
    "until_ms": 5,
    "before_ms": 5,
    "first_ms": 1,
    "last_ms": 5,
    "most": 10,
    "keep": 5,
    "skip": 0,
    "among": ["a", "b"],
    "node_id": "n",
    "schedule_id": "s",
    "schedule": "s",
    "run_id": "r",
    "after_id": "",
    "kept_by": "s",
    "priority": 5,
    "group": "s",
    "after": 0,
    "first": "t:s:",
    "last": "t:s;",
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/a.db")
    with engine.connect() as connection:
        tables.metadata.create_all(connection)
        yield connection
    engine.dispose()


def _plan(connection: Connection, statement: Select[Any]) -> str:
    """How SQLite would find the rows of the statement, exactly as it is sent."""
    sent: list[tuple[str, Any]] = []
    remember = lambda _connection, _cursor, text, parameters, *_: sent.append((text, parameters))  # noqa: E731
    event.listen(connection, "before_cursor_execute", remember)
    connection.execute(statement, GIVEN).fetchall()
    event.remove(connection, "before_cursor_execute", remember)
    ((text, parameters),) = sent
    return "\n".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters))


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (statements.SCHEDULES_ON_TIME, "onthedot_schedules_due"),
        (statements.SCHEDULES_OVERDUE, "onthedot_schedules_due"),
        (statements.COUNT_DUE, "onthedot_schedules_due"),
        (statements.UPCOMING, "onthedot_schedules_due"),
        (statements.DUE_RUNS.on(SQLITE), "onthedot_runs_due"),
        (statements.UPCOMING, "onthedot_runs_due"),
        (statements.ROUTED_RUNS.on(SQLITE), "onthedot_runs_due"),
        (statements.LEVELS, "onthedot_runs_levels"),
        (statements.DUE_OF_LEVEL, "onthedot_runs_levels"),
        (statements.BLOCKED_RUNS.on(SQLITE), "onthedot_runs_blocked"),
        (statements.LIVE_OF, "onthedot_runs_tick"),
        (statements.LIVE_RUNS, "sqlite_autoindex_onthedot_runs_1"),
        (statements.OWNED_BY, "onthedot_runs_owner"),
        (statements.CANCELS, "onthedot_runs_owner"),
        (statements.ENDED_RUNS, "sqlite_autoindex_onthedot_history_1"),
        (statements.SCHEDULES_IF_FREE, "sqlite_autoindex_onthedot_schedules_1"),
        (statements.SCHEDULES_NAMED, "onthedot_schedules_name"),
        (statements.KEYS, "sqlite_autoindex_onthedot_keys_1"),
        (statements.DECISIONS, "onthedot_decisions_schedule"),
        (statements.CHANGES_OF, "onthedot_changes_schedule"),
        (statements.REVISIONS, "onthedot_revisions_schedule"),
        (statements.LOGS, "onthedot_logs_run"),
        (statements.NODES, "onthedot_nodes_state"),
    ],
)
def test_a_hot_statement_uses_its_index(connection: Connection, statement: Select[Any], index: str) -> None:
    plan = _plan(connection, statement)
    assert f"INDEX {index}" in plan
    assert "SCAN onthedot" not in plan


OF_PRUNING = {
    "old runs": (statements.ENDED.oldest, "onthedot_history_finished"),
    "locked runs": (statements.ENDED.locked, "sqlite_autoindex_onthedot_history_1"),
    "groups of the newest runs": (statements.ENDED_CROWD.newest, "onthedot_history_finished"),
    "next group of runs": (statements.ENDED_CROWD.following, "COVERING INDEX onthedot_history_schedule"),
    "runs too many": (statements.ENDED_CROWD.beyond, "COVERING INDEX onthedot_history_schedule"),
    "lines of runs": (statements.LINES, "onthedot_logs_run"),
    "runs with lines": (statements.WITH_LINES, "onthedot_logs_run"),
    "old decisions": (statements.DECIDED.oldest, "onthedot_decisions_decided"),
    "groups of the newest decisions": (statements.DECIDED_CROWD.newest, "onthedot_decisions_decided"),
    "next group of decisions": (statements.DECIDED_CROWD.following, "COVERING INDEX onthedot_decisions_schedule"),
    "decisions too many": (statements.DECIDED_CROWD.beyond, "COVERING INDEX onthedot_decisions_schedule"),
    "expired keys": (statements.EXPIRED.oldest, "onthedot_keys_expires"),
    "keys of ticks": (statements.KEYS_BETWEEN, "sqlite_autoindex_onthedot_keys_1"),
    "old changes": (statements.CHANGED.oldest, "onthedot_changes_at"),
    "old tombstones": (statements.TOMBSTONES.oldest, "onthedot_schedules_tombstones"),
    "history of tombstones": (statements.TOMBSTONES.oldest, "COVERING INDEX onthedot_history_schedule"),
    "gone nodes": (statements.GONE.oldest, "onthedot_nodes_state"),
    "runs of gone nodes": (statements.GONE.oldest, "onthedot_runs_owner"),
    "what replaced a definition": (statements.REVISIONS_PAGE, "onthedot_revisions_schedule"),
    "the oldest of a schedule": (statements.OLDEST_OF, "onthedot_history_schedule"),
}


@pytest.mark.parametrize(("statement", "index"), OF_PRUNING.values(), ids=OF_PRUNING)
def test_what_is_old_is_found_by_an_index_and_not_sorted(
    connection: Connection, statement: Select[Any], index: str
) -> None:
    plan = _plan(connection, statement)
    assert index in plan
    assert "TEMP B-TREE" not in plan
    # in the order of an index, and no further than asked
    assert all("USING" in line for line in plan.splitlines() if "SCAN onthedot" in line)


def test_a_page_of_definitions_and_the_number_of_changes_are_read_by_their_primary_keys(connection: Connection) -> None:
    assert "SEARCH onthedot_revisions USING INTEGER PRIMARY KEY" in _plan(connection, statements.REVISIONS_PAGE)
    assert _plan(connection, statements.CHANGED_SPAN).count("SEARCH onthedot_changes") == 2


@pytest.mark.parametrize(
    "statement",
    [
        statements.SCHEDULES_ON_TIME,
        statements.SCHEDULES_OVERDUE,
        statements.DUE_RUNS.on(SQLITE),
        statements.DUE_OF_LEVEL,
        statements.LEVELS,
        statements.BLOCKED_RUNS.on(SQLITE),
    ],
)
def test_a_crowd_at_one_moment_is_not_sorted_for_each_batch(connection: Connection, statement: Select[Any]) -> None:
    plan = _plan(connection, statement)
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (reading.Wanted(None, "nightly", None, None, 10), "onthedot_history_schedule"),
        (reading.Wanted(None, None, State.FAILED, None, 10), "onthedot_history_wrong"),
        (reading.Wanted(None, None, None, "z", 10), "sqlite_autoindex_onthedot_history_1"),
    ],
)
def test_a_page_of_history_is_read_without_reading_all_of_it(
    connection: Connection, wanted: reading.Wanted, index: str
) -> None:
    plan = _plan(connection, reading.ended_statement(wanted))
    assert f"INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan


def test_the_local_schedules_are_found_without_reading_the_others(connection: Connection) -> None:
    plan = _plan(connection, reading.LISTED.where(tables.LOCAL))
    assert "INDEX onthedot_schedules_local" in plan
    assert "TEMP B-TREE" not in plan
