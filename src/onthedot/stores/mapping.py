"""Rows as values and values as rows. Columns stand in a fixed order, so that both ways are one tuple each.

What many rows share (definitions, policies, lists of words) is one value for all. Arguments never are: they reach user
code, which may change them in place. A row that cannot be read becomes a schedule that a planner parks; its columns are
left as they are until somebody puts the schedule anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from onthedot.model.alert import Followers
from onthedot.model.attempt import Attempt, attempts_from
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.definition_json import DEFAULTS, as_json, from_json
from onthedot.model.freeze import Freeze, Window
from onthedot.model.graph import Graph
from onthedot.model.hour import Hour
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.mark import Mark
from onthedot.model.minute import Minute
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import DEFINITION, Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Role, Session, Token
from onthedot.model.value import Value, ValueState
from onthedot.model.values import make, replace
from onthedot.rules.plain import begins_in_a_place_of, begins_plainly, is_followed
from onthedot.stores.json_text import (
    UNREADABLE,
    UNREADABLE_POLICY,
    Unreadable,
    clean,
    decode,
    encode,
    json_object,
    object_or_sign,
    policy_from,
    policy_text,
    words,
    words_text,
)
from onthedot.stores.lanes import lane_of
from onthedot.stores.transaction import LEFT_OUT, StepRow, step_row

Columns = tuple[Any, ...]
"""One row as a driver takes it."""

# schedules

APART = ("task", "args", "policy", "tags", "mode", "uses")
"""What of a definition has a column of its own: it is searched, or a database copies it into runs."""
_WITHIN = tuple(name for name in DEFINITION if name not in APART)
"""All the rest of it is one column, `definition`."""
_STILL = ("id", "name", *DEFINITION, "revision", "created_ms")
SCHEDULE_MOVING = tuple(field.name for field in fields(Schedule) if field.name not in _STILL)
"""What planning, starting, pausing and deleting change."""
SCHEDULE = ("id", "name", *APART, "definition", "revision", "created_ms", *SCHEDULE_MOVING)
"""The columns of a schedule."""
SCHEDULE_DERIVED = ("priority", "followed")
"""What comes after them, for statements alone."""
schedule_definition = attrgetter(*_STILL)
"""What only a put changes."""


def schedule_from(row: Sequence[Any]) -> Schedule:
    """The schedule of a row, always: one that cannot be read has a trigger that nobody can read either."""
    try:
        return _schedule(dict(zip(SCHEDULE, row, strict=True)))
    except UNREADABLE as error:
        columns = dict(zip(SCHEDULE, row, strict=True))
        readable = _schedule({**columns, **_EMPTY})
        return replace(readable, trigger=_unreadable_definition(error, columns))


_EMPTY = {"args": "{}", "policy": "{}", "tags": "[]", "uses": "[]", "definition": '{"trigger":{}}', "frozen": None}


class UnreadableDefinition(dict[str, Any]):
    """The trigger of a schedule that cannot be read. What stood in its row goes with it, and is written as it was."""

    columns: Columns = ()


def _unreadable_definition(error: Exception, columns: Mapping[str, Any]) -> UnreadableDefinition:
    trigger = UnreadableDefinition(Unreadable(error))
    trigger.columns = tuple(columns[name] for name in (*APART, "definition"))
    return trigger


def _schedule(columns: dict[str, Any]) -> Schedule:
    """The columns become the fields, in place."""
    columns.update(_definition(columns.pop("definition")))
    columns["args"] = json_object(columns["args"])
    columns["policy"] = policy_from(columns["policy"])
    columns["tags"] = words(columns["tags"])
    columns["uses"] = words(columns["uses"])
    columns["enabled"] = columns["enabled"] == 1
    columns["deleted"] = columns["deleted"] == 1
    columns["rescheduled"] = columns["rescheduled"] == 1
    columns["routed"] = _counts(columns["routed"])
    columns["frozen"] = () if columns["frozen"] is None else _windows(columns["frozen"])
    return make(Schedule, columns)


_MOST_DEFINITIONS = 65_536


@lru_cache(maxsize=_MOST_DEFINITIONS)
def _definition(text: str) -> dict[str, Any]:
    """The fields in the column; one for all rows that have this text. None of them reaches user code."""
    said = from_json(json_object(text), _WITHIN)
    if len(_texts) >= _MOST_DEFINITIONS:
        _texts.clear()
    _texts[id(said["trigger"])] = tuple(said[name] for name in _WITHIN), text
    return said


_texts: dict[int, tuple[Columns, str]] = {}
"""By the trigger, whose identity the rows of one text share: the fields in the column, and the column."""
_within = attrgetter(*_WITHIN)


def _definition_text(row: Schedule) -> str:
    """What was read as it is now is not encoded anew: stores that keep a row in one piece write it with every tick."""
    known = _texts.get(id(row.trigger))
    if known is not None and known[0] == _within(row):
        return known[1]
    return encode(as_json(row, _WITHIN))


def _counts(text: str) -> Mapping[str, int]:
    """How often nodes were chosen; what cannot be read is counted anew."""
    try:
        return json_object(text)
    except UNREADABLE:
        return {}


@lru_cache(maxsize=4096)
def windows_text(windows: tuple[Window, ...]) -> str:
    """What a store keeps of them: of the same windows the same text."""
    return encode(windows)


@lru_cache(maxsize=4096)
def _windows(text: str) -> tuple[Window, ...]:
    """What freezes say of a schedule; one value for all that have this text."""
    return tuple(Window(str(name), int(start_ms), int(end_ms)) for name, start_ms, end_ms in decode(text))


def is_frozen(text: str, now_ms: int) -> bool:
    """Whether one of the windows of the column `frozen` covers the moment; none does where they cannot be read."""
    try:
        return any(each.covers(now_ms) for each in _windows(text))
    except UNREADABLE:
        return False


SUMMARY = ("enabled", "deleted", "next_run_ms", "definition")


def summary_from(row: Sequence[Any]) -> ScheduleSummary:
    """How the schedule of these columns stands; of one that cannot be read nothing follows, and it is kept."""
    enabled, deleted, next_run_ms, text = row
    try:
        said: Mapping[str, Any] = _definition(text)
    except UNREADABLE:
        said = DEFAULTS
    followers = Followers(said["then"], said["on_failure"], said["alerts"], said["ping"])
    return ScheduleSummary(enabled == 1, deleted == 1, said["auto_remove"], next_run_ms is None, followers)


def schedule_row(row: Schedule) -> Columns:
    """The columns of `SCHEDULE`, then those of `SCHEDULE_DERIVED`."""
    identity = (row.id, row.name, *_definition_columns(row), row.revision, row.created_ms)
    followers = Followers(row.then, row.on_failure, row.alerts, row.ping)
    followed = is_followed(followers, auto_remove=row.auto_remove)
    return (*identity, *_moving_columns(row), row.policy.priority, int(followed))


def _definition_columns(row: Schedule) -> Columns:
    """Those of `APART`, and the definition."""
    if isinstance(row.trigger, UnreadableDefinition):
        return row.trigger.columns
    args = encode(row.args) if row.args else "{}"
    words = words_text(row.tags), row.mode, words_text(row.uses)
    return (row.task, args, policy_text(row.policy), *words, _definition_text(row))


def schedule_moving_row(row: Schedule) -> Columns:
    """The columns of `SCHEDULE_MOVING`, then the id."""
    return (*_moving_columns(row), row.id)


def _moving_columns(row: Schedule) -> Columns:
    return (
        int(row.enabled),
        clean(row.paused_note),
        clean(row.error),
        int(row.deleted),
        row.declared_seen_ms,
        row.next_run_ms,
        int(row.rescheduled),
        row.skips,
        windows_text(row.frozen) if row.frozen else None,
        row.settled_ms,
        row.last_run_ms,
        row.last_enqueued_ms,
        row.version,
        row.fence,
        row.planned_runs,
        encode(row.routed) if row.routed else "{}",
        row.plan_attempts,
        row.updated_ms,
        row.left_out_ms,
        row.watch_ms,
        row.watched_ms,
    )


def schedule_to_text(row: Schedule) -> str:
    """A whole schedule as one JSON text, for the revisions."""
    moves = {name: getattr(row, name) for name in _MOVES}
    return encode({**moves, "definition": as_json(row)})


_MOVES = tuple(field.name for field in fields(Schedule) if field.name not in DEFINITION)


def revision_from(schedule_id: str, text: str) -> Schedule:
    """What `schedule_to_text` gave, of this or an earlier version; with an error if it cannot be read."""
    try:
        body = json_object(text)
        moves = {name: body[name] for name in _MOVES if name in body}
        moves["frozen"] = tuple(Window(*each) for each in moves.get("frozen", ()))
        return Schedule(**moves, **from_json(body["definition"]))
    except (*UNREADABLE, LookupError) as error:
        said = f"this revision cannot be read: {error}"
        return Schedule(schedule_id, "", "", Unreadable(error), error=said)


# runs

RUN = tuple(field.name for field in fields(Run))
"""The columns of a run, live or ended; more come after them, which differ."""
LIVE = (*RUN, "priority", "ranked", "apart", "pool", "lane", "plain")
RUN_MOVING = (
    "due_ms",
    "state",
    "target",
    "owner",
    "claim_no",
    "attempt",
    "crashes",
    "fence",
    "slot",
    "waits_for",
    "exempt",
    "cancel_requested_ms",
    "started_ms",
    "finished_ms",
    "result",
    "error",
    "reason",
    "progress",
    "earlier",
    "until_ms",
    "graph",
    "ledger",
    "size",
    "remote",
    "lane",
    "plain",
)
"""What starting, routing, retrying, cancelling and taking over change; the rest of a run never changes."""
_STATES = {state.value: state for state in State}


def run_from(row: Sequence[Any]) -> Run:
    """The run of a row, always: one that cannot be read is an `UnreadableRun`."""
    fields = dict(zip(RUN, row, strict=True))
    try:
        fields["state"] = _STATES[fields["state"]]
        fields["args"] = json_object(fields["args"])
        fields["policy"] = policy_from(fields["policy"])
        fields["exempt"] = fields["exempt"] == 1
        if fields["result"] is not None:
            fields["result"] = decode(fields["result"])
        fields["earlier"] = () if fields["earlier"] is None else _attempts(fields["earlier"])
        if fields["ledger"] is not None:
            fields["ledger"] = json_object(fields["ledger"])
        # What is added up is a number; so quickly that reading many runs does not take longer for it.
        fields["due_ms"] + fields["scheduled_ms"] + fields["claim_no"] + fields["attempt"] + fields["crashes"]
    except (*UNREADABLE, LookupError):
        return _unreadable_run(dict(zip(RUN, row, strict=True)))
    return make(Run, fields)


BEGUN = (
    "id",
    "task",
    "cause",
    "scheduled_ms",
    "due_ms",
    "args",
    "policy",
    "key",
    "parent_id",
    "claim_no",
    "attempt",
    "exempt",
    "cancel_requested_ms",
    "created_ms",
    "started_ms",
    "result",
    "error",
    "reason",
    "trace",
    "earlier",
)
"""What of a run may be something else than nothing when it begins plainly (`rules.plain`), but for its owner."""
_NOTHING = Run("", "", "enqueue", 0, 0, state=State.RUNNING).__dict__


def begun_from(row: Sequence[Any], owner: str, begins_ms: int | None = None) -> Run | None:
    """The run of the columns of `BEGUN`, which has begun plainly; None where it cannot be read.

    With a moment the row is as it was before, and the run begins then.
    """
    fields = _NOTHING.copy()
    fields.update(zip(BEGUN, row, strict=True))
    fields["owner"] = owner
    try:
        if begins_ms is not None:
            fields |= {
                "started_ms": begins_ms,
                "claim_no": fields["claim_no"] + 1,
                "attempt": fields["attempt"] + 1,
            }
        fields["args"] = json_object(fields["args"])
        fields["policy"] = policy_from(fields["policy"])
        fields["exempt"] = fields["exempt"] == 1
        if fields["result"] is not None:
            fields["result"] = decode(fields["result"])
        fields["earlier"] = () if fields["earlier"] is None else _attempts(fields["earlier"])
        fields["due_ms"] + fields["scheduled_ms"] + fields["claim_no"] + fields["attempt"]
    except UNREADABLE:
        return None
    return make(Run, fields)


STEP = tuple(name for name in RUN if name not in LEFT_OUT)


def step_from(row: Sequence[Any]) -> StepRow | None:
    """The step of the columns of `STEP`; None where nobody knows its state, which so stays as it is."""
    fields = dict(zip(STEP, row, strict=True))
    state = _STATES.get(fields["state"])
    return None if state is None else step_row({**fields, "state": state, "exempt": fields["exempt"] == 1})


def result_from(state: str, result: str | None) -> tuple[State, Any]:
    """How a step has ended, and with what; a result that cannot be read is none."""
    return _STATES.get(state, State.FAILED), None if result is None else _or(None, lambda: decode(result), "", [])


GRAPH = ("hash", "name", "content", "seen_ms")


def graph_row(graph: Graph, seen_ms: int) -> Columns:
    """The columns of `GRAPH`."""
    return graph.hash, graph.name, graph.text, seen_ms


_TEXTS = ("id", "task", "cause")
_NUMBERS = ("scheduled_ms", "due_ms", "claim_no", "attempt", "crashes", "fence", "created_ms")


def _unreadable_run(columns: dict[str, Any]) -> Run:
    """What can be read of it, and what cannot."""
    problems: list[str] = []
    state, args, policy, result = (columns[name] for name in ("state", "args", "policy", "result"))
    ledger = columns["ledger"]
    fields = {
        **columns,
        **{name: f"{columns[name] or ''}" for name in _TEXTS},
        **{name: _number(name, columns[name], problems) for name in _NUMBERS},
        "state": _or(State.FAILED, lambda: _STATES[state], f"no state {state!r} is known", problems),
        "args": _or(Unreadable("args"), lambda: json_object(args), "args", problems),
        "policy": _or(UNREADABLE_POLICY, lambda: policy_from(policy), "policy", problems),
        "result": None if result is None else _or(None, lambda: decode(result), "result", problems),
        "ledger": None if ledger is None else _or(None, lambda: json_object(ledger), "ledger", problems),
        "exempt": columns["exempt"] == 1,
        "earlier": _attempts(columns["earlier"] or "[]"),
    }
    return unreadable_run(fields, problems)


def unreadable_run(fields: dict[str, Any], problems: Sequence[str]) -> Run:
    """A run of these fields, with what is wrong with its row in its error."""
    said = f"the row of this run cannot be read: {'; '.join(problems)}"
    return make(UnreadableRun, {**fields, "error": "\n".join(filter(None, (fields.get("error"), said)))})


def _number(name: str, value: Any, problems: list[str]) -> int:
    if isinstance(value, int):
        return value
    problems.append(f"{name} is {value!r}")
    return 0


def _or(otherwise: Any, read: Callable[[], Any], what: str, problems: list[str]) -> Any:
    try:
        return read()
    except LookupError:
        problems.append(what)
    except UNREADABLE as error:
        problems.append(f"{what}: {error}")
    return otherwise


def _attempts_text(earlier: tuple[Attempt, ...]) -> str | None:
    """Most runs have none."""
    return encode([each.as_json() for each in earlier]) if earlier else None


def _attempts(text: str) -> tuple[Attempt, ...]:
    """They only tell a story: a run whose earlier attempts cannot be read is a run all the same."""
    try:
        return attempts_from(decode(text))
    except UNREADABLE:
        return ()


def _args_text(args: Mapping[str, Any]) -> str:
    """What cannot be read stays so, wherever the run is written to."""
    return "unreadable" if isinstance(args, Unreadable) else encode(args)


def run_row(run: Run) -> Columns:
    """The columns of `RUN`."""
    return (
        run.id,
        run.task,
        run.cause,
        run.scheduled_ms,
        run.due_ms,
        run.state.value,
        _args_text(run.args) if run.args else "{}",
        policy_text(run.policy),
        run.schedule_id,
        run.schedule,
        run.revision,
        run.key,
        run.target,
        run.parent_id,
        run.owner,
        run.claim_no,
        run.attempt,
        run.crashes,
        run.fence,
        run.slot,
        run.waits_for,
        1 if run.exempt else 0,
        run.cancel_requested_ms,
        run.created_ms,
        run.started_ms,
        run.finished_ms,
        None if run.result is None else encode(run.result),
        clean(run.error),
        clean(run.reason),
        run.trace,
        clean(run.progress),
        _attempts_text(run.earlier),
        run.until_ms,
        run.graph,
        ledger_text(run),
        run.step,
        run.item,
        run.size,
        run.remote,
    )


def live_row(run: Run) -> Columns:
    """All columns of a live run: those of `LIVE`."""
    priority = run.policy.priority
    apart = "" if run.cause == "tick" else run.id
    derived = (priority, 1 if priority else 0, apart, run.policy.pool, lane_of(run), plainness(run))
    return (*run_row(run), *derived)


def ended_row(run: Run) -> Columns:
    """All columns of a run in history."""
    return (*run_row(run), kept_by(run))


def kept_by(run: Run) -> str:
    """Under what a run's history is counted. No name has a slash, so a task and a schedule never share it. A step is
    kept by its flow, and counted nowhere.
    """
    if run.is_kept_by_flow:
        return ""
    return f"/{run.task}" if run.schedule is None else run.schedule


def run_moving_row(run: Run) -> Columns:
    """The columns of `RUN_MOVING`, then the id."""
    return (
        run.due_ms,
        run.state.value,
        run.target,
        run.owner,
        run.claim_no,
        run.attempt,
        run.crashes,
        run.fence,
        run.slot,
        run.waits_for,
        1 if run.exempt else 0,
        run.cancel_requested_ms,
        run.started_ms,
        run.finished_ms,
        None if run.result is None else encode(run.result),
        clean(run.error),
        clean(run.reason),
        clean(run.progress),
        _attempts_text(run.earlier),
        run.until_ms,
        run.graph,
        ledger_text(run),
        run.size,
        run.remote,
        lane_of(run),
        plainness(run),
        run.id,
    )


def plainness(run: Run) -> int:
    """The column `plain`. In the lane of a group's limit it says how many places the run takes that group to have."""
    return 1 if begins_plainly(run) else begins_in_a_place_of(run)


