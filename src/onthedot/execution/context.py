"""What a task may know about its run, and what it may ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Any

from onthedot.clock import Clock, SystemClock
from onthedot.durations import to_duration_ms
from onthedot.errors import ArgumentsError, OnthedotError
from onthedot.execution.facts import NOTHING, Facts
from onthedot.execution.results import ANYTHING, Expected, kept
from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.storable import MOST_BYTES, NotStorable, beginning, clean

_current: ContextVar[Context | None] = ContextVar("onthedot_context", default=None)

MOST_LOG_BYTES = 1_000_000
"""What is kept of what one attempt says."""
PRINTED = "STDOUT"
"""The level of what is printed, by a command or a task."""
_LONGEST_LINE = 8192
"""What is printed longer without an end of the line is kept as several lines."""
_RESULTS = 100
"""So many results are read at once: each may be large."""
_LINE_BYTES = 100
"""What a line costs beside its text."""

_task_log = logging.getLogger("onthedot.task")
_task_log.setLevel(logging.INFO)  # the root's own level leaves out INFO, and a run that says something means it


class Retry(OnthedotError):
    """Raise it in a task to have it tried again, after so long, whatever its retries are."""

    after_ms = 0

    def __init__(self, reason: str = "", *, after: timedelta | str = "0s") -> None:
        super().__init__(reason or "the task asked to be tried again")
        self.after_ms = to_duration_ms(after)


class GiveUp(OnthedotError):
    """Raise it in a task to fail for good, whatever retries are left."""


class Skip(OnthedotError):
    """Raise it in a task to end it as skipped: there was nothing to do."""


class Cancelled(OnthedotError):
    """Raised by `check` and `sleep` when somebody asked the run to stop, or it is no longer this node's."""


class WorkFailed(OnthedotError):
    """Raised where a command or an HTTP call failed: its text is the run's error as it stands, without a traceback."""

    def __init__(self, text: str, result: Any = None) -> None:
        super().__init__(text)
        self.result = result


class TimedOut(BaseException):
    """Raised in a task when it has taken longer than its time-out, and by `check` and `sleep` from then on.

    No `Exception`: `except Exception` in the task, or in what it calls, does not swallow it. It still may be caught.
    """

    def __init__(self, text: str = "it took longer than its time-out") -> None:
        super().__init__(text)


