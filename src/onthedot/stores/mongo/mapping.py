"""Documents as values and values as documents: the columns of the SQL stores, by name, with the id as `_id`.

JSON stays text, as there: BSON has no integers beyond 64 bits, no lone surrogates and at most 100 levels, and a task
may return all of them. So nothing that a task can take or return is refused here but kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onthedot.model.decision import Decision
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.stores import mapping
from onthedot.stores.base import Change, LogLine, TaskInfo

Document = dict[str, Any]

_SCHEDULE = ("_id", *mapping.SCHEDULE[1:])
_RUN = ("_id", *mapping.RUN[1:])
_LIVE = ("_id", *mapping.LIVE[1:])
_NODE = ("_id", *mapping.NODE[1:])
_KEY = ("_id", *mapping.KEY[1:])
AT_ONCE = 10_000
"""So many documents come in one answer; the driver would ask for 101 first, and then once more."""
FREE = {"busy_ms": 0}
"""On schedules and runs: nobody works on it; see `hints`."""


def _values(document: Document, names: Iterable[str]) -> list[Any]:
    """In the order of the names; what a document lacks is None, and so as unreadable as anything else that is wrong."""
    return [document.get(name) for name in names]


# schedules


def schedule_from(document: Document) -> Schedule:
    """The schedule of a document, always: see `mapping.schedule_from`."""
    return mapping.schedule_from(_values(document, _SCHEDULE))


def schedule_document(row: Schedule) -> Document:
    """All of it."""
    columns = zip((*_SCHEDULE, "priority"), mapping.schedule_row(row), strict=True)
    return {**dict(columns), "plannable": int(row.plannable), **FREE}


def schedule_moves(row: Schedule) -> Document:
    """What planning, starting, pausing and deleting change. It also takes the hint away."""
    columns = zip((*mapping.SCHEDULE_MOVING, "_id"), mapping.schedule_moving_row(row), strict=True)
    moves = {**dict(columns), "plannable": int(row.plannable), **FREE}
    del moves["_id"]
    return moves


STANDING = ("enabled", "deleted", "auto_remove", "next_run_ms", "then", "on_failure")


def standing_from(document: Document) -> ScheduleSummary:
    """How the schedule of a document stands, which has at least `STANDING`."""
    return mapping.standing_from(_values(document, STANDING))


# runs


def run_from(document: Document) -> Run:
    """The run of a document, live or ended."""
    return mapping.run_from(_values(document, _RUN))


def live_document(run: Run) -> Document:
    """All of a live run."""
    return {**dict(zip(_LIVE, mapping.live_row(run), strict=True)), **FREE}


def live_moves(run: Run) -> Document:
    """What starting, retrying, cancelling and taking over change."""
    moves = {**dict(zip((*mapping.RUN_MOVING, "_id"), mapping.run_moving_row(run), strict=True)), **FREE}
    del moves["_id"]
    return moves


def ended_document(run: Run) -> Document:
    """All of a run in history; `wrong` is there only if it did not succeed, for the index of what went wrong."""
    document = dict(zip((*_RUN, "kept_by"), mapping.ended_row(run), strict=True))
    return document if run.state is State.SUCCEEDED else {**document, "wrong": 1}


# the others


def key_from(document: Document) -> Key:
    """The key of a document."""
    return Key(*_values(document, _KEY))


def key_document(key: Key) -> Document:
    """All of it."""
    return dict(zip(_KEY, mapping.key_row(key), strict=True))


def node_from(document: Document) -> Node:
    """The node of a document."""
    return mapping.node_from(_values(document, _NODE))


def node_document(node: Node) -> Document:
    """All of it."""
    return dict(zip(_NODE, mapping.node_row(node), strict=True))


def tasks_document(node_id: str, tasks: Iterable[TaskInfo]) -> Document:
    """All that a node publishes."""
    rows = [dict(zip(mapping.TASK, mapping.task_row(node_id, task), strict=True)) for task in tasks]
    return {"_id": node_id, "tasks": rows}


def tasks_from(document: Document) -> list[TaskInfo]:
    """What `tasks_document` was given."""
    rows = document.get("tasks")
    return [mapping.task_from(_values(row, mapping.TASK)) for row in rows if isinstance(row, dict)] if rows else []


def decision_document(decision: Decision, seq: int) -> Document:
    """All of it, with its place in the order of decisions."""
    return {**dict(zip(mapping.DECISION, mapping.decision_row(decision), strict=True)), "seq": seq}


def decision_from(document: Document) -> Decision:
    """The decision of a document."""
    return Decision(*_values(document, mapping.DECISION))


def log_document(line: LogLine, seq: int) -> Document:
    """All of it, with its place in the log."""
    return {**dict(zip(mapping.LOG, mapping.log_row(line), strict=True)), "seq": seq}


def log_from(document: Document) -> LogLine:
    """The line of a document."""
    return LogLine(*_values(document, mapping.LOG))


def change_document(change: Change, seq: int) -> Document:
    """All of it, with its place in the audit."""
    return {**dict(zip(mapping.CHANGE, mapping.change_row(change), strict=True)), "seq": seq}


def change_from(document: Document) -> Change:
    """The line of the audit of a document."""
    return mapping.change_from(_values(document, mapping.CHANGE))


def revision_document(schedule: Schedule, seq: int) -> Document:
    """A schedule as it was."""
    row = (schedule.id, schedule.revision, mapping.schedule_to_text(schedule))
    return {**dict(zip(mapping.REVISION, row, strict=True)), "seq": seq}


def revision_from(document: Document) -> Schedule:
    """The schedule that `revision_document` was given."""
    return mapping.revision_from(document.get("schedule_id", ""), document.get("body", ""))
