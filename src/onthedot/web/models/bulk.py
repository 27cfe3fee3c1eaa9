"""Many schedules at once: by an act, or in a file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from onthedot.app.bulk import MOST_NAMES, Act
from onthedot.web.models.common import Given, Json, Name
from onthedot.web.models.runs import Run
from onthedot.web.models.schedules import Schedule


class ScheduleFilter(Given):
    """What a list of schedules can be asked for; all that is given must hold, and something must be."""

    q: str | None = Field(default=None, min_length=1)
    state: str | None = None
    tag: str | None = None
    task: str | None = None


class BulkAct(Given):
    """One act on many schedules: by their names, or all that a filter finds."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"act": "pause", "tag": "mail", "note": "moving house"}]}
    )

    act: Act
    names: list[Name] | None = Field(default=None, max_length=MOST_NAMES)
    filter: ScheduleFilter | None = None
    tag: str | None = Field(default=None, description="Short for a filter with this tag.")
    pattern: str | None = Field(default=None, min_length=1, description="All of such a name: digest[*]")
    note: str | None = None
    expect: int | None = Field(default=None, description="How many schedules were shown; others are a conflict.")
    dry_run: bool = False


class BulkDone(BaseModel):
    """What became of one of them: done, or a problem."""

    name: str
    schedule: Schedule | None = None
    skipped: int = 0
    running: int = 0
    run: Run | None = None
    problem: Json | None = None


class BulkResult(BaseModel):
    """What became of each."""

    act: Act
    dry_run: bool
    results: list[BulkDone]


# files


class FileText(Given):
    """A jobs.toml or a crontab."""

    text: str = Field(examples=["0 8 * * * /usr/bin/backup"])
    timezone: str | None = Field(default=None, description="Of a crontab that names none; UTC else.")


class Checked(BaseModel):
    """What a file of schedules says, and what is wrong with it."""

    schedules: list[str]
    notes: list[str]
    problems: list[str]


class Imported(BaseModel):
    """What an import did, or would do."""

    created: list[str]
    changed: list[Json]
    unchanged: list[str]
    only_here: list[str]
    written: bool
    freezes: list[str] = Field(default_factory=list, description="Freezes that are new, or others under their name.")
    values: list[str] = Field(default_factory=list, description="Calendars and triggers that are new or changed.")