def ledger_text(flow: Run) -> str | None:
    """The column of its ledger."""
    return None if flow.ledger is None else encode(flow.ledger)


_all_but_the_ledger = attrgetter(*(name for name in RUN_MOVING if name not in ("ledger", "lane", "plain")))


def has_the_same_but_its_ledger(before: Run, after: Run) -> bool:
    """Whether nothing of a flow's row is different but its ledger."""
    return bool(_all_but_the_ledger(before) == _all_but_the_ledger(after))


MARK = tuple(field.name for field in fields(Mark))


def mark_from(row: Sequence[Any]) -> Mark:
    """The mark of these columns, always; in the place of a number that cannot be read there is none."""
    columns = dict(zip(MARK, row, strict=True))
    columns["state"] = _STATES.get(columns["state"], State.FAILED)
    for name in ("scheduled_ms", "due_ms", "attempt", "started_ms", "finished_ms"):
        if columns[name] is not None and not isinstance(columns[name], int):
            columns[name] = None if name in ("started_ms", "finished_ms") else 0
    return Mark(**columns)


# the others

KEY = tuple(field.name for field in fields(Key))
NODE = tuple(field.name for field in fields(Node))
TASK = ("node_id", *(field.name for field in fields(TaskInfo)))
DECISION = tuple(field.name for field in fields(Decision) if field.name != "after_ms")
LOG = tuple(field.name for field in fields(LogLine))
CHANGE = ("id", "schedule_id", "schedule", "revision", "at_ms", "who", "surface", "what", "before", "after")
REVISION = ("schedule_id", "revision", "made_ms", "body")
TOKEN = tuple(field.name for field in fields(Token))
VALUE = ("id", *(field.name for field in fields(Value)))
SESSION = tuple(field.name for field in fields(Session))
MINUTE = ("minute_ms", "node_id", "body")
HOUR = ("kept_by", "step", "hour_ms", "body")


