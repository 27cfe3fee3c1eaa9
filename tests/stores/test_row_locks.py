"""Rows that somebody else has locked, on servers that lock rows: who passes over them, and who waits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy
from sqlalchemy import Table, text

from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.sql import tables
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.ahead import ahead_of, plan_ahead, runs_of
from onthedot.testing.conformance.scene import BY, MINUTE, START_MS, Scene

DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}

WAITING = {
    "postgresql": "SELECT count(*) FROM pg_locks WHERE NOT granted",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}


class Server:
    """A store on it, and another connection, which locks rows as a slow process or a user's own transaction would."""

    def __init__(self, url: str) -> None:
        clock = ManualClock(START_MS)
        self.store: Store = open_store(url, create=True, now_ms=clock)
        self.scene = Scene(self.store, clock)
        parsed = sqlalchemy.make_url(url)
        driver = DRIVERS[parsed.drivername]
        self.engine = sqlalchemy.create_engine(parsed.set(drivername=driver), isolation_level="READ COMMITTED")

    def somebody_waits(self) -> bool:
        """Whether a transaction waits for another's lock."""
        with self.engine.connect() as connection:
            return bool(connection.execute(text(WAITING[connection.dialect.name])).scalar_one())

    @contextmanager
    def locked(self, table: Table, row_id: str) -> Iterator[None]:
        """Nobody else can lock this row meanwhile."""
        with self.engine.connect() as connection:
            connection.execute(sqlalchemy.select(table.c.id).where(table.c.id == row_id).with_for_update()).one()
            yield
            connection.rollback()


