"""What goes into the HTTP API and what comes out of it: moments as ISO text, durations as users write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from onthedot.app.bulk import MOST_NAMES, Act
from onthedot.model.token import Role
from onthedot.storable import can_be_kept

Json = dict[str, Any]


def _storable(text: str) -> str:
    if not can_be_kept(text):
        raise ValueError("no store can keep this text")
    return text


Name = Annotated[str, AfterValidator(_storable)]
"""A text that can be told again."""


class _Given(BaseModel):
    """What is not known is refused: a slip in a name would else be taken for silence."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong (RFC 9457); `type` says which other values there are."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:onthedot:problem:stale-revision"])
    title: str
    status: int
    detail: str


# triggers


class TriggerFields(_Given):
    """One of `cron`, `every` and `at`, with what belongs to it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"cron": "30 2 * * *", "tz": "Europe/Berlin"}]}
    )

    cron: str | None = None
    every: str | None = None
    at: str | None = None
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


# schedules

_DEFINITION: Json = {
    "task": "report",
    "trigger": {"cron": "30 2 * * *", "tz": "Europe/Berlin"},
    "args": {"to": "ann@example.com"},
    "options": {"overlap": "discard", "tags": ["mail"]},
}


class Definition(_Given):
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


class Fields(_Given):
    """What shall change; the rest stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"trigger": "every 15m"}]})

    trigger: TriggerGiven | None = None
    args: Json | None = None
    options: Json = Field(default_factory=dict)


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
    enabled: bool
    paused_note: str | None
    error: str | None
    next_run_at: str | None
    settled_through: str | None
    last_run_at: str | None
    planned_runs: int
    created_at: str | None
    updated_at: str | None


class SchedulePage(BaseModel):
    """Schedules by name; `cursor` asks for those after them, null at the end."""

    schedules: list[Schedule]
    cursor: str | None


class Note(_Given):
    """Why."""

    note: str | None = Field(default=None, examples=["disk is full"])


class Affected(BaseModel):
    """A schedule after an act, and what that did to its runs."""

    schedule: Schedule
    skipped: int
    running: int


class TriggerArgs(_Given):
    """Arguments for one run instead of the schedule's own."""

    args: Json | None = Field(default=None, examples=[{"to": "ann@example.com"}])


class NewMoment(_Given):
    """When to run next instead."""

    at: str = Field(examples=["2026-12-24T18:00:00Z"])


class Moment(BaseModel):
    """A tick: in UTC, on the wall clock of its trigger, and what a jump of that clock did to it."""

    at: str
    local: str
    note: str | None


class Next(BaseModel):
    """The coming moments of a schedule, as things stand."""

    name: str
    state: str
    timezone: str
    moments: list[Moment]


class PreviewOf(_Given):
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
    """The audit, newest first."""

    changes: list[Change]


# many at once


class BulkAct(_Given):
    """One act on many schedules, by their names or by a tag."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"act": "pause", "tag": "mail", "note": "moving house"}]}
    )

    act: Act
    names: list[Name] | None = Field(default=None, max_length=MOST_NAMES)
    tag: str | None = None
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


class FileText(_Given):
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


# runs


class Run(BaseModel):
    """A run."""

    id: str
    state: str
    task: str
    schedule: str | None
    cause: str
    args: Json
    scheduled_at: str | None
    due_at: str | None
    created_at: str | None
    started_at: str | None
    finished_at: str | None
    attempt: int
    crashes: int
    claim_no: int
    owner: str | None
    target: str | None
    parent_id: str | None
    shard: int | None
    shards: int | None
    blocked: bool
    cancel_requested_at: str | None
    result: Any
    error: str | None
    reason: str | None
    trace: str | None


class RunPage(BaseModel):
    """Runs, newest first; `cursor` asks for older ones, null at the end."""

    runs: list[Run]
    cursor: str | None


class Enqueue(_Given):
    """One-off work, now or later. A key that is known already gives the run that has it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"task": "report", "args": {}, "delay": "10m"}]}
    )

    task: str
    args: Json = Field(default_factory=dict)
    delay: str | None = None
    at: str | None = None
    key: str | None = None
    options: Json = Field(default_factory=dict)


class Reason(_Given):
    """Why."""

    reason: str = "cancelled by an operator"


class Again(_Given):
    """The run as it was seen: one that has begun since is a conflict."""

    claim_no: int | None = None


class LogLine(BaseModel):
    """One line of a run's log."""

    at: str | None
    level: str
    text: str


class Log(BaseModel):
    """Lines of a run's log; `after` asks for those after them."""

    lines: list[LogLine]
    after: int


class Explanation(BaseModel):
    """Why a schedule did, or did not, run at a moment."""

    name: str
    moment: str
    text: str
    runs: list[Run]
    decisions: list[Json]


# nodes, tasks, health


class Node(BaseModel):
    """A node, and how old its last sign of life is."""

    id: str
    name: str
    group: str | None
    state: str
    capacity: int
    tasks: list[str]
    started_at: str | None
    renewed_at: str | None
    renewed_for: str
    lease: str
    expired: bool


class Nodes(BaseModel):
    """Those that are alive, by start."""

    nodes: list[Node]


class Task(BaseModel):
    """A task as nodes publish it."""

    name: str
    parameters: list[Json]
    doc: str
    policy: Json


class Tasks(BaseModel):
    """All that live nodes have, and this process."""

    tasks: list[Task]


class Findings(BaseModel):
    """What the doctor found."""

    store: str
    findings: list[Json]


class Health(BaseModel):
    """Whether work is done; why not is told to those who have a token."""

    healthy: bool
    reasons: list[str] | None = None


class Bucket(BaseModel):
    """A stretch of time by its beginning, and how many runs begin in it."""

    at: str
    runs: int


class ComingRun(BaseModel):
    """A run that is to come."""

    at: str
    name: str


class Forecast(BaseModel):
    """The runs to come: how many in each stretch, the busiest of them, or the runs of one."""

    start: str
    end: str
    bucket: str
    runs: int
    counts: list[int]
    busiest: list[Bucket]
    coming: list[ComingRun] | None = None


# tokens and sessions


class NewToken(_Given):
    """A token to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "deploy-bot", "role": "operator", "expires": "90d"}]}
    )

    name: str
    role: Role = Role.VIEWER
    expires: str | None = Field(default=None, description="How long it counts; for ever if left out.")


class Token(BaseModel):
    """A token; its text is not kept."""

    name: str
    role: Role
    created_at: str | None
    expires_at: str | None
    expired: bool


class MadeToken(Token):
    """A token, and its text: shown this once."""

    text: str


class Tokens(BaseModel):
    """All tokens by name."""

    tokens: list[Token]


class SignIn(_Given):
    """The text of a token."""

    token: str


class Session(BaseModel):
    """Who is signed in. `csrf` goes into the header X-CSRF-Token of every change that is made with the cookie."""

    name: str
    role: Role
    how: Literal["token", "session", "local"]
    csrf: str | None


BulkDone.model_rebuild()
