"""The same random history on two stores, step by step, with the same ids: what people and nodes do to a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from onthedot.errors import OnthedotError
from onthedot.model import graph as graphs
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.ids import new_id, seeded
from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.minute import Minute
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, DAY, HOUR, LEASE_MS, MINUTE, SECOND, Scene
from onthedot.triggers import at, every

NAMES = ("a", "B", "b", "a:b", "17:x", "100%_", "it's", 'q"\\', "näh 🕰", "STRASSE", "straße", "two words", "zz")
TASKS = ("etl.load", "ETL.report", "mail")
FLOW = Graph(
    "etl",
    (
        graphs.Step("list", "mail"),
        graphs.Step("load", "etl.load", {"of": {"$item": []}}, ("list",), over={"$result": "list"}, parallel=2),
        graphs.Step("sum", "mail", after=("load",), may_fail=True),
        graphs.Step("clean", "mail", on="end", closing=True),
    ),
)
CLAIMED = (*TASKS, "@etl")
TAGS = ("eu", "EU", "e")
POOLS = (None, "slow", "Slow")
_TRIGGERS = (every("1m"), every("90s"), every("5m"), at("2027-01-15T08:03:00Z"))
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "group": (None, None, "gpu"),
    "depends_on": ((), (), ("a",)),
    "retries": (0, 1, 30),
    "overlap": ("serial", "discard", "cover", "concurrent"),
    "misfire": ("fire_once", "skip", "catch_up"),
    "route": ("any", "any", "any", "broadcast"),
    "delivery": ("at_least_once", "at_least_once", "at_most_once"),
    "mode": ("durable", "durable", "durable", "local"),
    "priority": (0, 0, 3),
    "pool": POOLS,
    "origin": ("api", "api", "code"),
}
Step = Callable[[Scene], object]


@dataclass
class Histories:
    """Draws steps by what the first store has now, and takes each on both."""

    first: Scene
    second: Scene
    random: Random
    nodes: list[str] = field(default_factory=list)

    def take_step(self) -> str:
        """One of what may happen; says what."""
        name, draw = self.random.choice(_STEPS) if self.nodes else ("join", Histories.join)
        step, seed = draw(self), self.random.getrandbits(60)
        if step is not None:
            self.first.wait(1)  # so that what one step makes is younger than what the step before made
            came_of = [_done(step, scene, seed) for scene in (self.first, self.second)]
            assert came_of[0] == came_of[1], name
        return name

    # people

    def put(self) -> Step:
        options = {name: self.random.choice(values) for name, values in _OPTIONS.items()}
        tags = tuple(tag for tag in TAGS if self.random.random() < 0.4)
        name, task = self.random.choice(NAMES), self.random.choice(TASKS)
        trigger = self.random.choice(_TRIGGERS)
        return lambda scene: scene.put(name, trigger, task=task, tags=tags, backoff_ms=SECOND, **options)

    def edit(self) -> Step | None:
        name = self._schedule()
        edit = self.random.choice((edits.pause("why"), edits.resume(), edits.resume(), edits.delete()))
        return name and (lambda scene: scene.edit(edit, name))  # type: ignore[return-value]

    def park(self) -> Step | None:
        name = self._schedule()
        return name and (lambda scene: scene.overwrite(name, error="nobody can read it"))  # type: ignore[return-value]

    def freeze(self) -> Step:
        name, tag = self.random.choice(("x", "y")), self.random.choice((None, *TAGS))
        start_ms = self.first.now_ms + self.random.choice((-MINUTE, 0, MINUTE))
        window = Freeze(name, start_ms, start_ms + self.random.choice((MINUTE, HOUR)), tag=tag)
        thaws = self.random.random() < 0.3

        def step(scene: Scene) -> None:
            scene.store.thaw(name, BY) if thaws else scene.store.put_freeze(window, BY)
            while scene.store.carry_out_freezes(3):
                pass

        return step

    def trigger(self) -> Step | None:
        name = self._schedule()
        return name and (lambda scene: scene.trigger(new_id(scene.now_ms), name))  # type: ignore[return-value]

    def enqueue(self) -> Step:
        task, delay_ms = self.random.choice(TASKS), self.random.choice((0, 0, 5 * SECOND))
        policy = Policy(pool=self.random.choice(POOLS), retries=self.random.choice((0, 2)), backoff_ms=SECOND)
        return lambda scene: scene.waiting_run(task=task, delay_ms=delay_ms, policy=policy)

    def flow(self) -> Step:
        def step(scene: Scene) -> None:
            scene.store.save_graphs([FLOW])
            scene.waiting_run(task="@etl", graph=FLOW.hash)

        return step

    def cancel(self) -> Step | None:
        run = self._run()
        return run and (lambda scene: scene.store.request_cancel(run.id, "enough", BY).state)  # type: ignore[return-value]

    def retry(self) -> Step | None:
        run = self._run(*(state for state in State if state not in (State.WAITING, State.RUNNING)))
        return run and (lambda scene: scene.store.retry(run.id, run.claim_no, BY))  # type: ignore[return-value]

    def wait(self) -> None:
        self.first.wait(self.random.choice((400, 1500, 20 * SECOND, 70 * SECOND, 70 * SECOND, HOUR)))

    # nodes

    def join(self) -> Step:
        name, seed = self.random.choice("xyz"), self.random.getrandbits(60)
        with seeded(seed):
            self.nodes.append(new_id(self.first.now_ms + 1))
        node_id = self.nodes[-1]

        def step(scene: Scene) -> str:
            with seeded(seed):
                return scene.node(name, CLAIMED)

        assert node_id
        return step

    def plan(self) -> Step:
        node, free = self._node(), self.random.choice((0, 1, 100))
        return lambda scene: sorted(run.id for run in scene.plan(node, free=free))

    def start(self) -> Step:
        node = self._node()
        return lambda scene: sorted(run.id for run in scene.start(node, tasks=CLAIMED))

    def finish(self) -> Step | None:
        return self._ended(lambda scene, node, outcomes: scene.store.finish(node, outcomes).refused)

    def finish_and_start(self) -> Step | None:
        def step(scene: Scene, node: str, outcomes: list[Outcome]) -> object:
            finished, started = scene.store.finish_and_start(node, outcomes, CLAIMED, 100)
            also = scene.start(node, tasks=CLAIMED)  # what was woken by the end of others, where that is one step
            return finished.refused, sorted(run.id for run in (*started.runs, *also))

        if any(run.crashes for run in self.first.store.runs(limit=1000) if not run.is_final):
            return None  # one of them begins at a time: which, may be another where ends and starts are one step
        return self._ended(step)

    def _ended(self, step: Callable[[Scene, str, list[Outcome]], object]) -> Step | None:
        node = self._node()
        own = self.first.store.runs(node=node, state=State.RUNNING, limit=1000)
        outcomes = [self._outcome(run) for run in own if self.random.random() < 0.6]
        return (lambda scene: step(scene, node, outcomes)) if outcomes else None

    def _outcome(self, run: Run) -> Outcome:
        claim_no = run.claim_no - (self.random.random() < 0.1)
        ending = self.random.choice(("succeeded", "failed", "failed", "timed_out", "handed_back", "cancelled"))
        error = "Traceback\nOSError: no route" if ending in ("failed", "timed_out") else None
        final, entered = self.random.random() < 0.2, self.random.random() < 0.5
        listed = {"result": [1, 2, 3], "size": 3} if run.step == "list" and ending == "succeeded" else {}
        said = {"error": error, "final": final, "entered": entered, "flow": run.parent_id if run.is_step else None}
        return Outcome(run.id, claim_no, ending, **said, **listed)  # type: ignore[arg-type]

    def say(self) -> Step | None:
        run = self._run(State.RUNNING)
        if run is None:
            return None
        claim_no = run.claim_no - (self.random.random() < 0.2)
        texts = [f"{self.random.randrange(101)}% {self.random.choice(('', 'ledger ö', '🕰'))}" for _ in range(2)]
        levels = [self.random.choice((PROGRESS, "INFO")) for _ in texts]
        lines = [LogLine(run.id, claim_no, 0, *said) for said in zip(levels, texts, strict=True)]
        return lambda scene: scene.store.log(run.owner or "", lines)

    def kill(self) -> Step | None:
        if len(self.nodes) < 2:
            return None
        node = self.nodes.pop(0)
        self.first.wait(LEASE_MS)
        return lambda scene: sorted(run.id for run in scene.store.take_over(node, 0))

    def leave(self) -> Step | None:
        if len(self.nodes) < 2:
            return None
        node = self.nodes.pop(0)
        return lambda scene: scene.store.leave(node)

    def sweep(self) -> Step:
        def step(scene: Scene) -> None:
            scene.store.sweep()
            scene.store.reroute()

        return step

    def prune(self) -> Step:
        keep = self.random.choice(({"history_ms": 3 * MINUTE}, {"per_schedule": 5}, {"changes_ms": 5 * MINUTE}))

        def step(scene: Scene) -> None:
            scene.prune_all(**keep)

        return step

    def tally(self) -> Step:
        node, now_ms = self._node(), self.first.now_ms
        begun, back_ms = self.random.randrange(5), self.random.choice((0, 0, MINUTE, 8 * DAY))
        minute_ms = (now_ms - back_ms) // MINUTE * MINUTE
        told = [Minute(minute_ms, node, begun, {"failed": 1}, {3: begun or 1}), Minute(minute_ms, "other")]
        return lambda scene: scene.store.tally(told)

    # who

    def _node(self) -> str:
        return self.random.choice(self.nodes)

    def _schedule(self) -> str | None:
        names = [row.name for row in self.first.store.schedules(limit=1000)]
        return self.random.choice(names) if names else None

    def _run(self, *states: State) -> Run | None:
        runs = [run for run in self.first.store.runs(limit=1000) if not states or run.state in states]
        return self.random.choice(runs) if runs else None


def _done(step: Step, scene: Scene, seed: int) -> object:
    """What came of it, or what was refused."""
    with seeded(seed):
        try:
            return step(scene)
        except OnthedotError as error:
            return type(error)


_HOW_OFTEN: dict[str, tuple[int, Callable[[Histories], Step | None]]] = {
    "put": (4, Histories.put),
    "edit": (2, Histories.edit),
    "park": (1, Histories.park),
    "freeze": (1, Histories.freeze),
    "trigger": (2, Histories.trigger),
    "enqueue": (3, Histories.enqueue),
    "flow": (2, Histories.flow),
    "cancel": (1, Histories.cancel),
    "retry": (2, Histories.retry),
    "wait": (4, Histories.wait),
    "join": (1, Histories.join),
    "plan": (6, Histories.plan),
    "start": (5, Histories.start),
    "finish": (5, Histories.finish),
    "finish_and_start": (2, Histories.finish_and_start),
    "say": (4, Histories.say),
    "kill": (1, Histories.kill),
    "leave": (1, Histories.leave),
    "sweep": (1, Histories.sweep),
    "prune": (1, Histories.prune),
    "tally": (2, Histories.tally),
}
_STEPS = [(name, draw) for name, (often, draw) in _HOW_OFTEN.items() for _ in range(often)]
