"""Values as text and text as values: JSON arrays in a fixed order, to which later versions only append.

What many rows share (definitions, policies) is a text inside the text, decoded once for all of them. Arguments never
are shared: they reach user code, which may change them in place. No script ever reads the JSON.

Behind the array of a run may stand what happened to it since, each in an array of its own: that it began, or how it
ended. The script of the short way adds them (`plain.py`); whoever writes the row anew makes one array of all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from onthedot.model.attempt import attempts_from
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision, Reason
from onthedot.model.freeze import Freeze
from onthedot.model.hour import Hour
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node, NodeState
from onthedot.model.outcome import Outcome
from onthedot.model.policy import DEFAULT, Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.model.values import make
from onthedot.rules.counting import End
from onthedot.stores.json_text import UNREADABLE_POLICY, Unreadable, policy_text
from onthedot.stores.mapping import (
    SCHEDULE,
    freeze_from,
    schedule_row,
    session_row,
    token_from,
    token_row,
    unreadable_node,
    unreadable_run,
    value_from,
    value_row,
)
from onthedot.stores.mapping import schedule_from as row_to_schedule
from onthedot.stores.roll_up import STEP

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_decoder = json.JSONDecoder()
UNREADABLE = (ValueError, TypeError, KeyError, RecursionError)


def _decode(text: str) -> Any:
    value, end = _decoder.raw_decode(text)  # half the time of `loads`, which looks for white space that we never write
    if end != len(text):
        raise ValueError(f"something stands behind the JSON, from character {end} on")
    return value


def _array(text: str) -> list[Any]:
    values = _decode(text)
    if not isinstance(values, list):
        raise TypeError("not a JSON array")
    return values


def _defaults(kind: Any, names: Sequence[str]) -> list[Any]:
    """What the fields of these names are where nothing is said of them."""
    found: dict[str, Any] = {}
    for each in fields(kind):
        if each.default is not MISSING:
            found[each.name] = each.default
        elif each.default_factory is not MISSING:
            found[each.name] = each.default_factory()
    return [found.get(name) for name in names]


def _filled(values: list[Any], defaults: list[Any]) -> list[Any]:
    """As many as there are now: an earlier version has not written all of them, a later one perhaps more."""
    return values if len(values) == len(defaults) else values[: len(defaults)] + defaults[len(values) :]


# policies


@lru_cache(maxsize=4096)
def _policy(text: str) -> Policy:
    return DEFAULT if text == "{}" else Policy.from_json(_decode(text))


# schedules

_BLANK = list(schedule_row(Schedule("", "", "", {}))[: len(SCHEDULE)])


def schedule_text(row: Schedule) -> str:
    """The whole row: the columns of the SQL stores."""
    return _encode(schedule_row(row)[: len(SCHEDULE)])


def schedule_from(schedule_id: str, text: str) -> Schedule:
    """The schedule of a text, always: one that cannot be read has a trigger that nobody can read either."""
    try:
        return row_to_schedule(_filled(_array(text), _BLANK))
    except UNREADABLE as error:
        return _unreadable(schedule_id, text, error)


def _unreadable(schedule_id: str, text: str, error: Exception) -> Schedule:
    """What a planner parks. Its text goes with it, so that nothing of it is lost."""
    head = re.match(r'\["(?:[^"\\]|\\.)*",("(?:[^"\\]|\\.)*"),("(?:[^"\\]|\\.)*",)?', text)
    name = schedule_id if head is None else json.loads(head[1])
    task = "" if head is None or head[2] is None else json.loads(head[2][:-1])
    trigger = {"v": 1, "type": f"unreadable ({error})", "text": text}
    return Schedule(schedule_id, name, task, trigger, next_run_ms=0)


# runs

RUN = (
    *("id", "state", "policy", "task", "cause", "scheduled_ms", "due_ms", "args", "schedule_id", "schedule"),
    *("revision", "key", "target", "parent_id", "owner", "claim_no", "attempt"),
    *("crashes", "fence", "slot", "waits_for", "exempt", "cancel_requested_ms", "created_ms", "started_ms"),
    *("finished_ms", "result", "error", "reason", "trace", "progress", "earlier"),
    *("until_ms", "graph", "ledger", "step", "item", "size", "remote"),
)
"""The order of a row. A new field comes at the end."""
_run_values = attrgetter(*RUN)
_PLACE = {name: place for place, name in enumerate(RUN)}
_STATE, _OWNER, _CLAIM_NO, _ATTEMPT, _FENCE = (_PLACE[n] for n in ("state", "owner", "claim_no", "attempt", "fence"))
_STARTED_MS, _FINISHED_MS, _RESULT, _ERROR, _REASON, _EARLIER = (
    _PLACE[name] for name in ("started_ms", "finished_ms", "result", "error", "reason", "earlier")
)
_RUN_DEFAULTS = _defaults(Run, RUN)
_NOT_BEGUN = [[] if each == () else each for each in _RUN_DEFAULTS[_STARTED_MS:]]
"""Of most runs that wait. They are read so where they are left out, and a row is half as long."""
_STATES = {state.value: state for state in State}


def run_text(run: Run) -> str:
    """The whole row; `TypeError` if an argument or result is none of JSON."""
    values = list(_run_values(run))
    values[2] = policy_text(run.policy)
    if isinstance(run.args, Unreadable):
        values[7] = None  # so that it stays what it is
    values[_EARLIER] = [each.as_json() for each in run.earlier]
    return _encode(values if values[_STARTED_MS:] != _NOT_BEGUN else values[:_STARTED_MS])


@lru_cache(maxsize=64)
def begun_text(owner: str) -> str:
    """What is told behind the text of a plain run that begins, and behind the time: who owns it (`_tell`)."""
    return _told(State.RUNNING, owner)


def ended_text(outcome: Outcome) -> str:
    """What is told so of one that ends; `TypeError` if its result is none of JSON."""
    if outcome.result is None and outcome.error is None and outcome.reason is None:
        return _ended_without_words(outcome.ending)
    return _told(outcome.ending, outcome.result, outcome.error, outcome.reason)


@lru_cache(maxsize=64)
def _ended_without_words(ending: str) -> str:
    return _told(ending)


def _told(*values: Any) -> str:
    """The time stands before it, and before that a bracket."""
    return f",{_encode(values)[1:]}"


def row_values(text: str) -> list[Any]:
    """The values of a run's row, after all that was told behind them."""
    found, end = _decoder.raw_decode(text)
    if not isinstance(found, list):
        raise TypeError("not a JSON array")
    values = _filled(found, _RUN_DEFAULTS)
    while end != len(text):
        told, end = _decoder.raw_decode(text, end)
        _tell(values, *told)
    return values


