"""What this process has locked: until when each document is ours, and keeping it so while it is worked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from onthedot.clock import Clock
from onthedot.documents.jobs import Job
from onthedot.documents.store import JobStore


@dataclass(slots=True, eq=False)
class Held:
    """A job that is ours until `until_ms`, by this machine's monotonic time, counted from before we asked for it."""

    job: Job
    since_ms: int
    until_ms: int
    """Moves when the lock is renewed; 0: another has it."""
    is_ended: bool = False
    """Its work is over, and what became of it is to be written: the lock is renewed no more."""


class Holdings:
    """All that was locked and not yet written. Any number of threads use it."""

    def __init__(self) -> None:
        self._held: set[Held] = set()
        self._mutex = Lock()
        self.writing = Lock()
        """Held while locks are renewed or outcomes written: a renewal must not come after the outcome."""

    def add(self, jobs: Iterable[Held]) -> None:
        with self._mutex:
            self._held.update(jobs)

    def release(self, held: Held) -> None:
        with self._mutex:
            self._held.discard(held)

    def clear(self) -> None:
        with self._mutex:
            self._held.clear()

    def ids(self) -> list[Any]:
        """Which documents must not be locked again: they are here."""
        with self._mutex:
            return [held.job.id for held in self._held]

    def to_renew(self, before_ms: int) -> list[Held]:
        """Those whose lock would be over before that."""
        with self._mutex:
            return [held for held in self._held if not held.is_ended and 0 < held.until_ms <= before_ms]


class Renewer:
    """Renews what is held, waiting or at work, when a third of its lock is over."""

    def __init__(self, store: JobStore, holdings: Holdings, lock_ms: int, clock: Clock) -> None:
        self._store = store
        self._holdings = holdings
        self._lock_ms = lock_ms
        self._clock = clock

    def run_once(self) -> int:
        """One pass, and how long until the next."""
        third_ms = max(self._lock_ms // 3, 1)
        with self._holdings.writing:
            asked_ms = self._clock.monotonic_ms()
            jobs = self._holdings.to_renew(asked_ms + self._lock_ms - third_ms)
            lost = self._store.renew([held.job for held in jobs], self._lock_ms) if jobs else ()
        is_lost = _names(lost)
        for held in jobs:
            held.until_ms = 0 if _name(held.job) in is_lost else asked_ms + self._lock_ms
        return third_ms


def _names(jobs: Sequence[Job]) -> set[tuple[str, str]]:
    return {_name(job) for job in jobs}


def _name(job: Job) -> tuple[str, str]:
    return job.token, repr(job.id)  # an id need not be hashable