@dataclass(slots=True)
class Context:
    """One attempt of one run, as the task sees it."""

    run: Run
    on_line: Callable[[LogLine], None] = lambda line: None
    """Gets what the run says."""
    clock: Clock = field(default_factory=SystemClock)
    facts: Facts = NOTHING
    """Answers what is asked of the store."""
    expected: Expected = ANYTHING
    """What the other steps of its flow do with the result."""
    timed_out: bool = False
    completed: bool = False
    """The task has ended its run itself, in a transaction of its own, which may not have been committed."""
    cancelled: bool = False
    """Whether the run should stop."""
    _stopped: Event | None = None
    """Made for those who wait for it: most runs do not."""
    _when_stopped: Callable[[], None] | None = None
    _kept_bytes: int = 0
    _unended: str = ""
    """What was printed after the last end of a line."""

    @property
    def log(self) -> logging.Logger:
        """The logger of the task, `onthedot.task.NAME`: its records are kept with the run, and shown as others are."""
        return logging.getLogger(f"{_task_log.name}.{self.run.task}")

    @property
    def run_id(self) -> str:
        """The run's id: the same for every attempt."""
        return self.run.id

    @property
    def schedule(self) -> str | None:
        """The schedule's name; None for one-off work."""
        return self.run.schedule

    @property
    def scheduled_at(self) -> datetime:
        """The nominal moment."""
        return self.run.scheduled_at

    @property
    def due_at(self) -> datetime:
        """When it was to fire, with jitter, delay and back-off."""
        return self.run.due_at

    @property
    def attempt(self) -> int:
        """1 for the first."""
        return self.run.attempt

    @property
    def fence(self) -> int:
        """Grows with every start of the schedule: hand it to systems that must refuse a superseded writer."""
        return self.run.fence

    @property
    def shard(self) -> int | None:
        """Which shard of a broadcast this is, from 0."""
        return self.run.shard

    @property
    def shards(self) -> int | None:
        """How many shards the broadcast has: a node for each."""
        return self.run.shards

    @property
    def flow(self) -> str | None:
        """The id of the flow's run, where this is a step of one."""
        return self.run.parent_id if self.run.is_step else None

    @property
    def step(self) -> str | None:
        """Which step of the flow this is."""
        return self.run.step

    @property
    def item(self) -> int | None:
        """The number of the item, from 0, where the step is a map."""
        return self.run.item

    def results(self, step: str) -> Iterator[Any]:
        """What the runs of another step of this flow returned, in the order of its items, one after the other: as many
        as there are. None stands for one without a good end. Asks the store, a hundred at a time."""
        if not self.run.is_step:
            raise OnthedotError("ctx.results() is for steps: this run is not part of a flow")
        number = 0
        while page := self.facts.results(self.run, step, number, _RESULTS):
            for item, state, result in page:
                yield from [None] * (item - number)
                number = item + 1
                yield result if state is State.SUCCEEDED else None
            if len(page) < _RESULTS:
                return

    @property
    def previous_at(self) -> datetime | None:
        """The nominal moment of the schedule's run before this one, however it ended. Asks the store."""
        found = self.facts.previous_ms(self.run)
        return None if found is None else from_ms(found)

    @property
    def last_success_at(self) -> datetime | None:
        """The nominal moment of the schedule's latest run before this one that succeeded. Asks the store."""
        found = self.facts.last_success_ms(self.run)
        return None if found is None else from_ms(found)

    def progress(self, part: float, note: str = "") -> None:
        """Tell how far it is, from 0 to 1; kept with what the run says, and the last one as `Run.progress`."""
        self.keep(PROGRESS, f"{min(max(part, 0.0), 1.0):.0%} {note}".rstrip())

    def complete(self, result: Any = None, *, connection: Any) -> None:
        """End the run as succeeded in your own transaction (SQL stores): it counts if that commits, and only then.

        `Conflict` if the run is no longer this node's: then roll back. What the task returns or raises after a commit
        changes nothing; if it was rolled back, the run fails, or ends with what the task raised.
        """
        try:
            value, size, _ = kept(result, self.expected)
            outcome = Outcome(self.run.id, self.run.claim_no, "succeeded", result=value, size=size)
        except NotStorable as error:
            raise ArgumentsError(f"ctx.complete: the result cannot be kept: {error}") from None
        self.facts.complete(self.run, outcome, connection)
        self.completed = True

    @property
    def log_is_full(self) -> bool:
        """Whether nothing more is kept of what this attempt says."""
        return self._kept_bytes > MOST_LOG_BYTES

    def keep(self, level: str, text: str) -> None:
        """Keep a line with the run; when there are too many, one that says so, and none after it."""
        if self.log_is_full:
            return
        text = beginning(text, min(MOST_BYTES, MOST_LOG_BYTES - self._kept_bytes))
        self._kept_bytes += len(text.encode()) + _LINE_BYTES
        self.on_line(LogLine(self.run.id, self.run.claim_no, self.clock.now_ms(), clean(level[:20]), text))
        if self._kept_bytes > MOST_LOG_BYTES:
            full = f"nothing more is kept: a run's log may have {MOST_LOG_BYTES:,} bytes"
            self.on_line(LogLine(self.run.id, self.run.claim_no, self.clock.now_ms(), "WARNING", full))

    def write(self, text: str) -> None:
        """Keep what was printed, line by line; the last one when it ends, or the attempt does."""
        *lines, self._unended = (self._unended + text).split("\n")
        for line in lines:
            self.keep(PRINTED, line)
        if len(self._unended) > _LONGEST_LINE:
            self.end_line()

    def end_line(self) -> None:
        """Keep what was printed and has no end of its line."""
        unended, self._unended = self._unended, ""
        if unended:
            self.keep(PRINTED, unended)

    def check(self) -> None:
        """Raise `Cancelled` if the run should stop, `TimedOut` if it has taken too long."""
        if self.timed_out:
            raise TimedOut
        if self.cancelled:
            raise Cancelled(f"run {self.run_id} was asked to stop")

    def sleep(self, duration: timedelta | str) -> None:
        """Wait, but no longer than until the run should stop; then raise `Cancelled` or `TimedOut`."""
        if self._stopped is None:
            self._stopped = Event()
        if not self.cancelled:  # whoever stops it from now on finds the event
            self.clock.wait(self._stopped, to_duration_ms(duration))
        self.check()

    def stop(self) -> None:
        """Ask the task to stop."""
        self.cancelled = True
        if self._stopped is not None:
            self._stopped.set()
        if self._when_stopped is not None:
            self._when_stopped()

    def time_out(self) -> None:
        """Ask the task to stop, because it has taken too long."""
        self.timed_out = True
        self.stop()

    def when_stopped(self, act: Callable[[], None]) -> None:
        """Call it when the task should stop, in whatever thread says so; at once if it should already. Maybe twice."""
        self._when_stopped = act
        if self.cancelled:
            act()


def current() -> Context:
    """The context of the run that this code is called by."""
    context = _current.get()
    if context is None:
        raise OnthedotError("no run is under way here: current() works only inside a task")
    return context


def entered() -> Context | None:
    """The same, where there may be none."""
    return _current.get()


def enter(context: Context) -> None:
    """Make it the current one, in this thread or asyncio task."""
    _current.set(context)


def leave(context: Context) -> None:
    """There is no current one any more; what it printed last is kept."""
    _current.set(None)
    context.end_line()
