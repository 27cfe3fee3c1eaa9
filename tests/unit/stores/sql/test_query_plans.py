"""The statements that run every second use their index, and sort nothing, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Connection, event
from tests.stores.copying_statements import copying_statements, short_statements
from tests.stores.full_tables import GIVEN, LEVELS, NOW_MS, WINDOWS, fill

from onthedot.model.schedule import Facet
from onthedot.model.states import State
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.sql import counts, lane_statements, queries, roll_up, statements, tables, ticks
from onthedot.stores.sql.sqlite import SQLITE

Statement = sqlalchemy.Select[Any] | sqlalchemy.CompoundSelect[Any]
ROWS = {
    "onthedot_schedules": 20_000,
    "onthedot_history": 20_000,
    "onthedot_runs": 40_000,
    "onthedot_keys": 20_000,
    "onthedot_decisions": 20_000,
}


@pytest.fixture(scope="module", params=["empty", "full"])
def connection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Empty, or full and analysed by somebody: statistics must not lead anywhere else."""
    place: Path = tmp_path_factory.mktemp(request.param)
    engine = sqlalchemy.create_engine(f"sqlite:///{place}/a.db")
    with engine.connect() as connection:
        tables.metadata.create_all(connection)
        if request.param == "full":
            fill(connection, ROWS)
            connection.commit()
        yield connection
    engine.dispose()


def _plan(connection: Connection, statement: Statement) -> str:
    """How SQLite would find the rows of the statement, exactly as it is sent."""
    sent: list[tuple[str, Any]] = []
    remember = lambda _connection, _cursor, text, parameters, *_: sent.append((text, parameters))  # noqa: E731
    event.listen(connection, "before_cursor_execute", remember)
    connection.execute(statement, GIVEN).fetchall()
    event.remove(connection, "before_cursor_execute", remember)
    ((text, parameters),) = sent
    return "\n".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters))


DUE: dict[str, Statement] = {
    f"{name}, {count} lanes": which.on(SQLITE, count)
    for count in (2, 4)
    for name, which in {
        "due of tasks": lane_statements.DUE_OF_TASKS.oldest,
        "due of pools": lane_statements.DUE_OF_POOLS.oldest,
    }.items()
}
OF_LEVEL: dict[str, Statement] = {
    "due of a level": lane_statements.DUE_OF_POOLS.of_level.on(SQLITE, 4),
    "waiting of a level": lane_statements.WAITING_FOR.of_level.on(SQLITE, 1),
    "levels": lane_statements.LEVELS,
}
BEHIND: dict[str, Statement] = {
    "waiting for": lane_statements.WAITING_FOR.oldest.on(SQLITE, 1),
    "awaited": lane_statements.AWAITED,
}
BY_SCHEDULE = "onthedot_runs_schedule or onthedot_runs_tick"  # both begin with it, and one is as good as the other
HOT: dict[str, tuple[Statement, str]] = {
    "on time": (statements.SCHEDULES_ON_TIME, "onthedot_schedules_due"),
    "overdue": (statements.SCHEDULES_OVERDUE, "onthedot_schedules_due"),
    "count due": (statements.COUNT_DUE, "onthedot_schedules_due"),
    "is due": (statements.IS_DUE, "onthedot_schedules_due"),
    "coming": (statements.COMING, "onthedot_schedules_due"),
    "versions if free": (statements.VERSIONS_IF_FREE, "sqlite_autoindex_onthedot_schedules_1"),
    "with live": (statements.WITH_LIVE, BY_SCHEDULE),
    "upcoming schedules": (statements.UPCOMING, "onthedot_schedules_due"),
    "upcoming runs": (statements.UPCOMING, "onthedot_runs_moment"),
    **{name: (statement, "onthedot_runs_lane") for name, statement in {**DUE, **BEHIND}.items()},
    **{name: (statement, "onthedot_runs_levels") for name, statement in OF_LEVEL.items()},
    "are awaited": (lane_statements.ARE_AWAITED, "onthedot_runs_lane"),
    "is anything awaited": (lane_statements.IS_ANYTHING_AWAITED, "onthedot_runs_lane"),
    "routed runs": (lane_statements.ROUTED_RUNS, "onthedot_runs_lane"),
    "live of": (statements.LIVE_OF, BY_SCHEDULE),
    "live beside": (statements.LIVE_BESIDE, BY_SCHEDULE),
    "crowded": (statements.CROWDED, "onthedot_runs_schedule"),
    "running of one": (statements.RUNNING_OF, "onthedot_runs_schedule"),
    "waiting of one": (statements.WAITING_OF, "onthedot_runs_schedule"),
    "live runs": (statements.LIVE_RUNS, "sqlite_autoindex_onthedot_runs_1"),
    "schedules of": (statements.SCHEDULES_OF, "sqlite_autoindex_onthedot_runs_1"),
    "owned by": (statements.OWNED_BY, "onthedot_runs_owner"),
    "cancels": (statements.CANCELS, "onthedot_runs_owner"),
    "load": (statements.LOAD, "onthedot_runs_owner"),
    "ended runs": (statements.ENDED_RUNS, "sqlite_autoindex_onthedot_history_1"),
    "lock schedules": (statements.LOCK_SCHEDULES, "sqlite_autoindex_onthedot_schedules_1"),
    "schedules if free": (statements.SCHEDULES_IF_FREE, "sqlite_autoindex_onthedot_schedules_1"),
    "schedules named": (statements.SCHEDULES_NAMED, "onthedot_schedules_name"),
    "summaries": (statements.SUMMARIES, "sqlite_autoindex_onthedot_schedules_1"),
    "keys": (statements.KEYS, "sqlite_autoindex_onthedot_keys_1"),
    "decisions": (statements.DECISIONS, "onthedot_decisions_schedule"),
    "last decisions": (statements.LAST_DECISIONS, "onthedot_decisions_schedule"),
    "decisions by id": (statements.DECISIONS_BY_ID, "sqlite_autoindex_onthedot_decisions_1"),
    "changes of": (statements.CHANGES_OF, "onthedot_changes_schedule"),
    "revisions": (statements.REVISIONS, "onthedot_revisions_schedule"),
    "logs": (statements.LOGS, "onthedot_logs_run"),
}


