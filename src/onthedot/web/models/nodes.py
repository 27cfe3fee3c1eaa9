"""Nodes, tasks, health, and what is coming."""

from __future__ import annotations

from pydantic import BaseModel

from onthedot.web.models.common import Json


class Node(BaseModel):
    """A node, and how old its last sign of life is."""

    id: str
    name: str
    group: str | None
    state: str
    capacity: int
    roles: list[str]
    labels: dict[str, str]
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
