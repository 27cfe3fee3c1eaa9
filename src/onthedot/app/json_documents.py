"""What the surfaces say about the model, as JSON documents: moments as ISO text, durations as users write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from onthedot.app.keys import as_given
from onthedot.durations import format_duration
from onthedot.model.definition_json import json_value
from onthedot.model.schedule import DEFINITION
from onthedot.moments import ceil_ms, floor_ms, iso
from onthedot.triggers.codec import encode
from onthedot.triggers.dates import iso_day

if TYPE_CHECKING:
    from onthedot.app.backfill import Backfill
    from onthedot.app.import_export import Imported
    from onthedot.app.values import KeptCalendar, KeptTrigger
    from onthedot.insight.alerts import AlertStanding, ScheduleAlert
    from onthedot.insight.minutes import MinuteCounts
    from onthedot.insight.pool_use import PoolUse
    from onthedot.insight.statistics import Counts, Statistics
    from onthedot.insight.status import Status
    from onthedot.insight.ticks import Tick
    from onthedot.model.attempt import Attempt
    from onthedot.model.change import Change
    from onthedot.model.decision import Decision
    from onthedot.model.finding import Finding
    from onthedot.model.freeze import Freeze
    from onthedot.model.graph import Graph
    from onthedot.model.log_line import LogLine
    from onthedot.model.mark import Mark
    from onthedot.model.node import Node
    from onthedot.model.policy import Policy
    from onthedot.model.run import Run
    from onthedot.model.schedule import Schedule
    from onthedot.model.step_status import StepStatus
    from onthedot.model.task_info import TaskInfo

Document = dict[str, Any]


def moment(ms: int | None) -> str | None:
    """ISO text, or None."""
    return None if ms is None else iso(ms)


def schedule_state(schedule: Schedule, now_ms: int) -> str:
    """In one word: parked before paused, since a parked one needs somebody. Frozen is what would run otherwise."""
    if schedule.deleted:
        return "removed"
    if schedule.error is not None:
        return "parked"
    if not schedule.enabled:
        return "paused"
    if schedule.is_undeclared(now_ms):
        return "undeclared"
    if schedule.next_run_ms is None:
        return "ended"
    return "active" if schedule.frozen_at(now_ms) is None else "frozen"


def schedule_document(schedule: Schedule, now_ms: int) -> Document:
    """All that a schedule has."""
    return {
        "name": schedule.name,
        "id": schedule.id,
        "revision": schedule.revision,
        "state": schedule_state(schedule, now_ms),
        **definition_document(schedule),
        "enabled": schedule.enabled,
        "paused_note": schedule.paused_note,
        "error": schedule.error,
        "frozen": [
            {"freeze": each.freeze, "start_at": iso(each.start_ms), "end_at": iso(each.end_ms)}
            for each in schedule.frozen
        ],
        "skips": schedule.skips,
        "next_run_at": moment(schedule.next_run_ms),
        "settled_through": moment(schedule.settled_ms),
        "last_run_at": moment(schedule.last_run_ms),
        "planned_runs": schedule.planned_runs,
        "created_at": moment(schedule.created_ms),
        "updated_at": moment(schedule.updated_ms),
    }


def backfill_document(done: Backfill) -> dict[str, Any]:
    """What a backfill fills in; of a dry run there is no run."""
    return {
        "schedule": done.schedule,
        "ticks": [{"at": iso(ceil_ms(each.at)), "why": each.why} for each in done.ticks],
        "run": None if done.run is None else run_document(done.run),
    }


def freeze_document(freeze: Freeze, now_ms: int) -> Document:
    """A freeze, as users write it."""
    whom = {"tag": freeze.tag, "name": freeze.pattern}
    return {
        "name": freeze.name,
        "state": freeze.state(now_ms),
        "start_at": iso(freeze.start_ms),
        "end_at": iso(freeze.end_ms),
        "where": {key: value for key, value in whom.items() if value is not None} or None,
        "by": freeze.by,
        "created_at": moment(freeze.created_ms),
    }


def definition_document(schedule: Schedule) -> Document:
    """All that was said about it, under the names that users write."""
    shown = {name: json_value(getattr(schedule, name)) for name in DEFINITION if name not in ("declared_hash", "uses")}
    return {**shown, "trigger": dict(schedule.trigger), "policy": policy_document(schedule.policy)}


def policy_document(policy: Policy) -> Document:
    """Every policy under the name that users write."""
    document: Document = {}
    for each in fields(policy):
        value = getattr(policy, each.name)
        if each.name.endswith("_ms"):
            document[each.name.removesuffix("_ms")] = None if value is None else format_duration(value)
        else:
            document[each.name] = value
    return document


def run_document(run: Run) -> Document:
    """All that a run has, but for its policy."""
    return {
        "id": run.id,
        "state": str(run.state),
        "task": run.task,
        "schedule": run.schedule,
        "schedule_id": run.schedule_id,
        "revision": run.revision,
        "key": run.key,
        "cause": run.cause,
        "args": dict(run.args),
        "scheduled_at": moment(run.scheduled_ms),
        "due_at": moment(run.due_ms),
        "created_at": moment(run.created_ms),
        "started_at": moment(run.started_ms),
        "finished_at": moment(run.finished_ms),
        "attempt": run.attempt,
        "crashes": run.crashes,
        "claim_no": run.claim_no,
        "fence": run.fence,
        "waits_for": run.waits_for,
        "owner": run.owner,
        "target": run.target,
        "parent_id": run.parent_id,
        "shard": run.shard,
        "shards": run.shards,
        "graph": run.graph,
        "step": run.step,
        "item": run.item,
        "steps": [step_document(each) for each in run.steps],
        "blocked": run.blocked,
        "until_at": moment(run.until_ms),
        "cancel_requested_at": moment(run.cancel_requested_ms),
        "result": run.result,
        "error": run.error,
        "reason": run.reason,
        "trace": run.trace,
        "progress": run.progress,
        "engine": run.engine,
        "engine_id": run.engine_id,
        "attempts": [attempt_document(each) for each in run.attempts],
    }


def step_document(step: StepStatus) -> Document:
    """How far a flow is with one of its steps."""
    return {
        "name": step.name,
        "task": step.task,
        "state": step.state,
        "total": step.total,
        "succeeded": step.succeeded,
        "failed": step.failed,
        "skipped": step.skipped,
        "after": list(step.after),
        "closing": step.closing,
        "problem": step.problem,
        "mapped": step.mapped,
        "on": step.on,
    }


def graph_document(graph: Graph) -> Document:
    """A flow's graph: its steps as they were drawn, and all that is left out there."""
    said: Document = json.loads(graph.text)
    return {
        "name": graph.name,
        "graph": graph.hash,
        "steps": said["steps"],
        "defaults": said.get("defaults", {}),
        "required": said.get("required", []),
    }


