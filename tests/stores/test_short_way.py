"""The short way of what is plain comes to the same rows, and to the same answers, as the general one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table
from tests.servers import mariadb, postgresql
from tests.servers.mongodb_set import emptied, with_database
from tests.servers.redis import fresh
from tests.stores.redis_indexes import check_indexes

from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.edits import delete
from onthedot.rules.plain import begins_plainly, ends_plainly
from onthedot.stores.claimed_runs import ClaimedRuns
from onthedot.stores.engine import Engine
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.open import open_store
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.redis import mapping as redis_mapping
from onthedot.stores.redis.remembered import nothing
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.redis.tables import STAMP
from onthedot.stores.sql import tables
from onthedot.stores.sql.store import SqlStore
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.ahead import ahead_of, plan_ahead
from onthedot.testing.conformance.scene import BY, MINUTE, START_MS, Scene

DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "mariadb": "mysql+pymysql",
    "mysql": "mysql+pymysql",
}
AWKWARD = 'ü "quoted", \\ {braces}, NULL, %s :now_ms 😀'
OWN = {"id", "_id", "apart", "key", "name", "schedule", "schedule_id", "slot", "kept_by", "trace", "busy_by", "touched"}
"""What two runs never have in common; and on MongoDB who reserved one last, and how often it was written."""
ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class SqlRows:
    """What stands in the tables of a database."""

    def __init__(self, url: str) -> None:
        parsed = sqlalchemy.make_url(url)
        self.engine = sqlalchemy.create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))

    def of(self, run_id: str) -> tuple[dict[str, Any] | None, ...]:
        """As it stands among the live ones, and in history."""
        return self._row(tables.runs, run_id), self._row(tables.history, run_id)

    def _row(self, table: Table, run_id: str) -> dict[str, Any] | None:
        with self.engine.connect() as connection:
            found = connection.execute(sqlalchemy.select(table).where(table.c.id == run_id)).mappings().one_or_none()
        if found is None:
            return None
        return _shared(dict(found)) | {"earlier": re.sub(ID, "", found["earlier"] or "")}

    def forget_places(self) -> None:
        """Also how wide groups were."""
        with self.engine.begin() as connection:
            connection.execute(sqlalchemy.delete(tables.keys))

    def places(self) -> dict[str, str]:
        """Of groups, each with the run that holds it."""
        which = sqlalchemy.select(tables.keys.c.key, tables.keys.c.run_id).where(
            tables.keys.c.key.like("l:%"), tables.keys.c.expires_ms.is_(None)
        )
        with self.engine.connect() as connection:
            return {str(row.key): str(row.run_id) for row in connection.execute(which)}

    def close(self) -> None:
        self.engine.dispose()


class RedisRows:
    """What stands in the hash of Redis."""

    def __init__(self, store: RedisStore, url: str) -> None:
        self._store = store
        self._url = url

    def of(self, run_id: str) -> tuple[dict[str, Any] | None, ...]:
        """As it stands there, with all that was told behind it."""
        text = self._store._server.ask("HGET", "runs", run_id)
        found = dict(zip(redis_mapping.RUN, redis_mapping.row_values(text[STAMP:]), strict=True))
        return (_shared(found) | {"earlier": re.sub(ID, "", str(found["earlier"] or ""))},)

    def close(self) -> None:
        check_indexes(self._url)


class MongoRows:
    """What stands in the collections of MongoDB."""

    def __init__(self, store: MongoStore) -> None:
        self._database = store._opened().database

    def of(self, run_id: str) -> tuple[dict[str, Any] | None, ...]:
        """As it stands among the live ones, and in history."""
        return self._document(tables.runs.name, run_id), self._document(tables.history.name, run_id)

    def _document(self, collection: str, run_id: str) -> dict[str, Any] | None:
        found = self._database[collection].find_one({"_id": run_id})
        if found is None:
            return None
        said = {name: value for name, value in found.items() if value is not None}
        return _shared(said) | {"earlier": re.sub(ID, "", said.get("earlier") or "")}

    def close(self) -> None:
        """The store has the connection."""


def _rows(store: SqlStore | RedisStore | MongoStore, url: str) -> SqlRows | RedisRows | MongoRows:
    if isinstance(store, RedisStore):
        return RedisRows(store, url)
    return MongoRows(store) if isinstance(store, MongoStore) else SqlRows(url)


def _shared(row: dict[str, Any]) -> dict[str, Any]:
    """Without what is its own."""
    return {name: value for name, value in row.items() if name not in OWN}


class Both:
    """A store whose nodes take the short way, or are told not to; and what stands in its rows."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock(START_MS)
        store = open_store(url, create=True, now_ms=self.clock)
        assert isinstance(store, SqlStore | RedisStore | MongoStore)
        self.store: SqlStore | RedisStore | MongoStore = store
        self.rows = _rows(store, url)
        self.scene = Scene(store, self.clock)
        self.node = self.scene.node()
        self.taken: list[PlainDone | None] = []
        step = store.step_plainly

        def noted(asked: PlainStep) -> PlainDone | None:
            self.taken.append(step(asked))
            return self.taken[-1]

        store.step_plainly = noted  # type: ignore[method-assign]

    @contextmanager
    def general(self) -> Iterator[None]:
        """All goes the general way."""
        self.store.has_short_way = lambda node_id: False  # type: ignore[method-assign]
        yield
        del self.store.has_short_way

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """As in another process, which remembers nothing of this one."""
        if isinstance(self.store, RedisStore):
            known, self.store._memory = self.store._memory, nothing()
            yield
            self.store._memory = known
        else:
            remembered, self.store._claimed_runs = self.store._claimed_runs, ClaimedRuns()
            yield
            self.store._claimed_runs = remembered

    @contextmanager
    def by_the_rules(self) -> Iterator[None]:
        """The short way, as `plainly.step` has it."""
        own = self.store.step_plainly

        def step(asked: PlainStep) -> PlainDone | None:
            self.taken.append(Engine.step_plainly(self.store, asked))
            return self.taken[-1]

        self.store.step_plainly = step  # type: ignore[method-assign]
        try:
            yield
        finally:
            self.store.step_plainly = own  # type: ignore[method-assign]

    @property
    def sql_engine(self) -> sqlalchemy.Engine:
        """The store's own."""
        assert isinstance(self.store, SqlStore)
        return self.store._opened().engine

    @property
    def sql(self) -> SqlRows:
        """Its rows, where it has tables; else the test says nothing of it."""
        if not isinstance(self.rows, SqlRows):
            pytest.skip("it has no short way for places")
        return self.rows


