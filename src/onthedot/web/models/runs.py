"""Runs, their logs, and why there was none."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from onthedot.web.models.common import Given, Json


class Attempt(BaseModel):
    """What one node did with a run; `outcome` is null while it runs."""

    number: int
    claim_no: int
    node: str
    started_at: str | None
    ended_at: str | None
    outcome: str | None
    error: str | None


class Step(BaseModel):
    """How far a flow is with one of its steps; `total` is null before it begins."""

    name: str
    task: str
    state: str
    total: int | None
    succeeded: int
    failed: int
    skipped: int
    after: list[str]
    closing: bool
    problem: str | None
    mapped: bool
    on: str


class Run(BaseModel):
    """A run. `step` and `item` say which part of the flow `parent_id` it is; `steps` are those of a flow that was asked
    for by its id. `progress` is how far its latest attempt said that it was; `attempts` are all that are kept. `engine`
    and `engine_id` say where its latest attempt is executed, and under which id, where no node executes it itself."""

    id: str
    state: str
    task: str
    schedule: str | None
    schedule_id: str | None
    revision: int | None
    key: str | None
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
    fence: int
    waits_for: str | None
    owner: str | None
    target: str | None
    parent_id: str | None
    shard: int | None
    shards: int | None
    graph: str | None
    step: str | None
    item: int | None
    steps: list[Step]
    blocked: bool
    until_at: str | None
    cancel_requested_at: str | None
    result: Any
    error: str | None
    reason: str | None
    trace: str | None
    progress: str | None
    engine: str | None
    engine_id: str | None
    attempts: list[Attempt]


class RunStory(BaseModel):
    """A run in words, the name of the node that has it or had it last, and what came between it and its end."""

    story: str
    node: str | None
    notes: list[str]


class RunPage(BaseModel):
    """Runs, newest first; `cursor` asks for older ones, null at the end."""

    runs: list[Run]
    cursor: str | None


class Enqueue(Given):
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


class Reason(Given):
    """Why."""

    reason: str = "cancelled by an operator"
    now: bool = False
    """Of a flow: stop its closing steps too."""


class Again(Given):
    """The run as it was seen: one that has begun since is a conflict."""

    claim_no: int | None = None


class LogLine(BaseModel):
    """One line of a run's log, with the claim number of the attempt that said it."""

    claim_no: int
    at: str | None
    level: str
    text: str


class Log(BaseModel):
    """Lines of a run's log; `after` asks for those after them."""

    lines: list[LogLine]
    after: int


class LogEnd(BaseModel):
    """The last event of a log that is followed: how the run ended, and how many lines it said."""

    state: str
    after: int


class Mark(BaseModel):
    """What a chart needs of a run."""

    id: str
    cause: str
    state: str
    due_at: str | None
    started_at: str | None
    finished_at: str | None
    lateness_ms: int | None
    duration_ms: int | None
    node: str | None
    attempt: int
    reason: str | None


class Tick(BaseModel):
    """A moment of a schedule: a run, a decision why there was none (then `at` is the last of its range), or coming."""

    at: str
    kind: Literal["run", "decision", "coming"]
    run: Mark | None
    decision: Json | None


class Ticks(BaseModel):
    """Ticks of a schedule, oldest first."""

    name: str
    ticks: list[Tick]


class Fact(BaseModel):
    """One dated line of the story behind an answer: who did it, or what became of a tick."""

    at: str
    until: str | None
    kind: str
    text: str
    who: str | None
    surface: str | None
    run: str | None


class Explanation(BaseModel):
    """Why a schedule did, or did not, run at a moment: in a few words, in full, and what led to it and followed."""

    name: str
    moment: str
    answer: str
    text: str
    story: list[Fact]
    runs: list[Run]
    decisions: list[Json]
