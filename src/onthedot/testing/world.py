"""`simulate`: the real planning, dispatch and overlap code in virtual time, with nodes that can be killed.

A world drives the loops of real nodes by hand. Time jumps from one moment at which something happens to the next. In
between, nodes would only renew their leases and find nothing to do, so these passes are left out, unless something
hangs on them: a node that died, a run that nobody took, a cancellation or a dependency that only a look will find.

Where nothing but plain ticks is due, the nodes are not driven at all: see `bulk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from onthedot.app.app import App
from onthedot.app.keys import as_given
from onthedot.app.tasks import Task
from onthedot.clock import ManualClock
from onthedot.durations import to_duration_ms
from onthedot.errors import OnthedotError, SettingsError
from onthedot.events import TOPICS, Emitter, Failure
from onthedot.execution.targets import Target
from onthedot.model.change import Author
from onthedot.model.decision import Decision
from onthedot.model.ids import seeded
from onthedot.model.run import Run
from onthedot.model.task_info import TaskInfo
from onthedot.model.value import Value
from onthedot.model.values import replace as with_fields
from onthedot.moments import ceil_ms, from_ms
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.rules.effects import Before, Effects
from onthedot.testing.fast_forward import FastForward
from onthedot.testing.virtual_node import VirtualNode
from onthedot.testing.virtual_store import NEVER, VirtualStore
from onthedot.testing.virtual_time import WorldClock
from onthedot.testing.virtual_worker import Script, Takes, VirtualWorker
from onthedot.triggers.codec import decode, encode
from onthedot.triggers.pinned import Pin, Use
from onthedot.triggers.stable_hash import spread_over

_MOST_PASSES = 3000
_PATIENCE_MS = 60_000
"""How long nodes are watched while they look at something that is due, and that none of them takes."""
START = "2026-01-01T00:00Z"


@contextmanager
def simulate(
    app: App,
    *,
    start: datetime | str = START,
    nodes: int = 1,
    takes: Takes | None = None,
    call: bool = False,
    tasks: Mapping[str, Callable[..., Any]] | None = None,
    seed: int = 0,
) -> Iterator[World]:
    """A world in which it is `start`, where `app` acts until the end of the block. The same seed gives the same world.

    Tasks are not called, unless `call` says so or `tasks` has something to call instead; their runs take as long as
    `takes` says, by the name of a schedule or task, and otherwise no time.
    """
    made = World(app, ceil_ms(start), Cast(takes or {}, call, tasks or {}), seed)
    made.lend(app.values_in_use())
    with seeded(seed), app.standing_on(made.store, made.clock):
        made.open(nodes)
        yield made


@dataclass(frozen=True, slots=True)
class Cast:
    """What stands for the tasks."""

    takes: Takes
    call: bool
    tasks: Mapping[str, Callable[..., Any]]


class World:
    """What `simulate` gives. Its nodes are numbered from 1."""

    def __init__(self, app: App, start_ms: int, cast: Cast, seed: int) -> None:
        self.app = app
        self._clock = ManualClock(start_ms)
        self.store = VirtualStore(self._clock.now_ms)
        self.clock = WorldClock(self._clock, self.pass_by)
        self._cast = cast
        self._stand_ins = {name: Task(name, function) for name, function in cast.tasks.items()}
        self._seed = seed
        self._nodes: dict[int, VirtualNode] = {}
        self._numbers: dict[str, int] = {}
        self._dead: set[str] = set()
        self._script = Script(cast.takes, self._is_called)
        self._fast_forward = FastForward(self.store, self._clock, self._script, self._lookup, self._settings(0))
        self.in_bulk = True
        """Whether plain ticks may be advanced without driving the nodes: it only saves time."""
        self._looks_until_ms = self._caught_up_ms = start_ms
        self.is_moving = False
        self._known: tuple[int, tuple[str, ...], list[TaskInfo]] | None = None
        self._failures: list[Failure] = []
        self._emitter = Emitter(lambda event, error: None)  # the app's hooks have their own
        self._emitter.subscribe(Failure, self._failures.append)
        for kind in TOPICS.values() if cast.call else ():
            self._emitter.subscribe(kind, app.events.emit)

    def lend(self, values: Sequence[Value]) -> None:
        """The calendars and named triggers that the app's own store keeps; calendars first, which triggers name."""
        by, pins = Author("simulate", "testing", "lend"), dict[Use, Pin]()
        for each in sorted(values, key=lambda value: value.use):
            content = dict(each.content)
            if "trigger" in content:
                content["trigger"] = encode(decode(content["trigger"]).with_pins(pins))
            pins[each.use] = self.store.put_value(each.use, content, by).pin

    def open(self, nodes: int) -> None:
        """Write down what the app declares, and start the nodes."""
        names = self.app.sync().created
        if names:
            self.store.change(names, self._declared, Author("simulate", "testing", "sync"))
        self._check_names(names)
        for number in range(1, nodes + 1):
            self.start(number)
        self.settle()

    # time

    @property
    def now(self) -> datetime:
        """What time it is here."""
        return from_ms(self._clock.now_ms())

    def advance(self, by: timedelta | str) -> None:
        """Let so much time pass, with all that happens in it."""
        self.pass_by(to_duration_ms(by))

    def advance_to(self, moment: datetime | str) -> None:
        """Let time pass until this moment, which must lie ahead."""
        by_ms = ceil_ms(moment) - self._clock.now_ms()
        if by_ms < 0:
            raise SettingsError(f"advance_to: {moment} is over; here it is {self.now.isoformat()}")
        self.pass_by(by_ms)

    def pass_by(self, by_ms: int) -> None:
        """The same, in milliseconds."""
        if self.is_moving:
            raise OnthedotError("a task cannot let the world's time pass; inside a task, wait with ctx.sleep()")
        end_ms = self._clock.now_ms() + by_ms
        self._look_for_a_while()
        self.settle()
        self._fast_forward.begin()
        while (moment := self.next_ms()) <= end_ms:
            if self._skip_plain_ticks(end_ms):
                continue
            self._clock.advance(moment - self._clock.now_ms())
            self.settle()
        self._clock.advance(end_ms - self._clock.now_ms())

    def _skip_plain_ticks(self, end_ms: int) -> bool:
        """Advance as far as there are only plain ticks; whether there were any."""
        looks = self._clock.now_ms() < self._looks_until_ms or self._dead
        if looks or not (self.in_bulk and self.store.plans_ticks):
            return False
        return self._fast_forward.run_once(list(self._nodes.values()), self._turn, end_ms)

    def _look_for_a_while(self) -> None:
        """What is done from outside may only be seen at the next renewal."""
        self._looks_until_ms = self._clock.now_ms() + self._settings(0).heartbeat_ms

    def next_ms(self, *, idle: bool = True) -> int:
        """When something happens by itself, with or without looks that may find nothing; `NEVER` if nothing does."""
        now_ms = self._clock.now_ms()
        looks = idle and self._looks(now_ms, overdue_ms=now_ms)
        look_ms, due_ms = self.store.next_look_ms(), self.store.next_due_ms(now_ms)
        moments = [node.next_ms(now_ms, looks=looks) for node in self._nodes.values()]
        return min([*moments, *(each for each in (look_ms, due_ms) if each is not None and each > now_ms), NEVER])

    def _looks(self, now_ms: int, overdue_ms: int) -> bool:
        """Whether something hangs on the passes that nodes make to look whether there is something to do."""
        if now_ms < self._looks_until_ms or self._dead:
            return True
        due_ms, look_ms = self.store.next_due_ms(), self.store.next_look_ms()
        return (due_ms is not None and due_ms <= overdue_ms < due_ms + _PATIENCE_MS) or look_ms == now_ms

    def settle(self) -> None:
        """All that happens now."""
        now_ms = self._clock.now_ms()
        nodes = self._in_turn(now_ms)
        looks = self._looks(now_ms, overdue_ms=now_ms - 1)  # what is due just now is not left lying yet
        self.is_moving = True
        try:
            self._go_round(nodes, now_ms, looks)
        finally:
            self.is_moving = False
        if self._dead:
            self._dead &= {node.id for node in self.store.nodes()}
        if self._failures:
            failure = self._failures.pop()
            raise OnthedotError(f"{failure.stage} failed in the simulation: {failure.error}") from failure.error

    def _catch_up(self) -> None:
        """Before the first beat of a moment: all nodes have renewed their leases in the time that was jumped over."""
        now_ms = self._clock.now_ms()
        if self._caught_up_ms != now_ms and len(self._nodes) > 1:  # one that is alone cannot be taken for dead
            self._caught_up_ms = now_ms
            for node in self._nodes.values():
                node.catch_up(now_ms)

    def _go_round(self, nodes: list[VirtualNode], now_ms: int, looks: bool) -> None:
        """Let the nodes act until none has anything to do; what is due goes to the first that can take it."""
        in_turn = iter(nodes)
        for _ in range(_MOST_PASSES):
            acted = [node.step(now_ms, looks=looks) for node in nodes]
            if any(acted):
                continue
            due_ms = self.store.next_due_ms()
            node = next(in_turn, None) if due_ms is not None and due_ms <= now_ms else None
            if node is None:
                return
            node.runner.wake()
        raise OnthedotError(f"the world does not come to rest at {self.now.isoformat()}: does a task retry for ever?")

    def _in_turn(self, now_ms: int) -> list[VirtualNode]:
        """Each moment begins with another node, and always with the same one in each replay."""
        nodes = list(self._nodes.values())
        first = self._turn(now_ms, len(nodes))
        return nodes[first:] + nodes[:first]

    def _turn(self, now_ms: int, nodes: int) -> int:
        return spread_over(f"{now_ms}", f"{self._seed}", nodes) if nodes > 1 else 0

    # nodes

    def kill(self, number: int) -> None:
        """End a node without a word, as `kill -9` does: what it ran is taken over when its lease is over."""
        if number not in self._nodes:
            raise SettingsError(f"kill: no node {number} is alive; there are {_listed(self._nodes)}")
        self._look_for_a_while()
        self.settle()  # it had renewed its lease until now, and its peers have seen that
        node = self._nodes.pop(number)
        node.leave()
        self._dead.add(node.id)

    def start(self, number: int) -> None:
        """Start a node again, or one more."""
        if number in self._nodes:
            raise SettingsError(f"start: node {number} is alive; kill it first")
        settings = self._settings(number)
        runner = NodeRunner(
            self.store,
            self._clock,
            self._emitter,
            self._lookup,
            self._tasks,
            settings=settings,
            make_worker=partial(VirtualWorker, script=self._script),
            engines=self.app.engines,
        )
        runner.join()
        self._nodes[number] = VirtualNode(runner, self.store, settings, self._clock.now_ms(), self._catch_up)
        self._numbers[runner.node.id] = number

    def node_of(self, run: Run) -> int | None:
        """The number of the node that the run is on, or ended on; None if it never began."""
        return None if run.owner is None else self._numbers[run.owner]

    def _tasks(self) -> tuple[tuple[str, ...], list[TaskInfo]]:
        known = len(self.app.tasks)
        if self._known is None or self._known[0] != known:
            self._known = known, self.app.tasks.names(), self.app.tasks.infos()
        return self._known[1:]

    def _settings(self, number: int) -> NodeSettings:
        """There is no hurry: deciding ahead would only cost, and nobody need wait for workers of no weight."""
        return replace(self.app.node_settings, name=f"node-{number}", plan_ahead=False, hold_on_ms=0)

    def _lookup(self, name: str) -> Target | None:
        return self._stand_ins.get(name) or self.app.tasks.lookup(name)

    def _is_called(self, task: str) -> bool:
        return self._cast.call or task in self._stand_ins

    @staticmethod
    def _declared(before: Before, now_ms: int) -> Effects:
        """The code that declares a schedule lives as long as the world: it needs not say so again and again."""
        assert before.schedule is not None
        schedule = with_fields(before.schedule, declared_seen_ms=None, version=before.schedule.version + 1)
        return Effects(schedule=schedule, answer=schedule)

    # what happened

    def runs(self, schedule: str | None = None, *, state: str | None = None) -> list[Run]:
        """All runs, in the order in which they were made."""
        chosen = (run for run in self.store.all_runs() if schedule in (None, run.schedule))
        return sorted((as_given(run) for run in chosen if state in (None, run.state)), key=lambda run: run.id)

    def decisions(self, schedule: str | None = None) -> list[Decision]:
        """Why ticks did not become runs, in the order in which that was decided."""
        chosen = (each for each in self.store.all_decisions() if schedule in (None, each.schedule))
        return sorted(chosen, key=lambda each: each.id)

    def moments(self, schedule: str, *, tz: str = "UTC") -> list[datetime]:
        """The nominal moments of all ticks whose runs have begun."""
        zone = ZoneInfo(tz)
        begun = [run for run in self.runs(schedule) if run.cause == "tick" and run.attempt]
        return [from_ms(each).astimezone(zone) for each in sorted(run.scheduled_ms for run in begun)]

    def _check_names(self, schedules: Sequence[str]) -> None:
        tasks = self.app.tasks.names()
        for argument, given, known in (
            ("takes", self._cast.takes, {*tasks, *schedules}),
            ("tasks", self._cast.tasks, {*tasks}),
        ):
            for name in given:
                if name not in known:
                    near = get_close_matches(name, known, n=1)
                    hint = f"did you mean {near[0]!r}?" if near else f"there are {_listed(known)}"
                    raise SettingsError(f"simulate: {argument}= names {name!r}, which the app does not have; {hint}")


def _listed(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names))) or "none"
