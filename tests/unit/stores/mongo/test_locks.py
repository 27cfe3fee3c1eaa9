"""What the engine takes for locked is as good as locked: who changes it meanwhile is seen, and it is judged anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from onthedot import at, every
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.moments import from_ms
from onthedot.rules import edits
from onthedot.rules.effects import Before, Edit, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.engine.changing import change
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.mongo.transaction import MongoTransaction
from onthedot.stores.open import open_store
from onthedot.stores.transaction import Transaction, TryAgain
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
MINUTE = 60_000
BY = Author("test", "test", "put")
Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(mongodb_url: str, clock: ManualClock) -> Iterator[MongoStore]:
    store = open_store(mongodb_url, create=True, now_ms=clock)
    assert isinstance(store, MongoStore)
    store.join(Node("n", "n", tasks=("task",), lease_ms=MINUTE), [])
    store.join(Node("m", "m", tasks=("task",)), [])
    yield store
    store.close()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let something happen before the next transaction that has locked a schedule is sent."""

    def happens(act: Callable[[], object]) -> None:
        finish = MongoTransaction.finish

        def act_and_finish(tx: MongoTransaction) -> None:
            if tx._locked:
                monkeypatch.setattr(MongoTransaction, "finish", finish)
                act()
            finish(tx)

        monkeypatch.setattr(MongoTransaction, "finish", act_and_finish)

    return happens


def _put(store: MongoStore, name: str = "a", **fields: Any) -> None:
    store.change([name], edits.put(edits.Definition("task", **{"trigger": every("1m"), **fields})), BY)


def _at_once(store: MongoStore, edit: Edit) -> None:
    """A change that waits for nobody who has reserved the schedule: that is left to the clash."""
    with store._begun(5, "a person") as tx:
        change(tx, ["a"], edit, BY)


def _decider(clock: ManualClock) -> Decider:
    return Decider(lambda: new_id(clock()))


def _running(store: MongoStore, clock: ManualClock, **policy: Any) -> Run:
    """The first run of a schedule, on the node n."""
    _put(store, policy=Policy(**policy))
    clock.pass_by(MINUTE)
    planned = store.plan_due("n", 10, 1, _decider(clock))
    (run,) = (run for effects in planned.effects for run in effects.runs)
    assert run.owner == "n"
    return run


def _outcome(run: Run, ending: Any = "succeeded") -> Outcome:
    return Outcome(run.id, run.claim_no, ending)


# schedules

LOCKS: dict[str, Callable[[Transaction, Schedule], object]] = {
    "waiting for others": lambda tx, schedule: tx.lock_schedules([schedule.id]),
    "by name": lambda tx, schedule: tx.schedules_named([schedule.name]),
    "if free": lambda tx, schedule: tx.schedules_if_free([schedule.id]),
    "due": lambda tx, schedule: tx.due_schedules(10, START_MS)[0],
}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_schedule_that_a_decision_rests_on_is_as_good_as_locked(
    store: MongoStore, clock: ManualClock, lock: Callable[[Transaction, Schedule], object]
) -> None:
    _put(store)
    clock.pass_by(MINUTE)
    (schedule,) = store.schedules()

    def insert_a_tick_while_it_is_paused() -> None:
        with store.begin() as tx:
            assert lock(tx, schedule)
            _at_once(store, edits.pause(None))
            tx.save_runs([Run("r", "task", "tick", START_MS, START_MS, schedule_id=schedule.id, schedule="a")])

    with pytest.raises(TryAgain):
        insert_a_tick_while_it_is_paused()
    assert store.runs() == []


def test_a_write_of_what_is_there_already_still_clashes_with_others(store: MongoStore) -> None:
    _put(store)
    store._nodes = 1  # alone, it reserves nothing, which would be a change by itself

    def write_the_same_while_it_is_paused() -> None:
        with store.begin() as tx:
            same = tx.schedules_named(["a"])
            _at_once(store, edits.pause(None))
            tx.save_schedules(list(same.values()))

    with pytest.raises(TryAgain):
        write_the_same_while_it_is_paused()


