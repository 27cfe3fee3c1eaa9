"""What a node does with its lease: cut off, believed dead, draining, and what it hears with each beat."""

from __future__ import annotations

from threading import Event

import pytest
from tests.patience import LONGEST_S
from tests.unit.node.world import World

from onthedot import Context, every
from onthedot.errors import NodeDead
from onthedot.events import LoopRestarted
from onthedot.execution.worker import Execution
from onthedot.model.node import Node, NodeState
from onthedot.stores.answers import Planned, Renewal, Started


@pytest.fixture
def world() -> World:
    return World()


# cut off


def test_the_first_lease_counts_from_when_it_was_asked_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    join = world.store.join

    def join_slowly(*args: object) -> Node:
        joined = join(*args)  # type: ignore[arg-type]
        world.clock.advance(10_000)
        return joined

    monkeypatch.setattr(world.store, "join", join_slowly)
    node = world.node()
    assert node.gauges().renewed_for_ms == 10_000


def test_a_node_that_is_cut_off_plans_nothing_though_the_store_would_answer(world: World) -> None:
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("tick", "work", every("10s"))
    node = world.node()
    world.clock.advance(25_001)
    node.plan_once()
    assert world.runs() == []
    node.heartbeat_once()
    node.plan_once()
    assert len(world.runs()) == 1


def test_what_the_store_answers_to_a_node_that_is_cut_off_is_not_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan was committed; before its answer arrives the lease is over, and another node may take the run."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    world.app.schedules.put("tick", "work", every("10s"))
    node = world.node()
    world.clock.advance(10_000)
    plan_due = world.store.plan_due

    def plan_slowly(*args: object) -> Planned:
        planned = plan_due(*args)  # type: ignore[arg-type]
        world.clock.advance(25_000)
        node.watch_lease_once()
        return planned

    monkeypatch.setattr(world.store, "plan_due", plan_slowly)
    node.plan_once()
    assert node.worker.executing() == {}
    assert calls == []


