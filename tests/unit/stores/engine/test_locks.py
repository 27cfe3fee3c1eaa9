"""In which order the engine locks, what it never waits for, and that it decides only on what it has locked."""

from __future__ import annotations

import pytest
from tests.unit.stores.engine.stores import NODES, RUNS, SCHEDULES, InterruptedStore, RecordingStore

from onthedot.model.graph import BROADCAST
from onthedot.model.run import Run, for_limit
from onthedot.model.states import State
from onthedot.model.step_status import statuses
from onthedot.model.values import replace
from onthedot.moments import from_ms
from onthedot.rules import edits
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, HOUR, LEASE_MS, MINUTE, SECOND, START_MS, Scene
from onthedot.triggers.at import at

ORDER = (SCHEDULES, NODES, RUNS)


def recorded() -> tuple[Scene, RecordingStore]:
    clock = ManualClock(START_MS)
    store = RecordingStore(clock)
    return Scene(store, clock), store


# the order


def everything(scene: Scene) -> None:
    """A bit of all that nodes and people do, with runs that wait behind slots and limits."""
    one, two = scene.node("one"), scene.node("two")
    run = scene.running(one, retries=3, backoff_ms=SECOND, grace_ms=HOUR, limit=None)
    scene.put("cover", overlap="cover")
    scene.put("limited", limit="g:1", overlap="concurrent")
    scene.put("everywhere", route="broadcast", overlap="cover")
    scene.trigger("by-hand")
    for _ in range(3):
        scene.wait(MINUTE)
        scene.renew(one)
        scene.renew(two)
        scene.plan(one, free=2)
        for node in (two, one):
            scene.start(node)
    scene.end(run, "failed")
    for each in scene.store.runs(state=State.RUNNING):
        if each.owner == two:
            scene.end(each, "handed_back")
    scene.store.sweep()
    scene.store.reroute()
    scene.plan_one(one, scene.schedule())
    scene.store.request_cancel("by-hand", "no", BY)
    scene.store.retry("by-hand", scene.run("by-hand").claim_no, BY)
    scene.edit(edits.pause(None), "limited")
    scene.edit(edits.resume(), "limited")
    scene.start(one)
    scene.wait(LEASE_MS)
    scene.renew(two)
    renewals = {node.id: node.renewals for node in scene.store.nodes()}
    assert scene.store.take_over(one, renewals[one])
    scene.start(two)
    scene.store.leave(two)
    scene.edit(edits.delete(), "cover")


def test_schedules_are_locked_before_nodes_and_nodes_before_runs() -> None:
    scene, store = recorded()
    everything(scene)
    for locks in store.transactions:
        furthest = 0
        for what, waits in locks:
            rank = ORDER.index(what)
            assert rank >= furthest or not waits, f"{what} after {ORDER[furthest]}: {locks}"
            furthest = max(furthest, rank)


@pytest.mark.parametrize("stage", ["plan", "plan one", "start"])
def test_planning_and_starting_wait_for_nobody_s_schedules(stage: str) -> None:
    locks = _locks_of(stage)
    assert all(not waits for what, waits in locks if what is SCHEDULES), locks


@pytest.mark.parametrize("stage", ["plan", "plan one"])
def test_planning_waits_for_no_run(stage: str) -> None:
    """A user's open transaction around `ctx.complete` has its run locked for as long as it likes."""
    locks = _locks_of(stage)
    assert (RUNS, False) in locks, "it has ended a run that gave way"
    assert (RUNS, True) not in locks


def _locks_of(stage: str) -> list[tuple[str, bool]]:
    scene, store = recorded()
    node = scene.node()
    scene.running(node)
    scene.wait(MINUTE)
    scene.plan(node)
    scene.trigger("by-hand")
    scene.wait(MINUTE)
    schedule = scene.schedule()
    scene.start(node, tasks=["none"])  # it asks for the group of the node, once
    store.transactions.clear()
    match stage:
        case "plan":
            scene.plan(node, free=1)
        case "plan one":
            scene.plan_one(node, schedule)
        case _:
            scene.start(node)
    return store.transactions[0]


# what is decided rests on what is locked


@pytest.fixture
def store() -> InterruptedStore:
    return InterruptedStore(ManualClock(START_MS))


