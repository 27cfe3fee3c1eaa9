"""Triggers, as they are given."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from onthedot.web.models.common import Given


class TriggerFields(Given):
    """One of `cron`, `every`, `at` and `trigger` (a named one), with what belongs to it and what it leaves out.

    `every` with `at` is a time of day on the wall clock: `{"every": "2w", "at": "09:00", "anchor": "2026-01-05"}`.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"cron": "30 2 * * *", "tz": "Europe/Berlin"}, {"trigger": "hourly", "except": ["2026-12-24"]}]
        },
    )

    cron: str | None = None
    every: str | None = None
    at: str | None = None
    trigger: str | None = None
    without: list[str] | None = Field(
        default=None, alias="except", description='"calendar de", "2026-12-24" or "2026-12-24..2027-01-01".'
    )
    tz: str | None = None
    gap: str | None = None
    fold: str | None = None
    starts_at: str | None = None
    repeat_until: str | None = None
    anchor: str | None = None
    spread: bool | None = None


class EncodedTrigger(BaseModel):
    """A trigger as schedules show it: `v`, `type`, and what that type has."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"v": 1, "type": "cron", "text": "30 2 * * *"}]}
    )

    v: int
    type: str


TriggerGiven = str | TriggerFields | EncodedTrigger
"""Text as on the command line (`30 2 * * *`, `every 15m`), fields, or what a schedule shows."""