def _tell(values: list[Any], at_ms: int, state: str, *rest: Any) -> None:
    """What `rules.start.started` and `rules.end.settle` change in a plain run."""
    values[_STATE] = state
    if state == State.RUNNING:
        (values[_OWNER],) = rest
        values[_CLAIM_NO] += 1
        values[_ATTEMPT] += 1
        values[_FENCE], values[_STARTED_MS] = 0, at_ms
        return
    values[_FINISHED_MS] = at_ms
    values[_RESULT], values[_ERROR], values[_REASON] = rest or (None, None, None)  # an earlier try may have left some


def run_from(run_id: str, text: str) -> Run:
    """The run of a text, always: one that cannot be read is an `UnreadableRun`."""
    values: list[Any] = []
    try:
        values = row_values(text)
        fields = dict(zip(RUN, values, strict=True))
        fields["state"], fields["policy"] = _STATES[fields["state"]], _policy(fields["policy"])
        fields["earlier"] = attempts_from(fields["earlier"]) if fields["earlier"] else ()
        if not isinstance(fields["args"], dict):
            raise TypeError(f"args are {fields['args']!r}")
        fields["due_ms"] + fields["scheduled_ms"] + fields["claim_no"] + fields["attempt"] + fields["crashes"]
        (fields["started_ms"] or 0) + (fields["finished_ms"] or 0)
    except UNREADABLE as error:
        return _unreadable_run(run_id, dict(zip(RUN, values, strict=False)), error)
    return make(Run, fields)


