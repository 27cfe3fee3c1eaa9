"""A node's part of the promises, step by step: no threads but the workers', and a clock that is moved by hand."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest
from tests.patience import LONGEST_S
from tests.unit.node.world import START, Place, World
from tests.unit.stores.engine.stores import RefusingStore

from onthedot import Context, every
from onthedot.errors import StoreUnavailable
from onthedot.events import Failure, LeaseLost, OutcomeRefused, TookOver
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.node.agenda import LOOK_AGAIN_MS, Result
from onthedot.node.garbage import CROWD, HELD_FOR_MS
from onthedot.node.node import NodeRunner
from onthedot.node.planning_pass import LONGEST_TURN_MS, MOST_LIMITED
from onthedot.node.settings import NodeSettings
from onthedot.stores.answers import Planned, Renewal
from onthedot.stores.memory import _MemoryTransaction


@pytest.fixture
def world() -> World:
    return World()


def declare(world: World, action: Callable[[], object] = lambda: None) -> list[int]:
    calls: list[int] = []

    @world.app.schedule(every("10s"))
    def tick() -> None:
        calls.append(world.clock.now_ms())
        action()

    world.app.sync()
    return calls


def test_a_node_that_never_joined_stops_without_a_word(world: World) -> None:
    node = world.node(joined=False)
    assert node.stop()
    assert world.events == []


def test_a_tick_runs_at_its_moment_and_not_before(world: World) -> None:
    calls = declare(world)
    node = world.node()
    node.plan_once()
    world.clock.advance(9_999)
    node.plan_once()
    assert calls == []
    world.clock.advance(1)
    node.plan_once()
    world.settle(node)
    assert calls == [START + 10_000]
    assert [run.state for run in world.runs()] == ["succeeded"]


def test_a_node_says_how_long_nothing_will_be_due(world: World) -> None:
    declare(world)
    node = world.node()
    world.clock.advance(9_000)
    node.plan_once()
    assert node.plan_once() == 1000


def test_a_tick_is_planned_at_its_moment_however_long_planning_the_one_before_took(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.app.schedule(every("1s"), name="tick")(lambda: None)
    world.app.sync()
    node = world.node()
    began: list[int] = []

    def slow(plan: Callable[..., Planned]) -> Callable[..., Planned]:
        def plan_slowly(*args: Any) -> Planned:
            began.append(world.clock.now_ms())
            world.clock.advance(400)
            return plan(*args)

        return plan_slowly

    for road in ("plan_due", "plan_ahead"):
        monkeypatch.setattr(world.store, road, slow(getattr(world.store, road)))
    for _ in range(10):
        wait_ms = node.plan_once()
        world.settle(node)
        assert wait_ms is not None
        world.clock.advance(wait_ms)
    assert {START + second * 1000 for second in range(2, 6)} <= set(began)


def test_of_two_nodes_one_runs_the_tick(world: World) -> None:
    calls = declare(world)
    nodes = [world.node("a"), world.node("b")]
    world.clock.advance(10_000)
    for node in nodes:
        node.plan_once()
    world.settle(*nodes)
    assert len(calls) == len(world.runs()) == 1


@pytest.mark.parametrize("waiting", [False, True], ids=["plan", "start"])
def test_a_run_whose_answer_was_lost_is_executed_once_at_the_next_heartbeat(world: World, waiting: bool) -> None:
    calls = declare(world)
    node = world.node()
    if waiting:
        world.app.schedules.trigger("tick")
    else:
        world.clock.advance(10_000)
    world.store.lose = 1
    with pytest.raises(ConnectionResetError):
        node.plan_once()
    node.heartbeat_once()
    world.settle(node)
    node.heartbeat_once()
    world.settle(node)
    assert len(calls) == 1
    assert [run.state for run in world.runs()] == ["succeeded"]


def test_a_run_that_began_and_ended_while_a_renewal_was_under_way_is_not_begun_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    renew = world.store.renew

    def renew_slowly(of: Node) -> Renewal:
        """The store answers; before that arrives, a run begins and ends here, and its outcome is not written yet."""
        renewal = renew(of)
        if not calls:
            world.app.enqueue("work")
            node.wake()
            node.plan_once()
            assert node.worker._empty.wait(LONGEST_S)
        return renewal

    monkeypatch.setattr(world.store, "renew", renew_slowly)
    node.heartbeat_once()
    node.heartbeat_once()
    world.settle(node)
    assert calls == [1]
    assert [str(run.state) for run in world.runs()] == ["succeeded"]


@pytest.mark.parametrize("recorded", [False, True])
def test_a_run_that_began_and_ended_while_an_answer_was_carried_out_is_not_begun_again(
    world: World, monkeypatch: pytest.MonkeyPatch, *, recorded: bool
) -> None:
    """Its outcome is still to be written at the next renewal, or is written while that is under way."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    begin, renew = node.worker.begin, world.store.renew

    def begin_and_end(*runs: Run) -> None:
        """What was compared is a moment old: a run begins and ends here, and the store is away for its outcome."""
        monkeypatch.setattr(node.worker, "begin", begin)
        begin(*runs)
        world.app.enqueue("work")
        node.wake()
        node.plan_once()
        assert node.worker._empty.wait(LONGEST_S)

    def renew_slowly(of: Node) -> Renewal:
        renewal = renew(of)
        if calls and recorded:
            node.write_once()
        return renewal

    monkeypatch.setattr(node.worker, "begin", begin_and_end)
    monkeypatch.setattr(world.store, "renew", renew_slowly)
    for _ in range(3):
        node.heartbeat_once()
        assert node.worker._empty.wait(LONGEST_S)
    world.settle(node)
    assert calls == [1]
    assert [str(run.state) for run in world.runs()] == ["succeeded"]