def minute_row(minute: Minute) -> Columns:
    """The columns of `MINUTE`."""
    return (minute.minute_ms, minute.node_id, encode(minute.as_json()))


def minute_from(row: Sequence[Any]) -> Minute:
    """What was counted; nothing where that cannot be read."""
    minute_ms, node_id, body = row
    try:
        return Minute.from_json(minute_ms, node_id, json_object(body))
    except UNREADABLE:
        return Minute(minute_ms, node_id)


def hour_row(hour: Hour) -> Columns:
    """The columns of `HOUR`."""
    return (hour.of, hour.step, hour.hour_ms, encode(hour.as_json()))


def hour_from(row: Sequence[Any]) -> Hour:
    """What was counted; nothing where that cannot be read."""
    of, step, hour_ms, body = row
    try:
        return Hour.from_json(of, step, hour_ms, json_object(body))
    except UNREADABLE:
        return Hour(of, step, hour_ms)


def key_row(key: Key) -> Columns:
    """The columns of `KEY`."""
    return (key.key, key.run_id, key.expires_ms, None if key.state is None else str(key.state))


def node_row(node: Node) -> Columns:
    """The columns of `NODE`."""
    return (
        node.id,
        node.name,
        node.group,
        encode(dict(node.labels)),
        node.capacity,
        words_text(node.roles),
        words_text(node.tasks),
        node.state.value,
        encode(dict(node.pools)),
        node.started_ms,
        node.renewed_ms,
        node.renewals,
        node.lease_ms,
    )


