"""What people read in SQL: the views, on every SQL database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import RowMapping

from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.moments import from_ms
from onthedot.stores.open import open_store
from onthedot.stores.sql import views
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import MINUTE, START_MS, Scene

TRIGGER = {"v": 1, "type": "every", "interval": "1m"}
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "sql.md"
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "mysql": "mysql+pymysql"}


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


@pytest.fixture
def connection(url: str) -> Iterator[sqlalchemy.Connection]:
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def _at(after_ms: int) -> str:
    return from_ms(START_MS + after_ms).strftime("%Y-%m-%d %H:%M:%S")


def _moment(value: Any) -> str:
    """To the second, whatever type a database gives it."""
    return str(value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value)[:19]


def _value(json_value: Any) -> Any:
    return json.loads(json_value) if isinstance(json_value, str) else json_value


def _all(connection: sqlalchemy.Connection, view: str) -> Sequence[RowMapping]:
    return connection.exec_driver_sql(f"SELECT * FROM {view}").mappings().all()


def test_the_views_tell_of_schedules_and_of_runs_live_and_ended(url: str, connection: sqlalchemy.Connection) -> None:
    clock = ManualClock(START_MS)
    store = open_store(url, create=True, now_ms=clock)
    scene = Scene(store, clock)
    node = scene.node("berlin")
    scene.put("report", args={"to": "eu"}, tags=("t",))
    scene.put("slow")
    scene.wait(MINUTE + 250)
    runs = {run.schedule: run for run in scene.plan(node, free=5)}
    scene.wait(1500)
    scene.end(runs["report"], result={"rows": 3})
    slow = runs["slow"]
    store.log(node, [LogLine(slow.id, slow.claim_no, scene.now_ms, PROGRESS, "62% page 3")])
    schedules = {row["name"]: row for row in _all(connection, views.SCHEDULES)}
    told = {row["schedule"]: row for row in _all(connection, views.RUNS)}
    store.close()
    assert schedules["report"]["state"] == "active"
    assert _moment(schedules["report"]["next_run_at"]) == _at(2 * MINUTE)
    told_of = {name: _value(schedules["report"][name]) for name in ("trigger_json", "args", "policy", "tags")}
    assert told_of == {"trigger_json": TRIGGER, "args": {"to": "eu"}, "policy": {}, "tags": ["t"]}
    assert schedules["report"]["kind"] == "task"
    ended, live = told["report"], told["slow"]
    assert (ended["state"], live["state"]) == ("succeeded", "running")
    assert (ended["progress"], live["progress"]) == (None, "62% page 3")
    assert (_moment(ended["scheduled_at"]), _moment(ended["finished_at"])) == (_at(MINUTE), _at(MINUTE + 1750))
    assert (ended["late_ms"], ended["took_ms"], ended["node"]) == (250, 1500, "berlin")
    assert _value(ended["result"]) == {"rows": 3}


def test_a_view_that_is_missing_is_told_of_with_what_makes_it(url: str, connection: sqlalchemy.Connection) -> None:
    store = open_store(url, create=True)
    views.drop(connection)
    connection.commit()
    findings = {finding.what: finding for finding in store.examine() if finding.about == "view"}
    assert len(findings) == 2
    for finding in findings.values():
        connection.exec_driver_sql(str(finding.remedy).replace("%", "%%"))
    connection.commit()
    assert [finding for finding in store.examine() if finding.about == "view"] == []
    store.close()


def test_the_questions_of_the_guide_are_answered(url: str, connection: sqlalchemy.Connection) -> None:
    open_store(url, create=True).close()
    (block,) = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    questions = [question for question in block.split(";") if question.strip()]
    assert len(questions) == 3
    for question in questions:
        assert connection.exec_driver_sql(question).fetchall() == []


def test_the_guide_names_every_column_that_needs_a_word(url: str, connection: sqlalchemy.Connection) -> None:
    """Those whose name says all are left out there."""
    open_store(url, create=True).close()
    obvious = {"id", "kind", "mode", "version", "fence", "created_at", "owner", "revision", "parent_id"}
    for view in (views.SCHEDULES, views.RUNS):
        names = set(connection.exec_driver_sql(f"SELECT * FROM {view}").keys())
        (line,) = (each for each in GUIDE.read_text(encoding="utf-8").splitlines() if each.startswith(f"| `{view}`"))
        told = set(re.findall(r"`(\w+)`", line.split("|")[3])) - {"active", "paused", "parked"}
        assert told <= names
        assert names - told <= obvious