def test_the_runs_of_a_dead_node_are_taken_over_after_one_lease_and_not_before(world: World) -> None:
    stuck = Event()
    calls = declare(world, stuck.wait)
    dead, alive = world.node("same name"), world.node("same name")
    world.clock.advance(10_000)
    dead.plan_once()
    for _ in range(3):
        alive.heartbeat_once()
        world.clock.advance(10_000)
    assert [run.owner for run in world.runs() if run.state == "running"] == [dead.node.id]
    alive.heartbeat_once()
    world.clock.advance(10_000)
    alive.heartbeat_once()
    stuck.set()
    alive.plan_once()
    world.settle(alive)
    again = next(run for run in world.runs() if run.scheduled_ms == START + 10_000)
    assert (again.state, again.attempt, again.crashes, again.owner) == ("succeeded", 2, 1, alive.node.id)
    assert len(calls) >= 2


def test_what_a_dead_node_ran_is_done_one_after_the_other_without_a_pause(world: World) -> None:
    stuck = Event()
    world.app.task(name="work")(lambda: stuck.wait(LONGEST_S))
    dead, alive = world.node("dead"), world.node("alive")
    for _ in range(8):
        world.app.enqueue("work")
    dead.plan_once()
    for _ in range(5):
        alive.heartbeat_once()
        world.clock.advance(10_000)
    stuck.set()
    alive.plan_once()
    for _ in range(8):
        under_way = alive.worker.executing() or alive._outcomes.pending()
        assert alive.goes_on or under_way, "it waits for the next poll"
        world.settle(alive)
        if alive.goes_on:
            alive.plan_once()
    assert [run.state for run in world.runs()] == ["succeeded"] * 8


