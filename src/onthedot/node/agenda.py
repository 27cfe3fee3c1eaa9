"""What a pass of planning and starting has to do: decided from what was heard and from what came of the last pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MOMENT_MS = 2
"""How soon workers that are about to come free are looked at again."""
LOOK_AGAIN_MS = 50
"""How soon what somebody else had locked is looked at again."""


class Steps(NamedTuple):
    """What this pass does, in this order."""

    waiting_first: bool = False
    """Start some of what waits before anything new is planned: new ticks must not take all places that come free."""
    plan: bool = False
    start: bool = False

    @property
    def any(self) -> bool:
        """Whether there is anything to do."""
        return self.plan or self.start


@dataclass(frozen=True, slots=True)
class Result:
    """What planning or starting came to."""

    began: bool = False
    passed_over: bool = False
    """Somebody else had some of it locked."""
    more: bool = False
    """There is more, and room for it."""
    waits: bool = False
    """More may wait than there was room for."""
    store_ms: int | None = None
    """The store's time when it looked; None where it did not."""
    holds_on: bool = False
    """What is due was decided ahead, and only waits for workers that are about to come free."""


class Agenda:
    """The flags of the planning thread. `wake` and `go_on` may be called by any thread, the rest by one."""

    def __init__(self, *, plans: bool, executes: bool) -> None:
        self._plans = plans
        self._executes = executes
        self._woken = True
        self._reread = True
        self._plans_on = False
        self._waits = False
        self.is_hungry = False
        """A worker that comes free is worth a pass: runs may wait for it."""

    def wake(self) -> None:
        """Something may have become due, or was put."""
        self._reread = self._woken = True

    def go_on(self) -> None:
        """Something may start that could not before."""
        self._woken = True

    def fed(self, *, more: bool) -> None:
        """Whoever wrote outcomes has started what waited; whether more may."""
        self.is_hungry = self._waits = more

    @property
    def is_woken(self) -> bool:
        """Whether the next pass has something to look at, whatever the ring says."""
        return self._woken

    def take_reread(self) -> bool:
        """Whether to read ahead at once, asked at the beginning of a pass."""
        reread, self._reread = self._reread, False
        self._plans_on = self._plans_on or reread
        return reread

    def begin(self, *, due: bool, planned_locally: bool) -> Steps:
        """What to do now. A worker that came free is no reason to look for what is due."""
        woken, self._woken = self._woken, False
        self._plans_on = self._plans_on or due
        if not (woken or planned_locally or self._plans_on):
            return Steps()
        return Steps(self._waits and self._executes, self._plans_on and self._plans, self._executes)

    def failed(self) -> None:
        """Nobody knows what the store made of it: all of it is looked at again."""
        self._woken = self._plans_on = True

    def ended(self, planned: Result, started: Result, *, is_full: bool) -> int | None:
        """Take in what came of the steps; when to make another pass, or None where only the ring tells."""
        self._plans_on = planned.more or planned.passed_over or planned.holds_on
        self._waits = started.waits
        self.is_hungry = is_full or started.waits
        if planned.holds_on:
            self._woken = True
            return MOMENT_MS
        if planned.more or started.more:
            self._woken = True
            return 0
        if planned.passed_over or started.passed_over:
            self._woken = True
            return LOOK_AGAIN_MS
        return None
