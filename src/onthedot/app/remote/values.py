"""Documents of the HTTP API as the values that they tell of. What it does not tell has its default."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from onthedot.app.arguments import Signature, check_size
from onthedot.app.flows.flow import Flow
from onthedot.app.tasks import Task
from onthedot.durations import format_duration, to_duration_ms
from onthedot.errors import StoreUnavailable
from onthedot.insight.pool_use import PoolUse
from onthedot.insight.run_report import RunStory
from onthedot.model.alert import Alert
from onthedot.model.attempt import Attempt
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.definition_json import DEFAULTS, LISTS
from onthedot.model.freeze import Freeze, Window
from onthedot.model.graph import Graph
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.remote import taken
from onthedot.model.run import Run
from onthedot.model.schedule import DEFINITION, Schedule
from onthedot.model.states import State
from onthedot.model.step_status import StepStatus
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Role, Token
from onthedot.moments import ceil_ms, iso

Document = Mapping[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

_POLICY = Policy.__dataclass_fields__
_SAME_IN_RUNS = (
    *("id", "task", "cause", "args", "schedule_id", "schedule", "revision", "key", "target", "parent_id"),
    *("owner", "claim_no", "attempt", "crashes", "fence", "waits_for", "result", "error", "reason", "trace"),
    *("progress", "graph", "step", "item"),
)
_SAME_IN_SCHEDULES = ("id", "name", "revision", "enabled", "paused_note", "error", "planned_runs")


def of_onthedot(read: Callable[P, T]) -> Callable[P, T]:
    """Whatever else answers is told of in one line."""

    @wraps(read)
    def reading(*args: P.args, **named: P.kwargs) -> T:
        try:
            return read(*args, **named)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreUnavailable(f"the server does not answer as onthedot does: {error!r}") from None

    return reading


def ms(moment: str | None) -> int | None:
    """A moment as it is told."""
    return None if moment is None else ceil_ms(moment)


@of_onthedot
def schedule_of(said: Document) -> Schedule:
    """A schedule."""
    definition = {name: said[name] for name in DEFINITION if name in said and name != "policy"}
    for name in LISTS & definition.keys():
        definition[name] = tuple(definition[name])
    definition["alerts"] = tuple(Alert.from_json(each) for each in definition.get("alerts", ()))
    return Schedule(
        **{**DEFAULTS, **definition, "policy": policy_of(said["policy"])},
        **{name: said[name] for name in _SAME_IN_SCHEDULES},
        deleted=said["state"] == "removed",
        skips=said.get("skips", 0),
        rescheduled=bool(said.get("skips", 0)),
        frozen=tuple(
            Window(each["freeze"], ceil_ms(each["start_at"]), ceil_ms(each["end_at"]))
            for each in said.get("frozen", ())
        ),
        next_run_ms=ms(said["next_run_at"]),
        settled_ms=ms(said["settled_through"]) or 0,
        last_run_ms=ms(said["last_run_at"]),
        created_ms=ms(said["created_at"]) or 0,
        updated_ms=ms(said["updated_at"]) or 0,
    )


def policy_of(said: Document) -> Policy:
    """Policies, under the names that users write."""
    values: dict[str, Any] = {}
    for name, value in said.items():
        if f"{name}_ms" in _POLICY:
            values[f"{name}_ms"] = None if value is None else to_duration_ms(value)
        elif name in _POLICY:
            values[name] = tuple(value) if isinstance(value, list) else value
    return Policy(**values)


@of_onthedot
def graph_of(said: Document) -> Graph:
    """A flow's graph."""
    return Graph.from_text(json.dumps({name: said[name] for name in ("name", "steps", "defaults", "required")}))


@of_onthedot
def run_of(said: Document) -> Run:
    """A run, a flow's with its steps."""
    run = Run(
        **{name: said[name] for name in _SAME_IN_RUNS if name in said},
        state=State(said["state"]),
        scheduled_ms=ms(said["scheduled_at"]) or 0,
        due_ms=ms(said["due_at"]) or 0,
        created_ms=ms(said["created_at"]) or 0,
        started_ms=ms(said["started_at"]),
        finished_ms=ms(said["finished_at"]),
        until_ms=ms(said.get("until_at")),
        size=said.get("shards"),
        remote=None if said.get("engine") is None else taken(said["engine"]),
        cancel_requested_ms=ms(said["cancel_requested_at"]),
        earlier=_earlier(said.get("attempts") or (), said),
    )
    steps = tuple(StepStatus(**{**each, "after": tuple(each["after"])}) for each in said.get("steps") or ())
    return run.with_steps(steps) if steps else run