def test_a_superseded_node_cannot_record_and_goes_on_as_another(world: World) -> None:
    stuck = Event()
    declare(world, stuck.wait)
    frozen, other = world.node("frozen"), world.node("other")
    world.clock.advance(10_000)
    frozen.plan_once()
    run_id = world.runs()[0].id
    old_id = frozen.node.id
    for _ in range(5):
        other.heartbeat_once()
        world.clock.advance(10_000)
    assert world.app.runs.get(run_id).state == "waiting"
    stuck.set()
    assert frozen.worker._empty.wait(LONGEST_S)
    frozen.write_once()
    assert world.app.runs.get(run_id).state == "waiting", "the outcome of a dead node was recorded"
    frozen.heartbeat_once()
    assert frozen.node.id != old_id
    assert frozen.heartbeat_once() is not None
    told = [event for event in world.events if isinstance(event, TookOver | OutcomeRefused | LeaseLost)]
    assert told == [TookOver(old_id, 1, "frozen"), OutcomeRefused(run_id), LeaseLost(old_id, "frozen", 0)]


def test_a_node_that_cannot_renew_stops_its_runs_before_another_may_take_them(world: World) -> None:
    stuck = Event()
    declare(world, stuck.wait)
    node = world.node()
    world.clock.advance(10_000)
    node.plan_once()
    assert node.worker.executing()
    world.store.away = True
    world.clock.advance(26_000)
    with pytest.raises(StoreUnavailable):
        node.heartbeat_once()
    node.watch_lease_once()
    assert node.worker.executing() == {}
    assert node.plan_once() is not None, "a node that is cut off plans nothing, and waits"
    stuck.set()


def test_a_node_whose_renewal_is_not_answered_stops_its_runs_before_another_may_take_them(world: World) -> None:
    entered, stopped = Event(), Event()

    @world.app.task
    def work(ctx: Context) -> None:
        entered.set()
        while not ctx.cancelled:
            stopped.wait(0.001)
        stopped.set()

    node = world.node()
    world.app.enqueue(work)
    node.plan_once()
    assert entered.wait(LONGEST_S)
    assert node.watch_lease_once() <= 1000  # the heartbeat waits for an answer from now on
    world.clock.advance(25_000)
    node.watch_lease_once()
    assert not stopped.is_set()
    world.clock.advance(1)
    node.watch_lease_once()
    assert stopped.wait(LONGEST_S)


def test_a_node_that_waits_for_an_answer_about_its_tasks_stops_its_runs_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, left = Event(), []
    world.app.task(name="work")(lambda: done.wait(2 * LONGEST_S) and None)
    node = world.node()
    world.app.enqueue("work")
    node.plan_once()
    join = world.store.join

    def says_nothing_for_long(*args: Any) -> Node:
        world.clock.advance(26_000)
        watch = Thread(target=node.watch_lease_once, daemon=True)
        watch.start()
        watch.join(LONGEST_S)
        left.append(node.worker.executing())
        return join(*args)

    monkeypatch.setattr(world.store, "join", says_nothing_for_long)
    node.publish_tasks()
    done.set()
    assert left == [{}]


def test_what_was_never_entered_is_handed_back_when_the_node_drains(world: World) -> None:
    blocker, entered = Event(), Event()

    @world.app.task
    def long() -> None:
        entered.set()
        blocker.wait(LONGEST_S)

    fresh = world.node()
    fresh.worker._threads["fast"].size = 1  # no further thread is made: the second waits in the queue
    first = world.app.enqueue(long)
    fresh.plan_once()
    assert entered.wait(LONGEST_S)
    second = world.app.enqueue(long)
    fresh.wake()
    fresh.plan_once()
    fresh.worker.hand_back()
    fresh.write_once()
    given_back = world.app.runs.get(second.id)
    assert (given_back.state, given_back.attempt, given_back.claim_no) == ("waiting", 0, 2)
    blocker.set()
    world.settle(fresh)
    assert world.app.runs.get(first.id).state == "succeeded"


def test_two_nodes_with_a_local_schedule_beside_a_durable_one_run_each_tick_once(world: World) -> None:
    seen: list[str] = []

    @world.app.schedule(every("10s"), mode="local")
    def local() -> None:
        seen.append("local")

    @world.app.schedule(every("10s"))
    def durable() -> None:
        seen.append("durable")

    world.app.sync()
    nodes = [world.node("a"), world.node("b")]
    for _ in range(3):
        world.clock.advance(10_000)
        for node in nodes:
            node.heartbeat_once()
            node.plan_once()
        world.settle(*nodes)
    assert sorted(seen) == ["durable"] * 3 + ["local"] * 3
    assert len(world.runs()) == 6


