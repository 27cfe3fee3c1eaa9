"""What a database copies from another row is, column by column, what would have been written out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy
from sqlalchemy import Table

from onthedot.model.outcome import Outcome
from onthedot.stores.open import open_store
from onthedot.stores.sql import copying, tables
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.ahead import ahead_of, plan_ahead, runs_of
from onthedot.testing.conformance.scene import MINUTE, START_MS, Scene

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "mysql": "mysql+pymysql"}
AWKWARD = 'ü "quoted", \\ {braces}, NULL, %s :now_ms 😀'
POLICIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "arguments": {"args": {"text": AWKWARD, "number": 3}},
    "ranked": {"priority": 2},
    "in a pool": {"pool": "slow"},
    "of a group": {"group": "g"},
    "concurrent": {"overlap": "concurrent"},
    "three at once": {"overlap": "concurrent", "max_concurrent_runs": 3},
    "its last": {"max_runs": 1},
}
OUTCOMES: dict[str, dict[str, Any]] = {
    "succeeded": {"ending": "succeeded"},
    "with a result": {"ending": "succeeded", "result": {"text": AWKWARD, "list": [1, None, 2.5]}},
    "with a long result": {"ending": "succeeded", "result": "x" * 300_000},
    "failed": {"ending": "failed", "error": f"{AWKWARD}\nNUL \0"},
    "timed out": {"ending": "timed_out", "error": "late", "reason": AWKWARD},
    "cancelled": {"ending": "cancelled", "reason": "by hand"},
}


class Rows:
    """A store, and what stands in its tables."""

    def __init__(self, url: str) -> None:
        clock = ManualClock(START_MS)
        self.store = open_store(url, create=True, now_ms=clock)
        self.scene = Scene(self.store, clock)
        self.node = self.scene.node(group="g")
        parsed = sqlalchemy.make_url(url)
        self.engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))

    def of(self, table: Table, **only: str) -> dict[str, Any]:
        """The one row with these values, without what is its own."""
        with self.engine.connect() as connection:
            wanted = [table.c[name] == value for name, value in only.items()]
            (row,) = connection.execute(sqlalchemy.select(table).where(*wanted)).mappings().all()
        own = {"id", "name", "schedule", "schedule_id", "slot", "kept_by"}
        return {name: value for name, value in row.items() if name not in own}


@pytest.fixture(params=["sqlite", "postgresql_15_url", "mariadb_url"])
def rows(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Rows]:
    where = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    rows = Rows(str(where))
    yield rows
    rows.store.close()
    rows.engine.dispose()


@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
def test_a_tick_that_was_decided_ahead_leaves_the_rows_of_one_decided_at_its_moment(
    rows: Rows, options: dict[str, Any]
) -> None:
    scene = rows.scene
    for name in ("early", "late"):
        scene.put(name, tags=("t",), **options)
    ahead = ahead_of(scene, rows.node, "early")
    scene.wait(MINUTE + 300)
    assert len(runs_of(plan_ahead(scene, rows.node, ahead))) == len(scene.plan(rows.node, free=1)) == 1
    assert rows.of(tables.runs, schedule="early") == rows.of(tables.runs, schedule="late")
    assert rows.of(tables.schedules, name="early") == rows.of(tables.schedules, name="late")


@pytest.mark.parametrize("how", OUTCOMES.values(), ids=OUTCOMES)
def test_a_run_that_was_copied_into_history_is_what_it_is_when_written_out(
    rows: Rows, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    scene = rows.scene
    for name in ("short", "copied", "written"):
        scene.put(name, args={"text": AWKWARD}, retries=0)
    scene.wait(MINUTE)
    by_name = {str(run.schedule): run for run in scene.plan(rows.node, free=3)}
    for name in ("short", "copied", "written"):
        if name != "short":
            monkeypatch.setattr(rows.store, "has_short_way", lambda node_id: False)
        if name == "written":
            monkeypatch.setattr(copying, "only_ends", lambda before, ended: False)
        run = by_name[name]
        assert rows.store.finish(rows.node, [Outcome(run.id, run.claim_no, **how)]).refused == ()
    written = rows.of(tables.history, schedule="written")
    assert rows.of(tables.history, schedule="copied") == rows.of(tables.history, schedule="short") == written
    assert scene.runs("copied")[0].state.value == how["ending"]


def test_rows_are_copied_whatever_their_schema_is_called(postgresql_15: str) -> None:
    clock = ManualClock(START_MS)
    for name in ("a :b", ':now_ms "', "\\:x", "ü'"):
        with closing(open_store(f"{postgresql_15}?schema={quote(name)}", create=True, now_ms=clock)) as store:
            scene = Scene(store, clock)
            node = scene.node()
            scene.put("tick")
            ahead = ahead_of(scene, node, "tick")
            scene.wait(MINUTE)
            (run,) = runs_of(plan_ahead(scene, node, ahead))
            assert len(store.finish(node, [Outcome(run.id, run.claim_no, "succeeded")]).recorded) == 1