@pytest.fixture(
    scope="module",
    params=["sqlite", "postgresql", "mariadb", "redis", "mongodb", pytest.param("mysql", marks=pytest.mark.slow)],
)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    if request.param == "sqlite":
        place: Path = tmp_path_factory.mktemp("short")
        made = Both(f"sqlite:///{place}/jobs.db")
    else:
        made = Both(str(request.getfixturevalue(f"{request.param}_of_module")))
    yield made
    made.rows.close()
    made.store.close()


@pytest.fixture(scope="module")
def postgresql_of_module(request: pytest.FixtureRequest) -> Iterator[str]:
    with postgresql.database_in(request.getfixturevalue("postgresql_15_server")) as url:
        yield url


@pytest.fixture(scope="module")
def mariadb_of_module(request: pytest.FixtureRequest) -> Iterator[str]:
    with mariadb.database_in(request.getfixturevalue("mariadb_server")) as url:
        yield url


@pytest.fixture(scope="module")
def mysql_of_module(request: pytest.FixtureRequest) -> Iterator[str]:
    with mariadb.database_in(request.getfixturevalue("mysql_9_server")) as url:
        yield url


@pytest.fixture(scope="module")
def mongodb_of_module(request: pytest.FixtureRequest) -> str:
    return emptied(with_database(request.getfixturevalue("mongodb"), f"onthedot_short_way_{os.getpid()}"))