_NUMBERS = ("scheduled_ms", "due_ms", "claim_no", "attempt", "crashes", "fence", "created_ms")


def _unreadable_run(run_id: str, row: dict[str, Any], error: Exception) -> Run:
    """What can be read of it. Where nothing can, only its id is known, and that it is there."""
    blank = Run(run_id, "", "enqueue", 0, 0, State.FAILED)
    state = f"{row.get('state')}"
    fields = {**blank.__dict__, **row, "id": run_id, "state": _STATES.get(state, State.FAILED)}
    fields["policy"] = UNREADABLE_POLICY
    fields["earlier"] = ()
    fields["args"] = row["args"] if isinstance(row.get("args"), dict) else Unreadable(error)
    fields |= {name: 0 for name in _NUMBERS if not isinstance(fields[name], int)}
    fields |= {name: None for name in ("started_ms", "finished_ms") if not isinstance(fields[name], int)}
    fields |= {name: "" for name in ("task", "error") if not isinstance(fields[name], str)}
    said = f"no state {state!r} is known" if row and state not in _STATES else f"{error}"
    return unreadable_run(fields, [said])


# the others


def key_text(key: Key) -> str:
    """All but the key itself."""
    return _encode([key.run_id, key.expires_ms, None if key.state is None else str(key.state)])


def key_from(key: str, text: str) -> Key:
    """What `key_text` gave; one that cannot be read has expired."""
    try:
        return Key(key, *_decode(text))
    except UNREADABLE:
        return Key(key, "", expires_ms=0)


def node_text(node: Node) -> str:
    """The whole row."""
    return _encode({**node.__dict__, "labels": dict(node.labels), "pools": dict(node.pools), "state": node.state.value})


def node_from(node_id: str, text: str) -> Node:
    """The node of a text, always: one that cannot be read has no tasks, so that nobody routes to it."""
    values: Any = {}
    try:
        values = _decode(text)
        return _node(values)
    except UNREADABLE as error:
        known = values if isinstance(values, dict) else {}
        rest = [known.get(name) for name in ("started_ms", "renewed_ms", "renewals", "lease_ms")]
        return unreadable_node(node_id, known.get("name", ""), known.get("state"), rest, error)


def _node(values: dict[str, Any]) -> Node:
    values["roles"], values["tasks"] = tuple(values["roles"]), tuple(values["tasks"])
    values["state"] = NodeState(values["state"])
    values["started_ms"] + values["renewed_ms"] + values["renewals"] + values["lease_ms"] + values["capacity"]
    sum(values["pools"].values())
    return make(Node, {name: values[name] for name in _NODE_NAMES})


_NODE_NAMES = tuple(each.name for each in fields(Node))


def tasks_text(tasks: list[TaskInfo]) -> str:
    """What one node publishes."""
    return _encode(
        [[each.name, [dict(one) for one in each.parameters], each.doc, dict(each.policy), each.pool] for each in tasks]
    )


def tasks_from(text: str) -> list[TaskInfo]:
    """What `tasks_text` gave; nothing, if it cannot be read."""
    try:
        return [TaskInfo(name, tuple(parameters), *rest) for name, parameters, *rest in _decode(text)]
    except UNREADABLE:
        return []


def decision_text(decision: Decision) -> str:
    """The moment first, and a blank: the one thing that a script reads."""
    values = asdict(decision)
    del values["after_ms"]
    return f"{decision.decided_ms} {_encode(values)}"


def decision_from(schedule_id: str, text: str) -> Decision:
    """What `decision_text` gave; one that cannot be read is of the moment when it was made, and says so."""
    decided, _, rest = text.partition(" ")
    try:
        return Decision(**_decode(rest))
    except UNREADABLE as error:
        at_ms = int(decided) if decided.isdecimal() else 0
        said = f"this decision cannot be read: {error}"
        reason = cast(Reason, "unreadable")
        return Decision(decided, schedule_id, "", 0, reason, at_ms, at_ms, None, at_ms, said)


