"""A mark: what a chart needs to know of a run, without its arguments, policy and result."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.model.run import Cause, Run
from onthedot.model.states import FINAL, State


@dataclass(frozen=True, slots=True)
class Mark:
    """One run of a schedule."""

    id: str
    schedule_id: str
    schedule: str
    cause: Cause
    scheduled_ms: int
    due_ms: int
    state: State
    owner: str | None
    attempt: int
    started_ms: int | None
    finished_ms: int | None
    reason: str | None

    @property
    def lateness_ms(self) -> int | None:
        """From when its latest attempt was due to when it began; None before it has."""
        return None if self.started_ms is None else max(self.started_ms - self.due_ms, 0)

    @property
    def duration_ms(self) -> int | None:
        """How long its latest attempt took; None before it has ended, or where none was made."""
        if self.started_ms is None or self.finished_ms is None:
            return None
        return max(self.finished_ms - self.started_ms, 0)

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL


def mark_of(run: Run) -> Mark:
    """The mark of a run that has a schedule."""
    return Mark(
        run.id,
        run.schedule_id or "",
        run.schedule or "",
        run.cause,
        run.scheduled_ms,
        run.due_ms,
        run.state,
        run.owner,
        run.attempt,
        run.started_ms,
        run.finished_ms,
        run.reason,
    )