def node_from(row: Sequence[Any]) -> Node:
    """The node of a row, always: one that cannot be read has no tasks, so that nobody routes to it."""
    node_id, name, group, labels, capacity, roles, tasks, state, pools, *rest = row
    try:
        sizes = json_object(pools)
        known = json_object(labels), capacity, words(roles), words(tasks), NodeState(state), sizes
        sum(rest, capacity) + sum(sizes.values())
    except UNREADABLE as error:
        return unreadable_node(node_id, name, state, rest, error)
    return Node(node_id, name, group, *known, *rest)


def unreadable_node(node_id: str, name: object, state: object, rest: Sequence[Any], error: Exception) -> Node:
    """What can be read of it. A state that nobody knows is dead: the process, if it lives, goes on as another node."""
    known = next((each for each in NodeState if each == state), NodeState.DEAD)
    moments = rest if all(isinstance(each, int) for each in rest) else (0, 0, 0, 0)
    return Node(node_id, f"{name}", None, {"unreadable": f"{error}"}, 0, (), (), known, {}, *moments)


def task_row(node_id: str, task: TaskInfo) -> Columns:
    """The columns of `TASK`."""
    parameters = encode([dict(each) for each in task.parameters])
    return (node_id, task.name, parameters, clean(task.doc), encode(dict(task.policy)), task.pool)


