"""Values as text and text as values: JSON objects that leave out what is as by default.

What many rows share (policies, triggers) is a text inside the text, decoded once for all of them. Arguments never are
shared: they reach user code, which may change them in place. No script ever reads the JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from functools import lru_cache
from typing import Any

from onthedot.model.decision import Decision
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import DEFAULT, Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import make
from onthedot.stores.base import By, Change, Key, LogLine, TaskInfo

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decoder = json.JSONDecoder()
_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError)


def _decode(text: str) -> Any:
    value, end = _decoder.raw_decode(text)  # half the time of `loads`, which looks for white space that we never write
    if end != len(text):
        raise ValueError(f"something stands behind the JSON, from character {end} on")
    return value


def _defaults(kind: Any) -> dict[str, Any]:
    """The fields that may be left out, with what they are then."""
    found: dict[str, Any] = {}
    for each in fields(kind):
        if each.default is not MISSING:
            found[each.name] = each.default
        elif each.default_factory is not MISSING:
            found[each.name] = each.default_factory()
    return found


def _sparse(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}


# policies


@lru_cache(maxsize=4096)
def _policy_text(policy: Policy) -> str:
    return _encode(policy.as_json())


@lru_cache(maxsize=4096)
def _policy(text: str) -> Policy:
    return Policy.from_json(_decode(text))


# schedules

_SCHEDULE = _defaults(Schedule)
_SCHEDULE_NAMES = frozenset(each.name for each in fields(Schedule))
_WORDS = ("given", "tags", "then", "on_failure")


def schedule_text(row: Schedule) -> str:
    """The whole row."""
    values = _sparse(row.__dict__, _SCHEDULE)
    values["trigger"] = _encode(row.trigger)
    if "policy" in values:
        values["policy"] = _policy_text(row.policy)
    return _encode(values)


def schedule_from(schedule_id: str, text: str) -> Schedule:
    """The schedule of a text, always: one that cannot be read has a trigger that nobody can read either."""
    try:
        return _schedule(_decode(text))
    except _UNREADABLE as error:
        return _unreadable(schedule_id, text, error)


def _schedule(values: dict[str, Any]) -> Schedule:
    row = {**_SCHEDULE, **values}
    if len(row) != len(_SCHEDULE_NAMES):
        row = {name: row[name] for name in _SCHEDULE_NAMES}  # written by a later version: its new fields are its own
    row["trigger"] = _trigger(row["trigger"])
    row["policy"] = _policy(values["policy"]) if "policy" in values else DEFAULT
    row["args"] = values.get("args", {})
    for name in _WORDS:
        row[name] = tuple(row[name])
    return make(Schedule, row)


@lru_cache(maxsize=65_536)
def _trigger(text: str) -> dict[str, Any]:
    """One object for all rows that have this text: no user's code gets to see a trigger as JSON."""
    value = _decode(text)
    if not isinstance(value, dict):
        raise ValueError("the trigger is not a JSON object")
    return value


def _unreadable(schedule_id: str, text: str, error: Exception) -> Schedule:
    """What a planner parks. Its text goes with it, so that nothing of it is lost."""
    name = re.search(r'"name":"((?:[^"\\]|\\.)*)"', text)
    moment = re.search(r'"next_run_ms":(\d+)', text)
    return Schedule(
        schedule_id,
        schedule_id if name is None else json.loads(f'"{name[1]}"'),
        "",
        {"v": 1, "type": f"unreadable ({error})", "text": text},
        next_run_ms=None if moment is None else int(moment[1]),
    )


# runs

_RUN = _defaults(Run)
_RUN_NAMES = frozenset(each.name for each in fields(Run))
_STATES = {state.value: state for state in State}


def run_text(run: Run) -> str:
    """The whole row; `TypeError` if an argument or result is none of JSON."""
    values = _sparse(run.__dict__, _RUN)
    if "state" in values:
        values["state"] = run.state.value
    if "policy" in values:
        values["policy"] = _policy_text(run.policy)
    return _encode(values)


def run_from(text: str) -> Run:
    """The run of a text."""
    values = _decode(text)
    row = {**_RUN, **values}
    if len(row) != len(_RUN_NAMES):
        row = {name: row[name] for name in _RUN_NAMES}
    row["state"] = _STATES[values.get("state", "waiting")]
    row["policy"] = _policy(values["policy"]) if "policy" in values else DEFAULT
    row["args"] = values.get("args", {})
    return make(Run, row)


# the others


def key_text(key: Key) -> str:
    """All but the key itself."""
    return _encode([key.run_id, key.expires_ms, None if key.state is None else str(key.state)])


def key_from(key: str, text: str) -> Key:
    """What `key_text` gave."""
    return Key(key, *_decode(text))


def node_text(node: Node) -> str:
    """The whole row."""
    return _encode({**node.__dict__, "labels": dict(node.labels), "state": node.state.value})


def node_from(text: str) -> Node:
    """The node of a text."""
    values = _decode(text)
    values["roles"], values["tasks"] = tuple(values["roles"]), tuple(values["tasks"])
    values["state"] = NodeState(values["state"])
    return make(Node, {name: values[name] for name in _NODE_NAMES})


_NODE_NAMES = tuple(each.name for each in fields(Node))


def tasks_text(tasks: list[TaskInfo]) -> str:
    """What one node publishes."""
    return _encode([[each.name, [dict(one) for one in each.parameters], each.doc, dict(each.policy)] for each in tasks])


def tasks_from(text: str) -> list[TaskInfo]:
    """What `tasks_text` gave."""
    return [TaskInfo(name, tuple(parameters), doc, policy) for name, parameters, doc, policy in _decode(text)]


def decision_text(decision: Decision) -> str:
    """The moment first, and a blank: the one thing that a script reads."""
    return f"{decision.decided_ms} {_encode(asdict(decision))}"


def decision_from(text: str) -> Decision:
    """What `decision_text` gave."""
    return Decision(**_decode(text.partition(" ")[2]))


def line_text(line: LogLine) -> str:
    """All but the run."""
    return _encode([line.claim_no, line.at_ms, line.level, line.text])


def line_from(run_id: str, text: str) -> LogLine:
    """What `line_text` gave."""
    return LogLine(run_id, *_decode(text))


def change_text(change: Change) -> str:
    """The whole row."""
    return _encode(asdict(change))


def change_from(text: str) -> Change:
    """What `change_text` gave."""
    values = _decode(text)
    return Change(**{**values, "by": By(**values["by"])})
