"""A decision: why ticks did not become runs. A range of moments, a reason, a count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from onthedot.moments import from_ms

Reason = Literal[
    "misfire",
    "paused",
    "overlap",
    "rescheduled",
    "skipped",
    "frozen",
    "replaced",
    "undeclared",
    "deleted",
    "parked",
    "max_runs",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """All ticks of the schedule in [first, last] that did not become runs, for one reason."""

    id: str
    schedule_id: str
    schedule: str
    revision: int
    reason: Reason
    first_ms: int
    last_ms: int
    count: int | None
    """How many ticks; None where counting them would cost more than it tells."""
    decided_ms: int
    detail: str = ""
    after_ms: int | None = field(default=None, compare=False)
    """The last tick before the first one, where it is known; not kept. See `joined`."""

    @property
    def first_at(self) -> datetime:
        """The first tick of the range."""
        return from_ms(self.first_ms)

    @property
    def last_at(self) -> datetime:
        """The last tick of the range."""
        return from_ms(self.last_ms)


def joined(last: Decision, new: Decision) -> Decision | None:
    """Both as one, where the new one goes on without a gap and for the same reason; None where it does not."""
    same = (last.reason, last.detail, last.revision) == (new.reason, new.detail, new.revision)
    if not same or new.after_ms is None or not last.last_ms >= new.after_ms:
        return None
    counted = last.count is not None and new.count is not None
    return replace(
        last,
        last_ms=max(last.last_ms, new.last_ms),
        count=(last.count or 0) + (new.count or 0) if counted else None,
        decided_ms=new.decided_ms,
    )