def task_from(row: Sequence[Any]) -> TaskInfo:
    """What a node published; without the node."""
    _, name, parameters, doc, policy, pool = row
    try:
        return TaskInfo(name, tuple(decode(parameters)), doc, json_object(policy), f"{pool}")
    except UNREADABLE as error:
        return TaskInfo(f"{name}", doc=f"the row of this task cannot be read: {error}")


def decision_row(decision: Decision) -> Columns:
    """The columns of `DECISION`."""
    return (
        decision.id,
        decision.schedule_id,
        decision.schedule,
        decision.revision,
        decision.reason,
        decision.first_ms,
        decision.last_ms,
        decision.count,
        decision.decided_ms,
        clean(decision.detail),
    )


def log_row(line: LogLine) -> Columns:
    """The columns of `LOG`."""
    return (line.run_id, line.claim_no, line.at_ms, line.level, clean(line.text))


def revision_row(schedule: Schedule) -> Columns:
    """The columns of `REVISION`: the schedule as it is from now on."""
    return (schedule.id, schedule.revision, schedule.updated_ms, schedule_to_text(schedule))


def change_row(change: Change) -> Columns:
    """The columns of `CHANGE`."""
    by = change.by
    head = (change.id, change.schedule_id, change.schedule, change.revision, change.at_ms)
    return (
        *head,
        clean(by.who),
        clean(by.surface),
        clean(by.what),
        encode(change.before),
        encode(change.after),
    )


