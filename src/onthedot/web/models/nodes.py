"""Nodes, tasks, health, and what is coming."""

from __future__ import annotations

from pydantic import BaseModel, Field

from onthedot.web.models.common import Json


class PoolUse(BaseModel):
    """How many runs a pool of a node may have at once, and how many it has; `is_needed` if it has any, or a task of the
    node goes there by itself."""

    pool: str
    size: int
    running: int
    is_needed: bool


class Node(BaseModel):
    """A node, how old its last sign of life is, and what it runs."""

    id: str
    name: str
    group: str | None
    state: str
    roles: list[str]
    labels: dict[str, str]
    capacity: int
    tasks: list[str]
    started_at: str | None
    renewed_at: str | None
    renewed_for: str
    lease: str
    expired: bool
    running: int
    pools: list[PoolUse]


class Nodes(BaseModel):
    """Those that are alive, by start; and those that died within the last day, who was heard of last first."""

    nodes: list[Node]
    died: list[Node]


class Task(BaseModel):
    """A task as nodes publish it."""

    name: str
    parameters: list[Json]
    doc: str
    policy: Json
    pool: str


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


class Latest(BaseModel):
    """The run that began latest, and of which schedule, or task, it is."""

    run: str
    name: str | None
    late_ms: int


class MinuteCounts(BaseModel):
    """What began and ended in a minute; half of what began was `p50_ms` late at most."""

    at: str
    begun: int
    ended: dict[str, int]
    p50_ms: int | None
    p99_ms: int | None
    latest: Latest | None


class Lateness(BaseModel):
    """The minutes in which anything began or ended, oldest first; and all of them together."""

    start: str
    end: str
    begun: int
    minutes: list[MinuteCounts]


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
    notes: list[str] = Field(description="Whose runs are not counted, and whose would wait for a node.")
    coming: list[ComingRun] | None = None
