"""Every statement of the hot path uses its index, with 100,000 schedules and a million runs in history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Connection, event, text
from tests.servers import mariadb, postgresql

from onthedot.stores.open import open_store
from onthedot.stores.sql import postgres_batches as unfolded
from onthedot.stores.sql import statements, tables
from onthedot.stores.sql.postgresql import POSTGRESQL, SESSION

SCHEDULES, HISTORY, LIVE = 100_000, 1_000_000, 60_000
NOW_MS = 1_800_000_000_000
LEVELS = [(-5, NOW_MS - 96), (1, NOW_MS - 94), (2, NOW_MS - 93), (3, NOW_MS - 92)]
"""Of priority, and the earliest moment of each."""

GIVEN = {
    "now_ms": NOW_MS,
    "floor_ms": 0,
    "from_ms": NOW_MS - 10_000,
    "until_ms": NOW_MS + 5000,
    "before_ms": 500,
    "most": 100,
    "keep": 1000,
    "among": ["10", "20", "job"],
    "node_id": "n1",
    "schedule_id": "s1",
    "kept_by": "s1",
    "skip": 0,
    "run_id": "r1",
    "after_id": "",
    "priority": 5,
    "group": "n1",
    "after": 50_000,
    "first": "t:s:",
    "last": "t:s;",
}
# What each column gets, of the number n of its row: a tenth of the schedules is paused, and long overdue.
VALUES = {
    "onthedot_schedules": {
        "id": "{text}",
        "name": "{text}",
        "mode": "'durable'",
        "enabled": "CASE WHEN n % 10 = 0 THEN 0 ELSE 1 END",
        "next_run_ms": f"CASE WHEN n % 10 = 0 THEN 1 ELSE {NOW_MS} + n * 1000 - 100000 END",
    },
    "onthedot_history": {
        "id": "{text}",
        "state": "CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'succeeded' END",
        "finished_ms": "n",
        "kept_by": "{name}",
    },
    # A hundred may start; before them as many as you like are blocked behind slots, after them is all of tomorrow:
    # half of that has one of five priorities, and so have a few of the hundred.
    "onthedot_runs": {
        "id": "{text}",
        "state": "CASE WHEN n % 20 = 0 THEN 'running' ELSE 'waiting' END",
        "blocked": "CASE WHEN n <= 19900 THEN 1 ELSE 0 END",
        "due_ms": f"{NOW_MS} + n - 20000 + CASE WHEN n > 20000 THEN 86400000 ELSE 0 END",
        "priority": "CASE WHEN n > 19900 AND n % 8 = 0 THEN -5 WHEN n > 19900 AND n % 8 < 5 THEN n % 8 - 1 ELSE 0 END",
        "ranked": "CASE WHEN n > 19900 AND n % 8 < 5 AND n % 8 <> 1 THEN 1 ELSE 0 END",
        "owner": "CASE WHEN n % 20 = 0 THEN {name} ELSE NULL END",
        "schedule_id": "{text}",
        "slot": "NULL",
        "apart": "{text}",
        "task": "'job'",
    },
    "onthedot_keys": {"key": "{text}", "expires_ms": "CASE WHEN n % 2 = 0 THEN NULL ELSE n END"},
    "onthedot_decisions": {"schedule_id": "{name}", "decided_ms": "n", "seq": "n"},
    "onthedot_changes": {"schedule": "{name}", "at_ms": "n", "seq": "n"},
    "onthedot_revisions": {"schedule_id": "{name}", "revision": "n / 100", "made_ms": "n", "seq": "n"},
    "onthedot_logs": {"run_id": "{text}", "seq": "n"},
    "onthedot_nodes": {
        "id": "{name_of_its_own}",
        "state": "CASE WHEN n % 1000 = 0 THEN 'alive' ELSE 'dead' END",
        "renewed_ms": "n",
    },
}
ROWS = {
    "onthedot_schedules": SCHEDULES,
    "onthedot_history": HISTORY,
    "onthedot_runs": LIVE,
    "onthedot_keys": SCHEDULES,
    **dict.fromkeys(("onthedot_decisions", "onthedot_changes", "onthedot_revisions", "onthedot_logs"), 200_000),
    "onthedot_nodes": 10_000,
}
WORDS = {
    "postgresql": {
        "text": "CAST(n AS text)",
        "name": "'n' || (n % 100)",
        "name_of_its_own": "'gone' || n",
        "rows": "generate_series(1, {count}) AS n",
    },
    "mysql": {
        "text": "CAST(n AS char)",
        "name": "CONCAT('n', n % 100)",
        "name_of_its_own": "CONCAT('gone', n)",
        "rows": "(SELECT seq AS n FROM seq_1_to_{count}) AS numbers",
    },
}
"""MariaDB counts with its own storage engine of sequences."""


def fill(connection: Connection) -> None:
    """As many rows as it says, made by the server itself."""
    words = WORDS[connection.dialect.name]
    quote = connection.dialect.identifier_preparer.quote
    for name, values in VALUES.items():
        table = tables.metadata.tables[name]
        columns = [column for column in table.c if not column.nullable or column.name in values]
        written = [values.get(column.name, "''" if column.type.python_type is str else "0") for column in columns]
        names = ", ".join(quote(column.name) for column in columns)
        chosen = ", ".join(each.format(**words) for each in written)
        connection.exec_driver_sql(
            f"INSERT INTO {name} ({names}) SELECT {chosen} FROM {words['rows'].format(count=ROWS[name])}".replace(
                "%", "%%"
            )
        )


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    name = "postgresql_15" if request.param == "postgresql" else "mariadb"
    module: Any = postgresql if request.param == "postgresql" else mariadb
    with module.database_in(request.getfixturevalue(f"{name}_server")) as url:
        open_store(url, create=True).close()
        driver = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}[request.param]
        engine = sqlalchemy.create_engine(sqlalchemy.make_url(url).set(drivername=driver))
        with engine.connect() as connection:
            fill(connection)
            connection.commit()
            for table in ROWS:
                analyze = "ANALYZE" if request.param == "postgresql" else "ANALYZE TABLE"
                connection.execute(text(f"{analyze} {table}")).close()
            connection.commit()
            yield connection
        engine.dispose()


Statement = sqlalchemy.Select[Any] | sqlalchemy.CompoundSelect[Any]


def plan_of(connection: Connection, statement: Statement, given: dict[str, Any] | None = None) -> str:
    """How the server would find the rows of the statement, exactly as it is sent."""
    sent: list[tuple[str, Any]] = []

    def remember(_connection: object, _cursor: object, words: str, parameters: Any, *_: object) -> None:
        sent.append((words, parameters))

    event.listen(connection, "before_cursor_execute", remember)
    connection.execute(statement, GIVEN | (given or {})).fetchall()
    event.remove(connection, "before_cursor_execute", remember)
    ((words, parameters),) = sent
    postgres = connection.dialect.name == "postgresql"
    form = "EXPLAIN (FORMAT JSON, COSTS OFF)" if postgres else "EXPLAIN FORMAT=JSON"
    plan = connection.exec_driver_sql(f"{form} {words}", parameters).scalar_one()
    return plan if isinstance(plan, str) else json.dumps(plan)


def _scanned(plan: Any) -> Iterator[str]:
    """Our tables that MariaDB would read from end to end; not what it has put together on the way."""
    if isinstance(plan, dict):
        if plan.get("access_type") == "ALL" and str(plan.get("table_name")).startswith("onthedot"):
            yield plan["table_name"]
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else ():
        yield from _scanned(part)


HOT = [
    (statements.SCHEDULES_ON_TIME, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    (statements.SCHEDULES_OVERDUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    (statements.COUNT_DUE, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    (statements.UPCOMING, "onthedot_schedules_due", "onthedot_schedules_plannable"),
    (statements.DUE_RUNS.on(POSTGRESQL), "onthedot_runs_due", "onthedot_runs_waiting"),
    (statements.DUE_OF_LEVEL, "onthedot_runs_levels", "onthedot_runs_ranked"),
    (statements.ROUTED_RUNS.on(POSTGRESQL), "onthedot_runs_due", "onthedot_runs_waiting"),
    (statements.BLOCKED_RUNS.on(POSTGRESQL), "onthedot_runs_blocked", "onthedot_runs_waiting"),
    (statements.LIVE_OF, "onthedot_runs_tick", "onthedot_runs_tick"),
    (statements.LIVE_RUNS, "onthedot_runs_pkey", "PRIMARY"),
    (statements.HELD, "onthedot_runs_pkey", "PRIMARY"),
    (statements.OWNED_BY, "onthedot_runs_owner", "onthedot_runs_owner"),
    (statements.CANCELS, "onthedot_runs_owner", "onthedot_runs_owner"),
    (statements.SCHEDULES_IF_FREE, "onthedot_schedules_pkey", "PRIMARY"),
    (statements.SCHEDULES_NAMED, "onthedot_schedules_name", "onthedot_schedules_name"),
    (statements.STANDING, "onthedot_schedules_pkey", "PRIMARY"),
    (statements.KEYS, "onthedot_keys_pkey", "PRIMARY"),
    (statements.ENDED_RUNS, "onthedot_history_pkey", "PRIMARY"),
]


@pytest.mark.parametrize(("statement", "on_postgresql", "on_mariadb"), HOT, ids=lambda each: str(each)[:30])
def test_a_hot_statement_uses_its_index(
    connection: Connection, statement: Statement, on_postgresql: str, on_mariadb: str
) -> None:
    plan = plan_of(connection, statement)
    postgres = connection.dialect.name == "postgresql"
    assert f'"{on_postgresql if postgres else on_mariadb}"' in plan, plan
    assert '"Seq Scan"' not in plan
    assert list(_scanned(json.loads(plan))) == []


OF_PRUNING = {
    "old runs": (statements.ENDED.oldest, "onthedot_history_finished"),
    "locked runs": (statements.ENDED.locked, "onthedot_history_pkey"),
    "groups of the newest runs": (statements.ENDED_CROWD.newest, "onthedot_history_finished"),
    "next group of runs": (statements.ENDED_CROWD.following, "onthedot_history_schedule"),
    "runs too many": (statements.ENDED_CROWD.beyond, "onthedot_history_schedule"),
    "lines of runs": (statements.LINES, "onthedot_logs_run"),
    "runs with lines": (statements.WITH_LINES, "onthedot_logs_run"),
    "old decisions": (statements.DECIDED.oldest, "onthedot_decisions_decided"),
    "locked decisions": (statements.DECIDED.locked, "onthedot_decisions_pkey"),
    "groups of the newest decisions": (statements.DECIDED_CROWD.newest, "onthedot_decisions_decided"),
    "next group of decisions": (statements.DECIDED_CROWD.following, "onthedot_decisions_schedule"),
    "decisions too many": (statements.DECIDED_CROWD.beyond, "onthedot_decisions_schedule"),
    "expired keys": (statements.EXPIRED.oldest, "onthedot_keys_expires"),
    "keys of ticks": (statements.KEYS_BETWEEN, "onthedot_keys_pkey"),
    "old changes": (statements.CHANGED.oldest, "onthedot_changes_at"),
    "changes too many": (statements.CHANGED_CROWD, "onthedot_changes_pkey"),
    "old tombstones": (statements.TOMBSTONES.oldest, "onthedot_schedules_tombstones"),
    "gone nodes": (statements.GONE.oldest, "onthedot_nodes_state"),
    "a page of definitions": (statements.REVISIONS_PAGE, "onthedot_revisions_pkey"),
    "what replaced a definition": (statements.REVISIONS_PAGE, "onthedot_revisions_schedule"),
    "the oldest of a schedule": (statements.OLDEST_OF, "onthedot_history_schedule"),
}


GIVEN_TO: dict[Statement, dict[str, Any]] = {
    statements.DECIDED.locked: {"among": [10, 20]},
    statements.ENDED_CROWD.following: {"after": "n50"},
    statements.DECIDED_CROWD.following: {"after": "n50"},
    statements.OLDEST_OF: {"schedule_id": "10"},
}


@pytest.mark.parametrize(("statement", "index"), OF_PRUNING.values(), ids=OF_PRUNING)
def test_what_is_old_is_found_by_an_index_however_much_is_kept(
    connection: Connection, statement: Statement, index: str
) -> None:
    postgres = connection.dialect.name == "postgresql"
    if not postgres:
        index = "PRIMARY" if index.endswith("_pkey") else index.replace("_tombstones", "_deleted")
    given = {"from_ms": 0, **GIVEN_TO.get(statement, {})}
    plan = plan_of(connection, statement, given)
    assert f'"{index}"' in plan, plan
    assert '"Seq Scan"' not in plan
    assert list(_scanned(json.loads(plan))) == []
    before = _rows_read(connection)
    connection.execute(statement, GIVEN | given).fetchall()
    read = _rows_read(connection) - before
    connection.rollback()
    assert read < 5000, read


IN_ORDER = {
    "on time": statements.SCHEDULES_ON_TIME,
    "overdue": statements.SCHEDULES_OVERDUE,
    "due runs": statements.DUE_RUNS.on(POSTGRESQL),
    "of a level": statements.DUE_OF_LEVEL,
}


@pytest.mark.parametrize("statement", IN_ORDER.values(), ids=IN_ORDER)
def test_a_crowd_at_one_moment_is_not_sorted_for_each_batch(connection: Connection, statement: Statement) -> None:
    plan = plan_of(connection, statement)
    assert '"Sort"' not in plan
    assert "filesort" not in plan


def _levels(connection: Connection) -> sqlalchemy.Select[Any]:
    return statements.LEVELS if connection.dialect.name == "postgresql" else statements.LEVELS_GROUPED


def test_the_levels_of_priority_are_found_by_jumping_along_their_index(connection: Connection) -> None:
    plan = plan_of(connection, _levels(connection))
    postgres = connection.dialect.name == "postgresql"
    assert f'"{"onthedot_runs_levels" if postgres else "onthedot_runs_ranked"}"' in plan
    assert connection.execute(_levels(connection)).fetchall() == LEVELS


HOT_ALSO_WHILE_MUCH_WAITS: list[Any] = [
    statements.SCHEDULES_OVERDUE,
    statements.DUE_RUNS.on(POSTGRESQL),
    statements.DUE_OF_LEVEL,
    statements.ROUTED_RUNS.on(POSTGRESQL),
    statements.UPCOMING,
]


def test_the_paused_the_blocked_and_those_of_tomorrow_cost_nothing(connection: Connection) -> None:
    """What a claim looks at is what it gets: 10,000 paused and 19,000 blocked lie before it, 40,000 runs after it."""
    looked_at = []
    for statement in [*HOT_ALSO_WHILE_MUCH_WAITS, _levels(connection)]:
        before = _rows_read(connection)
        connection.execute(statement, GIVEN).fetchall()
        looked_at.append(_rows_read(connection) - before)
    connection.rollback()
    assert max(looked_at) < 2000, looked_at


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
    if isinstance(each, statements.Batch) and each._key is not None and each._key.table.name in ROWS
}


@pytest.mark.parametrize("connection", ["postgresql"], indirect=True)  # MariaDB: tests/stores/test_together.py
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_finds_its_rows_by_their_key(connection: Connection, name: str) -> None:
    key, names = BATCHES[name]._key, BATCHES[name]._names[:-1]
    assert key is not None
    words = unfolded._changing(key, names, None)
    values = [[None] * 500 for _ in names] + [[str(number) for number in range(1, 501)]]
    for join in ("enable_hashjoin", "enable_mergejoin"):
        connection.exec_driver_sql(f"SET {join} = {SESSION[join]}")
    plan = connection.exec_driver_sql(f"EXPLAIN (COSTS OFF) {words}", tuple(values)).scalars().all()
    assert any("Index" in line for line in plan), plan
    assert not any("Seq Scan" in line for line in plan), plan
