"""Random histories of flows: shipped engine code, nodes that crash, freeze and lose answers, rows that others hold.

Any transaction may be committed and its caller die before anything else is done: between the end of a step and the look
at its flow, between two looks, between a cancellation and what it asks. One step of a history is one call of a node or
of an operator. The same seed gives the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from traceback import format_exception
from typing import Any, TypeVar

from tests.model.flow_graphs import CALM, HEAVY, Drawn, random_graph
from tests.model.flow_oracle import Broken, Event, FlowOracle

from onthedot.errors import Conflict, NodeDead, OnthedotError
from onthedot.model.change import Author
from onthedot.model.graph import BROADCAST
from onthedot.model.ids import new_id, seeded
from onthedot.model.node import Node
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.policy import Overlap, Policy
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.task_info import TaskInfo
from onthedot.rules.edits import Definition, pause, put, resume
from onthedot.rules.plan import Decider
from onthedot.stores.engine import Engine
from onthedot.stores.engine.lookout import LookPass
from onthedot.stores.memory import MemoryStore
from onthedot.stores.transaction import Transaction
from onthedot.testing.clock import ManualClock
from onthedot.triggers.every import every

T = TypeVar("T")
MakeStore = Callable[[Callable[[], int]], Engine]
START_MS = 1_800_000_000_000
LEASE_MS = 8000
BY = Author("somebody", "model", "test")
OVERLAPS: tuple[Overlap, ...] = ("serial", "serial", "discard", "cover")
ENDINGS: tuple[Ending, ...] = ("succeeded", "failed", "skipped")
QUIET = 6000
"""So many steps without faults are enough for everything to end."""


class Died(BaseException):
    """The caller is gone, or its answer is, after a commit."""


@contextmanager
def nothing_swallowed() -> Iterator[None]:
    """The store puts errors down to one outcome or one flow, and goes on. Here each of them breaks the history."""
    try:
        yield
    except OnthedotError:
        raise
    except Exception as error:
        raise Broken("".join(format_exception(error))) from error


class Watched:
    """A transaction: what it writes is told to the oracle when it is committed, and some rows are held by others."""

    def __init__(self, tx: Transaction, world: World) -> None:
        self._tx, self._world = tx, world
        self.events: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def save_runs(self, runs: Sequence[Run]) -> None:
        self._tx.save_runs(runs)
        self.events += [("save", run) for run in runs]

    def end_runs(self, runs: Sequence[Run]) -> None:
        self._tx.end_runs(runs)
        self.events += [("end", run) for run in runs]

    def revive_runs(self, runs: Sequence[Run]) -> None:
        self._tx.revive_runs(runs)
        self.events += [("revive", run) for run in runs]

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        held = {run_id for run_id in sorted(ids) if self._world.happens(0.25)}
        return self._tx.live_runs_if_free([run_id for run_id in ids if run_id not in held])


class World:
    """A store, its clock, and all that acts on it."""

    def __init__(
        self, seed: int, make_store: MakeStore = MemoryStore, *, deaths: float = 0.04, broadcast: bool = False
    ) -> None:
        self.random = Random(seed)
        self.clock = ManualClock(START_MS)
        self.faulty, self.deaths = True, deaths
        self.heavy = self.random.random() < 0.4
        self.broadcast = broadcast
        drawn = random_graph(self.random, HEAVY if self.heavy else CALM)
        self.drawn: Drawn = Drawn(BROADCAST) if broadcast else drawn
        self.overlap: Overlap = self.random.choice(OVERLAPS)
        self.oracle = FlowOracle(self.drawn.all, slots=1)
        self.store = make_store(self.clock)
        self._watch(self.store)
        self.log: list[str] = []

    def happens(self, part: float) -> bool:
        return self.faulty and self.random.random() < part

    def _watch(self, store: Engine) -> None:
        begin, transact = store.begin, store._transact

        @contextmanager
        def watched() -> Iterator[Watched]:
            with begin() as tx:
                seen = Watched(tx, self)
                yield seen
            self.oracle.commit(seen.events)

        def may_die(work: Callable[[Transaction], T]) -> T:
            with nothing_swallowed():
                done = transact(work)
            if isinstance(done, LookPass) and done.failed:
                raise Broken(f"a flow could not be looked at: {done.failed}")
            if self.happens(self.deaths):
                self.say("an answer is lost, or its caller dies")
                raise Died
            return done

        vars(store).update(begin=watched, _transact=may_die)

    def say(self, text: str) -> None:
        self.log.append(f"{(self.clock.now_ms - START_MS) // 1000:4d} s  {text}")

    def set_up(self) -> None:
        if self.broadcast:
            self._set_up_broadcasts()
            return
        graph = self.drawn.graph
        self.store.save_graphs(self.drawn.all)
        timeout_ms = self.random.choice([None, None, 25_000, 60_000])
        policy = Policy(overlap=self.overlap, timeout_ms=timeout_ms, misfire="catch_up")
        trigger = every(f"{self.random.choice([6, 10, 15])}s")
        said = Definition("@flow", trigger, policy=policy, kind="flow", graph=graph.hash, max_runs=4)
        self.store.change(["s"], put(said), BY)
        alone = Run(new_id(START_MS), "@flow", "enqueue", START_MS, START_MS, graph=graph.hash)
        self.store.enqueue([alone])

    def _set_up_broadcasts(self) -> None:
        policy = Policy(route="broadcast", overlap=self.overlap, misfire="catch_up", retries=1, backoff_ms=2000)
        said = Definition("work", every(f"{self.random.choice([6, 10, 15])}s"), policy=policy, max_runs=4)
        self.store.change(["s"], put(said), BY)
        self.store.enqueue([Run(new_id(START_MS), "work", "enqueue", START_MS, START_MS, policy=policy)])

    def live(self) -> list[Run]:
        rows = self.oracle.rows.values()
        return [run for run in rows if run.id not in self.oracle.past]


@dataclass(slots=True)
class ModelNode:
    """A node as its calls show it."""

    world: World
    name: str
    id: str = ""
    running: dict[tuple[str, int], tuple[Run, int]] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    begun: set[tuple[str, int]] = field(default_factory=set)
    frozen_ms: int = 0
    sent_ms: int = 0

    def join(self) -> None:
        world = self.world
        self.id, self.running, self.outcomes, self.begun = new_id(world.clock.now_ms), {}, [], set()
        tasks = ("work", "@flow", *(f"@{each.name}" for each in world.drawn.inner))
        node = Node(self.id, self.name, tasks=tasks, lease_ms=LEASE_MS, capacity=3)
        world.store.join(node, [TaskInfo(task) for task in tasks])
        self.sent_ms = world.clock.now_ms

    def act(self) -> None:
        """One call, and what comes of it; whoever dies in it begins anew, or only did not hear the answer."""
        world = self.world
        if world.clock.now_ms < self.frozen_ms and world.faulty:
            return
        if world.happens(0.015):
            world.say(f"{self.name} crashes")
            self._again()
        elif world.happens(0.01):
            self.frozen_ms = world.clock.now_ms + world.random.choice([3000, 12_000, 20_000])
            world.say(f"{self.name} freezes")
        else:
            self._act()

    def _act(self) -> None:
        try:
            if self.world.clock.now_ms - self.sent_ms > LEASE_MS - 2000:
                self.renew()
            else:
                self.world.random.choices(*zip(*self._acts(), strict=True))[0]()
        except Died:
            if self.world.random.random() < 0.5:
                self.world.say(f"{self.name} is gone")
                self._again()
        except NodeDead:
            self.world.say(f"{self.name} learns that it is dead")
            self._again()

    def _again(self) -> None:
        faulty, self.world.faulty = self.world.faulty, False
        self.join()
        self.world.faulty = faulty

    def _acts(self) -> list[tuple[Callable[[], object], int]]:
        store = self.world.store
        more: list[tuple[Callable[[], object], int]] = [(store.reroute, 5)] if self.world.broadcast else []
        return [
            *more,
            (self.renew, 15),
            (self.plan, 10),
            (self.start, 17),
            (self.execute, 17),
            (self.finish, 18),
            (store.tend_flows, 6),
            (store.sweep, 2),
            (self.take_over, 5),
        ]

    def renew(self) -> None:
        world = self.world
        known = next((node for node in world.store.nodes() if node.id == self.id), None)
        renewal = world.store.renew(known or Node(self.id, self.name))
        self.sent_ms = world.clock.now_ms
        own = {(run.id, run.claim_no): run for run in renewal.own}
        self.running = {key: each for key, each in self.running.items() if key in own}
        for key, run in own.items():
            if key not in self.begun:
                self._begin(run)
            elif key not in self.running and not any((o.run_id, o.claim_no) == key for o in self.outcomes):
                self._report(run, "failed")
            elif run.cancel_requested_ms is not None and key in self.running and world.random.random() < 0.8:
                del self.running[key]
                self._report(run, "cancelled")

    def _begin(self, run: Run) -> None:
        self.begun.add((run.id, run.claim_no))
        self.running[run.id, run.claim_no] = run, self.world.random.choice([0, 1, 2, 3])

    def plan(self) -> None:
        now_ms = self.world.clock.now_ms
        self.world.store.plan_due(self.id, 10, 0, Decider(lambda: new_id(now_ms)))

    def start(self) -> None:
        world = self.world
        tasks = ("work", "@flow", *(f"@{each.name}" for each in world.drawn.inner))
        started = world.store.start_due(self.id, tasks, max(3 - len(self.running), 0))
        for run in started.runs:
            world.say(f"{self.name} begins {run.step}[{run.item}] of {(run.parent_id or '')[-6:]}")
            self._begin(run)

    def execute(self) -> None:
        if not self.running:
            return
        key = self.world.random.choice(sorted(self.running))
        run, left = self.running[key]
        if left > 0:
            self.running[key] = run, left - 1
            return
        del self.running[key]
        weights = [60, 35, 5] if self.world.heavy else [75, 20, 5]
        self._report(run, self.world.random.choices(ENDINGS, weights)[0])

    def _report(self, run: Run, ending: Ending) -> None:
        size = self.world.random.choice([0, 1, 2, 3, 4]) if ending == "succeeded" and not run.is_shard else None
        result = None if size is None else list(range(size))
        hint = run.parent_id if self.world.random.random() < 0.7 else None
        self.outcomes.append(Outcome(run.id, run.claim_no, ending, result=result, size=size, flow=hint))

    def finish(self) -> None:
        if not self.outcomes:
            return
        batch = self.outcomes[:3]
        if self.world.random.random() < 0.5:
            self.world.store.finish(self.id, batch)
        else:
            _, started = self.world.store.finish_and_start(self.id, batch, ("work", "@flow"), 2)
            for run in started.runs:
                self._begin(run)
        for each in batch:
            self.world.say(f"{self.name} ends {each.run_id[-6:]}: {each.ending}")
        self.outcomes = self.outcomes[3:]

    def take_over(self) -> None:
        world = self.world
        for node in world.store.nodes():
            if node.id != self.id and node.expired(world.clock.now_ms):
                world.say(f"{self.name} takes over from {node.name}")
                world.store.take_over(node.id, node.renewals)


class Operator:
    """Cancels, retries, pauses; and repeats what it had no answer to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.again: Callable[[], object] | None = None

    def act(self) -> None:
        act = self.again or self.world.random.choice(
            [self.cancel_flow, self.cancel_step, *[self.retry] * 4, self.pause]
        )
        self.again = None
        try:
            act()
        except Died:
            if self.world.random.random() < 0.5:
                self.again = act
        except (Conflict, OnthedotError) as error:
            self.world.say(f"refused: {error}")

    def _pick(self, wanted: Callable[[Run], bool]) -> Run | None:
        found = sorted(run.id for run in self.world.oracle.rows.values() if wanted(run))
        return self.world.oracle.rows[self.world.random.choice(found)] if found else None

    def cancel_flow(self) -> None:
        flow = self._pick(lambda run: run.is_flow and run.state not in FINAL)
        if flow is not None:
            now = self.world.random.random() < 0.2
            self.world.say(f"cancel {flow.id[-6:]}{' now' if now else ''}")
            self.world.store.request_cancel(flow.id, "enough", BY, now=now)

    def cancel_step(self) -> None:
        step = self._pick(lambda run: run.is_step and not run.is_flow and run.state not in FINAL)
        if step is not None:
            self.world.say(f"cancel step {step.step}[{step.item}]")
            self.world.store.request_cancel(step.id, "enough of it", BY)

    def retry(self) -> None:
        whole = self.world.random.random() < 0.4
        bad = FINAL - {State.SUCCEEDED}
        run = self._pick(lambda run: run.state in bad and (run.is_flow and not run.is_step if whole else run.is_step))
        if run is not None:
            self.world.say(f"retry {run.task} {run.step}[{run.item}] {run.id[-6:]}")
            self.world.store.retry(run.id, run.claim_no, BY)

    def pause(self) -> None:
        paused = self.world.random.random() < 0.5
        self.world.store.change(["s"], pause(None) if paused else resume(), BY)


