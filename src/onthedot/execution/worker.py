"""The worker: calls what it is given, on threads made when needed or on an event loop, and reports each outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock, Thread

from onthedot.clock import Clock
from onthedot.events import Emitter, Failure, RunFinished, RunStarted
from onthedot.execution.context import Context
from onthedot.execution.deadlines import Deadlines
from onthedot.execution.execute import execute, execute_async, execute_until, stuck
from onthedot.execution.targets import Lookup, Target
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.stores.base import LogLine


@dataclass(slots=True)
class Execution:
    """A run that this worker has taken: queued, or inside its task."""

    run: Run
    context: Context
    target: Target
    entered: bool = False
    given_up: bool = False
    """It is no longer this node's: what comes of it is not reported."""
    stuck: bool = False
    """Its time-out is over and reported, and its thread has not come back."""
    future: asyncio.Task[None] | None = None


class Worker:
    """Takes up to `capacity` runs at once. Thread-safe."""

    def __init__(
        self,
        lookup: Lookup,
        clock: Clock,
        emitter: Emitter,
        report: Callable[[Outcome], None],
        *,
        capacity: int,
        on_line: Callable[[LogLine], None] = lambda line: None,
    ) -> None:
        self._lookup = lookup
        self._clock = clock
        self._emitter = emitter
        self._report = report
        self._on_line = on_line
        self._deadlines = Deadlines(clock, lambda stage, error: emitter.emit(Failure(stage, error)))
        self._stuck = 0
        self.capacity = capacity
        self._lock = Lock()
        self._executions: dict[str, Execution] = {}
        self._begun: dict[str, int] = {}
        self._queue: SimpleQueue[Execution | None] = SimpleQueue()
        self._threads = 0
        self._idle_threads = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread: Thread | None = None
        self._empty = Event()
        self._empty.set()

    @property
    def free(self) -> int:
        """How many more runs can begin now."""
        return self.capacity - len(self._executions) - self._stuck

    def executing(self) -> dict[str, int]:
        """The runs that are here, with their claim numbers."""
        with self._lock:
            return {run_id: each.run.claim_no for run_id, each in self._executions.items()}

    def has_begun(self, run: Run) -> bool:
        """Whether this claim was ever begun here."""
        return self._begun.get(run.id, 0) >= run.claim_no

    def forget_begun(self, but: Collection[str]) -> None:
        """Forget which claims were begun, but those of these runs and of what is here."""
        with self._lock:
            keep = {*but, *self._executions}
            self._begun = {run_id: claim_no for run_id, claim_no in self._begun.items() if run_id in keep}

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run `async def` tasks on this loop instead of one of our own."""
        self._loop = loop

    def begin(self, *runs: Run) -> None:
        """Start runs that this node owns. Beginning the same claim twice is beginning it once."""
        taken = [execution for run in runs if (execution := self._take(run)) is not None]
        waiting = [execution for execution in taken if execution.target.is_async]
        if waiting:  # all at once: waking the loop costs more than the tasks
            loop = self._event_loop()
            loop.call_soon_threadsafe(self._spawn, loop, waiting)
        for execution in taken:
            if not execution.target.is_async:
                self._queue.put(execution)
                self._maybe_add_thread()

    def _take(self, run: Run) -> Execution | None:
        target = self._lookup(run.task)
        if target is None:
            self._report(Outcome(run.id, run.claim_no, "handed_back", reason=f"no task {run.task!r} on this node"))
            return None
        execution = Execution(run, Context(run, on_line=self._on_line, clock=self._clock), target)
        with self._lock:
            if self._begun.get(run.id, 0) >= run.claim_no:
                return None
            self._begun[run.id] = run.claim_no
            self._executions[run.id] = execution
            self._empty.clear()
        return execution

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop; it still reports how it ended."""
        execution = self._executions.get(run_id)
        if execution is not None:
            execution.context.stop()
            self._cancel_async(execution)

    def give_up(self, run_id: str) -> None:
        """Stop a run that is no longer this node's; nothing of it is reported."""
        with self._lock:
            execution = self._executions.pop(run_id, None)
            if execution is not None:
                execution.given_up = True
        if execution is not None:
            execution.context.stop()
            self._cancel_async(execution)
            self._note_empty()

    def hand_back(self, *, entered: bool = False) -> None:
        """Give back what has not entered its task yet, or all; tasks that were entered are asked to stop."""
        with self._lock:
            given_back = [each for each in self._executions.values() if entered or not each.entered]
            for each in given_back:
                each.given_up = True
                self._executions.pop(each.run.id)
        for each in given_back:
            self._report(Outcome(each.run.id, each.run.claim_no, "handed_back", entered=each.entered))
            each.context.stop()
            self._cancel_async(each)
        self._note_empty()

    def wait_empty(self, for_ms: int) -> bool:
        """Wait until nothing is left; says whether it is so."""
        return self._clock.wait(self._empty, for_ms)

    def close(self) -> None:
        """End the threads that have nothing to do, and the event loop if it is ours."""
        self._deadlines.close()
        for _ in range(self._threads):
            self._queue.put(None)
        if self._loop_thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop_thread.join()

    # threads

    def _maybe_add_thread(self) -> None:
        with self._lock:
            if self._idle_threads >= self._queue.qsize() or self._threads >= self.capacity:
                return
            self._threads += 1
            number = self._threads
        Thread(target=self._work, name=f"onthedot-worker-{number}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle_threads += 1
            execution = self._queue.get()
            with self._lock:
                self._idle_threads -= 1
            if execution is None:
                return
            if self._enter(execution):
                self._leave(execution, self._execute(execution))

    def _execute(self, execution: Execution) -> Outcome:
        deadline = self._deadlines.watch(execution.context, lambda place: self._abandon(execution, place))
        if deadline is None:
            return execute(execution.target, execution.context)
        outcome = execute_until(execution.target, execution.context, deadline)
        self._deadlines.forget(deadline)
        return outcome

    def _abandon(self, execution: Execution, place: str) -> None:
        """Report a run whose task cannot be stopped; its thread counts as busy until it comes back."""
        with self._lock:
            if execution.given_up:
                return
            execution.given_up = execution.stuck = True
            self._stuck += 1
        self._end(execution, stuck(execution.context, place))

    # the event loop

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop_thread = Thread(target=_run_loop, args=(self._loop,), name="onthedot-loop", daemon=True)
                self._loop_thread.start()
            return self._loop

    def _spawn(self, loop: asyncio.AbstractEventLoop, executions: list[Execution]) -> None:
        for execution in executions:
            execution.future = loop.create_task(self._run_async(execution))

    async def _run_async(self, execution: Execution) -> None:
        if self._enter(execution):
            self._leave(execution, await execute_async(execution.target, execution.context))

    def _cancel_async(self, execution: Execution) -> None:
        future, loop = execution.future, self._loop
        if future is not None and loop is not None:
            loop.call_soon_threadsafe(future.cancel)

    # both

    def _enter(self, execution: Execution) -> bool:
        with self._lock:
            if execution.given_up:
                return False
            execution.entered = True
        run = execution.run
        late_ms = max(self._clock.now_ms() - run.due_ms, 0)
        self._emitter.emit(RunStarted(run.id, run.task, run.schedule, run.attempt, late_ms))
        return True

    def _leave(self, execution: Execution, outcome: Outcome) -> None:
        with self._lock:
            if execution.stuck:
                self._stuck -= 1
            if execution.given_up:
                return
            execution.given_up = True  # reported here, so nobody else need
        self._end(execution, outcome)

    def _end(self, execution: Execution, outcome: Outcome) -> None:
        run = execution.run
        self._report(outcome)  # before it leaves: a renewal must find it here, or as an outcome on its way
        with self._lock:
            if self._executions.get(run.id) is execution:
                self._executions.pop(run.id)
        took_ms = max(self._clock.now_ms() - (run.started_ms or 0), 0)
        self._emitter.emit(RunFinished(run.id, run.task, run.schedule, outcome.ending, took_ms, outcome.error))
        self._note_empty()

    def _note_empty(self) -> None:
        with self._lock:
            if not self._executions:
                self._empty.set()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
