"""Writing what became of documents: in batches, and again where the store did not answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from onthedot.clock import Clock
from onthedot.documents.held import Held, Holdings
from onthedot.documents.hooks import Hooks
from onthedot.documents.jobs import Change, Job
from onthedot.documents.store import JobStore
from onthedot.documents.working import Outcome, Removal
from onthedot.errors import Conflict


class Recorder:
    """Owned by one thread. What could not be written is kept until its lock is over: then another will do it again."""

    def __init__(self, store: JobStore, clock: Clock, hooks: Hooks, holdings: Holdings) -> None:
        self._store = store
        self._holdings = holdings
        self._clock = clock
        self._hooks = hooks
        self._unwritten: deque[tuple[Held, Outcome]] = deque()

    def record(self, outcomes: Sequence[tuple[Held, Outcome]]) -> None:
        """Write them all; a store that is away is reported, not raised."""
        self._record_again()
        if not outcomes:
            return
        try:
            self._write(outcomes)
        except Exception as error:
            self._hooks.fail(error)
            self._unwritten.extend(outcomes)

    def _record_again(self) -> None:
        """One by one, so that one that can never be written does not keep the others back."""
        self._forget_what_is_over()
        for _ in range(len(self._unwritten)):
            try:
                self._write([self._unwritten[0]])
            except Exception:  # reported when it was first tried
                self._unwritten.rotate(-1)
                return
            self._unwritten.popleft()

    def _forget_what_is_over(self) -> None:
        now_ms = self._clock.monotonic_ms()
        for held, _ in self._unwritten:
            if held.until_ms <= now_ms:
                self._holdings.release(held)
        self._unwritten = deque(each for each in self._unwritten if each[0].until_ms > now_ms)

    def _write(self, outcomes: Sequence[tuple[Held, Outcome]]) -> None:
        changes = [outcome for _, outcome in outcomes if isinstance(outcome, Change)]
        removed = [outcome.job for _, outcome in outcomes if isinstance(outcome, Removal)]
        lost: list[Job] = []
        with self._holdings.writing:
            if changes:
                lost += self._store.update(changes)
            if removed:
                lost += self._store.remove(removed)
        for held, _ in outcomes:
            self._holdings.release(held)
        for job in lost:
            self._hooks.fail(_lost(job), job.document)


def _lost(job: Job) -> Conflict:
    took = job.locked_until - job.locked_at
    return Conflict(
        f"document {job.id!r} is another's by now, so nothing of this work was written: its lock of "
        f"{took.total_seconds():g} s could not be renewed in time, or it was replaced"
    )