def test_a_process_that_wakes_after_its_lease_calls_no_task_before_it_looks_at_its_lease(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood still with a run in a thread's hands; which of its threads goes on first, nobody can tell."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    world.app.schedules.put("tick", "work", every("10s"))
    node = world.node()
    put = node.worker._threads["fast"].put

    def put_and_stand_still(execution: Execution) -> None:
        world.clock.advance(25_001)
        put(execution)

    monkeypatch.setattr(node.worker._threads["fast"], "put", put_and_stand_still)
    world.clock.advance(10_000)
    node.plan_once()
    while node.worker.pools.free_in("fast") != node.worker.pools.sizes.fast:
        pass  # the thread has had it, and let go of it
    assert calls == []
    monkeypatch.undo()
    node.watch_lease_once()
    assert node.worker.executing() == {}
    node.heartbeat_once()
    node.plan_once()
    world.settle(node)
    assert len(calls) == 1


def test_an_answer_to_an_incarnation_that_is_no_more_begins_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was started; before the answer arrives the node has gone on as another, which has given it back."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    run = world.app.enqueue("work")
    start_due = world.store.start_due

    def start_slowly(*args: object, **named: object) -> Started:
        started = start_due(*args, **named)  # type: ignore[arg-type]
        world.clock.advance(25_001)
        node.heartbeat_once()
        return started

    monkeypatch.setattr(world.store, "start_due", start_slowly)
    node.plan_once()
    world.settle(node)
    assert calls == []
    assert world.app.runs.get(run.id).state == "waiting"


def test_an_answer_that_comes_after_its_run_has_ended_begins_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was started; before the answer arrives the heartbeat has begun it, and it has ended long ago."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    run = world.app.enqueue("work")
    start_due = world.store.start_due

    def start_slowly(*args: object, **named: object) -> Started:
        started = start_due(*args, **named)  # type: ignore[arg-type]
        for _ in range(3):
            node.heartbeat_once()
            world.settle(node)
            world.clock.advance(10_000)
        return started

    with monkeypatch.context() as slow:
        slow.setattr(world.store, "start_due", start_slowly)
        node.plan_once()
    world.settle(node)
    assert calls == [1]
    assert world.app.runs.get(run.id).state == "succeeded"
    assert node.worker.begun(), "it was known while the answer was on its way"
    node.heartbeat_once()
    assert node.worker.begun() == {}


def test_what_has_ended_is_forgotten_under_a_load_that_never_rests(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer is awaited whenever the heartbeat looks: what had ended before it was asked for, it cannot bring."""
    world.app.task(name="work")(lambda: None)
    node = world.node()
    start_due = world.store.start_due

    def start_while_renewing(*args: object, **named: object) -> Started:
        world.clock.advance(1000)
        node.heartbeat_once()
        return start_due(*args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as busy:
        busy.setattr(world.store, "start_due", start_while_renewing)
        for _ in range(10):
            world.app.enqueue("work")
            node.wake()
            node.plan_once()
            world.settle(node)
            world.clock.advance(10_000)
    assert len(node.worker.begun()) <= 2, "only what ended since the last look"


def test_a_lease_that_was_over_is_never_renewed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ran here was stopped: renewing the old incarnation would leave runs that nobody executes."""
    node = world.node()
    old_id = node.node.id
    world.clock.advance(25_001)
    renewed: list[str] = []
    renew = world.store.renew

    def note(row: Node) -> Renewal:
        renewed.append(row.id)
        return renew(row)

    monkeypatch.setattr(world.store, "renew", note)
    node.heartbeat_once()
    node.heartbeat_once()
    assert renewed == [node.node.id]
    assert node.node.id != old_id


def test_a_node_whose_lease_is_judged_over_while_it_takes_in_an_answer_goes_on_as_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watching thread stops everything between two lines of the renewing one: a node that then believed the answer
    would plan for ever and call nothing."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    old_id = node.node.id
    world.clock.advance(25_000)
    now_ms = world.store.now_ms

    def watch_meanwhile() -> int:
        world.clock.advance(1)
        node.watch_lease_once()
        return now_ms()

    with monkeypatch.context() as patch:
        patch.setattr(node._clock, "_read_store_ms", watch_meanwhile)
        node.heartbeat_once()
    node.heartbeat_once()
    assert node.node.id != old_id
    world.app.enqueue("work")
    node.plan_once()
    world.settle(node)
    assert calls == [1]


def test_who_watches_an_old_lease_stops_nothing_of_the_new_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(1))
    node = world.node()
    old = node._heartbeat.lease
    is_over = old.is_over
    world.clock.advance(25_001)

    def rejoin_meanwhile(now_ms: int) -> bool:
        monkeypatch.setattr(old, "is_over", is_over)
        node.heartbeat_once()
        return is_over(now_ms)

    monkeypatch.setattr(old, "is_over", rejoin_meanwhile)
    node._heartbeat.watch_once()
    world.app.enqueue("work")
    node.plan_once()
    world.settle(node)
    assert calls == [1]


def test_whichever_pass_hears_that_the_node_is_dead_wakes_the_heartbeat(world: World) -> None:
    node = world.node()
    world.store.leave(node.node.id)
    for name in ("plan", "outcomes", "sweep"):
        heartbeat = node.loops["heartbeat"]
        heartbeat._wake.clear()
        node.loops[name]._on_error(name, NodeDead(node.node.id))
        assert heartbeat.is_woken, name


# with each beat


def test_a_node_renews_while_it_drains(world: World) -> None:
    entered, leave = Event(), Event()

    @world.app.task
    def work() -> None:
        entered.set()
        leave.wait(LONGEST_S)

    node = world.node()
    run = world.app.enqueue(work)
    node.plan_once()
    assert entered.wait(LONGEST_S)
    world.store.drain(node.node.id)
    for _ in range(6):
        node.heartbeat_once()
        world.clock.advance(10_000)
    row = next(each for each in world.store.nodes() if each.id == node.node.id)
    assert (row.state, row.renewals) == (NodeState.DRAINING, 6)
    leave.set()
    world.settle(node)
    assert world.app.runs.get(run.id).state == "succeeded"


def test_a_node_measures_the_store_s_clock_with_each_heartbeat(world: World) -> None:
    node = world.node()
    skews: list[int] = []
    for _ in range(3):
        world.store._read_clock = lambda: world.clock.now_ms() + 60_000 * len(skews)
        node.heartbeat_once()
        skews.append(node.gauges().clock_offset_ms)
    assert skews == [0, -60_000, -120_000]


def test_a_cancellation_is_seen_within_a_second(world: World) -> None:
    entered, stopped = Event(), Event()

    @world.app.task
    def work(ctx: Context) -> None:
        entered.set()
        while not ctx.cancelled:
            stopped.wait(0.001)
        stopped.set()

    node = world.node()
    run = world.app.enqueue(work)
    node.plan_once()
    assert entered.wait(LONGEST_S)
    world.app.runs.cancel(run.id)
    world.clock.advance(1000)
    node.plan_once()
    assert stopped.wait(LONGEST_S)


def test_after_a_peer_s_death_what_is_overdue_is_planned_one_by_one(world: World) -> None:
    world.app.task(name="work")(lambda: None)
    for name in ("a", "b"):
        world.app.schedules.put(name, "work", every("1h"))
    node = world.node()
    node.plan_once()
    peer = world.node("peer")
    node.heartbeat_once()
    del peer
    world.clock.advance(3_600_000)
    node._heartbeat.lease.assume_renewed(world.clock.monotonic_ms())
    seen: list[int] = []
    plan_due = world.store.plan_due

    def note(node_id: str, limit: int, *args: object) -> Planned:
        planned = plan_due(node_id, limit, *args)  # type: ignore[arg-type]
        seen.append(sum(len(effects.runs) for effects in planned.effects))
        return planned

    world.store.plan_due = note  # type: ignore[method-assign, assignment]
    node.heartbeat_once()
    node.plan_once()
    assert max(seen) == 1, "each is tried by itself"
    assert len(world.runs()) == 2


# the loops


def test_who_watches_the_lease_looks_after_the_loops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = world.node()
    monkeypatch.setattr(node.loops["plan"], "restart_if_dead", lambda: True)
    node.watch_lease_once()
    assert [event.stage for event in world.events if isinstance(event, LoopRestarted)] == ["plan"]
