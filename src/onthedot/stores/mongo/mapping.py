"""Documents as values and values as documents: the columns of the SQL stores, by name, with the id as `_id`.

JSON stays text, as there: BSON has no integers beyond 64 bits, no lone surrogates and at most 100 levels, and a task
may return all of them. So nothing that a task can take or return is refused here but kept elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.hour import Hour
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.mark import Mark
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.policy import DEFAULT, Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.stores import mapping
from onthedot.stores.asking import folded, is_late
from onthedot.stores.counts import LATE_MS
from onthedot.stores.json_text import UNREADABLE, encode, policy_from
from onthedot.stores.transaction import StepRow

Document = dict[str, Any]

_SCHEDULE = ("_id", *mapping.SCHEDULE[1:])
_RUN = ("_id", *mapping.RUN[1:])
_NODE = ("_id", *mapping.NODE[1:])
_KEY = ("_id", *mapping.KEY[1:])
_TOKEN = ("_id", *mapping.TOKEN[1:])
_SESSION = ("_id", *mapping.SESSION[1:])
_VALUE = ("_id", *mapping.VALUE[1:])
_DECISION = ("_id", *mapping.DECISION[1:])
_CHANGE = ("_id", *mapping.CHANGE[1:])
MARK = ("_id", *(each.name for each in fields(Mark) if each.name != "id"))
AT_ONCE = 10_000
"""So many documents come in one answer; the driver would ask for 101 first, and then once more."""
FREE = {"busy_ms": 0}
"""On schedules and runs: nobody works on it; see `reservations`."""


def _values(document: Document, names: Iterable[str]) -> list[Any]:
    """In the order of the names; what a document lacks is None, and so as unreadable as anything else that is wrong."""
    return [document.get(name) for name in names]


# schedules


def schedule_from(document: Document) -> Schedule:
    """The schedule of a document, always: see `mapping.schedule_from`."""
    return mapping.schedule_from(_values(document, _SCHEDULE))


def schedule_document(row: Schedule) -> Document:
    """All of it."""
    columns = zip((*_SCHEDULE, "priority"), mapping.schedule_row(row), strict=False)
    return {**dict(columns), "words": _words(row), "plannable": int(row.plannable), **FREE}


BETWEEN = "\0"
"""Between name and task where both are searched at once: no text that a store keeps has it."""


def _words(row: Schedule) -> str:
    return folded(f"{row.name}{BETWEEN}{row.task}")


def schedule_moves(row: Schedule) -> Document:
    """What planning, starting, pausing and deleting change. It also ends the reservation."""
    columns = zip((*mapping.SCHEDULE_MOVING, "_id"), mapping.schedule_moving_row(row), strict=True)
    moves = {**dict(columns), "plannable": int(row.plannable), **FREE}
    del moves["_id"]
    return moves


def tick_moves(row: Schedule) -> Document:
    """What a plain tick changes (see `rules.ahead`). It also ends the reservation."""
    return {
        "next_run_ms": row.next_run_ms,
        "rescheduled": 0,
        "settled_ms": row.settled_ms,
        "last_run_ms": row.last_run_ms,
        "last_enqueued_ms": row.last_enqueued_ms,
        "version": row.version,
        "fence": row.fence,
        "planned_runs": row.planned_runs,
        **FREE,
    }


def summary_from(document: Document) -> ScheduleSummary:
    """How the schedule of a document stands, which has at least the fields of `mapping.SUMMARY`."""
    return mapping.summary_from(_values(document, mapping.SUMMARY))


# runs


def run_from(document: Document) -> Run:
    """The run of a document, live or ended."""
    values = _values(document, _RUN)
    if document.get("had_by") is not None:
        values[_OWNER] = document["had_by"]
    return mapping.run_from(values)


_OWNER = _RUN.index("owner")
_STEP = ("_id", *mapping.STEP[1:])


def step_from(document: Document) -> StepRow | None:
    """The step of a document, of which at least these fields were read: see `mapping.step_from`."""
    had_by = document.get("had_by")
    return mapping.step_from(_values(document if had_by is None else {**document, "owner": had_by}, _STEP))


def live_document(run: Run) -> Document:
    """All of a live run: what it has not, it lacks."""
    fields = dict(zip(_RUN, mapping.run_row(run), strict=True))
    known = {name: value for name, value in {**fields, **_places(run), **_sole(run)}.items() if value is not None}
    return {**known, "priority": run.policy.priority, **_where_it_waits(run), **FREE}


def live_moves(run: Run) -> Document:
    """What starting, retrying, cancelling and taking over change."""
    columns = zip((*mapping.RUN_MOVING, "id"), mapping.run_moving_row(run), strict=True)
    fields = {name: value for name, value in columns if name in _MOVING}
    return {**fields, **_where_it_waits(run), **_places(run), **_sole(run), **FREE}


def begin_moves(begun: Run) -> Document:
    """The same of a run that has begun plainly (`rules.plain`): all else stays as it was read."""
    return {
        "state": begun.state.value,
        "owner": begun.owner,
        "claim_no": begun.claim_no,
        "attempt": begun.attempt,
        "fence": begun.fence,
        "started_ms": begun.started_ms,
        "ready_for": None,
        "queue": None,
        **FREE,
    }


def _sole(run: Run) -> Document:
    """What no other live run may be: that of its tick, or in its slot."""
    tick = [f"tick:{run.schedule_id}/{run.scheduled_ms}"] if run.cause == "tick" else []
    slot = [] if run.slot is None else [f"slot:{run.slot}"]
    return {"sole": tick + slot or None}


_MUCH = 4000
"""Of the arguments of a run, in characters: sending them once more costs more than it saves."""


def may_be_written_anew(document: Document) -> bool:
    """Whether a live run may be sent whole where some of it changes: all else that can be large changes anyway."""
    args = document.get("args")
    return isinstance(args, str) and len(args) <= _MUCH


def _places(run: Run) -> Document:
    """For the indexes of steps that have ended, and of what has a moment to end by; see `flows`."""
    if run.is_final:
        return {"owner": None, "had_by": run.owner, "untold": run.parent_id, "bounded_ms": None}
    bounded = {"bounded_ms": run.until_ms if run.state is State.WAITING or run.is_flow else None}
    return {**bounded, "had_by": None, "untold": None} if run.is_step else bounded


_MOVING = frozenset(mapping.RUN_MOVING) & frozenset(mapping.RUN)


def _where_it_waits(run: Run) -> Document:
    """For the index of what is due: only of runs that may be started when their moment comes."""
    if run.state is not State.WAITING or run.blocked:
        return {"ready_for": None, "queue": None}
    policy = run.policy
    queue = _queue_text(policy.group, policy.pool, run.task, policy.priority)
    return {"ready_for": run.target or ANYBODY, "queue": queue}


@lru_cache(maxsize=4096)
def _queue_text(group: str | None, pool: str | None, task: str, priority: int) -> str:
    return json.dumps([group, pool, task, priority])


ANYBODY = ""
"""Whom runs are ready for that were routed to no node."""


class Queue(NamedTuple):
    """What all runs of one queue have in common: they are alike to a node that asks for work."""

    group: str | None
    pool: str | None
    task: str
    priority: int


def queue_from(text: str) -> Queue:
    """What the field `queue` says."""
    return Queue(*json.loads(text))


def ended_document(run: Run) -> Document:
    """All of a run in history; `wrong` is there only if it did not succeed, and `late` if it began late, for indexes of
    what did.
    """
    columns = zip((*_RUN, "kept_by"), mapping.ended_row(run), strict=True)
    document = {name: value for name, value in columns if value is not None}
    if run.state is not State.SUCCEEDED:
        document["wrong"] = 1
    if is_late(run):
        document["late"] = 1
    return document


def told_document(live: Document) -> Document:
    """Of an ended step in history, by what was kept of it among the live ones."""
    document = {name: live[name] for name in _RUN if live.get(name) is not None} | {
        "kept_by": live.get("schedule") or ""
    }
    if live.get("had_by") is not None:
        document["owner"] = live["had_by"]
    if live.get("state") != State.SUCCEEDED.value:
        document["wrong"] = 1
    if live.get("started_ms") is not None and live["started_ms"] - live["due_ms"] > LATE_MS:
        document["late"] = 1
    return document


_STATES = {state.value: state for state in State}


def mark_from(document: Document) -> Mark:
    """The mark of a run, live or ended, of which at least the fields of `MARK` were read; one that cannot be read has
    failed, as in `mapping.run_from`.
    """
    known = dict(zip(MARK, _values(document, MARK), strict=True))
    numbers = {name: known[name] if isinstance(known[name], int) else 0 for name in ("due_ms", "attempt")}
    state = _STATES.get(known["state"], State.FAILED)
    return Mark(id=known.pop("_id"), **{**known, **numbers, "state": state})


def policy_or_default(text: Any) -> Policy:
    """The policy of the field `policy`, of a schedule or a run; one that cannot be read asks for nothing."""
    try:
        return policy_from(text)
    except UNREADABLE:
        return DEFAULT


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


def decision_document(decision: Decision) -> Document:
    """All of it. Ids grow with time, so they are the order of decisions too."""
    return dict(zip(_DECISION, mapping.decision_row(decision), strict=True))


def decision_from(document: Document) -> Decision:
    """The decision of a document."""
    return Decision(*_values(document, _DECISION))


def log_document(line: LogLine, seq: int) -> Document:
    """All of it, with its place in the log."""
    return {**dict(zip(mapping.LOG, mapping.log_row(line), strict=True)), "seq": seq}


def log_from(document: Document) -> LogLine:
    """The line of a document."""
    return LogLine(*_values(document, mapping.LOG))


def change_document(change: Change, seq: int) -> Document:
    """All of it, with its place in the audit."""
    return {**dict(zip(_CHANGE, mapping.change_row(change), strict=True)), "seq": seq}


def change_from(document: Document) -> Change:
    """The line of the audit of a document."""
    return mapping.change_from(_values(document, _CHANGE))


def revision_document(schedule: Schedule, seq: int) -> Document:
    """A schedule as it was."""
    return {**dict(zip(mapping.REVISION, mapping.revision_row(schedule), strict=True)), "seq": seq}


def revision_from(document: Document) -> Schedule:
    """The schedule that `revision_document` was given."""
    return mapping.revision_from(document.get("schedule_id", ""), document.get("body", ""))


def token_document(token: Token) -> Document:
    """All of it."""
    return dict(zip(_TOKEN, mapping.token_row(token), strict=True))


def value_document(value: Value) -> Document:
    """One revision of what triggers name."""
    return dict(zip(_VALUE, mapping.value_row(value), strict=True))


def value_from(document: Document) -> Value:
    """The revision of a document."""
    return mapping.value_from(_values(document, _VALUE))


def token_from(document: Document) -> Token:
    """The token of a document."""
    return mapping.token_from(_values(document, _TOKEN))


def session_document(session: Session) -> Document:
    """All of it."""
    return dict(zip(_SESSION, mapping.session_row(session), strict=True))


def session_from(document: Document) -> Session:
    """The session of a document."""
    return Session(*_values(document, _SESSION))


def freeze_document(freeze: Freeze) -> Document:
    """All of it."""
    name, content = mapping.freeze_row(freeze)
    return {"_id": name, "content": content}


def freeze_from(document: Document) -> Freeze:
    """The freeze of a document."""
    return mapping.freeze_from(document["_id"], document.get("content", ""))


def minute_document(minute: Minute) -> Document:
    """All of it, under an id that only the minute and the node make."""
    said = encode(minute.as_json())
    place = {"minute_ms": minute.minute_ms, "node_id": minute.node_id}
    return {"_id": f"{minute.minute_ms}/{minute.node_id}", **place, "said": said}


def minute_from(document: Document) -> Minute:
    """The minute of a document; one that cannot be read counted nothing."""
    return mapping.minute_from([document.get(name) for name in ("minute_ms", "node_id", "said")])


def hour_document(hour: Hour) -> Document:
    """All but its id."""
    return {"kept_by": hour.of, "step": hour.step, "hour_ms": hour.hour_ms, "said": encode(hour.as_json())}


def hour_from(document: Document) -> Hour:
    """The hour of a document; one that cannot be read counted nothing."""
    return mapping.hour_from([document.get(name) for name in ("kept_by", "step", "hour_ms", "said")])
