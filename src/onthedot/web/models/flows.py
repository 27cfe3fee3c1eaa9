"""Flows."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Flow(BaseModel):
    """The graph of a flow. Of a step only what was said is told; the rest is as by default."""

    name: str
    graph: str = Field(description="Its hash, which schedules and runs carry.")
    steps: list[dict[str, Any]] = Field(description="In an order in which each comes after what it waits for.")
    defaults: dict[str, Any] = Field(description="Of the flow's arguments.")
    required: list[str] = Field(description="The flow's arguments without a default.")


class Flows(BaseModel):
    """All flows that are known, by name."""

    flows: list[Flow]


class RunGraph(BaseModel):
    """The graph that a run began with; null if it is no flow, or its graph is not kept any more."""

    graph: Flow | None