@pytest.mark.parametrize(("statement", "index"), HOT.values(), ids=HOT)
def test_a_hot_statement_uses_its_index(connection: Connection, statement: Statement, index: str) -> None:
    plan = _plan(connection, statement)
    assert any(f"INDEX {each}" in plan for each in index.split(" or ")), plan
    whole = (
        "SCAN onthedot_history USING COVERING INDEX",
        "SCAN onthedot_runs USING COVERING INDEX onthedot_runs_owner",
    )
    for allowed in whole:  # what is counted is read, in the index
        plan = plan.replace(allowed, "")
    assert "SCAN onthedot" not in plan


IN_ORDER: dict[str, Statement] = {
    "on time": statements.SCHEDULES_ON_TIME,
    "overdue": statements.SCHEDULES_OVERDUE,
    **DUE,
    **OF_LEVEL,
    **BEHIND,
    "waiting of one": statements.WAITING_OF,
}


@pytest.mark.parametrize("statement", IN_ORDER.values(), ids=IN_ORDER)
def test_a_crowd_at_one_moment_is_not_sorted_for_each_batch(connection: Connection, statement: Statement) -> None:
    assert "TEMP B-TREE" not in _plan(connection, statement)


def test_the_levels_of_a_lane_are_those_of_its_runs(connection: Connection) -> None:
    is_full = connection.execute(sqlalchemy.select(tables.runs.c.id).limit(1)).first() is not None
    assert connection.execute(lane_statements.LEVELS, {"lane": "ANY"}).fetchall() == (LEVELS if is_full else [])


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (RunFilter(schedule="nightly"), "onthedot_history_schedule"),
        (RunFilter(schedule="nightly", since_ms=1, before="z"), "onthedot_history_schedule"),
        (RunFilter(state=State.FAILED), "onthedot_history_wrong"),
        (RunFilter(before="z"), "sqlite_autoindex_onthedot_history_1"),
        (RunFilter(since_ms=1, before="z"), "sqlite_autoindex_onthedot_history_1"),
        (RunFilter(task="job"), "onthedot_history_task"),
        (RunFilter(task="job", since_ms=1, before="z"), "onthedot_history_task"),
        (RunFilter(task="job", state=State.SUCCEEDED), "onthedot_history_task"),
        (RunFilter(node="n1"), "onthedot_history_owner"),
        (RunFilter(node="n1", before="z"), "onthedot_history_owner"),
        (RunFilter(parent="r1"), "onthedot_history_parent"),
        (RunFilter(parent="r1", before="z"), "onthedot_history_parent"),
        (RunFilter(late=True), "onthedot_history_late"),
        (RunFilter(late=True, since_ms=1, before="z"), "onthedot_history_late"),
    ],
)
def test_a_page_of_history_is_read_without_reading_all_of_it(
    connection: Connection, wanted: RunFilter, index: str
) -> None:
    plan = _plan(connection, queries.ended_statement(wanted))
    assert f"INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan


def _by_next(**wanted: Any) -> Statement:
    return queries.by_next(queries.WantedSchedules(order="next", **wanted), NOW_MS + 100_000, nested=True)


def _by_clock(facet: Facet) -> Statement:
    return queries.by_name(queries.WantedSchedules(state=facet, after="a", now_ms=NOW_MS))


def _next_by_clock(facet: Facet) -> Statement:
    return queries.sorted_by_next(queries.WantedSchedules(state=facet, order="next", now_ms=NOW_MS))


FROZEN = queries.WantedSchedules(state="frozen", after="a", now_ms=NOW_MS, windows=(WINDOWS,))

ASKED: dict[str, tuple[Statement, str]] = {
    "of a task": (queries.by_name(queries.WantedSchedules(task="job")), "INDEX onthedot_schedules_task"),
    "parked": (queries.by_name(queries.WantedSchedules(state="parked")), "INDEX onthedot_schedules_parked"),
    "paused": (queries.by_name(queries.WantedSchedules(state="paused")), "INDEX onthedot_schedules_paused"),
    "ended": (queries.by_name(queries.WantedSchedules(state="ended")), "INDEX onthedot_schedules_ended"),
    "active": (queries.by_name(queries.WantedSchedules(state="active")), "INDEX onthedot_schedules_name"),
    "undeclared": (_by_clock("undeclared"), "INDEX onthedot_schedules_declared"),
    "leaving out": (_by_clock("leaving_out"), "INDEX onthedot_schedules_left_out"),
    "frozen": (queries.by_name(FROZEN), "INDEX onthedot_schedules_frozen"),
    "next of the frozen": (queries.sorted_by_next(FROZEN), "INDEX onthedot_schedules_frozen"),
    "windows": (counts.FREEZING, "INDEX onthedot_schedules_frozen"),
    "next of the undeclared": (_next_by_clock("undeclared"), "INDEX onthedot_schedules_declared"),
    "next of those that leave out": (_next_by_clock("leaving_out"), "INDEX onthedot_schedules_left_out"),
    "with a text": (
        queries.by_name(queries.WantedSchedules(search="night")),
        "SCAN listed USING COVERING INDEX onthedot_schedules_task",
    ),
    "how far a page reaches": (
        queries.furthest(queries.WantedSchedules(order="next")),
        "INDEX onthedot_schedules_due",
    ),
    "next": (_by_next(), "INDEX onthedot_schedules_due"),
    "next of the paused": (_by_next(), "INDEX onthedot_schedules_paused"),
    "next of the parked": (_by_next(), "INDEX onthedot_schedules_parked"),
    "next of the ended": (_by_next(), "INDEX onthedot_schedules_ended"),
    "next of the local": (_by_next(), "INDEX onthedot_schedules_local"),
    "next of a task": (queries.sorted_by_next(queries.WantedSchedules(task="job")), "INDEX onthedot_schedules_task"),
    "some with a text": (
        queries.some_with(queries.WantedSchedules(search="night", order="next")),
        "SCAN listed USING COVERING INDEX onthedot_schedules_task",
    ),
    "parked with a text": (
        queries.by_name(queries.WantedSchedules(state="parked", search="night")),
        "INDEX onthedot_schedules_parked",
    ),
    "of a task with a text": (
        queries.by_name(queries.WantedSchedules(task="job", search="night")),
        "INDEX onthedot_schedules_task",
    ),
    "overdue": (statements.OVERDUE, "INDEX onthedot_schedules_due"),
    "count active": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_due"),
    "count paused": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_paused"),
    "count parked": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_parked"),
    "count ended": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_ended"),
    "count undeclared": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_declared"),
    "count leaving out": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_left_out"),
    "count frozen": (counts.SCHEDULE_COUNTS, "INDEX onthedot_schedules_frozen"),
    "live shards": (queries.live_statement(RunFilter(parent="r1")), "INDEX onthedot_runs_parent"),
    "count waiting": (counts.RUN_COUNTS, "COVERING INDEX onthedot_runs"),
    "count running": (counts.RUN_COUNTS, "INDEX onthedot_runs_owner"),
    "count flows": (counts.RUN_COUNTS, "INDEX onthedot_runs_graph"),
    "count steps": (counts.RUN_COUNTS, "INDEX onthedot_runs_parent"),
    "load by pool": (counts.LOAD_BY_POOL, "INDEX onthedot_runs_owner"),
    "ended ticks": (ticks.marks_of(50, nested=True), "INDEX onthedot_history_tick"),
    "live ticks": (ticks.marks_of(50, nested=True), "INDEX onthedot_runs_tick"),
    "their decisions": (ticks.decisions_of(50, nested=True), "INDEX onthedot_decisions_schedule"),
    "changes before": (statements.CHANGES_BEFORE, "INDEX onthedot_changes_id"),
    "changes of a schedule before": (statements.CHANGES_OF_BEFORE, "INDEX onthedot_changes_schedule"),
    "minutes": (statements.MINUTES, "INDEX sqlite_autoindex_onthedot_minutes_1"),
    "hours": (roll_up.HOURS, "INDEX onthedot_hours_place"),
}