def attempt_document(attempt: Attempt) -> Document:
    """What one node did with a run."""
    return {
        "number": attempt.number,
        "claim_no": attempt.claim_no,
        "node": attempt.node,
        "started_at": moment(attempt.started_ms),
        "ended_at": moment(attempt.ended_ms),
        "outcome": attempt.outcome,
        "error": attempt.error,
    }


def tick_document(tick: Tick) -> Document:
    """One tick: what became of it, or that it comes."""
    run, decision = tick.run, tick.decision
    return {
        "at": moment(tick.at_ms),
        "kind": tick.kind,
        "run": None if run is None else mark_document(run),
        "decision": None if decision is None else decision_document(decision),
    }


def mark_document(mark: Mark) -> Document:
    """What a chart needs of a run."""
    return {
        "id": mark.id,
        "cause": mark.cause,
        "state": str(mark.state),
        "due_at": moment(mark.due_ms),
        "started_at": moment(mark.started_ms),
        "finished_at": moment(mark.finished_ms),
        "lateness_ms": mark.lateness_ms,
        "duration_ms": mark.duration_ms,
        "node": mark.owner,
        "attempt": mark.attempt,
        "reason": mark.reason,
    }


def minute_document(minute: MinuteCounts) -> Document:
    """What began and ended in a minute, and how late."""
    latest = None
    if minute.latest_run is not None:
        latest = {"run": minute.latest_run, "name": minute.latest_name, "late_ms": minute.latest_ms}
    return {
        "at": moment(minute.minute_ms),
        "begun": minute.begun,
        "ended": dict(minute.ended),
        "p50_ms": minute.p50_ms,
        "p99_ms": minute.p99_ms,
        "latest": latest,
    }


