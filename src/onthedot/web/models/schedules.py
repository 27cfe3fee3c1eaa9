"""Schedules: defined, shown, steered; and their audit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from onthedot.web.models.common import Given, Json
from onthedot.web.models.runs import Run
from onthedot.web.models.triggers import TriggerGiven

_DEFINITION: Json = {
    "task": "report",
    "trigger": {"cron": "30 2 * * *", "tz": "Europe/Berlin"},
    "args": {"to": "ann@example.com"},
    "options": {"overlap": "discard", "tags": ["mail"]},
}


class Definition(Given):
    """What a schedule shall be. Its task must be one that a live node has, or this process."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_DEFINITION]})

    task: str
    trigger: TriggerGiven
    args: Json = Field(default_factory=dict)
    options: Json = Field(default_factory=dict, description="Policies, as in Python: overlap, grace, tags, enabled …")


class NamedDefinition(Definition):
    """The same, with its name."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "nightly", **_DEFINITION}]})

    name: str


class Fields(Given):
    """What shall change; the rest stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"trigger": "every 15m"}]})

    trigger: TriggerGiven | None = None
    args: Json | None = None
    options: Json = Field(default_factory=dict, description="One that is null follows the task and the app again.")


class Frozen(BaseModel):
    """A window in which a freeze holds a schedule."""

    freeze: str
    start_at: str
    end_at: str


class Schedule(BaseModel):
    """A schedule. Its ETag is its revision."""

    name: str
    id: str
    revision: int
    state: str
    task: str
    args: Json
    trigger: Json
    policy: Json
    given: list[str]
    kind: str
    tags: list[str]
    mode: str
    origin: str
    max_runs: int | None
    auto_remove: bool
    then: list[str]
    on_failure: list[str]
    template: str | None = None
    alerts: list[Json]
    ping: list[str]
    enabled: bool
    paused_note: str | None
    error: str | None
    frozen: list[Frozen] = Field(default_factory=list, description="When no tick of it becomes a run.")
    skips: int = Field(default=0, description="How many ticks before the next run are left out by a skip.")
    next_run_at: str | None
    settled_through: str | None
    last_run_at: str | None
    planned_runs: int
    created_at: str | None
    updated_at: str | None


class Template(Definition):
    """Several schedules that differ in their arguments."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"task": "report", "trigger": "every 15m", "each": {"eu": {"to": "eu"}, "us": {"to": "us"}}}]
        },
    )

    each: dict[str, Json] = Field(description="By key the arguments of each, above those of all.")


class TemplateSchedules(BaseModel):
    """The schedules that a template has."""

    schedules: list[Schedule]


class SchedulePage(BaseModel):
    """Schedules in order; `cursor` asks for those after them, null at the end."""

    schedules: list[Schedule]
    cursor: str | None


class Note(Given):
    """Why."""

    note: str | None = Field(default=None, examples=["disk is full"])


class Affected(BaseModel):
    """A schedule after an act, and what that did to its runs."""

    schedule: Schedule
    skipped: int
    running: int


class TriggerArgs(Given):
    """Arguments for one run instead of the schedule's own. A token that is known already gives the run that has it."""

    args: Json | None = Field(default=None, examples=[{"to": "ann@example.com"}])
    token: str | None = None


class NewMoment(Given):
    """When to run next instead."""

    at: str = Field(examples=["2026-12-24T18:00:00Z"])


class Skip(Given):
    """How many of the next ticks are left out; 0 takes that back."""

    n: int = Field(default=1, examples=[1])


class BackfillRange(Given):
    """Which ticks in [start, end) are done now, and how."""

    start: str = Field(examples=["2026-10-01T00:00Z"])
    end: str = Field(examples=["2026-11-01T00:00Z"])
    which: Literal["missing", "failed", "all"] = "missing"
    limit: int = Field(default=1, ge=1, le=16, description="how many run at once")
    order: Literal["oldest", "newest"] = "oldest"
    beside: bool = Field(default=False, description="beside the schedule's other runs instead of in its slots")
    dry_run: bool = False


class FilledTick(BaseModel):
    """A tick that is filled in, and what became of it before."""

    at: str
    why: str


class Backfill(BaseModel):
    """What is filled in, and the run that does it; none for a dry run, or where nothing is missing."""

    schedule: str
    ticks: list[FilledTick]
    run: Run | None


class Moment(BaseModel):
    """A tick: in UTC, on the wall clock of its trigger, and what a jump of that clock did to it."""

    at: str
    local: str
    note: str | None


class Next(BaseModel):
    """The coming moments of a schedule, as things stand."""

    name: str
    state: str
    held: str | None = Field(default=None, description="Why no run begins at these moments; null where one does.")
    timezone: str
    moments: list[Moment]


class PreviewOf(Given):
    """A trigger to look at before it is kept."""

    trigger: TriggerGiven = Field(examples=["30 2 * * *"])
    name: str | None = Field(default=None, description="The schedule's name, which settles H.")
    n: int = Field(default=5, ge=1, le=100)


class Preview(BaseModel):
    """What a trigger does, in words and in moments."""

    words: str
    timezone: str
    trigger: Json
    moments: list[Moment]


class Change(BaseModel):
    """One line of the audit: only the fields that differ."""

    id: str
    at: str | None
    who: str
    surface: str
    what: str
    schedule: str | None
    revision: int
    run: str | None
    before: Json
    after: Json


class Changes(BaseModel):
    """The audit, newest first; `cursor` asks for older lines, null at the end."""

    changes: list[Change]
    cursor: str | None
