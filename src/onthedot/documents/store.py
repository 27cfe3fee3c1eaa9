"""The little that a database must do so that its documents can be worked: five methods, and what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onthedot.documents.jobs import Change, Job


class JobStore(Protocol):
    """Called by several threads, and by several processes over one database."""

    def lock_due(
        self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()
    ) -> Sequence[Job]:
        """Take up to so many documents which are due and which nobody holds, the longest due first.

        Due is `sleep_until` at or before now; held is `locked_until` after now; both by the store's clock. A document
        is given to one caller only, however many ask at once: `locked_by` becomes the token, which is new with every
        call (none: the store makes one), and `locked_until` now plus `lock_ms`, in one conditional write. None of the
        ids in `skip` is taken: the caller works on them still, whatever has become of their locks. No answer at all
        means that nothing else is due.
        """

    def lock_again(self, token: str, lock_ms: int) -> Sequence[Job]:
        """What a call of `lock_due` with this token has taken, whose answer was lost: locked anew for `lock_ms`.

        Nothing, if that call took nothing, or what it took has become another's.
        """

    def renew(self, jobs: Sequence[Job], lock_ms: int) -> Sequence[Job]:
        """Let `locked_until` be now plus `lock_ms`, where `locked_by` is still the job's token and a lock is there.

        A lock that is over, and that nobody has taken, is renewed too. Returns what `update` would.
        """

    def update(self, changes: Sequence[Change]) -> Sequence[Job]:
        """Write `sleep_until`, `locked_until` and `last_error` where `locked_by` is still the job's token.

        A `sleep_until` that somebody has moved beyond `job.locked_at`, or taken away, stays as it is: a handler may
        reschedule its own document. Doing it twice is doing it once. Returns the jobs that another holder took over;
        a document that is no longer there is not one of them.
        """

    def remove(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Delete documents, under the same conditions as `update`; those rescheduled meanwhile are unlocked instead."""
