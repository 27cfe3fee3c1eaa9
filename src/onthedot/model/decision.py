"""A decision: why ticks did not become runs. A range of moments, a reason, a count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from onthedot.moments import from_ms

Reason = Literal["misfire", "paused", "overlap", "rescheduled", "replaced", "undeclared", "deleted"]


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

    @property
    def first_at(self) -> datetime:
        """The first tick of the range."""
        return from_ms(self.first_ms)

    @property
    def last_at(self) -> datetime:
        """The last tick of the range."""
        return from_ms(self.last_ms)
