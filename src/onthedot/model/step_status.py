"""How far a flow is with one of its steps: read from its graph and its ledger, which are kept with its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from onthedot.model.graph import Graph, On, Step
from onthedot.model.ledger import Entry, Ledger

StepState = Literal["waiting", "running", "succeeded", "failed", "skipped", "cancelled"]
_STATES: Mapping[str, StepState] = {"good": "succeeded", "bad": "failed", "skip": "skipped", "cut": "cancelled"}


@dataclass(frozen=True, slots=True)
class StepStatus:
    """One step of a flow's run; of a map all its items together."""

    name: str
    task: str
    """Of a flow in a flow that flow's name, with an @ before it."""
    state: StepState
    """Waiting: for others. Running: its runs were made, and wait or run. Cancelled: stopped with its flow."""
    total: int | None = None
    """How many runs it has; None before it begins."""
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    after: tuple[str, ...] = ()
    closing: bool = False
    problem: str | None = None
    """Why it could not begin."""
    mapped: bool = False
    """A run for each item of a list."""
    on: On = "success"
    """How those that it comes after must have ended."""

    @property
    def ended(self) -> int:
        """How many of its runs have."""
        return self.succeeded + self.failed + self.skipped


def statuses(graph: Graph, ledger: Mapping[str, Any] | None) -> tuple[StepStatus, ...]:
    """All steps, in the order in which they come."""
    entries = Ledger.from_json(ledger).steps
    return tuple(_status(step, entries.get(step.name)) for step in graph.steps)


def _status(step: Step, entry: Entry | None) -> StepStatus:
    if entry is None or entry.again:
        return StepStatus(
            step.name, step.task, "waiting", after=step.after, closing=step.closing, mapped=step.is_map, on=step.on
        )
    return StepStatus(
        step.name,
        step.task,
        "running" if entry.verdict is None else _STATES[entry.verdict],
        entry.n,
        entry.good.bit_count(),
        entry.bad.bit_count(),
        entry.skip.bit_count(),
        step.after,
        step.closing,
        entry.problem,
        step.is_map,
        step.on,
    )
