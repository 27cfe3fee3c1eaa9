"""A real node, of which the model decides when each of its threads goes on.

Everything that decides or acts is the shipped `NodeRunner`: its passes, its lease, its comparison, its writers. Only
its threads are missing. Each pass runs in a greenlet of its own, which stops whenever a transaction has been committed
and the answer is on its way; the history says who goes on next, and which answers are lost. So a node can be frozen, or
die, between any two transactions, and two of its passes can overlap as two threads would.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, getcurrent, greenlet

from onthedot.app.tasks import Task
from onthedot.errors import OnthedotError
from onthedot.events import Emitter
from onthedot.execution.worker import Execution, Worker
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.node.lease import Claim
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings

if TYPE_CHECKING:
    from tests.model.world import World

LEASE_MS = 30_000


def _job() -> None: ...


TASK: Task[..., Any] = Task("job", _job)


class AnswerLost(ConnectionResetError):
    """The transaction was committed, and nobody heard of it."""


class ModelWorker(Worker):
    """The shipped worker without its threads: runs are entered and ended when the history says so."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.assigned: list[Execution] = []
        self.inside: list[Execution] = []

    def begin(self, *runs: Run) -> None:
        taken = (self._take(run) for run in runs)
        self.assigned += [execution for execution in taken if execution is not None]

    def cancel(self, run_id: str, claim_no: int | None = None) -> None:
        """A task of the model stops as soon as it is asked to."""
        execution = self._executions.get(run_id)
        if execution is not None and claim_no in (None, execution.run.claim_no):
            execution.context.stop()
            self._leave(execution, Outcome(run_id, execution.run.claim_no, "cancelled"))

    def _stop(self, execution: Execution) -> None:
        execution.context.stop()
        self._release(execution)

    def enter_next(self) -> Claim | None:
        """Call the task of the oldest run that was assigned."""
        while self.assigned:
            execution = self.assigned.pop(0)
            if self._enter(execution):
                self.inside.append(execution)
                return execution.run.id, execution.run.claim_no
        return None

    def end_next(self, ending: Ending) -> None:
        """The task of the oldest run comes to its end."""
        self.inside = [each for each in self.inside if not each.given_up]
        if self.inside:
            execution = self.inside.pop(0)
            self._leave(execution, Outcome(execution.run.id, execution.run.claim_no, ending))

    def entered(self) -> set[Claim]:
        """What is inside user code, and was not told to stop."""
        return {(each.run.id, each.run.claim_no) for each in self.inside if not each.given_up}


