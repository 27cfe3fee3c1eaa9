"""A worker whose runs take as long as they are said to, in virtual time and without threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

from onthedot.durations import to_duration_ms
from onthedot.execution.execute import execute, execute_async
from onthedot.execution.worker import Execution, Worker
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.testing.virtual_time import CallClock, VirtualLoop

Takes = Mapping[str, Any]
"""How long runs take, by the name of their schedule or task: a duration, or a function of the run that gives one."""


@dataclass(frozen=True, slots=True)
class Script:
    """What happens when a run begins."""

    takes: Takes = field(default_factory=dict)
    is_called: Callable[[str], bool] = lambda task: False

    def takes_ms(self, run: Run) -> int:
        """How long the run takes, beside what its task waits."""
        said = self._said(run.schedule, run.task)
        return to_duration_ms(said(run) if callable(said) else said)

    def fixed_ms(self, schedule: Schedule) -> int | None:
        """How long each run of the schedule takes; None where a function says so for each."""
        said = self._said(schedule.name, schedule.task)
        return None if callable(said) else to_duration_ms(said)

    def _said(self, schedule: str | None, task: str) -> Any:
        return self.takes.get(schedule or "", self.takes.get(task, "0s"))


class VirtualWorker(Worker):
    """Calls a task when its run begins, if it is to be called at all, and reports the outcome when its time is over."""

    def __init__(self, *args: Any, script: Script, **named: Any) -> None:
        super().__init__(*args, **named)
        self._script = script
        self._numbers = count()
        self._ends: list[tuple[int, int, Execution, Outcome]] = []

    def begin(self, *runs: Run) -> None:
        for run in runs:
            execution = self._take(run)
            if execution is not None and self._enter(execution):
                outcome, took_ms = self._outcome(execution)
                heappush(self._ends, (self._clock.now_ms() + took_ms, next(self._numbers), execution, outcome))

    def go_on_with(self, run: Run, end_ms: int) -> None:
        """Take a run that has begun before now, and will end well at this moment."""
        execution = self._take(run)
        if execution is not None and self._enter(execution):
            execution.entered_ms = run.started_ms or 0
            outcome = Outcome(run.id, run.claim_no, "succeeded")
            heappush(self._ends, (end_ms, next(self._numbers), execution, outcome))

    def cancel(self, run_id: str, claim_no: int | None = None) -> None:
        """A simulated task stops as soon as it is asked to."""
        execution = self._executions.get(run_id)
        if execution is not None and claim_no in (None, execution.run.claim_no):
            execution.context.stop()
            run = execution.run
            self._leave(execution, Outcome(run.id, run.claim_no, "cancelled", reason=run.reason or "cancelled"))

    def _stop(self, execution: Execution) -> None:
        """Nothing of it runs on anywhere: its place is free at once."""
        execution.context.stop()
        self._release(execution)

    def next_end_ms(self) -> int | None:
        """When the next run ends."""
        while self._ends and self._ends[0][2].given_up:
            heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def successes(self) -> list[tuple[int, Run]]:
        """The runs here that will end well, and when."""
        here = [(end_ms, execution, outcome.ending) for end_ms, _, execution, outcome in self._ends]
        return [(end_ms, each.run) for end_ms, each, ending in here if ending == "succeeded" and not each.given_up]

    def end_due(self) -> bool:
        """Report the runs whose time is over; whether there were any."""
        now_ms, ended = self._clock.now_ms(), False
        while (moment := self.next_end_ms()) is not None and moment <= now_ms:
            _, _, execution, outcome = heappop(self._ends)
            self._leave(execution, outcome)
            ended = True
        return ended

    def _outcome(self, execution: Execution) -> tuple[Outcome, int]:
        """How the run will end, and after how long."""
        run = execution.run
        took_ms, limit_ms = self._script.takes_ms(run), run.policy.timeout_ms
        outcome = Outcome(run.id, run.claim_no, "succeeded")
        if self._script.is_called(run.task):
            outcome, waited_ms = self._called(execution)
            took_ms += waited_ms
        if limit_ms is not None and took_ms > limit_ms:
            return Outcome(run.id, run.claim_no, "timed_out", error="it took longer than its time-out"), limit_ms
        return outcome, took_ms

    def _called(self, execution: Execution) -> tuple[Outcome, int]:
        context = execution.context
        context.clock = clock = CallClock(self._clock)
        ended = self._begin_step(context)
        if ended is not None:
            return ended, 0
        if not execution.target.is_async:
            return execute(execution.target, context), clock.waited_ms
        return _apart(lambda: _awaited(execution, VirtualLoop(clock))), clock.waited_ms


def _awaited(execution: Execution, loop: VirtualLoop) -> Outcome:
    try:
        return loop.run_until_complete(execute_async(execution.target, execution.context))
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _apart(call: Callable[[], Outcome]) -> Outcome:
    """Call it, in a thread of its own if this one has a loop that runs: it could not run another."""
    if asyncio._get_running_loop() is None:
        return call()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, call).result()