@pytest.fixture(scope="module")
def redis_of_module(request: pytest.FixtureRequest) -> str:
    return fresh(request.getfixturevalue("redis_server"))


@dataclass(frozen=True, slots=True)
class Life:
    """What happens to a run from its beginning to its end."""

    policy: Policy
    args: dict[str, Any]
    keyed: bool
    crashed: bool
    tried: bool
    """It has failed once, and waited again."""
    said: str | None
    asked_to_stop: bool
    outcome: dict[str, Any]


POLICIES = st.builds(
    Policy,
    retries=st.sampled_from([0, 0, 0, 1]),
    crash_retries=st.just(5),
    backoff_ms=st.just(1),
    limit=st.sampled_from([None] * 6 + ["g:50"]),
    priority=st.sampled_from([0, 0, 0, 2]),
    pool=st.sampled_from([None, None, "slow"]),
    expires_ms=st.sampled_from([None] * 5 + [600_000]),
    delivery=st.sampled_from(["at_least_once", "at_most_once"]),
)
OUTCOMES = st.fixed_dictionaries(
    {"ending": st.sampled_from(["succeeded"] * 3 + ["failed", "timed_out", "cancelled", "skipped", "handed_back"])},
    optional={
        "result": st.sampled_from([{"text": AWKWARD, "list": [1, None, 2.5]}, 0, "x" * 3000]),
        "error": st.sampled_from([f"{AWKWARD}\nNUL \0", "late"]),
        "reason": st.just(AWKWARD),
        "retry_after_ms": st.just(5),
        "final": st.booleans(),
    },
)
LIVES = st.builds(
    Life,
    POLICIES,
    st.sampled_from([{}, {"text": AWKWARD, "number": 3}]),
    keyed=st.sampled_from([False, False, True]),
    crashed=st.sampled_from([False] * 5 + [True]),
    tried=st.sampled_from([False] * 3 + [True]),
    said=st.sampled_from([None, None, "62% of it"]),
    asked_to_stop=st.sampled_from([False] * 4 + [True]),
    outcome=OUTCOMES,
)
_FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def live(both: Both, life: Life) -> tuple[Run, Run, list[Any]]:
    """Let a run live like this: as it began, what was made of its end, and its rows after each of both."""
    scene = both.scene
    key = f"k:job:{scene.new_run().id}" if life.keyed else None
    run = scene.waiting_run(policy=life.policy, args=life.args, key=key)
    if life.tried:
        begun = _started(scene, both.node, run)
        both.store.finish(both.node, [Outcome(run.id, begun.claim_no, "failed", error="once", retry_after_ms=1)])
        scene.wait(1)
    if life.crashed and life.policy.delivery == "at_least_once":  # else it would be lost
        other = scene.node("dies")
        _started(scene, other, run)
        scene.kill(other)
        scene.renew(both.node)
    began = _started(scene, both.node, run)
    rows = [both.rows.of(run.id)]
    if life.said is not None:
        both.store.log(both.node, [LogLine(run.id, began.claim_no, scene.now_ms, PROGRESS, life.said)])
    if life.asked_to_stop:
        both.store.request_cancel(run.id, "enough", BY)
    finished = both.store.finish(both.node, [Outcome(run.id, began.claim_no, **life.outcome)])
    assert (finished.refused, finished.again) == ((), ())
    (recorded,) = finished.recorded
    rows.append(both.rows.of(run.id))
    if not recorded.is_final:
        both.store.request_cancel(run.id, "the next one comes", BY)
    return began, recorded, rows


def _started(scene: Scene, node: str, run: Run) -> Run:
    (begun,) = scene.start(node)
    assert begun.id == run.id
    assert scene.run(run) == begun
    return begun


