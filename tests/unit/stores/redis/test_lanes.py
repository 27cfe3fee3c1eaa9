"""Waiting runs stand in lanes: a claim gets exactly those that are next, and reads nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest
import redis
from tests.stores.redis_indexes import check_indexes

from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.precedence import LEVEL_MS, foremost, turn_of
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.transaction import Claim

NOW_MS = 1_800_000_000_000
ODD = 'a "b"\nc/d\\'
NODES, GROUPS, POOLS, TASKS = (None, "n", "m"), (None, "", ODD), (None, "", ODD), ("a", "b", ODD)
WHATS = (None, "slot:s", "limit:" + ODD, "limit:z", "success:s")


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = open_store(redis_url, create=True, now_ms=lambda: NOW_MS)
    assert isinstance(store, RedisStore)
    yield store
    store.close()
    check_indexes(redis_url)


def _runs(random: Random, count: int) -> list[Run]:
    return [
        Run(
            f"r{number}",
            random.choice(TASKS),
            "enqueue",
            0,
            NOW_MS + random.randrange(-4, 2) * LEVEL_MS,
            policy=Policy(group=random.choice(GROUPS), pool=random.choice(POOLS), priority=random.randrange(-2, 3)),
            target=random.choice(NODES),
            waits_for=random.choice((None, *WHATS)),
            schedule_id=random.choice((None, "s", "t")),
        )
        for number in range(count)
    ]


def _save(store: RedisStore, runs: Sequence[Run]) -> None:
    with store.begin() as tx:
        tx.save_runs(runs)


def _claimed(store: RedisStore, claim: Claim, limit: int) -> list[str]:
    with store.begin() as tx:
        return [run.id for run in tx.due_runs(claim, limit)]


def _foremost(runs: Sequence[Run], limit: int) -> list[str]:
    return [run.id for run in foremost((run for run in runs if run.due_ms <= NOW_MS), turn_of, limit)]


@pytest.mark.parametrize("seed", range(3))
def test_a_claim_gets_the_foremost_of_what_it_takes(store: RedisStore, seed: int) -> None:
    runs = _runs(Random(seed), 900)
    _save(store, runs)
    pools: tuple[tuple[str, ...] | None, ...] = (None, (), ("",), (ODD, "x"))
    for group, tasks, chosen, limit in product((None, ODD), (("a",), ("b", ODD)), pools, (1, 7, 1000)):
        claim = Claim("n", group, tasks, chosen, known=("a", "b"))
        takes = [run for run in runs if not run.blocked and claim.takes(run)]
        assert _claimed(store, claim, limit) == _foremost(takes, limit)


def test_what_waits_for_something_is_found_by_that_in_turn(store: RedisStore) -> None:
    runs = _runs(Random(0), 900)
    _save(store, runs)
    with store.begin() as tx:
        for what, limit in product(WHATS[1:], (1, 7, 1000)):
            assert what is not None
            found = [run.id for run in tx.waiting_for(what, limit)]
            assert found == _foremost([run for run in runs if run.waits_for == what], limit)


def test_what_is_awaited_is_named_once_in_order_and_page_by_page(store: RedisStore) -> None:
    whats = sorted(f"slot:{number}" for number in range(250))
    _save(store, [Run(f"{what} {twin}", "a", "tick", 0, NOW_MS, waits_for=what) for what in whats for twin in "xy"])
    _save(store, [Run("later", "a", "tick", 0, NOW_MS + 1, waits_for="slot:100later"), Run("free", "a", "tick", 0, 0)])
    with store.begin() as tx:
        assert tx.awaited(1000) == whats
        assert tx.awaited(100) == whats[:100]
        assert tx.awaited(100, whats[99]) == whats[100:200]
        assert tx.awaited(100, whats[199]) == whats[200:]
        assert tx.awaited(1, "slot:100") == [whats[whats.index("slot:100") + 1]]
        assert tx.are_awaited(["slot:1", "slot:100later", "slot:x"]) == {"slot:1", "slot:100later"}
        assert tx.are_awaited([]) == set()


def test_a_run_that_begins_ends_or_waits_for_something_else_leaves_its_lane(store: RedisStore) -> None:
    runs = _runs(Random(1), 60)
    _save(store, runs)
    with store.begin() as tx:
        tx.live_runs([run.id for run in runs])
        tx.end_runs([replace(run, state=State.CANCELLED, waits_for=None) for run in runs[:20]])
        tx.save_runs([replace(run, state=State.RUNNING, waits_for=None, owner="n") for run in runs[20:40]])
        tx.save_runs([replace(run, waits_for="slot:new") for run in runs[40:]])
    with store.begin() as tx:
        assert tx.due_runs(Claim("n", None, TASKS), 100) == []
        assert tx.are_awaited([what for what in WHATS if what is not None]) == set()
        assert [run.id for run in tx.waiting_for("slot:new", 100)] == _foremost(runs[40:], 100)


def test_who_has_how_much_to_do_is_counted(store: RedisStore) -> None:
    owned = [replace(run, state=State.RUNNING, waits_for=None, owner=run.target) for run in _runs(Random(2), 30)]
    _save(store, owned)
    count = Counter(run.owner for run in owned if run.owner is not None)
    with store.begin() as tx:
        assert tx.load() == count
        assert tx.owners() == {"n", "m"}
        tx.end_runs([replace(run, state=State.SUCCEEDED) for run in tx.owned_by("n")])
    with store.begin() as tx:
        assert tx.load() == {"m": count["m"]}
        assert tx.owners() == {"m"}


def test_a_claim_costs_the_same_however_many_runs_of_others_are_due_before_it(
    store: RedisStore, redis_url: str
) -> None:
    mine = Run("mine", "a", "enqueue", 0, NOW_MS)
    others = [
        Run("", "a", "enqueue", 0, 0, target="m"),
        Run("", "a", "enqueue", 0, 0, policy=Policy(group="g")),
        Run("", "a", "enqueue", 0, 0, policy=Policy(pool="slow")),
        Run("", "other", "enqueue", 0, 0),
        Run("", "a", "enqueue", 0, 0, waits_for="limit:g"),
        Run("", "a", "enqueue", 0, NOW_MS + 1),
    ]
    claim = Claim("n", None, ("a",), pools=("fast",), known=("a",))
    _save(store, [mine, *(replace(run, id=f"x{number}") for number, run in enumerate(others))])
    few = _calls_of_a_claim(store, redis_url, claim)
    _save(store, [replace(run, id=f"{number}-{twin}") for number, run in enumerate(others) for twin in range(200)])
    assert _calls_of_a_claim(store, redis_url, claim) == few
    with store.begin() as tx:
        assert tx.due_runs(claim, 1000) == [mine]
        assert tx._runs.unknown(["mine", "x0", "x1", "x2", "x3", "x4", "x5"]) == ["x0", "x1", "x2", "x3", "x4", "x5"]


def _calls_of_a_claim(store: RedisStore, url: str, claim: Claim) -> dict[str, int]:
    with redis.Redis.from_url(url.partition("?")[0]) as client:
        client.config_resetstat()
        assert _claimed(store, claim, 1000) == ["mine"]
        stats = client.info("commandstats")
        return {name: each["calls"] for name, each in stats.items() if name != "cmdstat_config|resetstat"}
