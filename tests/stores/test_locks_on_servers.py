"""Who waits for whom on a server: planning for nobody's run, the passes of one node not for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier, Event

import pytest
import sqlalchemy
from tests.patience import LONGEST_S
from tests.unit.node.world import Place

from onthedot import at, every
from onthedot.clock import ManualClock as NodeClock
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.moments import from_ms
from onthedot.node.settings import NodeSettings
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Planned
from onthedot.stores.open import open_store
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock

NOW_MS = 1_800_000_000_000
MINUTE = 60_000
ROUNDS = 200
BY = Author("test", "test", "put")
DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture(params=["postgresql_15", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def store(url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """With one node. This machine may be starved."""
    monkeypatch.setattr("onthedot.stores.sql.mysql.IDLE_IN_TRANSACTION_S", 60)
    patient = "?options=-c%20idle_in_transaction_session_timeout%3D60s" if url.startswith("postgresql") else ""
    store = open_store(url + patient, create=True, now_ms=clock)
    assert isinstance(store, SqlStore)
    store.join(Node("n", "n", tasks=("task",)), [])
    yield store
    store.close()


@pytest.fixture
def engine(url: str) -> Iterator[sqlalchemy.Engine]:
    """The user's own."""
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
    yield engine
    engine.dispose()


def _put(store: SqlStore, *names: str) -> None:
    store.change(names, edits.put(edits.Definition("task", every("1m"))), BY)


def _plan(store: SqlStore, clock: ManualClock, limit: int = 10) -> Planned:
    return store.plan_due("n", limit, 10, Decider(lambda: new_id(clock())))


def _runs(planned: Planned) -> dict[str, Run]:
    return {run.schedule or "": run for effects in planned.effects for run in effects.runs}


# a user's open transaction around the end of a run


def test_planning_goes_on_while_a_users_transaction_that_ends_a_run_is_open(
    store: SqlStore, engine: sqlalchemy.Engine, clock: ManualClock
) -> None:
    _put(store, "mine", "other")
    clock.pass_by(MINUTE)
    ending = _runs(_plan(store, clock))["mine"]
    with engine.connect() as connection:
        assert store.finish_in(connection, "n", Outcome(ending.id, ending.claim_no, "succeeded"))
        clock.pass_by(MINUTE)
        planned = _plan(store, clock)
        assert {name: run.state for name, run in _runs(planned).items()} == {"mine": "waiting", "other": "waiting"}
        assert not planned.passed_over
        connection.commit()
    assert store.sweep() == 1, "it looks again for who waited behind the run that has ended"
    assert [run.schedule for run in store.start_due("n", ["task"], 10).runs] == ["mine"]


def test_others_start_and_end_while_a_users_transaction_that_ends_a_run_is_open(
    store: SqlStore, engine: sqlalchemy.Engine, clock: ManualClock
) -> None:
    _put(store, "mine", "other")
    clock.pass_by(MINUTE)
    begun = _runs(_plan(store, clock))
    with engine.connect() as connection:
        assert store.finish_in(connection, "n", Outcome(begun["mine"].id, begun["mine"].claim_no, "succeeded"))
        clock.pass_by(MINUTE)
        _plan(store, clock)
        done = store.finish("n", [Outcome(begun["other"].id, begun["other"].claim_no, "succeeded")])
        assert (len(done.recorded), done.woken) == (1, 1)
        assert [run.schedule for run in store.start_due("n", ["task"], 10).runs] == ["other"]
        connection.rollback()
    assert [run.id for run in store.renew(Node("n", "n")).own if run.schedule == "mine"] == [begun["mine"].id]


