"""What people ask of Redis is answered as memory answers it, whatever is asked together and however much there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from tests.stores.redis_indexes import check_indexes

from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import FINAL, State
from onthedot.model.values import replace
from onthedot.rules.effects import Before, Effects
from onthedot.stores.answers import Ticks
from onthedot.stores.counts import LATE_MS, RunCounts
from onthedot.stores.engine import Engine
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.stores.paging import place_of
from onthedot.stores.redis import schedule_queries
from onthedot.stores.redis.server import AT_ONCE
from onthedot.stores.retention import Retention
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS

BY = Author("a test", "tests", "puts things")
MOMENTS = (None, START_MS, START_MS + 1000, START_MS + 2000)
TASKS = ("etl.load", "ETL.report", "mail")
NODES = ("node-a", "node-b")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(clock: ManualClock, redis_url: str) -> Iterator[Engine]:
    store = open_store(redis_url, create=True, now_ms=clock)
    assert isinstance(store, Engine)
    yield store
    store.close()
    check_indexes(redis_url)


@pytest.fixture
def memory(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


def _save(store: Engine, schedules: list[Schedule]) -> None:
    rows = {row.name: row for row in schedules}

    def edit(before: Before, now_ms: int) -> Effects:
        return Effects(schedule=next(left))

    left = iter(rows.values())
    store.change(list(rows), edit, BY)


def _schedules(count: int, seed: int) -> list[Schedule]:
    random = Random(seed)

    def one(number: int) -> Schedule:
        return Schedule(
            new_id(START_MS),
            f"{random.choice(('Night', 'day', 'straße'))}-{number}",
            random.choice(TASKS),
            {},
            tags=tuple(tag for tag in ("eu", "ops") if random.random() < 0.5),
            mode="local" if random.random() < 0.2 else "durable",
            policy=Policy(group=random.choice((None, "gpu"))),
            enabled=random.random() < 0.8,
            error="nobody can read it" if random.random() < 0.1 else None,
            deleted=random.random() < 0.1,
            next_run_ms=random.choice(MOMENTS),
        )

    return [one(number) for number in range(count)]


def _pages(ask: Callable[..., list[Schedule]], order: str, limit: int, **wanted: Any) -> list[str]:
    found: list[str] = []
    after = ""
    while page := ask(order=order, after=after, limit=limit, **wanted):
        found += [row.name for row in page]
        after = place_of(page[-1], order)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("few", [500, 0])
def test_schedules_are_found_by_any_filters_together_in_any_order_and_page_by_page(
    store: Engine, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(schedule_queries, "_FEW", few)  # both ways to put them in order
    rows = _schedules(120, seed=1)
    for each in (store, memory):
        _save(each, rows)
    asked = product(
        (None, "eu"),
        (None, "mail"),
        (None, "local", "durable"),
        (None, "active", "paused", "parked", "ended"),
        ("", "eT"),
    )
    for tag, task, mode, state, search in asked:
        wanted = {"tag": tag, "task": task, "mode": mode, "state": state, "search": search}
        for order in ("name", "next"):
            whole = [row.name for row in memory.schedules(order=order, limit=1000, **wanted)]  # type: ignore[arg-type]
            assert [row.name for row in store.schedules(order=order, limit=1000, **wanted)] == whole, wanted  # type: ignore[arg-type]
            assert _pages(store.schedules, order, 7, **wanted) == whole, wanted
    assert store.count_schedules() == memory.count_schedules()
    tasks = {row.task for row in rows}
    assert sorted(map(repr, store.demands([*tasks]))) == sorted(map(repr, memory.demands([*tasks])))
    assert set(store.needed()) == set(memory.needed())
    assert {row.id for row in store.overdue(START_MS + 1500)} == {row.id for row in memory.overdue(START_MS + 1500)}


def test_pages_have_no_gap_where_more_than_a_script_looks_at_share_a_moment(store: Engine) -> None:
    count = AT_ONCE + 300
    rows = [
        Schedule(new_id(START_MS), f"s{number * 7919 % count:05}", "mail", {}, next_run_ms=START_MS)
        for number in range(count)
    ]
    _save(store, rows)
    expected = sorted(row.name for row in rows)
    assert _pages(store.schedules, "next", 1000) == expected
    assert _pages(store.schedules, "name", 1000) == expected
    assert [row.name for row in store.schedules(search=expected[-1])] == [expected[-1]]
    assert [row.name for row in store.schedules(search=expected[-1], order="next")] == [expected[-1]]


def _runs(count: int, schedules: list[Schedule], seed: int) -> list[Run]:
    random = Random(seed)

    def one(number: int) -> Run:
        made_ms = START_MS + 10 * number
        state = random.choice(list(State))
        schedule = random.choice([None, *schedules])
        began = state is State.RUNNING or (state in FINAL and random.random() < 0.8)
        late_ms = random.choice((5, LATE_MS, LATE_MS + 1))
        return Run(
            new_id(made_ms),
            random.choice(TASKS),
            "enqueue" if schedule is None else "tick",
            START_MS + random.randrange(20) * 1000,
            made_ms,
            state,
            schedule_id=None if schedule is None else schedule.id,
            schedule=None if schedule is None else schedule.name,
            owner=random.choice(NODES) if began else None,
            policy=Policy(pool=random.choice((None, "slow"))),
            created_ms=made_ms,
            started_ms=made_ms + late_ms if began else None,
            finished_ms=made_ms + 5000 if state in FINAL else None,
        )

    return [one(number) for number in range(count)]


def _keep(store: Engine, runs: list[Run]) -> None:
    with store.begin() as tx:
        tx.save_runs([run for run in runs if run.state not in FINAL])
        tx.end_runs([run for run in runs if run.state in FINAL])


@pytest.fixture
def history(store: Engine, memory: MemoryStore) -> list[Schedule]:
    """The same runs in both stores."""
    schedules = [Schedule(new_id(START_MS), name, "mail", {}) for name in ("a", "b")]
    runs = _runs(300, schedules, seed=2)
    for each in (store, memory):
        _save(each, schedules)
        _keep(each, runs)
    return schedules


@pytest.mark.usefixtures("history")
def test_runs_are_found_by_any_filters_together_and_page_by_page(store: Engine, memory: MemoryStore) -> None:
    asked = product(
        (None, "a"),
        (None, "mail"),
        (None, "node-a"),
        (None, State.WAITING, State.RUNNING, State.FAILED),
        (False, True),
        ((None, None), (START_MS + 500, START_MS + 2000)),
    )
    for schedule, task, node, state, late, (since_ms, until_ms) in asked:
        wanted: dict[str, Any] = {"schedule": schedule, "task": task, "node": node, "state": state, "late": late}
        wanted |= {"since_ms": since_ms, "until_ms": until_ms}
        whole = [run.id for run in memory.runs(limit=1000, **wanted)]
        assert [run.id for run in store.runs(limit=1000, **wanted)] == whole, wanted
        found: list[str] = []
        while page := store.runs(limit=9, before=found[-1] if found else None, **wanted):
            found += [run.id for run in page]
        assert found == whole, wanted


def test_ticks_counts_and_load_are_as_memory_has_them(
    store: Engine, memory: MemoryStore, history: list[Schedule]
) -> None:
    ids = [each.id for each in history]
    for first_ms, last_ms, each in ((0, 1 << 62, 5), (0, 1 << 62, 1000), (START_MS + 3000, START_MS + 9000, 7)):
        asked = {"first_ms": first_ms, "last_ms": last_ms, "each": each}
        assert store.ticks(ids, **asked) == memory.ticks(ids, **asked)
    assert store.count_runs() == memory.count_runs()
    assert sorted(map(repr, store.load())) == sorted(map(repr, memory.load()))


def test_what_is_forgotten_is_found_by_nobody(store: Engine, clock: ManualClock, history: list[Schedule]) -> None:
    clock.pass_by(180_000)
    while store.prune(Retention(history_ms=1000)).more:
        pass
    live = {State.WAITING, State.RUNNING}
    for wanted in ({"task": "mail"}, {"node": "node-a"}, {"late": True}, {"schedule": "a"}):
        assert {run.state for run in store.runs(limit=1000, **wanted)} <= live
    assert {mark.state for mark in store.ticks([history[0].id], each=1000).marks} <= live


def test_a_crowd_of_one_schedule_s_runs_is_told_whole(store: Engine) -> None:
    crowded = Schedule(new_id(START_MS), "crowded", "mail", {})
    _save(store, [crowded])
    waiting = Run("", "mail", "tick", 0, START_MS, State.WAITING, schedule_id=crowded.id, schedule="crowded")
    count = AT_ONCE + 10
    crowd = [replace(waiting, id=new_id(START_MS), scheduled_ms=START_MS + number) for number in range(count)]
    _keep(store, crowd)
    assert store.ticks([crowded.id], each=1).marks[0].id == crowd[-1].id
    assert [run.id for run in store.runs(schedule="crowded", limit=3)] == [run.id for run in crowd[:-4:-1]]
    assert store.count_runs(most=5000) == RunCounts(waiting=count)
    assert store.ticks([crowded.id], first_ms=START_MS + count) == Ticks()
