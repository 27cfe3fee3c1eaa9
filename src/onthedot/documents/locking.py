"""Locking documents for this process, so that none is lost with an answer and none locked that is already here."""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.clock import Clock
from onthedot.documents.held import Held, Holdings
from onthedot.documents.jobs import Job, new_token
from onthedot.documents.store import JobStore


class Locker:
    """Owned by one thread at a time."""

    def __init__(self, store: JobStore, holdings: Holdings, lock_ms: int, clock: Clock) -> None:
        self._store = store
        self._holdings = holdings
        self._lock_ms = lock_ms
        self._clock = clock
        self._in_doubt: str | None = None
        """With this token we asked, and had no answer: whether documents are locked with it, only the store knows."""

    def lock_due(self, limit: int) -> list[Held]:
        """Up to so many that are due; after a lost answer first all that it would have brought."""
        if self._in_doubt is not None:
            since_ms = self._clock.monotonic_ms()
            found = self._store.lock_again(self._in_doubt, self._lock_ms)
            self._in_doubt = None
            if found:
                return self._hold(found, since_ms)
        token = self._in_doubt = new_token()
        since_ms = self._clock.monotonic_ms()  # before asking: the lock may begin to run at once
        jobs = self._store.lock_due(limit, self._lock_ms, token=token, skip=self._holdings.ids())
        self._in_doubt = None
        return self._hold(jobs, since_ms)

    def _hold(self, jobs: Iterable[Job], since_ms: int) -> list[Held]:
        held = [Held(job, since_ms, since_ms + self._lock_ms) for job in jobs]
        self._holdings.add(held)
        return held
