"""A real node in virtual time, to which anything may happen: killed, frozen, cut off or slowed down in any call.

Everything that decides or acts is the shipped `NodeRunner`. Each pass of its loops is a greenlet, which stands still
where the node would: in a call of the store whose answer is late, or while the process is frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Literal

from greenlet import GreenletExit, getcurrent, greenlet

from onthedot.app.app import App
from onthedot.clock import ManualClock
from onthedot.errors import StoreUnavailable
from onthedot.events import Emitter, Failure
from onthedot.execution.worker import Execution
from onthedot.loop import Loop
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Store
from onthedot.testing.history import Entry
from onthedot.testing.virtual_worker import Script, VirtualWorker

NEVER = 1 << 62
_LOOK_MS = 50
_SLOWER = (1, 3, 0, 1)
"""Answers are not all alike late: one may come before another that was asked for earlier."""
LOOPS = ("lease", "outcomes", "logs", "heartbeat", "sweep", "plan")
"""A node that wakes looks at its lease before anything else."""
When = Literal["before", "after"]
_READ_ONLY = frozenset({"now_ms", "listen", "nodes", "runs", "schedules", "coming", "upcoming", "results", "graph"})


class NodeClock:
    """The clocks of one machine: a wall clock that is wrong, and monotonic time from a beginning of its own."""

    def __init__(self, world: ManualClock, number: int, park: Callable[[int | None, Event], None]) -> None:
        self._world = world
        self._offset_ms = 1_000_003 * number
        self._park = park
        self.skew_ms = 0

    def now_ms(self) -> int:
        return self._world.now_ms() + self.skew_ms

    def monotonic_ms(self) -> int:
        return self._world.monotonic_ms() + self._offset_ms

    def wait(self, event: Event, for_ms: int | None) -> bool:
        if not event.is_set():
            self._park(for_ms, event)
        return event.is_set()


@dataclass(slots=True)
class Trouble:
    """What is wrong between a node and the store."""

    cut_until_ms: int = 0
    cut: When = "before"
    """Whether calls do not arrive, or their answers."""
    slow_until_ms: int = 0
    slow_ms: int = 0
    freeze: tuple[When, int] | None = None
    """In its next call that changes something the process is frozen, for so long."""
    kill: When | None = None
    """In its next call that changes something the process dies."""
    deaf: bool = False
    """Notifications are lost."""


class FaultyStore:
    """The store as one node sees it."""

    def __init__(self, store: Store, node: StormNode) -> None:
        self._store = store
        self._node = node

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method):
            return method
        call = partial(self._node.call, name, method)
        setattr(self, name, call)
        return call


@dataclass(slots=True)
class _Pass:
    """A pass that is under way."""

    name: str
    greenlet: greenlet
    until_ms: int = NEVER
    event: Event | None = None


class JournalWorker(VirtualWorker):
    """Writes down itself what its tasks do: they take no time of their own."""

    def __init__(self, *args: Any, note: Callable[[Run, Literal["begin", "end"], str | None], None], **named: Any):
        super().__init__(*args, **named)
        self._note = note

    def _enter(self, execution: Execution) -> bool:
        entered = super()._enter(execution)
        if entered:
            self._note(execution.run, "begin", None)
        return entered

    def _leave(self, execution: Execution, outcome: Outcome, *, in_thread: bool = False) -> None:
        if not execution.given_up and execution.entered:
            raised = None if outcome.ending == "succeeded" else "Boom"
            self._note(execution.run, "end", raised)
        super()._leave(execution, outcome, in_thread=in_thread)


class StormNode:
    """One process after the other on one machine."""

    def __init__(self, number: int, clock: ManualClock, store: Store, app: App, write: Callable[[Entry], None]) -> None:
        self.number = number
        self.trouble = Trouble()
        self.frozen_until_ms = 0
        self.unexpected: list[Failure] = []
        self._world = clock
        self._app = app
        self._write = write
        self._clock = NodeClock(clock, number, self._park)
        self._store = FaultyStore(store, self)
        self._listen = store.listen
        self._unlisten: Callable[[], None] = lambda: None
        self._runner: NodeRunner | None = None
        self._passes: dict[str, _Pass] = {}
        self._next_ms: dict[str, int] = {}
        self._loops: Mapping[str, Loop] = {}
        self._stopping = False
        self._slowed = 0

    # life

    @property
    def is_up(self) -> bool:
        """Whether there is a process."""
        return self._runner is not None

    @property
    def is_leaving(self) -> bool:
        """Whether it drains."""
        return self._stopping and self.is_up

    @property
    def is_frozen(self) -> bool:
        """Whether it stands still."""
        return self._world.now_ms() < self.frozen_until_ms

    def start(self, settings: NodeSettings, without: frozenset[str] = frozenset()) -> None:
        """A new process, which does not know these tasks. Where the store is away, it ends and is started again."""
        app = self._app
        emitter = Emitter(lambda event, error: None)
        emitter.subscribe(Failure, self._note_failure)
        runner = NodeRunner(
            self._store,  # type: ignore[arg-type]
            self._clock,
            emitter,
            lambda name: None if name in without else app.tasks.lookup(name),
            lambda: (
                tuple(name for name in app.tasks.names() if name not in without),
                [info for info in app.tasks.infos() if info.name not in without],
            ),
            settings=settings,
            make_worker=partial(JournalWorker, script=Script(is_called=lambda task: True), note=self._note),
        )
        self._runner, self._loops, self._stopping = runner, runner.loops, False
        for name, loop in runner.loops.items():
            loop.join = partial(self._join, name)  # type: ignore[method-assign]
        self._next_ms = {}
        self._run("join", runner.join)

    def _joined(self) -> None:
        runner = self._runner
        assert runner is not None
        now_ms = self._world.now_ms()
        self._next_ms = {"outcomes": NEVER, "logs": NEVER} | dict.fromkeys(
            ("lease", "heartbeat", "sweep", "plan"), now_ms
        )
        self._unlisten = self._listen(self._wake)

    def _wake(self) -> None:
        if self._runner is not None and not self.trouble.deaf and not self._stopping:
            self._runner.wake()

    def kill(self) -> None:
        """End the process without a word."""
        self._runner = None
        self._unlisten()
        self._unlisten = lambda: None
        self.frozen_until_ms, self.trouble = 0, Trouble()
        passes, self._passes = self._passes, {}
        for each in passes.values():
            if each.greenlet is not getcurrent():
                with suppress(GreenletExit):
                    each.greenlet.throw(GreenletExit)

    def stop(self) -> None:
        """Let it drain and leave."""
        if self._runner is not None and not self._stopping and self._next_ms:
            self._stopping = True
            self._run("stop", self._runner.stop)

    def freeze(self, for_ms: int) -> None:
        """Let it stand still."""
        self.frozen_until_ms = self._world.now_ms() + for_ms

    def set_clock(self, skew_ms: int) -> None:
        """Its wall clock is off by so much from now on."""
        self._clock.skew_ms = skew_ms

    # passes

    def next_ms(self) -> int:
        """When something happens here by itself."""
        if self._runner is None:
            return NEVER
        if self.is_frozen:
            return self.frozen_until_ms
        moments = [each.until_ms for each in self._passes.values()]
        moments += [ms for name, ms in self._next_ms.items() if name not in self._passes and self._may(name)]
        end_ms = self._worker.next_end_ms()
        return min([*moments, NEVER if end_ms is None else end_ms])

    def step(self) -> bool:
        """All that is due here now; whether there was anything."""
        if self._stands_still():
            return False
        acted = self._look_at_lease() | self._resume_due()
        acted |= not self._stands_still() and self._worker.end_due()
        for name in LOOPS:
            if self._stands_still():  # as a call of the store had it
                return True
            if name in self._next_ms and name not in self._passes and self._is_due(name) and self._may(name):
                self._run(name, self._loops[name].step)
                acted = True
        return acted

    def _stands_still(self) -> bool:
        return self._runner is None or self.is_frozen

    @property
    def _worker(self) -> JournalWorker:
        assert self._runner is not None
        assert isinstance(self._runner.worker, JournalWorker)
        return self._runner.worker

    def _look_at_lease(self) -> bool:
        """Before anything else of a process that has just woken."""
        if "lease" in self._next_ms and self._next_ms["lease"] <= self._world.now_ms() and "lease" not in self._passes:
            self._run("lease", self._loops["lease"].step)
            return True
        return False

    def _may(self, name: str) -> bool:
        return not self._loops[name]._stopping

    def _is_due(self, name: str) -> bool:
        return self._next_ms[name] <= self._world.now_ms() or self._loops[name].is_woken

    def _resume_due(self) -> bool:
        now_ms, acted = self._world.now_ms(), False
        for each in list(self._passes.values()):
            due = each.until_ms <= now_ms or (each.event is not None and each.event.is_set())
            if due and self._passes.get(each.name) is each and not self.is_frozen:
                each.until_ms, each.event = NEVER, None
                self._switch(each)
                acted = True
        return acted

    def _run(self, name: str, work: Callable[[], Any]) -> None:
        made = _Pass(name, greenlet(partial(self._pass, name, work)))
        self._passes[name] = made
        self._switch(made)

    def _switch(self, each: _Pass) -> None:
        each.greenlet.parent = getcurrent()
        each.greenlet.switch()
        if each.greenlet.dead and self._passes.get(each.name) is each:
            del self._passes[each.name]

    def _pass(self, name: str, work: Callable[[], Any]) -> None:
        runner = self._runner
        try:
            wait_ms = work()
        except StoreUnavailable:  # of a join: the process has ended with one line
            if self._runner is runner:
                self.kill()
            return
        if self._runner is not runner or runner is None:
            return
        if name == "join":
            self._joined()
        elif name == "stop":
            del self._passes[name]
            self.kill()
        else:
            self._next_ms[name] = NEVER if wait_ms is None else self._world.now_ms() + wait_ms

    def _join(self, name: str, timeout_s: float | None = None) -> None:
        """Who stops waits for the passes that are under way, as for threads."""
        while name in self._passes and self._runner is not None:
            self._park(_LOOK_MS)

    def _park(self, for_ms: int | None, event: Event | None = None) -> None:
        """Stand still in this pass: until so much time has passed, or something has happened."""
        me = next((each for each in self._passes.values() if each.greenlet is getcurrent()), None)
        if me is None:
            return  # what is called from outside does not wait
        me.until_ms = NEVER if for_ms is None else self._world.now_ms() + max(for_ms, 1)
        me.event = event
        me.greenlet.parent.switch()

    # calls of the store

    def call(self, name: str, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """One call, with what is wrong just now."""
        if self._runner is None:
            raise GreenletExit
        trouble, now_ms = self.trouble, self._world.now_ms()
        writes = name not in _READ_ONLY
        if now_ms < trouble.cut_until_ms and trouble.cut == "before":
            raise StoreUnavailable(f"{name}: the request did not arrive")
        if writes:
            self._may_end("before")
        answer = method(*args, **named)
        if writes:
            self._may_end("after")
        if now_ms < trouble.cut_until_ms and trouble.cut == "after" and writes:
            raise StoreUnavailable(f"{name}: the answer was lost")
        if now_ms < trouble.slow_until_ms and name != "listen":
            self._slowed += 1
            self._park(trouble.slow_ms * _SLOWER[self._slowed % len(_SLOWER)])
        return answer

    def _may_end(self, when: When) -> None:
        trouble = self.trouble
        if trouble.kill == when:
            self.kill()
            raise GreenletExit
        if trouble.freeze is not None and trouble.freeze[0] == when:
            for_ms, trouble.freeze = trouble.freeze[1], None
            self.freeze(for_ms)
            self._park(for_ms)

    # what is told

    def _note(self, run: Run, what: Literal["begin", "end"], raised: str | None) -> None:
        now_ms = self._world.now_ms()
        self._write(
            Entry(
                what,
                run.id,
                run.claim_no,
                run.attempt,
                run.schedule,
                run.scheduled_ms,
                run.owner or "",
                self._clock.now_ms(),
                self._clock.monotonic_ms(),
                raised=raised,
                fence=run.fence,
                at_ms=now_ms,
            )
        )

    def _note_failure(self, failure: Failure) -> None:
        if (
            not isinstance(failure.error, StoreUnavailable | GreenletExit)
            and type(failure.error).__name__ != "NodeDead"
        ):
            self.unexpected.append(failure)