@of_onthedot
def run_story_of(said: Document) -> RunStory:
    """A run in words."""
    return RunStory(said["story"], said["node"], tuple(said["notes"]))


def _earlier(attempts: Sequence[Document], said: Document) -> tuple[Attempt, ...]:
    """All but the latest, which the run itself tells of."""
    return tuple(
        Attempt(
            each["number"],
            each["claim_no"],
            each["node"],
            ms(each["started_at"]) or 0,
            ms(each["ended_at"]),
            each["outcome"],
            each["error"],
        )
        for each in attempts
        if each["claim_no"] != said["claim_no"]
    )


@of_onthedot
def decision_of(said: Document) -> Decision:
    """A decision."""
    moments = {f"{name}_ms": ms(said[f"{name}_at"]) or 0 for name in ("first", "last", "decided")}
    return Decision(
        id=said.get("id", ""),
        schedule_id=said.get("schedule_id", ""),
        schedule=said["schedule"],
        revision=said.get("revision", 0),
        reason=said["reason"],
        count=said["count"],
        detail=said["detail"],
        **moments,
    )


@of_onthedot
def node_of(said: Document) -> Node:
    """A node."""
    return Node(
        said["id"],
        said["name"],
        group=said["group"],
        labels=said.get("labels", {}),
        capacity=said["capacity"],
        roles=tuple(said.get("roles", ())),
        tasks=tuple(said["tasks"]),
        state=NodeState(said["state"]),
        started_ms=ms(said["started_at"]) or 0,
        renewed_ms=ms(said["renewed_at"]) or 0,
        lease_ms=to_duration_ms(said["lease"]),
        pools={each["pool"]: each["size"] for each in said.get("pools", ())},
    )


@of_onthedot
def pool_use_of(said: Document) -> PoolUse:
    """A pool of a node."""
    return PoolUse(said["pool"], said["size"], said["running"], said["is_needed"])


@of_onthedot
def task_of(said: Document) -> TaskInfo:
    """A task."""
    return TaskInfo(said["name"], tuple(said["parameters"]), said["doc"], said["policy"], said["pool"])


@of_onthedot
def change_of(said: Document) -> Change:
    """A line of the audit."""
    return Change(
        id=said["id"],
        schedule_id="",
        schedule=said["schedule"] or "",
        revision=said["revision"],
        at_ms=ms(said["at"]) or 0,
        by=Author(said["who"], said["surface"], said["what"]),
        before=said["before"],
        after=said["after"],
    )


@of_onthedot
def line_of(run_id: str, said: Document) -> LogLine:
    """A line of a run's log."""
    return LogLine(run_id, said.get("claim_no", 0), ms(said["at"]) or 0, said["level"], said["text"])


@of_onthedot
def token_of(said: Document) -> Token:
    """A token, without its secret."""
    return Token(said["name"], Role(said["role"]), "", ms(said["created_at"]) or 0, ms(said["expires_at"]))


@of_onthedot
def freeze_of(said: Document) -> Freeze:
    """A freeze."""
    where = said["where"] or {}
    return Freeze(
        said["name"],
        ceil_ms(said["start_at"]),
        ceil_ms(said["end_at"]),
        where.get("tag"),
        where.get("name"),
        by=said["by"],
        created_ms=ms(said["created_at"]) or 0,
    )


# the other way


def arguments(task: object, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arguments as they are kept, of all kinds that there may be; `ArgumentsError`. Whether the task takes them is
    looked at over there."""
    name = str(plain(task))
    values = Signature((), open=True).check(name, {} if args is None else args)
    check_size(name, values, sys.maxsize)
    return values


def plain(value: Any) -> Any:
    """What users give, as JSON has it: durations and moments as text, tasks by their name."""
    match value:
        case Task() | Flow():
            return value.name
        case Alert():
            return value.as_json()
        case timedelta():
            return format_duration(round(value / timedelta(milliseconds=1)))
        case datetime():
            return iso(ceil_ms(value))
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in value]
        case _:
            return value
