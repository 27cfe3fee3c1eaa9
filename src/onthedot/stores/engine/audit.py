"""The lines of the audit: who changed what, and only the fields that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from onthedot.model.change import Author, Change
from onthedot.model.freeze import Freeze
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.token import Token
from onthedot.model.value import Value

_UNREMARKABLE = frozenset(
    {
        *("version", "updated_ms", "revision", "declared_seen_ms", "plan_attempts", "left_out_ms"),
        *("watch_ms", "watched_ms"),
        "frozen",  # a freeze has a line of its own, and none in each of its schedules
    }
)


def schedule_changed(
    before: Schedule | None, after: Schedule, noted: Mapping[str, Any] | None, by: Author, now_ms: int
) -> list[Change]:
    """The line of a changed schedule, with what else came of it; none where nothing remarkable differs."""
    old, new = _as_json(before), _as_json(after)
    differ = [name for name in new if old.get(name) != new[name] and name not in _UNREMARKABLE]
    if not differ:
        return []
    return [
        Change(
            id=new_id(now_ms),
            schedule_id=after.id,
            schedule=after.name,
            revision=after.revision,
            at_ms=now_ms,
            by=by,
            before={name: old[name] for name in differ if name in old},
            after={**{name: new[name] for name in differ}, **(noted or {})},
        )
    ]


def run_changed(before: Run | None, after: Run, by: Author, now_ms: int) -> list[Change]:
    """The line of a run that somebody asked for, or asked something of; one-off work has no schedule to name."""
    old, new = _of_run(before), _of_run(after)
    differ = [name for name in new if old.get(name) != new[name]]
    if not differ:
        return []
    return [
        Change(
            id=new_id(now_ms),
            schedule_id=after.schedule_id or "",
            schedule=after.schedule or "",
            revision=after.revision or 0,
            at_ms=now_ms,
            by=by,
            before={name: old[name] for name in differ if name in old},
            after={"run": after.id, "task": after.task, **{name: new[name] for name in differ}},
        )
    ]


def run_given_back(before: Run, after: Run, node: Node, by: Author, now_ms: int) -> Change:
    """The line of a run whose node died or stopped: which node, and when it was last heard of."""
    return Change(
        id=new_id(now_ms),
        schedule_id=after.schedule_id or "",
        schedule=after.schedule or "",
        revision=after.revision or 0,
        at_ms=now_ms,
        by=by,
        before={"state": str(before.state), "started_ms": before.started_ms},
        after={
            "run": after.id,
            "task": after.task,
            "state": str(after.state),
            "node": node.name,
            "node_id": node.id,
            "renewed_ms": node.renewed_ms,
            "died": after.crashes > before.crashes,
        },
    )


def run_adopted(run: Run, nodes: tuple[Node, Node], by: Author, now_ms: int) -> Change:
    """The line of a run at an engine that another node watches from now on: which did before, and which does."""
    node, heir = nodes
    return Change(
        id=new_id(now_ms),
        schedule_id=run.schedule_id or "",
        schedule=run.schedule or "",
        revision=run.revision or 0,
        at_ms=now_ms,
        by=by,
        before={"state": str(run.state), "started_ms": run.started_ms},
        after={
            "run": run.id,
            "task": run.task,
            "state": str(run.state),
            "node": node.name,
            "node_id": node.id,
            "renewed_ms": node.renewed_ms,
            "engine": run.engine,
            "heir": heir.name,
        },
    )


def node_drained(node: Node, by: Author, now_ms: int) -> Change:
    """The line of a node that was asked to make way."""
    return _of_no_schedule(
        {"state": str(node.state)}, {"node": node.name, "node_id": node.id, "state": "draining"}, by, now_ms
    )


def node_forgotten(node: Node, by: Author, now_ms: int) -> Change:
    """The line of a node that somebody had forgotten: all that is left of what it was called."""
    before = {"state": str(node.state), "started_ms": node.started_ms, "renewed_ms": node.renewed_ms}
    return _of_no_schedule(before, {"node": node.name, "node_id": node.id, "state": "forgotten"}, by, now_ms)


def token_changed(before: Token | None, after: Token | None, by: Author, now_ms: int) -> Change:
    """The line of a token that was made or revoked; never with its digest."""
    changed = after or before
    assert changed is not None
    return _of_no_schedule(_of_token(before), {"token": changed.name, **_of_token(after)}, by, now_ms)


def freeze_changed(before: Freeze | None, after: Freeze | None, by: Author, now_ms: int) -> Change:
    """The line of a freeze that was made, changed or thawed."""
    changed = after or before
    assert changed is not None
    return _of_no_schedule(_of_freeze(before), {"freeze": changed.name, **_of_freeze(after)}, by, now_ms)


def _of_freeze(freeze: Freeze | None) -> dict[str, Any]:
    if freeze is None:
        return {}
    window = {"start_ms": freeze.start_ms, "end_ms": freeze.end_ms}
    return {**window, "tag": freeze.tag, "pattern": freeze.pattern}


def value_changed(before: Value | None, after: Value | None, by: Author, now_ms: int) -> Change:
    """The line of a calendar or named trigger that was put or deleted: by its revisions, which are kept."""
    changed = after or before
    assert changed is not None
    told = {changed.kind: changed.name} | ({} if after is None else {"rev": after.rev})
    return _of_no_schedule({} if before is None else {"rev": before.rev}, told, by, now_ms)


def _of_no_schedule(before: Mapping[str, Any], after: Mapping[str, Any], by: Author, now_ms: int) -> Change:
    return Change(
        id=new_id(now_ms),
        schedule_id="",
        schedule="",
        revision=0,
        at_ms=now_ms,
        by=by,
        before=before,
        after=after,
    )


def _of_token(token: Token | None) -> dict[str, Any]:
    return {} if token is None else {"role": str(token.role), "expires_ms": token.expires_ms}


def _as_json(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {}
    return {**asdict(schedule), "policy": schedule.policy.as_json()}


def _of_run(run: Run | None) -> dict[str, Any]:
    if run is None:
        return {}
    return {
        "state": str(run.state),
        "args": dict(run.args),
        "reason": run.reason,
        "cancel_requested_ms": run.cancel_requested_ms,
    }
