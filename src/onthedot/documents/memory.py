"""Documents in memory: for tests, and as the simplest example of a JobStore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from threading import Lock as Mutex
from typing import Any

from onthedot.clock import Clock, SystemClock
from onthedot.documents.jobs import Change, Fields, Job, Lock, as_utc, new_token, set_at, value_at
from onthedot.heap import IndexedHeap
from onthedot.model.values import copied
from onthedot.moments import ceil_ms, from_ms


class MemoryJobStore:
    """Dicts by their `id`, kept as copies: what a handler changes in its document changes nothing here."""

    def __init__(
        self,
        documents: Iterable[Mapping[str, Any]] = (),
        *,
        fields: Fields | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._fields = fields or Fields()
        self._clock = clock or SystemClock()
        self._documents: dict[Any, dict[str, Any]] = {}
        self._free_at: IndexedHeap[Any] = IndexedHeap()
        self._mutex = Mutex()
        for document in documents:
            self.put(document)

    def put(self, document: Mapping[str, Any]) -> None:
        """Add a document, or replace the one with its `id`; whoever works that one can no longer write."""
        kept: dict[str, Any] = copied(document)
        if (due := value_at(kept, self._fields.sleep_until)) is not None:
            as_utc(due)  # what is no moment is refused here, not when somebody asks for what is due
        with self._mutex:
            self._documents[kept["id"]] = kept
            self._place(kept["id"])

    def get(self, key: Any) -> dict[str, Any] | None:
        """A copy of the document with this id."""
        with self._mutex:
            return copied(self._documents[key]) if key in self._documents else None

    def delete(self, key: Any) -> None:
        """Forget a document; one that is not there is no error."""
        with self._mutex:
            if self._documents.pop(key, None) is not None and key in self._free_at:
                self._free_at.remove(key)

    def __len__(self) -> int:
        return len(self._documents)

    def lock_due(self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()) -> list[Job]:
        with self._mutex:
            lock = self._new_lock(token or new_token(), lock_ms)
            jobs: list[Job] = []
            skipped: list[Any] = []
            not_these = set(skip)
            while len(jobs) < limit and (key := self._first_free(lock)) is not None:
                if key in not_these:
                    self._free_at.remove(key)
                    skipped.append(key)
                else:
                    jobs.append(self._lock(key, lock))
            for key in skipped:
                self._place(key)
            return jobs

    def lock_again(self, token: str, lock_ms: int) -> list[Job]:
        with self._mutex:
            lock = self._new_lock(token, lock_ms)
            taken = [key for key in self._documents if self._value(key, self._fields.locked_by) == token]
            return [self._lock(key, lock) for key in taken if self._is_locked(key)]

    def renew(self, jobs: Sequence[Job], lock_ms: int) -> list[Job]:
        with self._mutex:
            for job in jobs:
                if self._holds(job) and self._is_locked(job.id):
                    set_at(self._documents[job.id], self._fields.locked_until, self._new_lock(job.token, lock_ms).until)
                    self._place(job.id)
            return self._lost(jobs)

    def update(self, changes: Sequence[Change]) -> list[Job]:
        with self._mutex:
            for change in changes:
                if self._holds(change.job):
                    self._write(change)
            return self._lost(change.job for change in changes)

    def remove(self, jobs: Sequence[Job]) -> list[Job]:
        with self._mutex:
            for job in jobs:
                if self._holds(job) and self._is_still_due(job):
                    del self._documents[job.id]
                    self._free_at.remove(job.id)  # it is still due, so it is there
                elif self._holds(job):
                    self._write(Change(job, None))
            return self._lost(jobs)

    def _new_lock(self, token: str, lock_ms: int) -> Lock:
        now_ms = self._clock.now_ms()
        return Lock(token, from_ms(now_ms), from_ms(now_ms + lock_ms))

    def _first_free(self, lock: Lock) -> Any:
        first = self._free_at.peek()
        return None if first is None or from_ms(first[1]) > lock.at else first[0]

    def _lock(self, key: Any, lock: Lock) -> Job:
        document = self._documents[key]
        set_at(document, self._fields.locked_by, lock.token)
        set_at(document, self._fields.locked_until, lock.until)
        self._place(key)
        return lock.job(copied(document), key, self._fields)

    def _write(self, change: Change) -> None:
        document = self._documents[change.job.id]
        if self._is_still_due(change.job):
            set_at(document, self._fields.sleep_until, change.sleep_until)
        set_at(document, self._fields.locked_until, change.locked_until)
        set_at(document, self._fields.last_error, change.last_error)
        self._place(change.job.id)

    def _holds(self, job: Job) -> bool:
        return job.id in self._documents and self._value(job.id, self._fields.locked_by) == job.token

    def _is_locked(self, key: Any) -> bool:
        return self._value(key, self._fields.locked_until) is not None

    def _lost(self, jobs: Iterable[Job]) -> list[Job]:
        return [job for job in jobs if job.id in self._documents and not self._holds(job)]

    def _is_still_due(self, job: Job) -> bool:
        moment = self._moment(job.id, self._fields.sleep_until)
        return moment is not None and moment <= job.locked_at

    def _place(self, key: Any) -> None:
        """Keep the heap in order: by when the document is due and nobody holds it any more."""
        due = self._moment(key, self._fields.sleep_until)
        held = self._moment(key, self._fields.locked_until)
        if key in self._free_at:
            self._free_at.remove(key)
        if due is not None:
            self._free_at.push(key, ceil_ms(due if held is None else max(due, held)))

    def _moment(self, key: Any, path: str) -> datetime | None:
        value = self._value(key, path)
        return None if value is None else as_utc(value)

    def _value(self, key: Any, path: str) -> Any:
        return value_at(self._documents[key], path)