def test_a_users_transaction_that_ends_a_shard_holds_up_none_of_the_others(
    store: SqlStore, engine: sqlalchemy.Engine, clock: ManualClock
) -> None:
    store.join(Node("m", "m", tasks=("task",)), [])
    whole = Run(new_id(clock()), "task", "enqueue", clock(), clock(), policy=Policy(route="broadcast"))
    store.enqueue([whole])
    (mine,), (other,) = (store.start_due(node, ["task"], 10).runs for node in ("n", "m"))
    with engine.connect() as connection:
        assert store.finish_in(connection, "n", Outcome(mine.id, mine.claim_no, "succeeded"))
        done = store.finish("m", [Outcome(other.id, other.claim_no, "succeeded", flow=whole.id)])
        assert len(done.recorded) == 1
        connection.commit()
    assert [run.state for run in store.runs(ids=[whole.id])] == ["running"], "nobody has told it yet"
    assert store.tend_flows() == 1
    assert [run.state for run in store.runs(ids=[whole.id])] == ["succeeded"]


# the node's own row


@pytest.mark.parametrize("url", ["postgresql_15"], indirect=True)
def test_two_passes_of_one_node_do_not_wait_for_each_other(store: SqlStore, clock: ManualClock) -> None:
    _put(store, "first", "second", "third")
    clock.pass_by(MINUTE)
    running = _runs(_plan(store, clock, limit=1))
    inside: list[Planned] = []

    def decide(befores: Sequence[Before], situation: Situation) -> Sequence[Effects]:
        """What would wait for this transaction waits for ever, and so is cut off with an error."""
        inside.append(_plan(store, clock, limit=1))
        ended = [Outcome(run.id, run.claim_no, "succeeded") for run in running.values()]
        assert len(store.finish("n", ended).recorded) == 1
        return Decider(lambda: new_id(clock()))(befores, situation)

    outside = store.plan_due("n", 1, 10, decide)
    planned = {*running, *_runs(inside[0]), *_runs(outside)}
    assert planned == {"first", "second", "third"}


# a place that comes free


def test_a_run_whose_schedule_was_locked_when_a_place_came_free_is_looked_at_again_at_once(
    url: str, engine: sqlalchemy.Engine
) -> None:
    clock, done = NodeClock(NOW_MS), Event()
    with closing(open_store(url, create=True, now_ms=clock.now_ms)) as store:
        place = Place(clock, store)
        place.app.task(name="work")(lambda: done.wait(LONGEST_S) and None)
        node = place.node(settings=NodeSettings(name="node", capacity=1))
        place.app.enqueue("work")
        node.plan_once()
        went_on = node.goes_on
        place.app.schedules.put("busy", "work", every("1d"))
        place.app.schedules.trigger("busy")
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("SELECT id FROM onthedot_schedules FOR UPDATE"))
            done.set()
            place.settle(node)
            assert (went_on, node.goes_on) == (False, True)
        node.plan_once()
        place.settle(node)
        assert [run.state for run in place.runs()] == ["succeeded"] * 2


# a self-removing schedule


@pytest.mark.parametrize("url", ["postgresql_15"], indirect=True)
def test_a_put_that_races_with_the_end_of_the_last_run_is_never_deleted(store: SqlStore, clock: ManualClock) -> None:
    once = edits.Definition("task", at(from_ms(NOW_MS + MINUTE)), auto_remove=True)
    names = [f"s{number}" for number in range(ROUNDS)]
    store.change(names, edits.put(once), BY)
    clock.pass_by(MINUTE)
    runs = _runs(_plan(store, clock, limit=ROUNDS))
    runs |= {run.schedule or "": run for run in store.start_due("n", ["task"], ROUNDS).runs}
    both_ready = Barrier(2)

    def act(acts: Sequence[Callable[[], object]]) -> None:
        for each in acts:
            both_ready.wait()
            each()

    ends = [_ending(store, runs[name]) for name in names]
    puts = [_putting(store, name) for name in names]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(act, [ends, puts]))
    there = {row.name for row in store.schedules(limit=ROUNDS)}
    assert sorted(set(names) - there) == []


def _ending(store: SqlStore, run: Run) -> Callable[[], object]:
    return lambda: store.finish("n", [Outcome(run.id, run.claim_no, "succeeded")])


def _putting(store: SqlStore, name: str) -> Callable[[], object]:
    return lambda: _put(store, name)