def line_text(line: LogLine) -> str:
    """All but the run."""
    return _encode([line.claim_no, line.at_ms, line.level, line.text])


def line_from(run_id: str, text: str) -> LogLine:
    """What `line_text` gave; one that cannot be read says so."""
    try:
        claim_no, at_ms, level, said = _decode(text)
        return LogLine(run_id, claim_no, at_ms, level, said)
    except UNREADABLE as error:
        return LogLine(run_id, 0, 0, "ERROR", f"this line cannot be read: {error}")


def change_text(change: Change) -> str:
    """The whole row."""
    return _encode(asdict(change))


def change_from(change_id: str, text: str) -> Change:
    """What `change_text` gave; one that cannot be read says so."""
    try:
        values = _decode(text)
        return Change(**{**values, "by": Author(**values["by"])})
    except UNREADABLE as error:
        by = Author("", "", f"this change cannot be read: {error}")
        return Change(change_id, "", "", 0, 0, by, {}, {})


def token_text(token: Token) -> str:
    """The whole row."""
    return _encode(token_row(token))


def token_of(name: str, text: str) -> Token:
    """What `token_text` gave; one that cannot be read opens nothing."""
    try:
        return token_from(_decode(text))
    except UNREADABLE:
        return token_from((name, "", "", 0, 0))


def value_text(value: Value) -> str:
    """All but how it stands, which sets tell."""
    return _encode([*value_row(value)[:-1], ""])


def value_of(text: str, state: str) -> Value:
    """What `value_text` gave."""
    return value_from([*_decode(text)[:-1], state])


def session_text(session: Session) -> str:
    """The whole row."""
    return _encode(session_row(session))


def session_of(text: str) -> Session | None:
    """What `session_text` gave; one that cannot be read is none."""
    try:
        return Session(*_decode(text))
    except UNREADABLE:
        return None


def freezes_of(held: Mapping[str, str]) -> list[Freeze]:
    """Those of the hash, by name."""
    return [freeze_from(name, text) for name, text in sorted(held.items()) if name]


def minute_text(minute: Minute) -> str:
    """All but the minute and the node."""
    return _encode(minute.as_json())


def minute_from(member: str, text: str) -> Minute:
    """What `minute_text` gave, of what the index says; one that cannot be read has counted nothing."""
    minute_ms, _, node_id = member.partition("\n")
    try:
        return Minute.from_json(int(minute_ms), node_id, _decode(text))
    except (*UNREADABLE, AttributeError):
        return Minute(int(minute_ms), node_id)


def hour_text(hour: Hour) -> str:
    """All but its place."""
    return _encode(hour.as_json())


def hour_from(of: str, step: str, hour_ms: int, text: str) -> Hour:
    """What `hour_text` gave; one that cannot be read has counted nothing."""
    try:
        return Hour.from_json(of, step, hour_ms, _decode(text))
    except (*UNREADABLE, AttributeError):
        return Hour(of, step, hour_ms)


_OF_END = tuple(map(RUN.index, ("step", "state", "due_ms", "started_ms", "error", "reason")))


def end_from(member: str, score: str, text: str) -> End:
    """What is counted of a run that has ended, of what the index says and of its row. One that cannot be read is shown
    as failed, and counted so."""
    of, finished_ms = member.partition("\n")[2], int(float(score))
    try:
        values = row_values(text)
        step, state, due_ms, started_ms, error, reason = (values[place] for place in _OF_END)
        (started_ms or 0) + due_ms
    except (*UNREADABLE, IndexError):
        return of, "", State.FAILED.value, 0, None, finished_ms, "this run cannot be read"
    # What was filled in is a step, and counts as any run of its schedule.
    return of, (step or "") if of.startswith(STEP) else "", state, due_ms, started_ms, finished_ms, error or reason