def history(
    seed: int, make_store: MakeStore = MemoryStore, *, steps: int | None = None, broadcast: bool = False
) -> World:
    """One of them, to its end; `Broken` with what happened."""
    with seeded(seed):
        world = World(seed, make_store, broadcast=broadcast)
        try:
            _live(world, steps or world.random.choice([150, 300, 450]))
        except Broken as error:
            raise Broken("\n".join([f"seed {seed}", *world.log[-80:], str(error)])) from None
        finally:
            if make_store is not MemoryStore:
                world.store.close()
        return world


def _live(world: World, steps: int) -> None:
    random = world.random
    world.faulty = False
    world.set_up()
    nodes = [ModelNode(world, name) for name in "ABC"[: random.choice([2, 3])]]
    for node in nodes:
        node.join()
    operator = Operator(world)
    world.faulty = True
    for _ in range(steps):
        if random.random() < 0.5:
            world.clock.pass_by(1000)
        if random.random() < (0.12 if world.heavy else 0.05):
            operator.act()
        random.choice(nodes).act()
    world.faulty = False
    world.say("no more faults")
    world.store.change(["s"], resume(), BY)
    for _ in range(QUIET):
        if not world.live() and not any(row.next_run_ms is not None for row in world.store.schedules()):
            return
        if random.random() < 0.5:
            world.clock.pass_by(1000)
        random.choice(nodes).act()
    raise Broken(f"never ends: {[(run.task, run.step, run.state, run.until_ms) for run in world.live()][:6]}")