@pytest.fixture
def scene(store: InterruptedStore) -> Scene:
    clock = store._read_clock
    assert isinstance(clock, ManualClock)
    return Scene(store, clock)


def test_a_run_that_was_cancelled_before_it_was_locked_is_not_started(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    scene.put()
    run = scene.trigger("by-hand")
    store.before["live_runs"] = lambda: _cancel(scene, run)
    assert scene.start(node) == []
    assert scene.run(run).state is State.CANCELLED


def _cancel(scene: Scene, run: Run) -> None:
    scene.store.request_cancel(run.id, "just now", BY)


def test_a_run_that_began_before_it_was_locked_is_not_ended_by_an_older_plan(
    scene: Scene, store: InterruptedStore
) -> None:
    node = scene.node()
    scene.put()
    scene.wait(MINUTE)
    (late,) = scene.plan(node)
    scene.wait(MINUTE)
    begun = replace(late, state=State.RUNNING, owner=node, claim_no=1, attempt=1)
    store.before["live_runs_if_free"] = lambda: store.write(begun)
    planned = scene.planned(node)
    assert scene.run(late) == begun
    assert (planned.effects, planned.passed_over) == ((), True), "it is decided again"
    assert [run.blocked for run in scene.plan(node)] == [True]


def test_a_pause_that_races_with_a_start_decides_again(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    scene.put()
    scene.wait(MINUTE)
    (run,) = scene.plan(node)
    begun = replace(run, state=State.RUNNING, owner=node, claim_no=1, attempt=1)
    store.before["live_runs"] = lambda: store.write(begun)
    _, affected = scene.edit(edits.pause(None))
    assert (affected.skipped, affected.running) == (0, 1)
    assert scene.run(run) == begun


def test_a_broadcast_that_is_asked_to_stop_knows_which_shards_have_ended(scene: Scene, store: InterruptedStore) -> None:
    one, two = scene.node("one"), scene.node("two")
    scene.put(route="broadcast", overlap="cover")
    scene.wait(MINUTE)
    (whole,) = scene.plan(one)
    (first,), (second,) = scene.start(one), scene.start(two)
    scene.wait(MINUTE)
    store.before["live_runs_if_free"] = lambda: _end(scene, first)
    scene.plan(one)
    (step,) = statuses(BROADCAST, scene.run(whole).ledger)
    assert (step.ended, scene.store.cancels(two)) == (1, [second.id])


def test_a_run_that_ended_before_it_was_locked_is_not_asked_to_stop(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    holder = scene.running(node, overlap="cover")
    scene.wait(MINUTE)
    store.before["live_runs_if_free"] = lambda: _end(scene, holder)
    (newer,) = scene.plan(node)
    assert scene.run(holder).state is State.SUCCEEDED
    assert [run.id for run in scene.start(node)] == [newer.id], "left behind a slot that had just come free"


def _end(scene: Scene, run: Run) -> None:
    scene.end(run)


def test_who_was_judged_otherwise_since_it_was_read_is_not_woken(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    first = scene.running(node)
    scene.trigger("by-hand")
    scene.start(node)
    judged = replace(scene.run("by-hand"), waits_for=for_limit("elsewhere"))
    store.before["are_awaited"] = lambda: store.before.update(live_runs=lambda: store.write(judged))
    scene.end(first)
    assert scene.run("by-hand") == judged


def test_a_takeover_gives_back_also_what_the_node_began_just_before(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    run = scene.running(node)
    scene.put("other")
    other = scene.trigger("by-hand", "other")
    begun = replace(other, state=State.RUNNING, owner=node, claim_no=1, attempt=1)
    store.before["node"] = lambda: store.write(begun)
    assert {each.id for each in scene.kill(node)} == {run.id, other.id}


def test_a_put_while_the_last_run_ends_is_not_removed(scene: Scene, store: InterruptedStore) -> None:
    run = scene.running(scene.node(), trigger=at(from_ms(START_MS + MINUTE)), auto_remove=True)
    store.before["lock_schedules"] = lambda: _put(scene)
    scene.end(run)
    assert scene.schedule().next_run_ms is not None


def _put(scene: Scene) -> None:
    scene.put(auto_remove=True)
