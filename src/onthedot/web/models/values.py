"""Calendars and named triggers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from onthedot.web.models.common import Given
from onthedot.web.models.triggers import TriggerGiven


class HolidaysGiven(Given):
    """The holidays of a country."""

    country: str
    years: list[int]
    subdiv: str | None = None
    language: str | None = None


class DayGiven(Given):
    """A day, or a range of them ("2026-12-24..2027-01-01"), and what it is called."""

    date: str
    name: str | None = None


class CalendarGiven(Given):
    """One of `days`, `ics` (the text of such a file) and `holidays`."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"days": [{"date": "2026-12-25", "name": "Christmas Day"}]}]}
    )

    days: list[DayGiven] | None = None
    ics: str | None = None
    tz: str | None = Field(default=None, description="By whose clock events of an .ics count for a day.")
    holidays: HolidaysGiven | None = None
    source: str | None = Field(default=None, description="Where the days come from, if they were worked out elsewhere.")
    until: str | None = Field(default=None, description="The last day that they were worked out for.")


class Day(BaseModel):
    """A day, or a range of them."""

    date: str
    name: str | None


class Calendar(BaseModel):
    """One revision of a calendar; `users` where one is asked for."""

    name: str
    rev: int
    created_at: str | None
    source: str
    until: str | None
    days: list[Day]
    users: list[str] | None


class Calendars(BaseModel):
    """All calendars by name."""

    calendars: list[Calendar]


class NamedTriggerGiven(Given):
    """What a name shall stand for."""

    trigger: TriggerGiven


class NamedTrigger(BaseModel):
    """One revision of a named trigger; `users` where one is asked for."""

    name: str
    rev: int
    created_at: str | None
    trigger: dict[str, Any]
    words: str
    users: list[str] | None


class NamedTriggers(BaseModel):
    """All named triggers by name."""

    triggers: list[NamedTrigger]