def test_a_paused_local_schedule_does_not_fire_and_is_resumed(world: World) -> None:
    seen: list[int] = []

    @world.app.schedule(every("10s"), mode="local")
    def local() -> None:
        seen.append(world.clock.now_ms())

    world.app.sync()
    node = world.node()
    node.plan_once()
    world.app.schedules.pause("local")
    world.clock.advance(30_000)
    node.plan_once()
    world.settle(node)
    assert seen == []
    world.app.schedules.resume("local")
    world.clock.advance(10_000)
    node.heartbeat_once()
    node.plan_once()
    world.settle(node)
    assert seen == [START + 40_000]
    decided = world.store.decisions(world.app.schedules.get("local").id)
    assert [(each.reason, each.count) for each in decided] == [("paused", 3)]


def test_a_local_schedule_put_by_hand_is_planned_by_nodes_that_know_its_task_once_each_tick(world: World) -> None:
    seen: list[int] = []

    @world.app.task
    def work() -> None:
        seen.append(world.clock.now_ms())

    nodes = [world.node("a"), world.node("b")]
    for node in nodes:
        node.plan_once()
    world.app.schedules.put("by hand", "work", every("10s"), mode="local")
    world.app.schedules.put("nobody's", "unknown", every("10s"), mode="local", unchecked=True)
    for _ in range(3):
        world.clock.advance(10_000)
        for node in nodes:
            node.heartbeat_once()
            node.plan_once()
        world.settle(*nodes)
    assert seen == [START + 10_000, START + 20_000, START + 30_000]
    assert len(world.runs()) == 3


# cut off, and back


def test_a_node_that_was_cut_off_goes_on_as_another_and_its_runs_are_done_again(world: World) -> None:
    entered, stuck = [], Event()

    @world.app.task
    def work() -> None:
        entered.append(1)
        if len(entered) == 1:
            stuck.wait(LONGEST_S)

    node = world.node()
    run = world.app.enqueue(work)
    node.plan_once()
    old_id = node.node.id
    world.store.away = True
    world.clock.advance(26_000)
    node.watch_lease_once()
    assert node.worker.executing() == {}, "stopped before another may take it"
    with pytest.raises(StoreUnavailable):
        node.heartbeat_once()
    world.store.away = False
    node.heartbeat_once()
    assert node.node.id != old_id
    stuck.set()
    node.plan_once()
    world.settle(node)
    node.heartbeat_once()
    world.settle(node)
    again = world.app.runs.get(run.id)
    assert (again.state, again.attempt, again.crashes, len(entered)) == ("succeeded", 2, 0, 2)


def test_an_answer_that_comes_after_the_lease_was_over_is_not_believed(world: World) -> None:
    """What ran here was stopped meanwhile; renewing that incarnation would leave runs that nobody executes."""
    declare(world)
    node = world.node()
    old_id = node.node.id
    renew = world.store.renew

    def renew_slowly(row: Node) -> Renewal:
        renewal = renew(row)
        world.clock.advance(26_000)
        node.watch_lease_once()
        return renewal

    world.store.renew = renew_slowly  # type: ignore[method-assign, assignment]
    node.heartbeat_once()
    assert node.node.id != old_id


