"""One document, from the lock to what becomes of it: errors become values here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from onthedot.clock import Clock
from onthedot.documents.held import Held
from onthedot.documents.hooks import Hooks
from onthedot.documents.intervals import check, next_due
from onthedot.documents.jobs import Change, Job
from onthedot.documents.options import Pace
from onthedot.errors import MomentError, TriggerError
from onthedot.storable import clean, shown
from onthedot.triggers import Trigger

_MOST_CHARACTERS = 2000
"""What is kept of an error."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The document has done its last work and wants to be deleted."""

    job: Job


Outcome = Change | Removal


class Working:
    """Judges, calls the handler, and says what is to be written. Any number of threads call it at once."""

    def __init__(self, call: Callable[[Any], None], pace: Pace, clock: Clock, hooks: Hooks) -> None:
        self._call = call
        self._pace = pace
        self._clock = clock
        self._hooks = hooks

    def work(self, held: Held) -> Outcome | None:
        """What became of the job; None: its lock ran out before we came to it, so that it is no longer ours."""
        if self._clock.monotonic_ms() >= held.until_ms:
            return None
        try:
            return self._work(held)
        finally:
            held.is_ended = True

    def _work(self, held: Held) -> Outcome:
        job = held.job
        try:
            trigger = check(job)
        except (TriggerError, MomentError) as error:  # set aside and kept, never deleted: somebody must put it right
            self._hooks.fail(error, job.document)
            return Change(job, None, last_error=_in_one_line(error))
        try:
            self._call(job.document)
        except BaseException as error:  # SystemExit too: a handler must not end the worker
            self._hooks.fail(error, job.document)
            return self._failed(held, trigger, error)
        return self._done(held, trigger)

    def _done(self, held: Held, trigger: Trigger | None) -> Outcome:
        job = held.job
        following = self._following(held, trigger)
        return Removal(job) if following is None and job.auto_remove else Change(job, following)

    def _failed(self, held: Held, trigger: Trigger | None, error: BaseException) -> Change:
        """Still due, but not before its next tick or the end of its lock, whichever is sooner."""
        job, now = held.job, self._store_now(held)
        following = self._following(held, trigger)
        lock_ends = now + timedelta(milliseconds=held.until_ms - self._clock.monotonic_ms())
        rests_until = max(now, min(lock_ends, following or lock_ends))
        return Change(job, job.sleep_until, locked_until=rests_until, last_error=_in_one_line(error))

    def _following(self, held: Held, trigger: Trigger | None) -> datetime | None:
        if trigger is None:
            return None
        return next_due(trigger, held.job, self._store_now(held), self._pace.reprocess_delay)

    def _store_now(self, held: Held) -> datetime:
        """The store's time: when it locked, and what has passed since. This machine's wall clock has no say."""
        return held.job.locked_at + timedelta(milliseconds=self._clock.monotonic_ms() - held.since_ms)


def _in_one_line(error: BaseException) -> str:
    said = error.line if isinstance(error, TriggerError) else " ".join(shown(error).split())
    return clean(f"{type(error).__name__}: {said}"[:_MOST_CHARACTERS])