def statistics_document(statistics: Statistics) -> Document:
    """What was counted of runs that ended; the beginnings of hours and days have the offset of their zone."""
    until = statistics.counted_until
    return {
        "schedule": statistics.schedule,
        "task": statistics.task,
        "step": statistics.step,
        "since": iso(floor_ms(statistics.since_at)),
        "until": iso(floor_ms(statistics.until_at)),
        "counted_until": None if until is None else iso(floor_ms(until)),
        **counts_document(statistics.counts),
        "errors": [{"text": each.text, "count": each.count} for each in statistics.errors],
        "by": statistics.by,
        "series": [
            {"start": each.start_at.isoformat(), "end": each.end_at.isoformat(), **counts_document(each.counts)}
            for each in statistics.series
        ],
    }


def counts_document(counts: Counts) -> Document:
    """How runs ended, how late they began and how long they took."""
    return {
        "total": counts.total,
        "ended": dict(counts.ended),
        "success_rate": counts.success_rate,
        "lateness": None if counts.lateness is None else asdict(counts.lateness),
        "duration": None if counts.duration is None else asdict(counts.duration),
    }


def alert_document(standing: AlertStanding) -> Document:
    """An alert, of whom it tells, and what it has told."""
    return {
        **standing.alert.as_json(),
        "overdue": None if standing.alert.overdue_ms is None else format_duration(standing.alert.overdue_ms),
        "schedules": list(standing.schedules),
        "failing": list(standing.failing),
        "late": list(standing.overdue),
        "sent_at": moment(standing.sent_ms),
        "held_back": standing.held_back,
    }


def schedule_alert_document(each: ScheduleAlert) -> Document:
    """An alert of one schedule, and what it has told of it."""
    return {
        **each.alert.as_json(),
        "overdue": None if each.alert.overdue_ms is None else format_duration(each.alert.overdue_ms),
        "bad_ends": each.bad_ends,
        "is_failing": each.told.open,
        "is_late": each.told.late,
        "sent_at": moment(each.told.sent_ms),
        "held_back": each.told.held,
    }


def decision_document(decision: Decision) -> Document:
    """Why ticks were not run."""
    return {
        "schedule": decision.schedule,
        "reason": decision.reason,
        "first_at": moment(decision.first_ms),
        "last_at": moment(decision.last_ms),
        "count": decision.count,
        "decided_at": moment(decision.decided_ms),
        "detail": decision.detail,
    }


def node_document(node: Node, now_ms: int, pools: Sequence[PoolUse] = ()) -> Document:
    """A node, how old its last sign of life is, and how full its pools are; else only how large they are."""
    told = [asdict(each) for each in pools]
    sizes = [{"pool": pool, "size": size} for pool, size in node.pools.items()]
    return {
        "id": node.id,
        "name": node.name,
        "group": node.group,
        "state": str(node.state),
        "roles": list(node.roles),
        "labels": dict(node.labels),
        "capacity": node.capacity,
        "tasks": list(node.tasks),
        "started_at": moment(node.started_ms),
        "renewed_at": moment(node.renewed_ms),
        "renewed_for": format_duration(max(now_ms - node.renewed_ms, 0)),
        "lease": format_duration(node.lease_ms),
        "expired": node.expired(now_ms),
        "pools": told or sizes,
    }


def task_document(task: TaskInfo) -> Document:
    """A task as nodes publish it."""
    return {
        "name": task.name,
        "parameters": [dict(each) for each in task.parameters],
        "doc": task.doc,
        "policy": dict(task.policy),
        "pool": task.pool,
    }