def alike(one: Run, other: Run) -> bool:
    return _but_ids(one) == _but_ids(other)


def _but_ids(run: Run) -> Run:
    earlier = tuple(replace(each, node="") for each in run.earlier)
    return replace(run, id="", key=None, earlier=earlier)


@_FEW
@given(life=LIVES)
def test_a_run_begins_and_ends_alike_by_both_ways(both: Both, life: Life) -> None:
    start_ms = both.clock.now_ms
    both.store._short_way._may_begin = True
    both.taken.clear()
    began, recorded, rows = live(both, life)
    taken = list(both.taken)
    both.clock.now_ms = start_ms
    with both.general():
        then = live(both, life)
    both.clock.pass_by(MINUTE)
    both.scene.renew(both.node)
    assert alike(began, then[0])
    assert alike(recorded, then[1])
    assert rows == then[2]
    outcome = Outcome(began.id, began.claim_no, **life.outcome)
    plain = ends_plainly(began, outcome) and not life.asked_to_stop
    event(f"ended plainly: {plain}")
    assert plain == any(done is not None and began.id in {run.id for run in done.ended} for done in taken)
    expires = life.policy.expires_ms is not None and not life.tried
    in_turn = not isinstance(both.store, SqlStore) or not life.policy.priority  # the others read by precedence
    begins = begins_plainly(began) and in_turn and not expires
    event(f"began plainly: {begins}")
    assert begins == any(
        done is not None and (began.id, began.claim_no) in {(run.id, run.claim_no) for run in done.begun or ()}
        for done in taken
    )


def test_of_a_batch_what_is_plain_goes_the_short_way_and_the_rest_the_general_one(both: Both) -> None:
    scene = both.scene
    plain, limited, keyed = (
        scene.waiting_run(),
        scene.waiting_run(policy=Policy(limit="g:50")),
        scene.waiting_run(key="k:job:batch"),
    )
    begun = {run.id: run for run in scene.start(both.node)}
    both.taken.clear()
    outcomes = [Outcome(run.id, begun[run.id].claim_no, "succeeded") for run in (limited, plain, keyed)]
    finished = both.store.finish(both.node, [*outcomes, Outcome(plain.id, 7, "succeeded"), outcomes[1]])
    assert {run.id for run in finished.recorded} == {plain.id, limited.id, keyed.id}
    assert finished.refused == (plain.id, plain.id)
    assert [[run.id for run in done.ended] for done in both.taken if done is not None] == [[plain.id]]


def test_what_comes_before_plain_runs_is_started_before_them(both: Both) -> None:
    scene = both.scene
    first = scene.waiting_run(policy=Policy(limit="g:50"))
    plain = [scene.waiting_run() for _ in range(2)]
    important = scene.waiting_run(policy=Policy(priority=1))
    assert [run.id for run in scene.start(both.node, limit=2)] == [important.id, first.id]
    assert [run.id for run in scene.start(both.node, limit=1)] == [plain[0].id]
    assert [run.id for run in scene.start(both.node)] == [plain[1].id]
    for run in (important, first, *plain):
        scene.end(scene.run(run))


def test_an_outcome_of_a_claim_that_is_over_is_refused_whatever_is_remembered_of_it(both: Both) -> None:
    """It was handed back, and begun anew by the same node, elsewhere."""
    scene = both.scene
    run = scene.waiting_run()
    old = _started(scene, both.node, run)
    with both.elsewhere():
        both.store.finish(both.node, [Outcome(run.id, old.claim_no, "handed_back")])
        new = _started(scene, both.node, run)
    assert new.claim_no > old.claim_no
    assert scene.is_refused(old)
    assert scene.end(new).is_final


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_run_that_was_asked_to_stop_does_not_end_plainly(both: Both, where: str) -> None:
    scene = both.scene
    run = scene.waiting_run()
    begun = _started(scene, both.node, run)
    with both.elsewhere() if where == "elsewhere" else nullcontext():
        both.store.request_cancel(run.id, "enough", BY)
    (recorded,) = both.store.finish(both.node, [Outcome(run.id, begun.claim_no, "cancelled")]).recorded
    assert (recorded.state, recorded.reason) == (State.CANCELLED, "enough")
    assert scene.run(run) == recorded


