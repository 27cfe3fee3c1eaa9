"""One attempt that is executed elsewhere, as the node that watches it knows it; and what follows from an answer.

Decided without an engine, a store or a thread: moments come in, what to do comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, assert_never

from onthedot import storable
from onthedot.execution.context import Context
from onthedot.execution.engines.engine import Call, Done, Failed, Running, Status, Unknown, Waiting
from onthedot.execution.execute import succeeded
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run

UNKNOWN_MS = 60_000
"""So long an engine may say nothing of a run before it is given to it again, under the same id."""


class Next(Enum):
    """What to do where it has not ended."""

    WAIT = "wait"
    SUBMIT = "submit"


@dataclass(slots=True, eq=False)
class Away:
    """One attempt at an engine. Everything but `context` is touched by the engine's thread alone."""

    context: Context
    make_call: Callable[[], Call]
    enter: Callable[[], bool]
    """Whether it may begin: not if it was given back meanwhile."""
    prepare: Callable[[], Outcome | None]
    """Gives a step its arguments; how it ends, if it is not to be done."""
    end: Callable[[Outcome], None]
    dropped: bool = False
    """It is no longer this node's: nothing of it is told, and it is asked for no more."""
    prepared: bool = False
    sent: int = 0
    """How often it was given to the engine here."""
    said: str | None = None
    """What the store knows of where it is."""
    given: bool = False
    """The engine may have it."""
    taken: bool = False
    """The engine has said that it took it."""
    asked_ms: int | None = None
    """When the engine was asked to stop it."""
    unknown_ms: int | None = None
    """Since when the engine says nothing of it."""
    id: str = field(init=False)

    def __post_init__(self) -> None:
        run = self.run
        self.id = f"{run.id}.{run.attempt}"
        self.said = run.remote
        self.given, self.taken = run.remote is not None, run.is_taken  # another node has begun with it

    @property
    def run(self) -> Run:
        """As it is to be done."""
        return self.context.run

    def call(self) -> Call:
        """What to give to the engine now."""
        self.sent += 1
        return replace(self.make_call(), sending=f"{self.run.claim_no}.{self.sent}")

    def is_over(self, now_ms: int) -> bool:
        """Whether it has taken longer than it may."""
        limit, began = self.run.policy.timeout_ms, self.run.started_ms
        return limit is not None and began is not None and now_ms - began >= limit

    def judge(self, status: Status, now_ms: int, *, dedupes: bool) -> Outcome | Next:
        """What follows from an answer."""
        if not isinstance(status, Unknown):
            self.unknown_ms = None
        match status:
            case Waiting() | Running():
                self.taken = True
                return Next.WAIT
            case Done():
                return succeeded(self.context, status.result)
            case Failed():
                return self._failed(status)
            case Unknown():
                return self._unknown(now_ms, dedupes=dedupes)
            case _:
                assert_never(status)

    def _failed(self, status: Failed) -> Outcome:
        error = storable.end(status.error)
        if status.cancelled and self.context.cancelled:
            return self._outcome("cancelled", error=error, reason=self.run.reason or "cancelled")
        return self._outcome("failed", error=error)

    def _unknown(self, now_ms: int, *, dedupes: bool) -> Outcome | Next:
        if self.unknown_ms is None:
            self.unknown_ms = now_ms
        for_ms = now_ms - self.unknown_ms
        if self.context.cancelled and (dedupes or for_ms >= UNKNOWN_MS):
            return self._outcome("cancelled", reason=self.run.reason or "cancelled")
        if for_ms < UNKNOWN_MS or (self.taken and not dedupes):  # it is in a queue, of which nobody can ask
            return Next.WAIT
        if self.run.policy.delivery == "at_most_once":
            why = f"its engine knew nothing of it for {UNKNOWN_MS // 1000} s"
            return self._outcome("handed_back", entered=True, reason=why)
        self.unknown_ms = None
        return Next.SUBMIT

    def timed_out(self, *, was_asked: bool) -> Outcome:
        """It took too long; whether the engine was asked to stop it."""
        self.context.time_out()
        what = f"and was asked to stop it, {self.id}" if was_asked else f"and could not be asked to stop it, {self.id}"
        return self._outcome("timed_out", error=f"it took longer than its time-out: its engine has it, {what}")

    def cancelled(self) -> Outcome:
        """It was asked to stop before the engine had it."""
        return self._outcome("cancelled", reason=self.run.reason or "cancelled")

    def refused(self, why: str) -> Outcome:
        """It can never be given to the engine."""
        return self._outcome("failed", error=storable.end(why), final=True)

    def _outcome(self, ending: Any, **fields: Any) -> Outcome:
        return Outcome(self.run.id, self.run.claim_no, ending, flow=self.context.flow, **fields)
