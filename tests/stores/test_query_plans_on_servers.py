"""Every statement of the hot path uses its index, with 100,000 schedules and 200,000 runs in history as with none.

By `scripts/test-slow` with a million of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import psycopg
import pytest
import sqlalchemy
from sqlalchemy import Connection, event
from tests.servers import mariadb, postgresql
from tests.stores.copying_statements import copying_statements, short_statements
from tests.stores.full_tables import GIVEN, LEVELS, NOW_MS, fill

from onthedot.stores.open import open_store
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.sql import counts, lane_statements, postgres_batches, queries, roll_up, statements, ticks
from onthedot.stores.sql.batches import Batch
from onthedot.stores.sql.mysql import MYSQL
from onthedot.stores.sql.postgresql import POSTGRESQL, SESSION

ROWS = {
    "onthedot_schedules": 100_000,
    "onthedot_history": 200_000,
    "onthedot_runs": 60_000,
    "onthedot_keys": 100_000,
    "onthedot_decisions": 100_000,
}
A_MILLION = {**ROWS, "onthedot_history": 1_000_000}
SERVERS = {"postgresql": ("postgresql_15_server", postgresql), "mariadb": ("mariadb_server", mariadb)}


def connected(request: pytest.FixtureRequest, server: str, rows: dict[str, int]) -> Iterator[Connection]:
    """A connection as the store has it, to tables with so many rows."""
    fixture, module = SERVERS[server]
    with module.database_in(request.getfixturevalue(fixture)) as url:
        open_store(url, create=True).close()
        driver = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}[server]
        engine = sqlalchemy.create_engine(sqlalchemy.make_url(url).set(drivername=driver))
        with engine.connect() as connection:
            fill(connection, rows)
            if server == "postgresql":
                for name, value in SESSION.items():
                    connection.exec_driver_sql(f"SET {name} = {value}")
            connection.commit()
            yield connection
        engine.dispose()


@pytest.fixture(
    scope="module", params=[*SERVERS, *(pytest.param(f"{each}, a million", marks=pytest.mark.slow) for each in SERVERS)]
)
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """To full tables."""
    server, _, more = request.param.partition(", ")
    yield from connected(request, server, A_MILLION if more else ROWS)


@pytest.fixture(scope="module", params=SERVERS)
def to_empty_tables(request: pytest.FixtureRequest) -> Iterator[Connection]:
    yield from connected(request, request.param, {})


class OnEach(NamedTuple):
    """A statement that each server has in words of its own, for so many lanes."""

    which: lane_statements.InLanes
    lanes: int


Statement = sqlalchemy.Select[Any] | sqlalchemy.CompoundSelect[Any] | OnEach


def _on(connection: Connection, statement: Statement) -> sqlalchemy.Select[Any] | sqlalchemy.CompoundSelect[Any]:
    if not isinstance(statement, OnEach):
        return statement
    return statement.which.on(POSTGRESQL if connection.dialect.name == "postgresql" else MYSQL, statement.lanes)


def plan_of(connection: Connection, statement: Statement) -> str:
    """How the server would find the rows of the statement, exactly as it is sent."""
    sent: list[tuple[str, Any]] = []

    def remember(_connection: object, _cursor: object, words: str, parameters: Any, *_: object) -> None:
        sent.append((words, parameters))

    event.listen(connection, "before_cursor_execute", remember)
    connection.execute(_on(connection, statement), GIVEN).fetchall()
    event.remove(connection, "before_cursor_execute", remember)
    ((words, parameters),) = sent
    if connection.dialect.name == "postgresql":
        return json.dumps(_generic_plan(connection, words, parameters))
    plan = connection.exec_driver_sql(f"EXPLAIN FORMAT=JSON {words}", parameters).scalar_one()
    return plan if isinstance(plan, str) else json.dumps(plan)


def _generic_plan(connection: Connection, words: str, given: Any) -> Any:
    """The one plan that sessions of ours have for it, whatever they give: that of a statement that is prepared."""
    names: dict[str, int] = {}
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.setdefault(found[1], len(names) + 1)}", words)
    values = [given[name] for name in names]
    held = cast(Any, connection.connection.driver_connection)
    literals = ", ".join(psycopg.sql.Literal(value).as_string(held) for value in values)
    held.execute(f"PREPARE asked AS {numbered.replace('%%', '%')}")
    try:
        asked = f"EXECUTE asked ({literals})" if values else "EXECUTE asked"
        ((plan,),) = held.execute(f"EXPLAIN (FORMAT JSON, COSTS OFF) {asked}").fetchall()
    finally:
        held.execute("DEALLOCATE asked")
    return plan


def _scanned(plan: Any) -> Iterator[str]:
    """Our tables that MariaDB would read from end to end; not what it has put together on the way."""
    if isinstance(plan, dict):
        if plan.get("access_type") == "ALL" and str(plan.get("table_name")).startswith("onthedot"):
            yield plan["table_name"]
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else ():
        yield from _scanned(part)


def _on_servers(which: lane_statements.InLanes, lanes: int) -> Statement:
    return which.on(POSTGRESQL, lanes)


DUE: dict[str, Statement] = {
    f"{name}, {count} lanes": _on_servers(which, count)
    for count in (2, 4)
    for name, which in {
        "due of tasks": lane_statements.DUE_OF_TASKS.oldest,
        "due of pools": lane_statements.DUE_OF_POOLS.oldest,
    }.items()
}
OF_LEVEL: dict[str, Statement] = {
    "due of a level": OnEach(lane_statements.DUE_OF_POOLS.of_level, 4),
    "waiting of a level": OnEach(lane_statements.WAITING_FOR.of_level, 1),
}
WAITING_FOR = _on_servers(lane_statements.WAITING_FOR.oldest, 1)
BY_SCHEDULE = "onthedot_runs_schedule or onthedot_runs_tick"
_OF_STEP = (
    "onthedot_runs_parent or onthedot_runs_untold or onthedot_history_parent or onthedot_history_step",
    "onthedot_runs_parent or onthedot_history_parent or onthedot_history_step",
)
HOT: dict[str, tuple[Statement, str, str]] = {
    "on time": (statements.SCHEDULES_ON_TIME, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "overdue": (statements.SCHEDULES_OVERDUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "count due": (statements.COUNT_DUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "is due": (statements.IS_DUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "coming": (statements.COMING, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "versions if free": (statements.VERSIONS_IF_FREE, "onthedot_schedules_pkey", "PRIMARY"),
    "with live": (statements.WITH_LIVE, BY_SCHEDULE, BY_SCHEDULE),
    "upcoming schedules": (statements.UPCOMING, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "upcoming runs": (statements.UPCOMING, "onthedot_runs_moment", "onthedot_runs_ready"),
    **{name: (statement, "onthedot_runs_lane", "onthedot_runs_waiting") for name, statement in DUE.items()},
    **{name: (statement, "onthedot_runs_levels", "onthedot_runs_ranked") for name, statement in OF_LEVEL.items()},
    "steps": (statements.STEPS_OF, "onthedot_runs_parent or onthedot_runs_untold", "onthedot_runs_parent"),
    "untold": (
        statements.UNTOLD,
        "onthedot_runs_untold",
        "onthedot_runs_waiting or onthedot_runs_ready or onthedot_runs_ranked or onthedot_runs_parent",
    ),
    "past until": (statements.PAST_UNTIL, "onthedot_runs_until", "onthedot_runs_until"),
    **{f"results, part {number}": (part, *_OF_STEP) for number, part in enumerate(statements.RESULTS)},
    "steps left": (statements.STEPS_LEFT, *_OF_STEP),
    "free runs": (lane_statements.FREE_RUNS, "onthedot_runs_pkey", "PRIMARY"),
    "waiting for": (WAITING_FOR, "onthedot_runs_lane", "onthedot_runs_waiting"),
    "are awaited": (lane_statements.ARE_AWAITED, "onthedot_runs_lane", "onthedot_runs_waiting or onthedot_runs_ranked"),
    "is anything awaited": (
        lane_statements.IS_ANYTHING_AWAITED,
        "onthedot_runs_lane",
        "onthedot_runs_waiting or onthedot_runs_ranked",
    ),
    "routed runs": (lane_statements.ROUTED_RUNS, "onthedot_runs_lane", "onthedot_runs_waiting"),
    "live of": (statements.LIVE_OF, BY_SCHEDULE, BY_SCHEDULE),
    "live beside": (statements.LIVE_BESIDE, BY_SCHEDULE, BY_SCHEDULE),
    "crowded": (statements.CROWDED, BY_SCHEDULE, BY_SCHEDULE),
    "running of one": (statements.RUNNING_OF, "onthedot_runs_schedule", "onthedot_runs_schedule"),
    "waiting of one": (statements.WAITING_OF, "onthedot_runs_schedule", "onthedot_runs_schedule"),
    "live runs": (statements.LIVE_RUNS, "onthedot_runs_pkey", "PRIMARY"),
    "live runs if free": (statements.LIVE_RUNS_IF_FREE, "onthedot_runs_pkey", "PRIMARY"),
    "held": (statements.HELD, "onthedot_runs_pkey", "PRIMARY"),
    "schedules of": (statements.SCHEDULES_OF, "onthedot_runs_pkey", "PRIMARY"),
    "owned by": (statements.OWNED_BY, "onthedot_runs_owner", "onthedot_runs_owner"),
    "cancels": (statements.CANCELS, "onthedot_runs_owner", "onthedot_runs_owner"),
    "load": (statements.LOAD, "onthedot_runs_owner", "onthedot_runs_owner"),
    "lock schedules": (statements.LOCK_SCHEDULES, "onthedot_schedules_pkey", "PRIMARY"),
    "schedules if free": (statements.SCHEDULES_IF_FREE, "onthedot_schedules_pkey", "PRIMARY"),
    "schedules named": (statements.SCHEDULES_NAMED, "onthedot_schedules_name", "onthedot_schedules_name"),
    "summaries": (statements.SUMMARIES, "onthedot_schedules_pkey", "PRIMARY"),
    "keys": (statements.KEYS, "onthedot_keys_pkey", "PRIMARY"),
    "ended runs": (statements.ENDED_RUNS, "onthedot_history_pkey", "PRIMARY"),
    "last decisions": (statements.LAST_DECISIONS, "onthedot_decisions_schedule", "onthedot_decisions_schedule"),
    "decisions by id": (statements.DECISIONS_BY_ID, "onthedot_decisions_pkey", "PRIMARY"),
    "old history": (statements.ENDED.oldest, "onthedot_history_finished", "onthedot_history_finished"),
    "beyond": (statements.ENDED_CROWD.beyond, "onthedot_history_schedule", "onthedot_history_schedule"),
}


@pytest.mark.parametrize(("statement", "on_postgresql", "on_mariadb"), HOT.values(), ids=HOT)
def test_a_hot_statement_uses_its_index(
    connection: Connection, statement: Statement, on_postgresql: str, on_mariadb: str
) -> None:
    assert_uses(connection, statement, on_postgresql if connection.dialect.name == "postgresql" else on_mariadb)


def assert_uses(connection: Connection, statement: Statement, indexes: str) -> None:
    plan = plan_of(connection, statement)
    assert any(f'"{index}"' in plan for index in indexes.split(" or ")), plan
    assert '"Seq Scan"' not in plan
    assert list(_scanned(json.loads(plan))) == [], plan


def _by_name(**wanted: Any) -> Statement:
    return queries.by_name(queries.WantedSchedules(**wanted))


def _by_next(**wanted: Any) -> Statement:
    return queries.by_next(queries.WantedSchedules(order="next", **wanted), NOW_MS + 100_000, nested=False)


THEN: dict[str, Any] = {"since_ms": 1, "before": "9"}


def _ended(**wanted: Any) -> Statement:
    return queries.ended_statement(RunFilter(**wanted))


ASKED: dict[str, tuple[Statement, str, str]] = {
    "of a task": (_by_name(task="n7"), "onthedot_schedules_task", "onthedot_schedules_task"),
    "parked": (_by_name(state="parked"), "onthedot_schedules_parked", "onthedot_schedules_error"),
    "ended": (_by_name(state="ended"), "onthedot_schedules_ended", "onthedot_schedules_plannable"),
    "paused": (_by_name(state="paused"), "onthedot_schedules_paused", "onthedot_schedules_name"),
    "active": (_by_name(state="active"), "onthedot_schedules_name", "onthedot_schedules_name"),
    "parked with a text": (
        _by_name(state="parked", search="n7"),
        "onthedot_schedules_parked",
        "onthedot_schedules_error",
    ),
    "undeclared": (
        _by_name(state="undeclared", now_ms=NOW_MS),
        "onthedot_schedules_declared",
        "onthedot_schedules_declared",
    ),
    "leaving out": (
        _by_name(state="leaving_out", now_ms=NOW_MS),
        "onthedot_schedules_left_out",
        "onthedot_schedules_left_out",
    ),
    "frozen": (
        _by_name(state="frozen", windows=("[]",)),  # MariaDB's plans are no JSON where a text has quotation marks
        "onthedot_schedules_frozen",
        "onthedot_schedules_windows",
    ),
    "windows": (counts.FREEZING, "onthedot_schedules_frozen", "onthedot_schedules_windows"),
    "how far a page reaches": (
        queries.furthest(queries.WantedSchedules(order="next")),
        "onthedot_schedules_due",
        "onthedot_schedules_plannable",
    ),
    "next": (_by_next(), "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "next of the parked": (_by_next(state="parked"), "onthedot_schedules_parked", "onthedot_schedules_error"),
    "next of the ended": (_by_next(state="ended"), "onthedot_schedules_ended", "onthedot_schedules_plannable"),
    "next of a task": (
        queries.sorted_by_next(queries.WantedSchedules(task="n7")),
        "onthedot_schedules_task",
        "onthedot_schedules_task",
    ),
    "overdue": (statements.OVERDUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    "load by pool": (counts.LOAD_BY_POOL, "onthedot_runs_owner", "onthedot_runs_owner"),
    "runs of a task": (_ended(task="n7"), "onthedot_history_task", "onthedot_history_task"),
    "runs of a task then": (
        _ended(task="n7", **THEN),
        "onthedot_history_task",
        "onthedot_history_task",
    ),
    "runs of a node": (_ended(node="n7"), "onthedot_history_owner", "onthedot_history_owner"),
    "shards": (_ended(parent="n7"), "onthedot_history_parent", "onthedot_history_parent"),
    "late runs": (_ended(late=True), "onthedot_history_late", "onthedot_history_late"),
    "late runs then": (_ended(late=True, **THEN), "onthedot_history_late", "onthedot_history_late"),
    "runs then": (_ended(**THEN), "onthedot_history_pkey", "PRIMARY"),
    "ended ticks": (ticks.marks_of(50, nested=False), "onthedot_history_tick", "onthedot_history_moment"),
    "live ticks": (ticks.marks_of(50, nested=False), "onthedot_runs_tick", "onthedot_runs_tick"),
    "decisions": (
        ticks.decisions_of(50, nested=False),
        "onthedot_decisions_schedule",
        "onthedot_decisions_schedule",
    ),
    "changes before": (statements.CHANGES_BEFORE, "onthedot_changes_id", ""),
    "changes of one before": (statements.CHANGES_OF_BEFORE, "onthedot_changes_id", ""),
    "minutes": (statements.MINUTES, "onthedot_minutes_pkey", "PRIMARY"),
    "ends to be counted": (roll_up.ENDS, "onthedot_history_finished", "onthedot_history_finished"),
}
"""What people ask for; MariaDB makes no plan for what is before a line that is not there."""


@pytest.mark.parametrize(("statement", "on_postgresql", "on_mariadb"), ASKED.values(), ids=ASKED)
def test_what_people_ask_for_is_found_by_an_index(
    connection: Connection, statement: Statement, on_postgresql: str, on_mariadb: str
) -> None:
    index = on_postgresql if connection.dialect.name == "postgresql" else on_mariadb
    if index:
        assert_uses(connection, statement, index)
    before = _rows_read(connection)
    connection.execute(_on(connection, statement), GIVEN).fetchall()
    assert _rows_read(connection) - before < MOST_READ


@pytest.mark.parametrize("connection", ["mariadb"], indirect=True)
@pytest.mark.parametrize(
    "statement", [_by_name(search="nobody"), queries.some_with(queries.WantedSchedules(search="nobody"))]
)
def test_a_text_is_looked_for_in_an_index_and_not_in_rows(connection: Connection, statement: Statement) -> None:
    assert_uses(connection, statement, "onthedot_schedules_task")
    assert '"using_index": true' in plan_of(connection, statement)


MOST_READ = 25_000
"""A tenth of the schedules is paused: so many are sorted by their next moment."""
_FEW = ("active", "load by pool")
"""Which index is used where there is nothing does not matter: these plans are made anew each time."""
EITHER = {
    name: each[:2]
    for name, each in {**{f"asked: {name}": each for name, each in ASKED.items() if name not in _FEW}, **HOT}.items()
}


@pytest.mark.parametrize("to_empty_tables", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("statement", "index"), EITHER.values(), ids=EITHER)
def test_a_plan_that_postgresql_made_while_there_was_nothing_is_right_when_there_is_much(
    to_empty_tables: Connection, statement: Statement, index: str
) -> None:
    assert_uses(to_empty_tables, statement, index)


LOCKING = {name: (each[0], each[2]) for name, each in HOT.items() if "FOR UPDATE" in str(each[0])}


@pytest.mark.parametrize("to_empty_tables", ["mariadb"], indirect=True)
@pytest.mark.parametrize(("statement", "index"), LOCKING.values(), ids=LOCKING)
def test_mariadb_never_locks_a_whole_table_because_it_seems_to_be_empty(
    to_empty_tables: Connection, statement: Statement, index: str
) -> None:
    assert_uses(to_empty_tables, statement, index)


IN_ORDER: dict[str, Statement] = {
    "on time": statements.SCHEDULES_ON_TIME,
    "overdue": statements.SCHEDULES_OVERDUE,
    **DUE,
    **OF_LEVEL,
    "waiting for": WAITING_FOR,
    "waiting of one": statements.WAITING_OF,
}


@pytest.mark.parametrize("statement", IN_ORDER.values(), ids=IN_ORDER)
def test_a_crowd_at_one_moment_is_not_sorted_for_each_batch(connection: Connection, statement: Statement) -> None:
    plan = plan_of(connection, statement)
    assert '"Sort"' not in plan
    assert "filesort" not in plan


def _levels(connection: Connection) -> sqlalchemy.Select[Any]:
    postgres = connection.dialect.name == "postgresql"
    return lane_statements.LEVELS if postgres else lane_statements.LEVELS_GROUPED


def _awaited(connection: Connection) -> sqlalchemy.Select[Any]:
    postgres = connection.dialect.name == "postgresql"
    return lane_statements.AWAITED if postgres else lane_statements.AWAITED_GROUPED


def test_the_levels_of_priority_are_found_by_jumping_along_their_index(connection: Connection) -> None:
    plan = plan_of(connection, _levels(connection))
    postgres = connection.dialect.name == "postgresql"
    assert f'"{"onthedot_runs_levels" if postgres else "onthedot_runs_ranked"}"' in plan
    assert connection.execute(_levels(connection), GIVEN).fetchall() == LEVELS


def test_what_runs_wait_for_is_found_by_jumping_along_their_index(connection: Connection) -> None:
    plan = plan_of(connection, _awaited(connection))
    postgres = connection.dialect.name == "postgresql"
    assert f'"{"onthedot_runs_lane" if postgres else "onthedot_runs_waiting"}"' in plan
    found = connection.execute(_awaited(connection), GIVEN).scalars().all()
    assert found == sorted(f"slot:n{number}" for number in range(100) if number % 20)


def test_what_is_not_asked_for_costs_nothing(connection: Connection) -> None:
    """What a statement looks at is what it gets, not what is paused, blocked, of another group, or due tomorrow."""
    asked: dict[str, Statement] = {
        "overdue": statements.SCHEDULES_OVERDUE,
        "upcoming": statements.UPCOMING,
        "waiting for": WAITING_FOR,
        "are awaited": lane_statements.ARE_AWAITED,
        "is anything awaited": lane_statements.IS_ANYTHING_AWAITED,
        "routed": lane_statements.ROUTED_RUNS,
        "crowded": statements.CROWDED,
        "running of one": statements.RUNNING_OF,
        "waiting of one": statements.WAITING_OF,
        "live beside": statements.LIVE_BESIDE,
        "levels": _levels(connection),
        "awaited": _awaited(connection),
        **DUE,
        **OF_LEVEL,
    }
    looked_at = {}
    for name, statement in asked.items():
        before = _rows_read(connection)
        connection.execute(_on(connection, statement), GIVEN).fetchall()
        looked_at[name] = _rows_read(connection) - before
    connection.rollback()
    assert max(looked_at.values()) < 1000, looked_at


def _rows_read(connection: Connection) -> int:
    """How many rows this session has looked at so far."""
    if connection.dialect.name == "mysql":
        found = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read_%%'").fetchall()
        return sum(int(count) for _, count in found)
    return int(
        connection.exec_driver_sql(
            "SELECT sum(idx_tup_fetch + seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname LIKE 'onthedot%%'"
        ).scalar_one()
    )


BATCHES = {
    name: each
    for name, each in vars(statements).items()
    if isinstance(each, Batch) and each._key is not None and each._key.table.name in ROWS
}


@pytest.mark.parametrize("connection", ["postgresql"], indirect=True)  # MariaDB: tests/stores/test_batches.py
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_finds_its_rows_by_their_key(connection: Connection, name: str) -> None:
    key, names = BATCHES[name]._key, BATCHES[name]._names[:-1]
    assert key is not None
    words = postgres_batches._changing(key, str(key.table), names)
    values = [[None] * 500 for _ in names] + [[str(number) for number in range(1, 501)]]
    plan = connection.exec_driver_sql(f"EXPLAIN (COSTS OFF) {words}", tuple(values)).scalars().all()
    assert any("Index" in line for line in plan), plan
    assert not any("Seq Scan" in line for line in plan), plan


def test_what_is_copied_is_found_by_its_key(connection: Connection) -> None:
    assert_copies_by_key(connection)


def test_what_is_copied_is_found_by_its_key_also_where_a_table_seems_to_be_empty(to_empty_tables: Connection) -> None:
    assert_copies_by_key(to_empty_tables)


def assert_copies_by_key(connection: Connection) -> None:
    postgres = connection.dialect.name == "postgresql"
    for statement, given in copying_statements(POSTGRESQL if postgres else MYSQL):
        words = sqlalchemy.text(f"EXPLAIN {'(FORMAT JSON, COSTS OFF)' if postgres else 'FORMAT=JSON'} {statement}")
        found = connection.execute(words, given).scalar_one()
        plan = found if isinstance(found, str) else json.dumps(found)
        assert "_pkey" in plan if postgres else '"PRIMARY"' in plan, plan
        assert '"Seq Scan"' not in plan
        assert list(_scanned(json.loads(plan))) == [], plan


def test_the_short_way_finds_its_rows_by_their_indexes_and_sorts_nothing(connection: Connection) -> None:
    assert_short(connection)


def test_a_short_way_that_was_planned_while_there_was_nothing_is_right(to_empty_tables: Connection) -> None:
    assert_short(to_empty_tables)


_OF_SHORT = {
    "onthedot_runs_pkey",
    "onthedot_runs_lane",
    "onthedot_runs_schedule",
    "onthedot_runs_tick",
    "onthedot_schedules_pkey",
    "onthedot_schedules_due",
    "onthedot_nodes_pkey",
    "onthedot_keys_pkey",
}
_OF_PLACES = {"theirs.key", "held.lane", "behind.lane"}
"""What is sorted where places of groups are handed on: only what has been found of these."""


def assert_short(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        assert_short_on_postgresql(connection)
        return
    for statement, given in short_statements(MYSQL):
        plan = connection.execute(sqlalchemy.text(f"EXPLAIN FORMAT=JSON {statement}"), given).scalar_one()
        used = set(re.findall(r'"key": "(\w+)"', plan))
        assert used <= {"PRIMARY", "onthedot_runs_waiting"}, plan
        assert list(_scanned(json.loads(plan))) == [], plan
        assert "filesort" not in plan, plan


def assert_short_on_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
    for number, (statement, given) in enumerate(short_statements(POSTGRESQL)):
        names = [name for name in given if f":{name}" in statement]
        found = connection.execute(sqlalchemy.text(f"EXPLAIN (FORMAT JSON, COSTS OFF) {statement}"), given)
        plan = json.dumps(found.scalar_one())
        used = set(re.findall(r'"Index Name": "(\w+)"', plan))
        assert used <= _OF_SHORT, (number, names, used - _OF_SHORT, plan)
        assert '"Seq Scan"' not in plan, plan
        assert _sorted_by(json.loads(plan)) <= (_OF_PLACES if "groups" in statement else set()), plan
        assert _whole_indexes(json.loads(plan)) == [], plan
        assert all(index.endswith("_pkey") for index in _indexes_of("ours", json.loads(plan))), plan


def _indexes_of(alias: str, plan: Any) -> list[str]:
    """By which indexes the rows of a part are found."""
    found: list[str] = []
    if isinstance(plan, dict):
        if plan.get("Alias") == alias and "Index Name" in plan:
            found.append(plan["Index Name"])
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else ():
        found += _indexes_of(alias, part)
    return found


def _sorted_by(plan: Any) -> set[str]:
    """The first of what each part is sorted by, without the numbers that PostgreSQL gives to names."""
    if isinstance(plan, list):
        return {key for part in plan for key in _sorted_by(part)}
    if not isinstance(plan, dict):
        return set()
    own = {re.sub(r"_\d+\b| .*", "", plan["Sort Key"][0])} if plan.get("Node Type") == "Sort" else set()
    return own | _sorted_by(list(plan.values()))


def _whole_indexes(plan: Any) -> list[str]:
    """Indexes that are read from end to end."""
    found: list[str] = []
    if isinstance(plan, dict):
        if "Index Name" in plan and "Index Cond" not in plan:
            found.append(plan["Index Name"])
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else ():
        found += _whole_indexes(part)
    return found