def change_from(row: Sequence[Any]) -> Change:
    """The line of the audit."""
    change_id, schedule_id, schedule, revision, at_ms, who, surface, what, before, after = row
    by = Author(who, surface, what)
    return Change(change_id, schedule_id, schedule, revision, at_ms, by, object_or_sign(before), object_or_sign(after))


def token_row(token: Token) -> Columns:
    """The columns of `TOKEN`."""
    return (token.name, token.role.value, token.digest, token.created_ms, token.expires_ms)


def token_from(row: Sequence[Any]) -> Token:
    """The token of a row, always: one that cannot be read opens nothing."""
    name, role, digest, created_ms, expires_ms = row
    try:
        created_ms + (expires_ms or 0)
        return Token(name, Role(role), f"{digest}", created_ms, expires_ms)
    except (ValueError, TypeError):
        return Token(f"{name}", Role.VIEWER, "", 0, 0)


def session_row(session: Session) -> Columns:
    """The columns of `SESSION`."""
    return (session.id, session.token, session.digest, session.created_ms, session.expires_ms)


FREEZE = ("name", "content")


def freeze_row(freeze: Freeze) -> Columns:
    """The columns of `FREEZE`."""
    return (freeze.name, encode(freeze.__dict__))


def freeze_from(name: str, text: str) -> Freeze:
    """What `freeze_row` gave; one that cannot be read freezes nothing, and is shown as over."""
    try:
        said = json_object(text)
        return Freeze(**{each.name: said[each.name] for each in fields(Freeze) if each.name in said})
    except UNREADABLE:
        return Freeze(name, 0, 0, walks=2)


def value_row(value: Value) -> Columns:
    """The columns of `VALUE`."""
    head = (value.id, value.kind, value.name, value.rev)
    return (*head, encode(value.content), value.digest, value.created_ms, value.state.value)


def value_from(row: Sequence[Any]) -> Value:
    """The revision of a row, always: one that cannot be read says nothing, and whoever asks it is told so."""
    _, kind, name, rev, content, digest, created_ms, state = row
    known = next((each for each in ValueState if each == state), ValueState.OLD)
    return Value(kind, name, rev, object_or_sign(content), digest, created_ms, known)