def test_what_was_said_of_an_earlier_try_is_not_said_of_the_next(both: Both) -> None:
    """Its row has the error of that; of a plain end nothing is told but the ending."""
    scene = both.scene
    run = scene.waiting_run(policy=Policy(retries=1, backoff_ms=1))
    begun = _started(scene, both.node, run)
    both.store.finish(both.node, [Outcome(run.id, begun.claim_no, "failed", error="once", retry_after_ms=1)])
    scene.wait(1)
    assert scene.end(_started(scene, both.node, run)).error is None
    assert scene.run(run).error is None


def test_a_step_of_plain_runs_is_one_statement_in_no_transaction_on_postgresql(both: Both) -> None:
    if not isinstance(both.rows, SqlRows) or both.rows.engine.dialect.name != "postgresql":
        pytest.skip("only that is without a transaction")
    assert isinstance(both.store, SqlStore)
    scene, sent = both.scene, list[bool]()
    begun = [_started(scene, both.node, scene.waiting_run())]
    for _ in range(3):
        scene.waiting_run()
    scene.put("plain")
    ahead = ahead_of(scene, both.node, "plain")
    scene.wait(MINUTE)
    scene.renew(both.node)

    def note(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        if "onthedot_" in statement:  # and not a connection that is looked at before it is used
            sent.append(cursor.connection.autocommit)

    sqlalchemy.event.listen(both.store._opened().engine, "before_cursor_execute", note)
    outcomes = [Outcome(run.id, run.claim_no, "succeeded") for run in begun]
    _, started = both.store.finish_and_start(both.node, outcomes, ["job"], 3)
    assert (len(started.runs), sent) == (3, [True])
    assert len(both.store.finish(both.node, [Outcome(run.id, 1, "succeeded") for run in started.runs]).recorded) == 3
    assert sent == [True] * 2
    assert len(plan_ahead(scene, both.node, ahead).effects) == 1
    assert sent == [True] * 3
    sqlalchemy.event.remove(both.store._opened().engine, "before_cursor_execute", note)


# places of groups


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who holds the places of a group, who waits behind them, and who has become due when the holders end."""

    holders: tuple[Policy, ...]
    waiting: tuple[Policy, ...]
    due: tuple[Policy, ...]
    due_for_ms: int
    outcome: dict[str, Any]
    workers: int
    pools: tuple[str, ...] | None


def in_group(*limits: str | None) -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        retries=st.sampled_from([0, 0, 0, 1]),
        backoff_ms=st.just(1),
        limit=st.sampled_from(limits),
        priority=st.sampled_from([0] * 8 + [-1, 1]),
        pool=st.sampled_from([None] * 5 + ["slow"]),
        expires_ms=st.sampled_from([None] * 8 + [600_000]),
        group=st.sampled_from([None] * 8 + ["east"]),
    )


CROWDS = st.builds(
    Crowd,
    holders=st.lists(in_group(*["g:2"] * 8, "g:3", None), min_size=1, max_size=2).map(tuple),
    waiting=st.lists(in_group(*["g:2"] * 8, "g:1", "g:3", "g:200"), max_size=4).map(tuple),
    due=st.one_of(st.just(()), st.lists(in_group(None, None, None, "g:2"), max_size=2).map(tuple)),
    due_for_ms=st.sampled_from([0, 0, MINUTE]),
    outcome=OUTCOMES,
    workers=st.integers(1, 6),
    pools=st.sampled_from([None, None, ("fast",), ("fast", "slow")]),
)


@dataclass(frozen=True, slots=True)
class Passed:
    """What a step did to a crowd, in words that are the same of another crowd like it."""

    recorded: frozenset[int]
    begun: tuple[int, ...]
    holders: frozenset[int]
    """Of places."""
    rows: tuple[tuple[dict[str, Any] | None, ...], ...]
    left: tuple[int, ...]
    """Who begins after that."""


def pass_on(both: Both, crowd: Crowd) -> tuple[Passed, list[tuple[set[int], set[int] | None]]]:
    """One step in which all holders end; and whom the short way ended and began."""
    both.sql.forget_places()
    scene, node = both.scene, both.node
    made = [scene.waiting_run(policy=policy) for policy in crowd.holders]
    held = scene.start(node)
    made += [scene.waiting_run(policy=policy) for policy in crowd.waiting]
    held += scene.start(node)
    made += [scene.waiting_run(policy=policy, delay_ms=-crowd.due_for_ms) for policy in crowd.due]
    numbers = {run.id: number for number, run in enumerate(made)}
    both.store._short_way._may_begin = True
    both.taken.clear()
    outcomes = [Outcome(run.id, run.claim_no, **crowd.outcome) for run in held]
    finished, started = both.store.finish_and_start(
        node, outcomes, ["job"], crowd.workers, pools=crowd.pools, known=["job"]
    )
    assert (finished.refused, finished.again) == ((), ())
    taken = [
        (
            {numbers[run.id] for run in done.ended},
            None if done.begun is None else {numbers[run.id] for run in done.begun},
        )
        for done in both.taken
        if done is not None
    ]
    passed = Passed(
        frozenset(numbers[run.id] for run in finished.recorded),
        tuple(numbers[run.id] for run in started.runs),
        frozenset(numbers[run_id] for run_id in both.sql.places().values()),
        tuple(both.sql.of(run.id) for run in made),
        tuple(sorted(numbers[run.id] for run in scene.start(node))),
    )
    _end_all(both, made)
    return passed, taken


def _end_all(both: Both, runs: list[Run]) -> None:
    for run in (both.scene.run(run) for run in runs):
        if run.owner is not None and not run.is_final:
            both.store.finish(both.node, [Outcome(run.id, run.claim_no, "failed", final=True)])
        elif not run.is_final:
            both.store.request_cancel(run.id, "the next crowd comes", BY)


@_FEW
@given(crowd=CROWDS)
def test_places_of_a_group_go_on_alike_by_both_ways(both: Both, crowd: Crowd) -> None:
    start_ms = both.clock.now_ms
    passed, taken = pass_on(both, crowd)
    both.clock.now_ms = start_ms
    with both.by_the_rules():
        ruled_passed, ruled = pass_on(both, crowd)
    both.clock.now_ms = start_ms
    with both.general():
        then, _ = pass_on(both, crowd)
    both.clock.pass_by(2 * MINUTE)
    both.scene.renew(both.node)
    assert passed == ruled_passed == then
    handed = any(begun is not None and any(number >= len(crowd.holders) for number in begun) for _, begun in taken)
    event(f"something began the short way: {handed}")
    if not any(policy.priority for policy in (*crowd.waiting, *crowd.due)):  # statements leave them all, rules but some
        assert taken == ruled


def test_who_waits_for_a_place_begins_in_the_step_that_frees_it(both: Both) -> None:
    """In one statement on PostgreSQL, whatever the number of groups; of each as many of the foremost as have ended."""
    if not both.store.hands_places_on:
        pytest.skip("it has no short way for places")
    both.sql.forget_places()
    scene, sent = both.scene, list[bool]()
    limits = [Policy(limit=limit) for limit in ("one:1", "three:3", "three:3", "three:3")]
    holders = [scene.waiting_run(policy=policy) for policy in limits]
    begun = {run.id: run for run in scene.start(both.node)}
    waiting = [scene.waiting_run(policy=policy) for policy in (*limits, *limits)]
    assert scene.start(both.node) == []
    before = both.sql.places()
    both.store._short_way._may_begin = True

    def note(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        if "onthedot_" in statement:
            sent.append(cursor.connection.autocommit)

    sqlalchemy.event.listen(both.sql_engine, "before_cursor_execute", note)
    outcomes = [Outcome(run.id, begun[run.id].claim_no, "succeeded") for run in (holders[0], *holders[2:])]
    finished, started = both.store.finish_and_start(both.node, outcomes, ["job"], 10)
    sqlalchemy.event.remove(both.sql_engine, "before_cursor_execute", note)
    assert sent == [True]
    assert len(finished.recorded) == 3
    assert [run.id for run in started.runs] == [run.id for run in waiting[:3]]
    after = both.sql.places()
    assert before.keys() == after.keys()
    assert {run_id for key, run_id in after.items() if "one" in key} == {waiting[0].id}
    assert {run_id for key, run_id in after.items() if "three" in key} == {
        run.id for run in (holders[1], *waiting[1:3])
    }
    _end_all(both, [*holders, *waiting])
    assert both.sql.places() == {}


ONE = Policy(limit="one:1")


@pytest.mark.parametrize(
    ("waiting", "due", "workers"),
    [
        (Policy(limit="one:2"), None, 5),
        (Policy(limit="one:1", priority=-1), None, 5),
        (Policy(limit="one:1", pool="slow"), None, 5),
        (Policy(limit="one:1", expires_ms=MINUTE), None, 5),
        (ONE, ONE, 5),
        (ONE, Policy(priority=1), 5),
        (ONE, Policy(), 1),
    ],
    ids=["another width", "a priority", "another pool", "may expire", "one is due", "more important", "few workers"],
)
def test_no_place_goes_on_past_what_needs_more_care(
    both: Both, waiting: Policy, due: Policy | None, workers: int
) -> None:
    if not both.store.hands_places_on:
        pytest.skip("it has no short way for places")
    crowd = Crowd((ONE,), (waiting, ONE), () if due is None else (due,), MINUTE, {"ending": "succeeded"}, workers, ())
    passed, taken = pass_on(both, crowd)
    assert taken == [(set(), None)]
    if not waiting.priority and (
        due is None or not due.priority
    ):  # the rules know who is the foremost, whatever the priorities
        with both.by_the_rules():
            assert pass_on(both, crowd) == (passed, taken)
    with both.general():
        assert pass_on(both, crowd)[0] == passed


def test_a_place_that_nobody_waits_for_is_free(both: Both) -> None:
    crowd = Crowd((ONE,), (), (), 0, {"ending": "succeeded"}, 5, None)
    passed, taken = pass_on(both, crowd)
    assert passed.holders == frozenset()
    assert taken == ([({0}, set())] if both.store.hands_places_on else [])


def test_a_place_goes_on_only_in_a_group_that_was_never_wider(both: Both) -> None:
    """Who has a place that is no longer there counts, and is not seen by the statement."""
    if not both.store.hands_places_on:
        pytest.skip("it has no short way for places")
    both.sql.forget_places()
    scene = both.scene
    wide, *others = [scene.waiting_run(policy=Policy(limit=limit)) for limit in ("one:2", "one:1", "one:1")]
    assert [run.id for run in scene.start(both.node)] == [wide.id]
    scene.end(scene.run(wide))
    (holder,) = scene.start(both.node)
    both.store._short_way._may_begin = True
    both.taken.clear()
    both.store.finish_and_start(both.node, [Outcome(holder.id, holder.claim_no, "succeeded")], ["job"], 5)
    assert [done.ended for done in both.taken if done is not None] == [()]
    _end_all(both, others)


def test_a_run_that_cannot_be_read_keeps_no_place_that_it_was_handed(both: Both) -> None:
    if not both.store.hands_places_on:
        pytest.skip("it has no short way for places")
    both.sql.forget_places()
    scene, one = both.scene, Policy(limit="one:1")
    holder, *waiting = [scene.waiting_run(policy=one) for _ in range(3)]
    (begun,) = scene.start(both.node)
    assert begun.id == holder.id
    both.store._short_way._may_begin = True
    with both.sql.engine.begin() as connection:
        damage = sqlalchemy.update(tables.runs).where(tables.runs.c.id == waiting[0].id)
        connection.execute(damage.values(args="{"))
    both.taken.clear()
    _, started = both.store.finish_and_start(both.node, [Outcome(begun.id, begun.claim_no, "succeeded")], ["job"], 10)
    assert [run.id for run in started.runs] == [waiting[1].id]
    assert [run.id for done in both.taken if done is not None for run in done.ended] == [holder.id]
    _end_all(both, waiting[1:])
    with both.sql.engine.begin() as connection:
        connection.execute(sqlalchemy.delete(tables.runs).where(tables.runs.c.id == waiting[0].id))


def test_runs_that_begin_late_are_listed_so_beside_one_that_had_begun_late_before(both: Both) -> None:
    """What was handed back keeps the moment of its beginning, and stands among the late ones already."""
    scene = both.scene
    again, other = scene.waiting_run(), scene.waiting_run(delay_ms=MINUTE)
    scene.wait(MINUTE - 1)
    scene.renew(both.node)
    begun = _started(scene, both.node, again)
    both.store.finish(both.node, [Outcome(again.id, begun.claim_no, "handed_back")])
    scene.wait(MINUTE)
    scene.renew(both.node)
    both.store._short_way._may_begin = True
    assert {run.id for run in scene.start(both.node)} == {again.id, other.id}
    late = {again.id, other.id}
    assert {run.id for run in both.store.runs(late=True)} & late == late
    for run in (again, other):
        scene.end(scene.run(run))
    assert {run.id for run in both.store.runs(late=True)} & late == late


def _on_redis(both: Both) -> RedisStore:
    if not isinstance(both.store, RedisStore):
        pytest.skip("only there what is looked at is held")
    return both.store


@contextmanager
def damaged(store: RedisStore, run: Run) -> Iterator[None]:
    """A row that cannot be read."""
    rows, redis = store._server.key("runs"), store._server.client
    text = redis.hget(rows, run.id)
    redis.hset(rows, run.id, f"{text[:STAMP]}{{")
    yield
    redis.hset(rows, run.id, text)


def test_what_is_due_beside_a_row_that_cannot_be_read_is_held_from_nobody_on_redis(both: Both) -> None:
    """To pass that row over, more is looked at than begins."""
    store, scene = _on_redis(both), both.scene
    other = scene.node("other")
    scene.renew(both.node)
    broken, *good = [scene.waiting_run() for _ in range(9)]
    with damaged(store, broken):
        both.store._short_way._may_begin = True
        assert [run.id for run in scene.start(both.node, limit=3)] == [run.id for run in good[:3]]
        assert [run.id for run in scene.start(other, limit=5)] == [run.id for run in good[3:]]
    _started(scene, both.node, broken)
    for run in (broken, *good):
        scene.end(scene.run(run))
    both.store.leave(other)


def test_a_schedule_is_planned_while_a_run_of_it_cannot_be_read_on_redis(both: Both) -> None:
    """Nothing that can be read is due, so nothing begins."""
    store, scene = _on_redis(both), both.scene
    scene.put("beside", overlap="concurrent")
    scene.wait(MINUTE)
    scene.renew(both.node)
    (tick,) = scene.plan(both.node)
    with damaged(store, tick):
        scene.wait(MINUTE)
        scene.renew(both.node)
        both.store._short_way._may_begin = True
        assert scene.start(both.node) == []
        assert scene.plan(both.node) != []
    scene.edit(delete(), "beside")
