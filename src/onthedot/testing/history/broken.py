"""A broken promise, and the shortest history that shows it: one line for each row or line of the journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from onthedot.model.attempt import Attempt
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.moments import iso
from onthedot.testing.history.journal import Entry

_BEFORE_ALL = -1


class Line(NamedTuple):
    """What is known of one moment."""

    at_ms: int
    text: str

    def __str__(self) -> str:
        return f"{iso(self.at_ms)}  {self.text}" if self.at_ms >= 0 else self.text


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that a history does not keep."""

    promise: str
    """In a few words, the same for each time that it is broken."""
    what: str
    """What happened instead, in one sentence."""
    schedule: str | None = None
    evidence: tuple[Line, ...] = ()
    """The rows and the lines of the journal that show it, in their order."""

    def __str__(self) -> str:
        whose = "" if self.schedule is None else f"{self.schedule}: "
        return "\n".join([f"{self.promise}: {whose}{self.what}", *(f"  {line}" for line in self.evidence)])


def in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Each once, by its moment."""
    return tuple(sorted(dict.fromkeys(lines)))


def run_line(run: Run) -> Line:
    """A run as the store holds it."""
    moment = "" if run.cause != "tick" else f" of {iso(run.scheduled_ms)}"
    story = f"run {run.id}{moment} ({run.cause}), claim {run.claim_no}, attempt {run.attempt}, is {run.state}"
    if run.started_ms is not None:
        story += f", begun {iso(run.started_ms)}"
    if run.finished_ms is not None:
        story += f", ended {iso(run.finished_ms)}"
    return Line(run.created_ms, f"made: {story}{'' if run.reason is None else f' ({run.reason})'}")


def attempt_lines(run: Run, attempt: Attempt) -> list[Line]:
    """How an attempt began and ended, as the store holds it."""
    name = f"run {run.id}, claim {attempt.claim_no}, on node {attempt.node}"
    began = Line(attempt.started_ms, f"store: {name} begins")
    if attempt.ended_ms is None:
        return [began]
    return [began, Line(attempt.ended_ms, f"store: {name} ends: {attempt.outcome}")]


def decision_line(decision: Decision) -> Line:
    """A decision as the store holds it."""
    many = "uncounted" if decision.count is None else f"{decision.count:,}"
    ticks = f"{iso(decision.first_ms)} to {iso(decision.last_ms)}"
    return Line(decision.decided_ms, f"decided: {many} ticks from {ticks} left out: {decision.reason}")


def change_line(change: Change) -> Line:
    """A line of the audit."""
    return Line(change.at_ms, f"audit: {change.by.what or 'changed'} by {change.by.who} ({change.by.surface})")


def entry_line(entry: Entry) -> Line:
    """A line of the journal; one of another machine has no moment of the store's time."""
    said = f"journal: run {entry.run}, claim {entry.claim_no}, on node {entry.node} {entry.what}s"
    raised = f", raising {entry.raised}" if entry.raised else ""
    return Line(_BEFORE_ALL if entry.at_ms is None else entry.at_ms, said + raised)


def node_line(node: Node) -> Line:
    """A node as the store holds it."""
    return Line(node.renewed_ms, f"node {node.name} ({node.id}) is {node.state}, last heard of then")