class ModelNode:
    """One process after the other on one machine."""

    def __init__(self, world: World, number: int, *, plans_ahead: bool = True) -> None:
        self._world = world
        self._plans_ahead = plans_ahead
        self.number = number
        self.runner: NodeRunner | None = None
        self.frozen = False
        self._passes: dict[str, greenlet] = {}
        self._read: dict[str, Schedule] = {}
        self.incarnations: list[str] = []
        """Of this process, the present one last."""

    # life

    @property
    def worker(self) -> ModelWorker:
        assert self.runner is not None
        assert isinstance(self.runner.worker, ModelWorker)
        return self.runner.worker

    @property
    def id(self) -> str:
        assert self.runner is not None
        return self.runner.node.id

    def has_joined(self) -> bool:
        """Whether it has an incarnation."""
        return self.runner is not None and self.runner._heartbeat._lease is not None

    def up(self) -> bool:
        """Whether the process runs and is not frozen."""
        return self.runner is not None and not self.frozen

    def fresh(self) -> bool:
        """Whether it may believe that its runs are its own."""
        return self.up() and self.runner is not None and not self.runner._heartbeat.is_cut_off

    def start(self) -> None:
        """A new process."""
        self.runner = NodeRunner(
            self._world.store,
            self._world.clock,
            Emitter(lambda event, error: None),
            lambda name: TASK,
            lambda: (("job",), []),
            settings=NodeSettings(name=f"n{self.number}", capacity=3, lease_ms=LEASE_MS, plan_ahead=self._plans_ahead),
            make_worker=ModelWorker,
        )
        self.runner.join()

    def die(self) -> None:
        """The process is gone, with all that it knew."""
        self.runner, self.frozen, self._read, self.incarnations = None, False, {}, []
        passes, self._passes = self._passes, {}
        for each in passes.values():
            with suppress(GreenletExit):
                each.throw(GreenletExit)

    # passes

    def go(self, name: str) -> None:
        """Let one of its passes go on up to the next commit, or begin one."""
        if not self.up():
            return
        if name == "stop" and name not in self._passes:
            self.finish_all(*self._passes)  # a node that stops waits for its own passes
        elif "stop" in self._passes:
            name = "stop"
        self._resume(self._passes.get(name) or self._begin(name))

    def finish_all(self, *names: str) -> None:
        """Let these passes come to their end."""
        for name in names:
            self.go(name)
            while name in self._passes and self.up():
                self.go(name)

    def finish_what_began(self) -> None:
        """Let all passes that are under way come to their end."""
        while self._passes and self.up():
            self.go_on()

    def plan_no_more(self) -> None:
        """Only start what waits: so that there is an end."""
        if self.runner is not None:
            self.runner._pass.agenda._plans = False

    def go_on(self) -> None:
        """The oldest answer arrives."""
        if self.up() and self._passes:
            self._resume(next(iter(self._passes.values())))

    def lose(self) -> None:
        """The oldest answer is lost."""
        if self.up() and self._passes:
            self._resume(next(iter(self._passes.values())), AnswerLost("the answer was lost"))

    def _begin(self, name: str) -> greenlet:
        made = self._passes[name] = greenlet(self._guarded(name, self._pass_of(name)))
        return made

    def _pass_of(self, name: str) -> Callable[[], object]:
        runner = self.runner
        assert runner is not None
        passes: dict[str, Callable[[], object]] = {
            "plan": runner.plan_once,
            "beat": runner.heartbeat_once,
            "write": runner.write_once,
            "sweep": runner._upkeep.sweep_once,
            "stop": runner.stop,
        }
        if name.startswith("local:"):
            row = self._read.get(name.removeprefix("local:"))
            return lambda: None if row is None else runner._planner.plan_one(self.id, row)
        return passes[name]

    def _guarded(self, name: str, run_once: Callable[[], object]) -> Callable[[], None]:
        """As `Loop` does it: an error of a pass is survived. Only those that may happen are."""

        def run() -> None:
            try:
                run_once()
            except (AnswerLost, OnthedotError):
                if name == "plan" and self.runner is not None:
                    self.runner.wake()

        return run

    def _resume(self, paused: greenlet, error: BaseException | None = None) -> None:
        parent = getcurrent()
        paused.parent = parent
        if error is None:
            paused.switch()
        else:
            paused.throw(error)
        if paused.dead:
            for name in [name for name, each in self._passes.items() if each is paused]:
                del self._passes[name]
                if name == "stop" and self.runner is not None:
                    self.runner, self.incarnations = None, []
                    self._passes.clear()

    # runs

    def watch_lease(self) -> None:
        """The node's own timer."""
        if self.up() and self.runner is not None:
            self.runner.watch_lease_once()

    def enter(self) -> None:
        if self.up():
            claim = self.worker.enter_next()
            if claim is not None:
                self._world.watch.entered(claim, self)

    def end(self, ending: Ending) -> None:
        if self.up():
            self.worker.end_next(ending)

    def hand_back(self) -> None:
        """What was not entered is given back."""
        if self.up():
            self.worker.hand_back()

    def look(self) -> None:
        """Read the schedules, for local mode."""
        if self.up():
            self._read = {row.name: row for row in self._world.store.schedules()}