@pytest.mark.parametrize(("statement", "index"), ASKED.values(), ids=ASKED)
def test_what_people_ask_for_is_found_by_an_index(connection: Connection, statement: Statement, index: str) -> None:
    plan = _plan(connection, statement)
    assert index in plan, plan
    assert all("USING" in line for line in plan.splitlines() if "SCAN onthedot" in line), plan


def test_what_names_a_calendar_is_found_without_reading_what_names_none(connection: Connection) -> None:
    plan = _plan(connection, queries.users("calendar/de", "", 500))
    assert "INDEX onthedot_schedules_uses" in plan
    assert "INDEX onthedot_values_state" in _plan(connection, statements.NEW_VALUES)


def test_the_local_schedules_are_found_without_reading_the_others(connection: Connection) -> None:
    plan = _plan(connection, queries.LISTED.where(tables.LOCAL))
    assert "INDEX onthedot_schedules_local" in plan
    assert "TEMP B-TREE" not in plan


OF_PRUNING = {
    "ends to be counted": (roll_up.ENDS, "onthedot_history_finished"),
    "ends of one moment": (roll_up.ALL_ENDS, "onthedot_history_finished"),
    "known hours": (roll_up.HOURS_AT, "onthedot_hours_place"),
    "old hours": (statements.COUNTED.oldest, "onthedot_hours_hour"),
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
    connection: Connection, statement: Statement, index: str
) -> None:
    plan = _plan(connection, statement)
    assert index in plan
    assert "TEMP B-TREE" not in plan
    # in the order of an index, and no further than asked
    assert all("USING" in line for line in plan.splitlines() if "SCAN onthedot" in line)


def test_a_page_of_definitions_and_the_number_of_changes_are_read_by_their_primary_keys(connection: Connection) -> None:
    assert "SEARCH onthedot_revisions USING INTEGER PRIMARY KEY" in _plan(connection, statements.REVISIONS_PAGE)
    assert _plan(connection, statements.CHANGED_SPAN).count("SEARCH onthedot_changes") == 2


def test_what_is_copied_is_found_by_its_key(connection: Connection) -> None:
    for statement, given in copying_statements(SQLITE):
        found = connection.execute(sqlalchemy.text(f"EXPLAIN QUERY PLAN {statement}"), given)
        plan = "\n".join(row[3] for row in found)
        assert "SEARCH ours USING INDEX sqlite_autoindex_onthedot" in plan
        assert "SCAN ours" not in plan


def test_the_short_way_finds_its_rows_by_their_indexes_and_sorts_nothing(connection: Connection) -> None:
    for statement, given in short_statements(SQLITE):
        found = connection.execute(sqlalchemy.text(f"EXPLAIN QUERY PLAN {statement}"), given)
        plan = "\n".join(row[3] for row in found)
        assert "SEARCH" in plan
        assert "SCAN onthedot" not in plan
        assert "SCAN ours" not in plan
        assert "TEMP B-TREE" not in plan, plan