@pytest.fixture(params=["postgresql_15", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(str(request.getfixturevalue(request.param)))
    yield server
    server.store.close()
    server.engine.dispose()


def test_a_schedule_that_is_locked_is_passed_over_and_told_and_the_others_are_planned(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    for name in ("a", "locked", "z"):
        scene.put(name)
    scene.wait(MINUTE)
    with server.locked(tables.schedules, scene.schedule("locked").id):
        planned = scene.planned(node)
        assert planned.passed_over
        assert sorted(run.schedule or "" for effects in planned.effects for run in effects.runs) == ["a", "z"]
    assert [run.schedule for run in scene.plan(node)] == ["locked"]
    assert not scene.planned(node).passed_over


def test_what_was_decided_ahead_waits_for_no_lock_and_says_that_something_is_left(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    for name in ("a", "locked", "z"):
        scene.put(name)
    ahead = ahead_of(scene, node, "a", "locked", "z")
    scene.wait(MINUTE)
    with server.locked(tables.schedules, scene.schedule("locked").id):
        planned = plan_ahead(scene, node, ahead)
        assert sorted(run.schedule or "" for run in runs_of(planned)) == ["a", "z"]
        assert planned.more
    assert [run.schedule for run in runs_of(plan_ahead(scene, node, ahead))] == ["locked"]


def test_a_schedule_that_is_locked_is_planned_alone_by_nobody(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    local = scene.put(mode="local")
    scene.wait(MINUTE)
    with server.locked(tables.schedules, local.id):
        assert scene.plan_one(node, local) is None
    assert scene.plan_one(node, local) is not None


def test_runs_of_a_schedule_that_is_locked_are_passed_over_and_told_and_the_others_start(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    for name in ("a", "locked"):
        scene.put(name)
        scene.trigger(f"of-{name}", name)
    alone = scene.waiting_run()
    with server.locked(tables.schedules, scene.schedule("locked").id):
        started = scene.store.start_due(node, ["job"], 10)
        assert {run.id for run in started.runs} == {"of-a", alone.id}
        assert started.passed_over
    assert [run.id for run in scene.start(node)] == ["of-locked"]


def test_a_run_that_is_locked_is_passed_over_and_the_others_start(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    locked, free = scene.waiting_run(), scene.waiting_run()
    with server.locked(tables.runs, locked.id):
        assert [run.id for run in scene.start(node)] == [free.id]
    assert [run.id for run in scene.start(node)] == [locked.id]


def test_planning_asks_no_holder_to_stop_that_is_locked_and_waits_for_none(server: Server) -> None:
    """As by a user's open transaction around `ctx.complete`, which may take its time: it is about to end anyway."""
    scene = server.scene
    node = scene.node()
    run = scene.running(node, overlap="cover")
    scene.wait(MINUTE)
    with server.locked(tables.runs, run.id):
        assert [each.blocked for each in scene.plan(node, free=5)] == [True]
    assert scene.store.cancels(node) == []


@pytest.mark.parametrize("server", ["postgresql_15"], indirect=True)
def test_an_outcome_waits_for_the_takeover_of_its_node_and_is_then_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.store, "has_short_way", lambda node_id: False)
    assert_waits_and_is_refused(server)


def test_the_short_way_waits_for_the_takeover_of_its_node_and_ends_nothing_then(server: Server) -> None:
    assert_waits_and_is_refused(server)


def test_while_an_end_waits_for_a_users_transaction_nothing_that_is_due_is_locked(server: Server) -> None:
    """As around `ctx.complete`, in the step that ends one run and begins another."""
    scene = server.scene
    node, other = scene.node("one"), scene.node("other")
    scene.waiting_run()
    (running,) = scene.start(node)
    due = scene.waiting_run()
    with ThreadPoolExecutor(1) as thread:
        with server.locked(tables.runs, running.id):
            outcomes = [Outcome(running.id, running.claim_no, "succeeded")]
            both = thread.submit(scene.store.finish_and_start, node, outcomes, ["job"], 1)
            while not both.done() and not server.somebody_waits():
                pass
            assert [run.id for run in scene.start(other)] == [due.id]
        finished, started = both.result()
    assert ([run.id for run in finished.recorded], started.runs) == ([running.id], ())


def behind_a_limit(scene: Scene, node: str, waiting: int) -> tuple[Run, list[Run]]:
    """A run that holds the only place of a group, and those that wait for it."""
    limited = Policy(limit="one:1")
    scene.waiting_run(policy=limited)
    (holder,) = scene.start(node)
    behind = [scene.waiting_run(policy=limited) for _ in range(waiting)]
    assert scene.start(node) == []
    assert scene.start(node) == []  # all that is due is plain from here on
    return holder, behind


@pytest.mark.parametrize("server", ["postgresql_15"], indirect=True)
def test_a_place_goes_on_past_a_run_that_is_locked(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    holder, (locked, free) = behind_a_limit(scene, node, 2)
    with server.locked(tables.runs, locked.id):
        outcomes = [Outcome(holder.id, holder.claim_no, "succeeded")]
        _, started = server.store.finish_and_start(node, outcomes, ["job"], 5)
    assert [run.id for run in started.runs] == [free.id]
    assert scene.start(node) == []


@pytest.mark.parametrize("server", ["postgresql_15"], indirect=True)
def test_a_place_goes_on_only_in_a_group_that_is_no_wider_when_it_is_free(server: Server) -> None:
    """The end waits for a user's transaction around `ctx.complete`; meanwhile a run says that there are more places."""
    scene = server.scene
    node = scene.node()
    holder, (behind,) = behind_a_limit(scene, node, 1)
    with ThreadPoolExecutor(1) as thread:
        with server.locked(tables.runs, holder.id):
            outcomes = [Outcome(holder.id, holder.claim_no, "succeeded")]
            both = thread.submit(scene.store.finish_and_start, node, outcomes, ["job"], 5)
            while not both.done() and not server.somebody_waits():
                pass
            other = scene.node("other")
            wider = [scene.waiting_run(policy=Policy(limit="one:3")) for _ in range(2)]
            assert {run.id for run in scene.start(other)} == {run.id for run in wider}
        finished, started = both.result()
    assert ([run.id for run in finished.recorded], started.runs) == ([holder.id], ())
    assert scene.start(node) == []
    for run in wider:
        scene.end(scene.run(run))
    assert [run.id for run in scene.start(node)] == [behind.id]


@pytest.mark.parametrize("server", ["postgresql_15"], indirect=True)
def test_while_the_end_of_a_holder_waits_nobody_behind_it_is_locked(server: Server) -> None:
    scene = server.scene
    node = scene.node()
    holder, (behind,) = behind_a_limit(scene, node, 1)
    with ThreadPoolExecutor(1) as thread:
        with server.locked(tables.runs, holder.id):
            outcomes = [Outcome(holder.id, holder.claim_no, "succeeded")]
            both = thread.submit(scene.store.finish_and_start, node, outcomes, ["job"], 5)
            while not both.done() and not server.somebody_waits():
                pass
            assert scene.store.request_cancel(behind.id, "enough", BY).state is State.CANCELLED
        finished, started = both.result()
    assert ([run.id for run in finished.recorded], started.runs) == ([holder.id], ())


def assert_waits_and_is_refused(server: Server) -> None:
    scene = server.scene
    run = scene.running(scene.node())
    dying = sqlalchemy.update(tables.nodes).where(tables.nodes.c.id == run.owner).values(state="dead")
    with server.engine.connect() as connection, ThreadPoolExecutor(1) as thread:
        connection.execute(dying)
        finishing = thread.submit(scene.is_refused, run)
        while not finishing.done() and not server.somebody_waits():
            pass
        connection.commit()
        assert finishing.result()
