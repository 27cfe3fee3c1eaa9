"""Of a crowded schedule a decision gets all that it may rest on, and not the crowd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from tests.stores.redis_indexes import check_indexes

from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.redis.transaction import TOLD, RedisTransaction
from onthedot.stores.transaction import LiveRuns, most_waiting

NOW_MS = 1_800_000_000_000
SERIAL = Policy()
UNLIMITED = Policy(overlap="concurrent")
CATCH_UP = Policy(misfire="catch_up", max_catch_up=30)


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = open_store(redis_url, create=True, now_ms=lambda: NOW_MS)
    assert isinstance(store, RedisStore)
    yield store
    store.close()
    check_indexes(redis_url)


def _told(tx: RedisTransaction) -> list[Schedule]:
    return tx.due_schedules(10, 0)[0]


def _asked(tx: RedisTransaction) -> list[Schedule]:
    return list(tx.lock_schedules(["s"]).values())


def _waiting(count: int) -> list[Run]:
    """Later ids are due earlier."""
    return [
        Run(f"w{number:03}", "task", "tick", NOW_MS, NOW_MS - number, schedule_id="s", waits_for="slot:s")
        for number in range(count)
    ]


def _running(count: int) -> list[Run]:
    run = Run("", "task", "tick", NOW_MS, NOW_MS, State.RUNNING, schedule_id="s", owner="n")
    return [replace(run, id=f"r{number:03}") for number in range(count)]


@pytest.mark.parametrize("policy", [SERIAL, UNLIMITED, CATCH_UP], ids=["serial", "unlimited", "catch up"])
@pytest.mark.parametrize("running", [0, 1, TOLD - 1, TOLD, 60])
@pytest.mark.parametrize("waiting", [0, 1, 17, 18, TOLD, 60])
@pytest.mark.parametrize("read", [_told, _asked])
def test_it_gets_what_runs_and_the_oldest_that_wait(
    store: RedisStore, policy: Policy, running: int, waiting: int, read: object
) -> None:
    with store.begin() as tx:
        tx.save_schedules([Schedule("s", "s", "task", {"v": 1}, policy=policy, next_run_ms=NOW_MS)])
        tx.save_runs([*_running(running), *_waiting(waiting)])
    with store.begin() as tx:
        schedules = _told(tx) if read is _told else _asked(tx)
        live = tx.live_beside(schedules).get("s", LiveRuns())
    found = _of(live.runs, State.RUNNING)
    assert found == _running(running) if policy.slots is not None else bool(found) == bool(running)
    in_turn = sorted(_waiting(waiting), key=lambda run: run.due_ms)
    assert _of(live.runs, State.WAITING) == in_turn[: most_waiting(policy)]
    assert live.more == (waiting > most_waiting(policy))


def _of(runs: Sequence[Run], state: State) -> list[Run]:
    return [run for run in runs if run.state is state]


def test_it_does_not_read_the_crowd(store: RedisStore) -> None:
    runs = [*_running(100), *_waiting(100)]
    with store.begin() as tx:
        tx.save_schedules([Schedule("s", "s", "task", {"v": 1}, policy=UNLIMITED)])
        tx.save_runs(runs)
    with store.begin() as tx:
        assert len(tx.live_beside(_asked(tx))["s"].runs) == 1 + most_waiting(UNLIMITED)
        assert len(tx._runs.unknown([run.id for run in runs])) == 200 - 1 - most_waiting(UNLIMITED) - 1
