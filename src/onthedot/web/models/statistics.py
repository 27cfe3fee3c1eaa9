"""What was counted of runs that ended."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Percentiles(BaseModel):
    """In milliseconds; each is known to a fifth of itself, and never told too short."""

    p50_ms: int
    p95_ms: int
    p99_ms: int
    count: int


class ErrorGroup(BaseModel):
    """Errors that say the same but for their numbers."""

    text: str = Field(description="With # for each number; empty for all beyond the largest groups.")
    count: int


class EndCounts(BaseModel):
    """How runs ended, how late they began and how long they took."""

    total: int
    ended: dict[str, int]
    success_rate: float | None = Field(description="Of those that ended well or badly: not cancelled, not skipped.")
    lateness: Percentiles | None
    duration: Percentiles | None


class Period(EndCounts):
    """The same of an hour or a day."""

    start: str
    end: str


class Statistics(EndCounts):
    """Of a schedule, of a task's runs without one, or of everything."""

    schedule: str | None
    task: str | None
    step: str
    since: str
    until: str
    counted_until: str | None
    errors: list[ErrorGroup]
    by: str
    series: list[Period]