def change_document(change: Change) -> Document:
    """One line of the audit, with only the fields that differ; `run` where it is about a run."""
    return {
        "id": change.id,
        "at": moment(change.at_ms),
        "who": change.by.who,
        "surface": change.by.surface,
        "what": change.by.what,
        "schedule": change.schedule or None,
        "revision": change.revision,
        "run": change.after.get("run"),
        "before": dict(change.before),
        "after": dict(change.after),
    }


def calendar_document(kept: KeptCalendar, users: Sequence[str] | None = None) -> Document:
    """A calendar: its days with their names, in order; and who uses it, where that was asked."""
    until = kept.days.until
    return {
        "name": kept.name,
        "rev": kept.rev,
        "created_at": moment(kept.created_ms),
        "source": kept.days.source,
        "until": None if until is None else iso_day(until),
        "days": [{"date": text, "name": name or None} for text, name in kept.days.entries()],
        "users": None if users is None else list(users),
    }


def named_trigger_document(kept: KeptTrigger, users: Sequence[str] | None = None) -> Document:
    """A named trigger, and who uses it, where that was asked."""
    return {
        "name": kept.name,
        "rev": kept.rev,
        "created_at": moment(kept.created_ms),
        "trigger": encode(kept.trigger),
        "words": kept.trigger.describe(),
        "users": None if users is None else list(users),
    }


def log_document(line: LogLine) -> Document:
    """One line of a run's log."""
    return {"at": moment(line.at_ms), "claim_no": line.claim_no, "level": line.level, "text": line.text}


def status_document(status: Status, store: str) -> Document:
    """How a store stands."""
    return {
        "store": store,
        "at": iso(status.now_ms),
        "healthy": status.healthy,
        "problems": list(status.problems),
        "schedules": status.schedules,
        "paused": status.paused,
        "pauses": [{"name": each.name, "told": str(each)} for each in status.pauses],
        "died": [{"name": each.name, "count": each.count, "heard_at": iso(each.last_ms)} for each in status.died],
        "frozen": status.frozen,
        "freezes": [freeze_document(each, status.now_ms) for each in status.freezes],
        "undeclared": list(status.undeclared),
        "undeclared_count": status.undeclared_count,
        "parked": [{"name": each.name, "error": each.error} for each in status.parked],
        "parked_count": status.parked_count,
        "waiting": status.waiting,
        "running": status.running,
        "waiting_steps": status.waiting_steps,
        "running_steps": status.running_steps,
        "late": [
            {
                "name": each.name,
                "run": each.run_id,
                "due_at": iso(each.due_ms),
                "late_seconds": each.late_ms / 1000,
                "reason": each.reason,
            }
            for each in status.late
        ],
        "late_count": status.late_count,
        "overdue_count": status.overdue_count,
        "unable": [
            {"schedules": list(each.names), "count": each.count, "reason": each.reason} for each in status.unable
        ],
        "failed": [
            {
                "name": each.name,
                "count": each.count,
                "since": iso(each.since_ms),
                "last": run_document(as_given(each.last)),
            }
            for each in status.failed
        ],
        "failed_count": status.failed_count,
        "nodes": [node_document(node, status.now_ms) for node in status.nodes],
    }


def finding_document(finding: Finding) -> Document:
    """What the doctor found."""
    return {
        "level": str(finding.level),
        "about": finding.about,
        "what": finding.what,
        "remedy": finding.remedy or None,
    }


def imported_document(done: Imported) -> Document:
    """What an import did, or would do."""
    return {
        "created": list(done.created),
        "changed": [
            {"name": each.name, "fields": {key: {"from": old, "to": new} for key, (old, new) in each.fields.items()}}
            for each in done.changed
        ],
        "unchanged": list(done.unchanged),
        "only_here": list(done.only_here),
        "written": done.written,
        "freezes": list(done.freezes),
        "values": list(done.values),
    }


def finite(value: Any) -> Any:
    """The same with None for NaN and infinities."""
    match value:
        case float():
            return value if isfinite(value) else None
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case _:
            return value
