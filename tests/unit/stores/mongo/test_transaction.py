"""The same rows give the same answers as in memory, whatever waits for whatever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from onthedot.model.decision import Decision
from onthedot.model.policy import Policy
from onthedot.model.run import Run, for_limit, for_slot
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.engine import Engine
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.stores.transaction import Claim, Transaction
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
SCHEDULES = [
    Schedule("s0", "serial", "job", {}),
    Schedule("s1", "catches up", "job", {}, policy=Policy(misfire="catch_up", max_catch_up=3)),
    Schedule("s2", "any number", "job", {}, policy=Policy(overlap="concurrent")),
    Schedule("s3", "three", "job", {}, policy=Policy(overlap="concurrent", max_concurrent_runs=3)),
    Schedule("s4", "idle", "job", {}),
]
TASKS = tuple(f"task {number}" for number in range(50))
CLAIMS = [
    Claim("n0", None, TASKS[:1]),
    Claim("n0", None, TASKS),
    Claim("n0", "east", TASKS[:20], ("fast",), TASKS[:30]),
    Claim("n1", "west", (), ("fast", "slow"), TASKS[30:]),
    Claim("n2", "east", TASKS, (), TASKS),
    Claim("n3", None, ("unheard of",)),
]
Both = tuple[Transaction, Transaction]


@pytest.fixture(params=range(3))
def both(request: pytest.FixtureRequest, mongodb_url: str) -> Iterator[Both]:
    """A transaction in memory and one on MongoDB, over the same rows."""
    clock, dice = ManualClock(START_MS), Random(request.param)
    runs = [_any_run(number, dice) for number in range(1500)]
    memory = MemoryStore(clock)
    with closing(open_store(mongodb_url, create=True, now_ms=clock)) as mongo:
        assert isinstance(mongo, Engine)
        for store in (memory, mongo):
            with store.begin() as tx:
                tx.save_schedules(SCHEDULES)
                tx.save_runs(runs)
        with memory.begin() as expected, mongo.begin() as found:
            yield expected, found


def _any_run(number: int, dice: Random) -> Run:
    schedule = dice.choice([None, *SCHEDULES[:4]])
    running = dice.random() < 0.2
    pool, group = dice.choice([None, "fast", "slow"]), dice.choice([None, None, "east", "west"])
    policy = Policy(pool=pool, group=group, priority=dice.choice([0, 0, 0, 5, -3]), limit="g:2")
    what = dice.choice([None, for_limit("g"), for_slot("s0"), for_slot('"odd"\n')])
    due_ms = START_MS + dice.randrange(-600_000, 200_000)
    return Run(
        f"run {number}",
        dice.choice(TASKS),
        "manual",
        due_ms,
        due_ms,
        State.RUNNING if running else State.WAITING,
        policy=policy,
        schedule_id=None if schedule is None else schedule.id,
        schedule=None if schedule is None else schedule.name,
        target=dice.choice([None, None, "n0", "n1"]),
        owner=f"n{number % 3}" if running else None,
        waits_for=None if running else what,
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=range(len(CLAIMS)))
def test_due_runs_are_those_that_the_claim_takes_the_foremost_first(
    both: Both, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, found = both
    for most in (1, 5, 40, 1000):
        runs = expected.due_runs(claim, most)
        assert found.due_runs(claim, most) == runs
        with monkeypatch.context() as patch:
            patch.setattr("onthedot.stores.mongo.candidates._QUEUES_AT_ONCE", 7)
            assert found.due_runs(claim, most) == runs


def test_what_is_live_beside_schedules_is_all_that_counts(both: Both) -> None:
    expected, found = both
    wanted, live = expected.live_beside(SCHEDULES), found.live_beside(SCHEDULES)
    assert live.keys() == wanted.keys() == {"s0", "s1", "s2", "s3"}
    for schedule_id in live:
        assert live[schedule_id].more == wanted[schedule_id].more
        assert _waiting(live[schedule_id].runs) == _waiting(wanted[schedule_id].runs)
    for schedule_id in ("s0", "s1", "s3"):
        assert _running(live[schedule_id].runs) == _running(wanted[schedule_id].runs)
    assert _running(live["s2"].runs)
    assert found.live_of([each.id for each in SCHEDULES]) == expected.live_of([each.id for each in SCHEDULES])


def _waiting(runs: tuple[Run, ...]) -> list[Run]:
    return [run for run in runs if run.state is State.WAITING]


def _running(runs: tuple[Run, ...]) -> set[str]:
    return {run.id for run in runs if run.state is State.RUNNING}


def test_who_waits_for_what_is_told_in_turn(both: Both) -> None:
    expected, found = both
    whats = expected.awaited(100)
    assert len(whats) == 3
    for most in (1, 2, 3, 4):
        assert found.awaited(most) == whats[:most]
        assert found.awaited(most, whats[0]) == whats[1:][:most]
    assert found.are_awaited([*whats, "slot:other"]) == set(whats)
    for what in whats:
        for most in (1, 7, 1000):
            assert found.waiting_for(what, most) == expected.waiting_for(what, most)


def test_what_nobody_waits_for_yet_is_not_awaited(both: Both) -> None:
    _, found = both
    for number, priority in enumerate((0, 0, 9)):
        run = Run(f"later {number}", "job", "enqueue", 0, START_MS + 1, policy=Policy(priority=priority))
        found.save_runs([_waits(run, f"success:{number}")])
    due = Run("due", "job", "enqueue", 0, START_MS, policy=Policy(priority=5))
    found.save_runs([_waits(due, "success:0")])
    assert found.awaited(100, "success:") == ["success:0"], "one of another level of priority is due"
    assert found.are_awaited(["success:1"]) == {"success:1"}


def _waits(run: Run, what: str) -> Run:
    return Run(**{**run.__dict__, "waits_for": what})


def test_load_owners_and_routed_runs_are_counted_alike(both: Both) -> None:
    expected, found = both
    assert found.load() == expected.load()
    assert found.owners() == expected.owners() == {"n0", "n1", "n2"}
    for most in (1, 10, 1000):
        assert found.routed_runs(most) == expected.routed_runs(most)
    ids = ["run 1", "run 2", "run 3", "none"]
    assert found.schedules_of(ids) == expected.schedules_of(ids)
    assert found.summaries(["s0", "s9"]) == expected.summaries(["s0", "s9"])


def test_a_run_that_was_read_is_as_it_was_written_since(both: Both) -> None:
    _, found = both
    (run,) = found.live_runs(["run 1"]).values()
    found.save_runs([_waits(run, "resume:s1")])
    assert found.live_runs(["run 1"])["run 1"].waits_for == "resume:s1"
    assert "run 1" in {each.id for each in found.waiting_for("resume:s1", 10)} or run.due_ms > START_MS
    found.end_runs([run])
    assert found.live_runs(["run 1"]) == {}
    assert list(found.ended_runs(["run 1"])) == ["run 1"]


def test_the_newest_decision_of_each_schedule_grows(both: Both) -> None:
    for tx in both:
        tx.save_decisions([_decision(f"{number}", f"s{number % 2}") for number in range(6)])
        last = tx.last_decisions(["s0", "s1", "s2"])
        assert {each: last[each].id for each in last} == {"s0": "4", "s1": "5"}
        tx.save_decisions([_decision("4", "s0", count=9), _decision("6", "s1")])
        last = tx.last_decisions(["s0", "s1"])
        assert {each: (last[each].id, last[each].count) for each in last} == {"s0": ("4", 9), "s1": ("6", 1)}


def _decision(decision_id: str, schedule_id: str, count: int = 1) -> Decision:
    return Decision(decision_id, schedule_id, "name", 1, "misfire", 0, 1, count, START_MS)
