"""Alerts: who is told of what, and what has been told."""

from __future__ import annotations

from pydantic import BaseModel


class _Alert(BaseModel):
    """An alert as it is declared."""

    name: str
    task: str
    on: list[str]
    after: int
    every: str
    overdue: str | None
    sent_at: str | None
    held_back: int


class Alert(_Alert):
    """An alert, the schedules that have it, and those of which it tells now."""

    schedules: list[str]
    failing: list[str]
    late: list[str]


class Alerts(BaseModel):
    """All alerts of schedules; those that tell of something now come first."""

    alerts: list[Alert]


class ScheduleAlert(_Alert):
    """An alert of one schedule, and what it has told of it."""

    bad_ends: int
    is_failing: bool
    is_late: bool


class ScheduleAlerts(BaseModel):
    """The alerts of one schedule."""

    name: str
    alerts: list[ScheduleAlert]