@pytest.mark.parametrize("held", [True, False], ids=["running", "waiting"])
def test_a_retry_that_restarts_here_while_a_renewal_is_under_way_is_not_stopped(world: World, held: bool) -> None:
    entered, leave = Event(), Event()
    attempts: list[int] = []

    @world.app.task(retries=1, backoff="0s")
    def work(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            leave.wait(LONGEST_S)
            raise ValueError("once more")
        entered.set()
        while not ctx.cancelled and not leave.is_set():
            leave.wait(0.001)
        assert not ctx.cancelled

    node = world.node()
    run = world.app.enqueue(work)
    node.plan_once()
    renew = world.store.renew

    def renew_slowly(row: Node) -> Renewal:
        """The store answers with the first claim, or with none; before that arrives, the second begins here."""
        leave.set()
        assert node.worker._empty.wait(LONGEST_S)
        if held:
            renewal = renew(row)
            node.write_once()
        else:
            node.write_once()
            renewal = renew(row)
        leave.clear()
        world.clock.advance(1)
        node.wake()
        node.plan_once()
        assert entered.wait(LONGEST_S)
        return renewal

    world.store.renew = renew_slowly  # type: ignore[method-assign, assignment]
    node.heartbeat_once()
    leave.set()
    world.settle(node)
    assert (world.app.runs.get(run.id).state, attempts) == ("succeeded", [1, 2])


def test_a_lost_answer_is_asked_for_at_once(world: World) -> None:
    declare(world)
    node = world.node()
    world.clock.advance(10_000)
    world.store.lose = 1
    assert not node.loops["heartbeat"].is_woken
    with pytest.raises(ConnectionResetError):
        node.plan_once()
    assert node.loops["heartbeat"].is_woken


def test_a_node_whose_store_was_emptied_declares_its_schedules_again(world: World) -> None:
    calls = declare(world)
    node = NodeRunner(
        world.store,
        world.clock,
        world.app.events,
        world.app.tasks.lookup,
        lambda: (world.app.tasks.names(), world.app.tasks.infos()),
        settings=NodeSettings(),
        declare_again=world.app._declare_again,
    )
    node.join()
    world.store._tables = type(world.store._tables)()  # restored from an empty copy, or flushed
    node.heartbeat_once()
    world.clock.advance(10_000)
    node.plan_once()
    world.settle(node)
    assert calls == [world.clock.now_ms()]


# hints


def test_a_plan_that_came_early_by_the_store_s_clock_keeps_its_hint(world: World) -> None:
    """The node's offset is wrong by 300 ms: it wakes early, finds nothing due, and must not spend the hint."""
    calls = declare(world)
    node = world.node()
    node.plan_once()
    assert node._clock._offset_ms is not None
    node._clock._offset_ms += 300
    world.clock.advance(9_700)
    wait_ms = node.plan_once()
    assert calls == []
    assert 0 < wait_ms <= 300
    world.clock.advance(300)
    node.plan_once()
    world.settle(node)
    assert calls == [START + 10_000]


def test_a_plan_that_failed_keeps_its_hints(world: World) -> None:
    calls = declare(world)
    node = world.node()
    node.plan_once()
    world.clock.advance(10_000)
    world.store.away = True
    with pytest.raises(StoreUnavailable):
        node.plan_once()
    world.store.away = False
    node.plan_once()
    world.settle(node)
    assert calls == [START + 10_000]


def test_making_a_node_touches_no_store(world: World) -> None:
    world.store.away = True
    NodeRunner(
        world.store, world.clock, world.app.events, world.app.tasks.lookup, lambda: ((), []), settings=NodeSettings()
    )


def test_a_schedule_whose_plan_the_store_refuses_is_parked_and_the_others_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = declare(world)
    world.app.schedules.put("bad", "tick", every("10s"))
    save_runs = _MemoryTransaction.save_runs

    def refuses(tx: _MemoryTransaction, runs: Sequence[Run]) -> None:
        if any(run.schedule == "bad" for run in runs):
            raise ValueError("no such character in this database")
        save_runs(tx, runs)

    monkeypatch.setattr(_MemoryTransaction, "save_runs", refuses)
    node = world.node()
    for _ in range(8):
        world.clock.advance(10_000)
        node.heartbeat_once()
        with suppress(ValueError):
            node.plan_once()
        node.wake()
        world.settle(node)
    assert "no such character" in (world.app.schedules.get("bad").error or "")
    assert len(calls) >= 5


def test_a_node_stops_cleanly_where_its_store_is_away(world: World) -> None:
    declare(world)
    node = world.node()
    world.clock.advance(10_000)
    node.plan_once()
    assert node.worker._empty.wait(LONGEST_S)
    world.store.away = True
    assert node.stop()
    failed = [event.stage for event in world.events if isinstance(event, Failure)]
    assert failed == ["stop"]


# a place that comes free


def one_at_a_time(world: Place, runs: int, work: Callable[[], object] = lambda: None) -> NodeRunner:
    """A node with one worker, on which the first of so many runs is executed."""
    world.app.task(name="work")(lambda: work() and None)
    node = world.node(settings=NodeSettings(name="node", capacity=1))
    for _ in range(runs):
        world.app.enqueue("work")
    node.plan_once()
    return node


def test_a_place_that_comes_free_is_taken_in_the_step_that_records_the_outcome(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = one_at_a_time(world, 4)
    monkeypatch.setattr(world.store, "start_due", None)
    for done in (1, 2, 3):
        world.settle(node)
        assert [run.state.value for run in world.runs()].count("succeeded") == done
    world.settle(node)
    assert [run.state for run in world.runs()] == ["succeeded"] * 4


def test_a_place_of_a_group_is_taken_in_the_step_that_frees_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    work = world.app.task(name="work", limit="few:1")(lambda: None)
    node = world.node(settings=NodeSettings(name="node", capacity=10))
    for _ in range(4):
        world.app.enqueue(work)
    node.plan_once()
    monkeypatch.setattr(world.store, "start_due", None)
    monkeypatch.setattr(world.store, "finish", None)
    for done in (1, 2, 3, 4):
        world.settle(node)
        assert [run.state.value for run in world.runs()].count("succeeded") == done


def test_while_the_planning_thread_takes_runs_outcomes_are_only_recorded(world: World) -> None:
    node = one_at_a_time(world, 2)
    with node._pass._claiming:
        world.settle(node)
    assert sorted(run.state for run in world.runs()) == ["succeeded", "waiting"]
    assert node.goes_on


def test_a_pass_that_came_while_outcomes_were_written_is_made_as_soon_as_they_are(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = one_at_a_time(world, 2)
    finish_and_start = world.store.finish_and_start

    def plan_meanwhile(*args: Any, **named: Any) -> Any:
        world.app.schedules.put("due", "work", every("10s"))
        world.clock.advance(10_000)
        node.wake()
        node.loops["plan"].step()
        return finish_and_start(*args, **named)

    monkeypatch.setattr(world.store, "finish_and_start", plan_meanwhile)
    world.settle(node)
    assert node.loops["plan"].is_woken
    assert node.worker._empty.wait(LONGEST_S)
    node.plan_once()
    assert [run.cause for run in world.runs()].count("tick") == 1


def test_a_place_that_came_free_while_a_pass_went_on_is_filled_by_the_next_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote how its run ended could not know that another waits: the pass had not said so yet."""
    node = one_at_a_time(world, 0)
    for _ in range(2):
        world.app.enqueue("work")
    start_due = world.store.start_due

    def end_meanwhile(*args: Any, **named: Any) -> Any:
        world.settle(node)  # what the pass has begun in another pool
        return start_due(*args, **named)

    monkeypatch.setattr(world.store, "start_due", end_meanwhile)
    node.wake()
    assert node.plan_once() == 0
    assert sorted(run.state for run in world.runs()) == ["succeeded", "waiting"]
    assert node.goes_on


def test_a_run_in_a_pool_that_only_its_schedule_names_is_found_without_a_word(world: World) -> None:
    """Put and triggered by another process, on a store that tells nobody."""
    world.app.task(name="work")(lambda: None)
    node = world.node(settings=NodeSettings(name="node", capacity=1))
    world.pass_by(1000, node)
    world.app.schedules.put("yearly", "work", every("365d"), pool="slow")
    world.app.schedules.trigger("yearly")
    world.pass_by(1000, node)
    assert [run.state for run in world.runs()] == ["succeeded"]


def test_a_pass_that_was_turned_away_has_looked_into_no_pool(world: World) -> None:
    node = one_at_a_time(world, 1)
    world.app.schedules.put("yearly", "work", every("365d"), pool="slow")
    world.app.schedules.trigger("yearly")
    node.wake()
    with node._pass._claiming:
        node.plan_once()
    node.plan_once()
    world.settle(node)
    assert [run.state for run in world.runs()] == ["succeeded"] * 2


def test_what_is_due_and_was_turned_away_comes_before_the_next_outcomes(world: World) -> None:
    """Else who records a stream of them would take its turn again and again."""
    node = one_at_a_time(world, 1)
    world.app.schedules.put("now", "work", every("1s"))
    world.clock.advance(1000)
    with node._pass._claiming:
        node.plan_once()
    assert node.write_once() == LOOK_AGAIN_MS
    assert node.worker._empty.wait(LONGEST_S)
    node.plan_once()
    world.settle(node)
    assert sorted(run.cause for run in world.runs()) == ["enqueue", "tick"]


def test_what_could_not_be_started_with_the_outcomes_is_looked_at_again_at_once(world: World) -> None:
    store, done = RefusingStore(world.clock.now_ms), Event()
    place = Place(world.clock, store)
    node = one_at_a_time(place, 2, lambda: done.wait(LONGEST_S))
    assert not node.goes_on
    store.refuses = lambda run: run.state is State.RUNNING
    done.set()
    place.settle(node)
    assert sorted(run.state for run in place.runs()) == ["succeeded", "waiting"]
    assert node.goes_on


@pytest.mark.parametrize("how", ["drains", "is cut off"])
def test_a_node_that_takes_no_more_only_records(world: World, how: str) -> None:
    node = one_at_a_time(world, 2)
    if how == "drains":
        node._heartbeat.is_draining = True
    else:
        world.clock.advance(25_001)
    world.settle(node)
    assert sorted(run.state for run in world.runs()) == ["succeeded", "waiting"]


def test_nobody_waits_with_an_outcome_for_a_transaction_that_may_still_be_open(world: World) -> None:
    """Of a run that its task has ended itself: who records another end of it waits for that, and takes no runs then."""

    def completes(ctx: Context) -> None:
        ctx.completed = True

    world.app.task(name="completes")(completes)
    world.app.task(name="work")(lambda: None)
    node = world.node(settings=NodeSettings(name="node", capacity=1))
    world.app.enqueue("completes")
    world.app.enqueue("work")
    node.plan_once()
    world.settle(node)
    assert sorted(run.state for run in world.runs()) == ["failed", "waiting"]
    node.plan_once()
    world.settle(node)
    assert sorted(run.state for run in world.runs()) == ["failed", "succeeded"]


def test_a_pass_does_not_forget_what_was_found_waiting_while_it_decided_ahead(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who writes outcomes, as soon as the pass lets it."""
    agenda = (node := one_at_a_time(world, 0))._pass.agenda
    monkeypatch.setattr(node._pass, "_prepare", partial(agenda.fed, more=True))
    node.wake()
    node.plan_once()
    assert agenda.is_hungry


class Claiming:
    """The lock of who takes runs, held by somebody else until it is asked for: then this happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._meanwhile()
        return True

    def release(self) -> None: ...

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None: ...


def test_a_node_that_stops_waits_for_what_is_just_being_started(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = Event()
    node = one_at_a_time(world, 0, entered.set)
    world.app.enqueue("work", delivery="at_most_once")
    monkeypatch.setattr(node._pass, "_claiming", Claiming(lambda: (node._pass._start(), entered.wait(LONGEST_S))))
    assert node.stop()
    assert [run.state for run in world.runs()] == ["succeeded"]


def test_who_comes_to_start_runs_when_the_node_has_begun_to_stop_only_records(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = one_at_a_time(world, 2)
    drain = partial(setattr, node._heartbeat, "is_draining", True)
    monkeypatch.setattr(node._pass, "_claiming", Claiming(drain))
    world.settle(node)
    assert sorted(run.state for run in world.runs()) == ["succeeded", "waiting"]


def test_where_the_answer_is_lost_what_was_started_begins_with_the_next_renewal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = one_at_a_time(world, 2)
    finish_and_start = world.store.finish_and_start

    def lose(*args: Any, **named: Any) -> Any:
        finish_and_start(*args, **named)
        monkeypatch.setattr(world.store, "finish_and_start", finish_and_start)
        raise ConnectionResetError("the answer was lost")

    monkeypatch.setattr(world.store, "finish_and_start", lose)
    with pytest.raises(ConnectionResetError):
        world.settle(node)
    assert node.loops["heartbeat"].is_woken
    node.heartbeat_once()
    for _ in range(2):
        world.settle(node)
    assert [run.state for run in world.runs()] == ["succeeded"] * 2
    assert [run.attempt for run in world.runs()] == [1, 1]


def test_collections_have_their_turn_though_the_store_does_not_answer(world: World) -> None:
    node = world.node()
    was_on = gc.isenabled()
    gc.enable()
    try:
        node._pass._collections.note(CROWD)
        node.watch_lease_once()
        assert not gc.isenabled()
        world.clock.advance(HELD_FOR_MS)
        node.watch_lease_once()
        assert gc.isenabled()
    finally:
        (gc.enable if was_on else gc.disable)()


def test_a_tick_with_jitter_begins_at_its_own_moment(world: World) -> None:
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("often", "work", every("10s"), jitter="900ms")
    node = world.node()
    node.plan_once()
    for _ in range(10):
        world.clock.advance(10_000 - world.clock.now_ms() % 10_000)
        node.heartbeat_once()
        next_ms = node.plan_once()
        (run,) = [each for each in world.runs() if each.state == "waiting"]
        assert next_ms <= run.due_ms - world.clock.now_ms()
        world.clock.advance(run.due_ms - world.clock.now_ms())
        node.plan_once()
        world.settle(node)
        assert world.runs()[0].started_ms == run.due_ms


def test_one_slow_turn_does_not_put_off_all_others_for_nine_times_as_long(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = world.node()
    slow = partial(world.clock.advance, 5000)
    monkeypatch.setattr(node._pass, "_plan_batch", slow)
    node._pass._take_turn()
    assert node._pass._turn_ms == LONGEST_TURN_MS


def test_what_comes_is_decided_ahead_though_something_waits_for_its_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = world.node()
    node.plan_once()
    monkeypatch.setattr(node._pass, "_plan", lambda: Result(holds_on=True))
    prepared: list[int] = []
    monkeypatch.setattr(node._pass, "_prepare", lambda: prepared.append(world.clock.now_ms()))
    for _ in range(5):
        world.clock.advance(LONGEST_TURN_MS)
        node.wake()
        node.plan_once()
    assert len(prepared) == 5


def test_what_held_places_of_groups_and_ended_otherwise_is_forgotten(world: World) -> None:
    world.app.task(name="work", limit="few:1")(lambda: None)
    node = world.node()
    node._pass._limited.update(f"old-{number}" for number in range(MOST_LIMITED))
    run = world.app.enqueue("work")
    node.plan_once()
    assert node._pass._limited <= {run.id}
    world.settle(node)


GARBAGE = """
import gc
from onthedot import App
app = App("memory://")
app.override(tune_gc={asked})
before, frozen = gc.get_threshold(), gc.get_freeze_count()
app.start()
print(gc.get_freeze_count() > frozen, gc.get_threshold() != before)
app.stop()
"""


@pytest.mark.parametrize(("asked", "tuned"), [(None, "False False"), (True, "True True")])
def test_the_garbage_collector_is_set_up_for_a_node_only_where_that_was_asked_for(
    asked: bool | None, tuned: str
) -> None:
    program = GARBAGE.format(asked=asked)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == tuned
