"""What a task may know about its run, and what it may ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event

from onthedot.clock import Clock, SystemClock
from onthedot.durations import to_duration_ms
from onthedot.errors import OnthedotError
from onthedot.model.run import Run

_current: ContextVar[Context | None] = ContextVar("onthedot_context", default=None)


class Retry(OnthedotError):
    """Raise it in a task to have it tried again, after so long, whatever its retries are."""

    def __init__(self, reason: str = "", *, after: timedelta | str = "0s") -> None:
        super().__init__(reason or "the task asked to be tried again")
        self.after_ms = to_duration_ms(after)


class GiveUp(OnthedotError):
    """Raise it in a task to fail for good, whatever retries are left."""


class Skip(OnthedotError):
    """Raise it in a task to end it as skipped: there was nothing to do."""


class Cancelled(OnthedotError):
    """Raised by `check` and `sleep` when somebody asked the run to stop, or it is no longer this node's."""


@dataclass(slots=True)
class Context:
    """One attempt of one run, as the task sees it."""

    run: Run
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("onthedot.task"))
    on_progress: Callable[[float, str], None] = lambda part, note: None
    clock: Clock = field(default_factory=SystemClock)
    _stop: Event = field(default_factory=Event)

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
        """Which shard of a broadcast this is."""
        return self.run.shard

    @property
    def cancelled(self) -> bool:
        """Whether the run should stop."""
        return self._stop.is_set()

    def progress(self, part: float, note: str = "") -> None:
        """Tell how far it is, from 0 to 1."""
        self.on_progress(min(max(part, 0.0), 1.0), note)

    def check(self) -> None:
        """Raise `Cancelled` if the run should stop."""
        if self._stop.is_set():
            raise Cancelled(f"run {self.run_id} was asked to stop")

    def sleep(self, duration: timedelta | str) -> None:
        """Wait, but no longer than until the run should stop; then raise `Cancelled`."""
        self.clock.wait(self._stop, to_duration_ms(duration))
        self.check()

    def stop(self) -> None:
        """Ask the task to stop."""
        self._stop.set()


def current() -> Context:
    """The context of the run that this code is called by."""
    context = _current.get()
    if context is None:
        raise OnthedotError("no run is under way here: current() works only inside a task")
    return context


def enter(context: Context) -> None:
    """Make it the current one, in this thread or asyncio task."""
    _current.set(context)
