"""Full pools: what cannot begin stays in the store, none is dropped, and slow tasks do not delay fast ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from threading import Event, Semaphore

import pytest
from tests.patience import LONGEST_S
from tests.unit.execution.places import app_in_memory, done, ended, until
from tests.unit.node.world import START, World

from onthedot import App, Context, every
from onthedot.app.schedules import Put
from onthedot.events import RunStarted
from onthedot.execution.thread_pool import Sizes
from onthedot.model.node import slow_tasks
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.triggers.codec import encode


class Gate:
    """Tasks wait here until they are let go."""

    def __init__(self) -> None:
        self.inside = Semaphore(0)
        self.open = Event()

    def enter(self) -> None:
        self.inside.release()
        assert self.open.wait(LONGEST_S)

    def wait_for(self, many: int) -> None:
        for _ in range(many):
            assert self.inside.acquire(timeout=LONGEST_S)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def app(gate: Gate) -> Iterator[App]:
    """Two fast threads, one slow one, two places on the event loop."""
    app = app_in_memory(node=NodeSettings(capacity=2, poll_ms=50))

    @app.task
    def blocks() -> None:
        gate.enter()

    @app.task(pool="slow")
    def slow() -> None:
        gate.enter()

    @app.task
    def quick() -> str:
        return "done"

    with app.running():
        yield app
        gate.open.set()


def states(app: App, runs: list[Run]) -> Counter[str]:
    return Counter(app.runs.get(run.id).state for run in runs)


def test_what_finds_no_worker_waits_in_the_store_and_none_is_dropped(app: App, gate: Gate) -> None:
    runs = [app.enqueue("blocks") for _ in range(10)]
    gate.wait_for(2)
    assert states(app, runs) == {"running": 2, "waiting": 8}
    gate.open.set()
    assert [ended(app, run).attempt for run in runs] == [1] * 10


def test_a_full_slow_pool_holds_up_nothing_that_is_fast(app: App, gate: Gate) -> None:
    runs = [app.enqueue("slow") for _ in range(10)]
    gate.wait_for(1)
    assert [ended(app, app.enqueue("quick")).result for _ in range(5)] == ["done"] * 5
    assert states(app, runs) == {"running": 1, "waiting": 9}


def test_a_task_that_was_slow_too_often_goes_to_the_slow_pool(app: App, gate: Gate) -> None:
    assert app.runner is not None
    worker = app.runner.worker
    for _ in range(11):
        worker.pools._slowness.note("blocks", 501, worker.pools._clock.monotonic_ms())
    runs = [app.enqueue("blocks") for _ in range(3)]
    gate.wait_for(1)
    assert ended(app, app.enqueue("quick")).result == "done"
    assert (worker.pools.free_in("slow"), worker.pools.free_in("fast")) == (0, 2)
    app.runner.heartbeat_once()
    (node,) = app.nodes.list()
    assert slow_tasks(node) == {"blocks"}, "it says so with its renewal"
    assert {each.pool: each.running for each in app.nodes.pools()[node.id]}["slow"] == 1
    assert states(app, runs) == {"running": 1, "waiting": 2}


def test_what_was_measured_to_be_slow_is_counted(app: App) -> None:
    @app.task
    def drags(ctx: Context) -> None:
        ctx.sleep("510ms")

    done(app, drags)
    assert app.runner is not None
    assert app.runner.worker.pools._slowness._now == {"drags": 1}


def test_a_schedule_may_choose_the_pool_of_its_runs(app: App, gate: Gate) -> None:
    app.schedules.put("careful", "blocks", every("1h"), pool="slow", overlap="concurrent")
    runs = [app.schedules.trigger("careful") for _ in range(4)]
    gate.wait_for(1)
    assert ended(app, app.enqueue("quick")).result == "done"
    gate.open.set()
    assert [ended(app, run).state for run in runs] == ["succeeded"] * 4


def test_a_queue_that_is_full_gives_runs_back(gate: Gate) -> None:
    app = app_in_memory(node=NodeSettings(capacity=2, poll_ms=50))

    @app.task
    def blocks() -> None:
        gate.enter()

    with app.running():
        assert app.runner is not None
        app.runner.worker.pools.sizes = Sizes(2, 1, 2, 1, slow_queue=0)
        runs = [app.enqueue(blocks, pool="slow") for _ in range(3)]
        gate.wait_for(1)
        gate.open.set()
        assert [ended(app, run).attempt for run in runs] == [1] * 3


def test_a_full_event_loop_leaves_runs_in_the_store(app: App) -> None:
    let_go, inside = Event(), Semaphore(0)

    @app.task
    async def waits() -> None:
        import asyncio

        inside.release()
        while not let_go.is_set():
            await asyncio.sleep(0.01)

    runs = [app.enqueue(waits) for _ in range(5)]
    for _ in range(2):
        assert inside.acquire(timeout=LONGEST_S)
    assert states(app, runs) == {"running": 2, "waiting": 3}
    assert ended(app, app.enqueue("quick")).result == "done"
    let_go.set()
    assert [ended(app, run).state for run in runs] == ["succeeded"] * 5


def test_a_cancel_before_the_first_step_ends_the_run(app: App) -> None:
    """On the loop as in a queue: what was asked to stop before it began never begins."""
    called: list[str] = []

    @app.task
    async def waits() -> None:
        called.append("waits")

    @app.task
    def works() -> None:
        called.append("works")

    assert app.runner is not None
    worker, reported = app.runner.worker, app.runner._outcomes
    for name in ("waits", "works"):
        run = Run(name, name, "enqueue", 0, 0, State.RUNNING, owner=app.runner.node.id, claim_no=1)
        execution = worker._take(run)
        assert execution is not None
        worker.cancel(name)
        if name == "waits":
            worker._loop.call(worker._spawn, [execution])
        else:
            worker._threads["fast"].put(execution)
    until(lambda: not worker.executing())
    assert called == []
    assert (worker.pools.free_in("loop"), worker.pools.free_in("fast")) == (2, 2)
    until(lambda: not reported.pending())


def test_a_planner_begins_only_what_its_pools_have_room_for(gate: Gate) -> None:
    world = World()

    @world.app.task(pool="slow")
    def slow() -> None:
        gate.enter()

    @world.app.task
    def quick() -> None: ...

    world.app.schedules.put_many([Put(f"slow{number}", slow, every("10s")) for number in range(5)])
    world.app.schedules.put_many([Put(f"quick{number}", quick, every("10s")) for number in range(2)])
    node = _small(world)
    world.clock.advance(10_000)
    node.plan_once()
    until(lambda: len(node.worker.executing()) == 1)
    node.write_once()
    assert Counter((run.task, str(run.state)) for run in world.runs()) == {
        ("slow", "running"): 1,
        ("slow", "waiting"): 4,
        ("quick", "succeeded"): 2,
    }


def test_a_new_tick_does_not_pass_a_run_that_waits_for_the_same_pool(gate: Gate) -> None:
    world, began = World(), list[str]()

    @world.app.task(pool="slow")
    def slow(who: str) -> None:
        began.append(who)
        gate.enter()

    world.app.schedules.put("tick", slow, every("10s"), args={"who": "tick"})
    for who in ("first", "second"):
        world.app.enqueue(slow, args={"who": who})
    node = _small(world)
    node.plan_once()
    gate.wait_for(1)
    gate.open.set()
    world.settle(node)
    world.clock.advance(10_000)
    for _ in range(2):
        node.plan_once()
        world.settle(node)
    assert began == ["first", "second", "tick"]


def _small(world: World) -> NodeRunner:
    node = world.node()
    node.worker.pools.sizes = Sizes(2, 1, 2, 1)
    return node


@pytest.mark.parametrize("many", [5000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_very_many_schedules_at_the_same_second_all_run_and_their_lateness_is_told(many: int) -> None:
    world = World()
    ran: Counter[str] = Counter()

    @world.app.task
    async def tick(ctx: Context) -> None:
        ran[str(ctx.schedule)] += 1

    trigger, due_ms = encode(every("60s")), START + 60_000
    with world.store.begin() as rows:
        rows.save_schedules(
            [Schedule(f"{n}", f"s{n}", "tick", trigger, next_run_ms=due_ms, settled_ms=START) for n in range(many)]
        )
    world.clock.advance(60_000)
    node = world.node()
    node.worker.pools.sizes = Sizes(loop=2000)
    while len(ran) < many:
        node.plan_once()
        until(lambda: not node.worker.executing())
        while node._outcomes.pending():
            node.write_once()
        world.clock.advance(10)
    assert set(ran.values()) == {1}
    late = [event.lateness_ms for event in world.events if isinstance(event, RunStarted)]
    assert len(late) == many
    assert max(late) > 0
