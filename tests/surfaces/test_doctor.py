"""`onthedot doctor` names what is wrong with a store and its nodes, and what to do about it."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pymongo
import pytest
import sqlalchemy

from onthedot import App, every
from onthedot.cli import main
from onthedot.clock import ManualClock, SystemClock
from onthedot.events import Emitter
from onthedot.insight.doctor import examine, judge_zones
from onthedot.model.finding import Finding, Level
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Store
from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store

MINUTE = 60_000


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url, create=True)) as store:
        yield store


def joined(store: Store, clock: ManualClock, **settings: Any) -> NodeRunner:
    """A node on a machine with this clock, that has made no pass yet."""
    tasks = App("memory://").tasks
    runner = NodeRunner(
        store,
        clock,
        Emitter(lambda event, error: None),
        tasks.lookup,
        lambda: (tasks.names(), tasks.infos()),
        settings=NodeSettings(**settings),
    )
    runner.join()
    return runner


def doctor(url: str) -> tuple[int, list[dict[str, str]]]:
    said = io.StringIO()
    with redirect_stdout(said):
        code = main(["doctor", "--store", url, "--json"])
    return code, json.loads(said.getvalue())["findings"]


def wrong(findings: list[Finding]) -> list[Finding]:
    return [each for each in findings if each.level is not Level.OK]


def test_a_healthy_store_with_a_node_gets_only_ok_and_exit_code_0(
    url: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    joined(store, ManualClock(store.now_ms()), name="web")
    assert main(["doctor", "--store", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {"ok"}
    assert {line.split()[1] for line in lines} == {"clock:", "schema:", "index:", "node:", "zones:"}


def test_an_index_that_was_dropped_is_a_problem_and_the_statement_it_shows_makes_it_again(
    url: str, store: Store, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        connection.execute("DROP INDEX onthedot_runs_tick")
        code, findings = doctor(url)
        (found,) = [each for each in findings if each["level"] == "problem"]
        assert (code, found["about"]) == (1, "index")
        assert found["what"].startswith("onthedot_runs_tick is missing")
        connection.execute(found["remedy"])
    assert "problem" not in {each["level"] for each in doctor(url)[1]}


def test_a_table_that_was_dropped_is_a_problem(url: str, store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        connection.execute("DROP TABLE onthedot_logs")
    code, findings = doctor(url)
    (found,) = [each for each in findings if each["level"] == "problem"]
    assert (code, found["what"]) == (1, "the table onthedot_logs is missing")


@pytest.mark.parametrize(("minutes", "side"), [(10, "10m ahead of"), (-10, "9m59s behind")])
def test_a_node_whose_clock_is_off_is_named(url: str, store: Store, minutes: int, side: str) -> None:
    joined(store, ManualClock(store.now_ms() + minutes * MINUTE + 500), name="hasty")
    code, findings = doctor(url)
    (found,) = [each for each in findings if each["level"] == "problem"]
    assert (code, found["about"]) == (1, "clock")
    assert f"the clock of node hasty is {side} the store's" in found["what"]


def test_a_clock_that_is_set_while_the_node_runs_is_seen_after_two_heartbeats(store: Store) -> None:
    clock = ManualClock(store.now_ms())
    node = joined(store, clock, name="web")
    clock.step(10 * MINUTE)
    node.heartbeat_once()
    node.heartbeat_once()
    (found,) = wrong(examine(store, SystemClock()))
    assert (found.level, found.about) == (Level.PROBLEM, "clock")


def test_the_labels_of_the_user_stay_beside_those_of_the_node(store: Store) -> None:
    joined(store, ManualClock(store.now_ms()), labels={"disk": "ssd"}).heartbeat_once()
    (node,) = store.nodes()
    assert node.labels.keys() == {"disk", "skew_ms", "tzdata"}
    assert node.labels["disk"] == "ssd"


def test_a_node_that_is_silent_is_a_warning_while_another_lives_and_a_problem_when_none_does(url: str) -> None:
    now_ms = [SystemClock().now_ms()]
    with closing(open_store(url, create=True, now_ms=lambda: now_ms[0])) as store:
        store.join(Node("n-1", "gone", lease_ms=MINUTE), [])
        now_ms[0] += 2 * MINUTE
        clock = ManualClock(now_ms[0])
        (alone,) = wrong(examine(store, clock))
        store.join(Node("n-2", "new"), [])
        (accompanied,) = wrong(examine(store, clock))
    assert (alone.level, accompanied.level) == (Level.PROBLEM, Level.WARNING)
    assert alone.what.startswith("gone has not renewed its lease for 2m")


def test_nodes_of_one_name_are_told_apart_by_their_ids(url: str) -> None:
    now_ms = [SystemClock().now_ms()]
    with closing(open_store(url, create=True, now_ms=lambda: now_ms[0])) as store:
        store.join(Node("n-1", "web", lease_ms=MINUTE), [])
        now_ms[0] += 2 * MINUTE
        store.join(Node("n-2", "web"), [])
        (found,) = wrong(examine(store, ManualClock(now_ms[0])))
    assert found.what.startswith("web (n-1) has not renewed its lease for 2m")


def test_a_node_that_died_is_a_warning_for_a_day(url: str) -> None:
    now_ms = [SystemClock().now_ms()]
    with closing(open_store(url, create=True, now_ms=lambda: now_ms[0])) as store:
        store.join(Node("n-1", "gone"), [])
        now_ms[0] += MINUTE
        store.join(Node("n-2", "new"), [])
        store.take_over("n-1", 0)
        (found,) = wrong(examine(store, ManualClock(now_ms[0])))
    assert found.level is Level.WARNING
    assert found.what.startswith("gone died, last heard of at ")


def test_schedules_without_a_node_are_a_problem(url: str, store: Store) -> None:
    App(url, store=store).schedules.put("nightly", "report", every("1h"), unchecked=True)
    code, findings = doctor(url)
    (found,) = [each for each in findings if each["level"] == "problem"]
    assert (code, found["about"], found["what"]) == (1, "node", "none is alive: nothing will run")


def test_a_schedule_that_no_live_node_could_run_is_a_problem_with_its_remedy(url: str, store: Store) -> None:
    joined(store, ManualClock(store.now_ms()), name="web")
    App(url, store=store).schedules.put("nightly", "report", every("1h"), unchecked=True)
    code, findings = doctor(url)
    (found,) = [each for each in findings if each["level"] == "problem"]
    assert (code, found["about"]) == (1, "schedule")
    assert found["what"] == "nightly cannot run: no live node has the task report"
    assert "onthedot run" in found["remedy"]


def test_what_failed_again_and_again_is_one_warning(url: str, store: Store) -> None:
    joined(store, ManualClock(store.now_ms()), name="web")
    now_ms = store.now_ms()
    runs = [Run(new_id(now_ms), "known", "enqueue", 1, 1, State.FAILED, finished_ms=now_ms, error="no") for _ in "abc"]
    assert isinstance(store, Engine)
    with store.begin() as rows:
        rows.end_runs(runs)
    code, findings = doctor(url)
    (found,) = [each for each in findings if each["level"] == "warning"]
    assert (code, found["about"]) == (0, "run")
    assert found["what"].startswith("known failed 3 times since ")
    assert found["what"].endswith(", last: no")
    assert found["remedy"] == f"onthedot runs show {runs[-1].id}"


def test_where_a_table_is_missing_that_must_be_read_the_rest_is_told(url: str, store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        connection.execute("DROP TABLE onthedot_history")
    code, findings = doctor(url)
    assert code == 1
    assert "the table onthedot_history is missing" in {each["what"] for each in findings}


def test_a_store_without_nodes_is_a_warning_only(url: str, store: Store) -> None:
    code, findings = doctor(url)
    assert code == 0
    assert [each["about"] for each in findings if each["level"] == "warning"] == ["node"]


def test_time_zone_data_that_differs_between_nodes_is_named() -> None:
    nodes = [Node(str(n), f"n{n}", labels={"tzdata": version}) for n, version in enumerate(("2025b", "2024a", "2025b"))]
    (found,) = judge_zones(nodes)
    assert found.level is Level.WARNING
    assert "2024a on n1; 2025b on n0, n2" in found.what
    assert [each.level for each in judge_zones(nodes[::2])] == [Level.OK]


def test_tables_of_another_version_are_a_problem_with_its_remedy(url: str, store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection, connection:
        connection.execute("UPDATE onthedot_meta SET version_num = '9999'")
    code, (found,) = doctor(url)
    assert (code, found["level"], found["about"]) == (1, "problem", "schema")
    assert "upgrade onthedot here" in found["what"]


def missing(store: Store) -> list[Finding]:
    return [each for each in wrong(store.examine()) if each.about == "index"]


# on servers


@contextmanager
def another_program(url: str) -> Iterator[sqlalchemy.Connection]:
    """A connection of somebody else's."""
    named = sqlalchemy.make_url(url).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(named, connect_args={"application_name": "nightly report"})
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize("version", ["postgresql_15", "postgresql_18"])
def test_an_open_transaction_elsewhere_that_keeps_old_rows_is_named(
    version: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(version)
    with closing(open_store(url, create=True)) as store, another_program(url) as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        pid = connection.execute(sqlalchemy.text("SELECT pg_backend_pid()")).scalar_one()
        (found,) = [each for each in store.examine(old_ms=0) if each.about == "snapshot"]
        assert found.level is Level.PROBLEM
        assert f"pid {pid}, nightly report" in found.what
        assert f"pg_terminate_backend({pid})" in found.remedy
        assert wrong(store.examine()) == [], "it is younger than a minute"
        connection.rollback()
        assert wrong(store.examine(old_ms=0)) == []


def test_sessions_that_this_user_may_not_look_at_are_said_to_be_hidden(postgresql_15: str) -> None:
    role = f"limited_{new_id(0)[-12:]}".replace("-", "_")
    open_store(postgresql_15, create=True).close()
    limited = sqlalchemy.make_url(postgresql_15).set(username=role).render_as_string(hide_password=False)
    with another_program(postgresql_15) as connection:
        connection.execute(sqlalchemy.text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(sqlalchemy.text(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}"))
        connection.commit()
        try:
            with closing(open_store(limited, create=False)) as store:
                (found,) = wrong(store.examine())
        finally:
            connection.execute(sqlalchemy.text(f"DROP OWNED BY {role}"))
            connection.execute(sqlalchemy.text(f"DROP ROLE {role}"))
            connection.commit()
    assert (found.level, found.about) == (Level.WARNING, "snapshot")
    assert "pg_read_all_stats" in found.remedy


@pytest.mark.parametrize("name", ["postgresql_15", "mariadb"])
def test_a_server_is_asked_for_its_own_indexes(name: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(name)
    in_schema = f"{url}{'&' if '?' in url else '?'}schema=jobs" if name == "postgresql_15" else url
    drop = "DROP INDEX jobs.onthedot_runs_slot" if name == "postgresql_15" else "DROP INDEX onthedot_runs_slot ON {}"
    driver = "postgresql+psycopg" if name == "postgresql_15" else "mysql+pymysql"
    engine = sqlalchemy.create_engine(sqlalchemy.make_url(url).set(drivername=driver))
    with closing(open_store(in_schema, create=True)) as store:
        assert missing(store) == []
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(drop.format("onthedot_runs")))
        (found,) = missing(store)
        assert found.what.startswith("onthedot_runs_slot is missing")
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(found.remedy))
        assert missing(store) == []
    engine.dispose()


def test_mariadb_says_its_isolation_level_and_what_a_crash_would_lose(mariadb: str) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy.make_url(mariadb).set(drivername="mysql+pymysql"))
    with closing(open_store(mariadb, create=True)) as store, engine.connect() as connection:
        before = connection.execute(sqlalchemy.text("SELECT @@global.innodb_flush_log_at_trx_commit")).scalar_one()
        assert "READ-COMMITTED" in [each.what for each in store.examine() if each.about == "isolation"]
        seen = {}
        try:
            for value in (0, 1):
                connection.execute(sqlalchemy.text(f"SET GLOBAL innodb_flush_log_at_trx_commit = {value}"))
                seen[value] = [(each.level, each.about) for each in wrong(store.examine())]
        finally:
            connection.execute(sqlalchemy.text(f"SET GLOBAL innodb_flush_log_at_trx_commit = {before}"))
    engine.dispose()
    assert seen == {0: [(Level.WARNING, "durability")], 1: []}


def test_an_index_that_was_dropped_in_mongodb_is_a_problem(mongodb_new_url: str) -> None:
    with closing(open_store(mongodb_new_url, create=True)) as store:
        assert wrong(store.examine()) == []
        with pymongo.MongoClient[dict[str, Any]](mongodb_new_url) as client:
            client.get_default_database()["onthedot_runs"].drop_index("sole")
        (found,) = wrong(store.examine())
    assert (found.level, found.what) == (Level.PROBLEM, "sole of the collection onthedot_runs is missing")
    keys = '{"sole": 1}'
    options = '{"name": "sole", "unique": true, "partialFilterExpression": {"sole": {"$gt": ""}}}'
    assert found.remedy == f"db.onthedot_runs.createIndex({keys}, {options})"