def test_a_run_that_fails_while_its_schedule_is_paused_waits_for_the_resume(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    run = _running(store, clock, retries=1)
    meanwhile(lambda: _at_once(store, edits.pause(None)))
    store.finish("n", [_outcome(run, "failed")])
    assert store.runs()[0].waits_for == f"resume:{run.schedule_id}"


def test_a_run_that_is_given_back_while_its_schedule_is_paused_waits_for_the_resume(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    run = _running(store, clock)
    clock.pass_by(MINUTE)
    meanwhile(lambda: _at_once(store, edits.pause(None)))
    assert [each.id for each in store.take_over("n", 0)] == [run.id]
    assert store.runs()[0].waits_for == f"resume:{run.schedule_id}"


def test_a_run_does_not_start_when_its_schedule_is_paused_meanwhile(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    _put(store)
    clock.pass_by(MINUTE)
    store.plan_due("n", 10, 0, _decider(clock))
    meanwhile(lambda: _at_once(store, edits.pause(None)))
    assert store.start_due("n", ["task"], 10).runs == ()
    assert [(run.state, run.reason) for run in store.runs()] == [(State.SKIPPED, "paused")]


def test_a_put_while_a_schedule_removes_itself_is_not_lost(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    _put(store, trigger=at(from_ms(START_MS + MINUTE)), auto_remove=True)
    clock.pass_by(MINUTE)
    (effects,) = store.plan_due("n", 10, 1, _decider(clock)).effects
    meanwhile(lambda: _at_once(store, edits.put(edits.Definition("task", every("1m"), auto_remove=True))))
    store.finish("n", [_outcome(effects.runs[0])])
    assert [schedule.name for schedule in store.schedules()] == ["a"]


def test_a_run_by_hand_while_a_schedule_removes_itself_is_run_before_it_goes(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    _put(store, trigger=at(from_ms(START_MS + MINUTE)), auto_remove=True)
    (schedule,) = store.schedules()
    clock.pass_by(MINUTE)
    (effects,) = store.plan_due("n", 10, 1, _decider(clock)).effects
    by_hand = Run("by hand", "task", "manual", clock(), clock(), schedule_id=schedule.id, schedule="a")
    meanwhile(lambda: store.enqueue([by_hand]))
    store.finish("n", [_outcome(effects.runs[0])])
    assert len(store.schedules()) == 1
    (run,) = store.start_due("n", ["task"], 10).runs
    store.finish("n", [_outcome(run)])
    assert store.schedules() == []


# runs


def test_planning_is_not_thrown_out_by_the_end_of_a_run_that_it_only_read(
    store: MongoStore, clock: ManualClock
) -> None:
    holder = _running(store, clock)
    clock.pass_by(MINUTE)
    decided: list[int] = []

    def decide_while_the_holder_ends(befores: Sequence[Before], situation: Situation) -> list[Effects]:
        decided.append(len(befores))
        store.finish("n", [_outcome(holder)])
        return _decider(clock)(befores, situation)

    planned = store.plan_due("n", 10, 0, decide_while_the_holder_ends)
    assert [len(effects.runs) for effects in planned.effects] == [1]
    assert decided == [1], "once: nothing was decided anew"
    assert len(store.start_due("n", ["task"], 10).runs) == 1, "and what it left behind its holder was woken"


def test_a_run_that_was_left_behind_a_slot_while_its_holder_ended_is_woken(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    holder = _running(store, clock)
    later = Run("later", "task", "manual", clock(), clock(), schedule_id=holder.schedule_id, schedule="a")
    store.enqueue([later])
    meanwhile(lambda: store.finish("n", [_outcome(holder)]))
    assert store.start_due("n", ["task"], 10).runs == (), "it was judged beside its holder"
    assert not store.runs(ids=["later"])[0].blocked
    assert [run.id for run in store.start_due("n", ["task"], 10).runs] == ["later"]


def test_a_run_that_is_cancelled_while_it_starts_does_not_start(
    store: MongoStore, clock: ManualClock, meanwhile: Meanwhile
) -> None:
    _put(store)
    clock.pass_by(MINUTE)
    store.plan_due("n", 10, 0, _decider(clock))
    (run,) = store.runs()
    meanwhile(lambda: store.request_cancel(run.id, "not now", BY))
    assert store.start_due("n", ["task"], 10).runs == ()
    assert store.runs()[0].state is State.CANCELLED


# nodes


def test_a_node_that_is_declared_dead_while_it_claims_runs_does_not_get_them(
    store: MongoStore, clock: ManualClock
) -> None:
    store.enqueue([Run("run", "task", "enqueue", START_MS, START_MS)])
    clock.pass_by(MINUTE)

    def claim_while_it_is_taken_over() -> None:
        with store.begin() as tx:
            claimed = _claimed(tx, "run")
            store.take_over("n", 0)
            tx.save_runs([claimed])

    with pytest.raises(TryAgain):
        claim_while_it_is_taken_over()
    assert store.runs()[0].state is State.WAITING


def test_two_transactions_of_one_node_that_claim_different_runs_do_not_clash(store: MongoStore) -> None:
    store.enqueue([Run(run_id, "task", "enqueue", START_MS, START_MS) for run_id in ("a", "b")])
    with store.begin() as tx, store.begin() as other:
        tx.save_runs([_claimed(tx, "a")])
        other.save_runs([_claimed(other, "b")])
    assert {run.state for run in store.runs()} == {State.RUNNING}


def _claimed(tx: Transaction, run_id: str) -> Run:
    node = tx.node_shared("n")
    assert node is not None
    return replace(tx.live_runs([run_id])[run_id], state=State.RUNNING, owner=node.id, claim_no=1)


# those who wait


def test_who_waits_for_a_schedule_keeps_the_others_that_it_needs(store: MongoStore, clock: ManualClock) -> None:
    _put(store, "a")
    _put(store, "b")
    clock.pass_by(MINUTE)
    first, second = (schedule.id for schedule in store.schedules())

    def take_both(tries: int) -> list[str]:
        with store._begun(tries, "who waits") as tx:
            return sorted(tx.lock_schedules([first, second]))

    with store._begun(0, "who works") as tx:
        assert list(tx.schedules_if_free([first])) == [first]
        with pytest.raises(TryAgain, match="others work"):
            take_both(0)
        planned = store.plan_due("m", 10, 0, _decider(clock))
        assert planned.effects == ()
        assert planned.passed_over
    assert take_both(1) == sorted([first, second])
    assert len(store.plan_due("m", 10, 0, _decider(clock)).effects) == 2, "nothing is reserved any more"


def test_who_has_waited_long_enough_no_longer_does(store: MongoStore, clock: ManualClock) -> None:
    _put(store)
    (schedule,) = store.schedules()
    with store._begun(0, "somebody who hangs") as tx:
        assert tx.schedules_if_free([schedule.id])
        store.change(["a"], edits.pause(None), BY)
    assert not store.schedules()[0].enabled
