"""Why did it, or did it not, run at that moment? Answered from runs, decisions and revisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onthedot.model.decision import Decision
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.moments import iso
from onthedot.stores.base import Store
from onthedot.triggers.codec import decode

_REASONS = {
    "misfire": "it was noticed too late, and the misfire policy left it out",
    "paused": "the schedule was paused",
    "overlap": "an earlier run was still under way, and the overlap policy left it out",
    "rescheduled": "the schedule had been moved to another moment",
    "replaced": "the schedule was changed before it was planned",
    "undeclared": "no live node declared the schedule any more",
    "deleted": "the schedule was deleted",
    "covered": "a newer run took its place",
    "dependency": "what it depends on did not succeed in time",
    "parked": "the schedule could not be planned, and was parked",
    "max_runs": "the schedule had had all of its runs",
}
_GAVE_WAY = "it had not begun in time, and gave way to a newer tick"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer in one sentence, and what it rests on."""

    text: str
    runs: tuple[Run, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def __str__(self) -> str:
        return self.text


def explain(store: Store, schedule: Schedule, moment_ms: int) -> Explanation:
    """What became of the tick at that moment."""
    runs = tuple(run for run in store.runs(schedule=schedule.name, limit=10_000) if run.scheduled_ms == moment_ms)
    if runs:
        names = {node.id: node.name for node in store.nodes()}
        in_order = sorted(runs, key=lambda run: (run.is_shard, run.shard or 0, run.id))
        return Explanation("; ".join(_describe(run, names) for run in in_order), runs)
    decisions = tuple(store.decisions(schedule.id, first_ms=moment_ms, last_ms=moment_ms))
    revision = _in_force(store, schedule, moment_ms)
    if revision is None:
        return Explanation(_pruned(moment_ms), (), decisions)
    trigger = decode(revision.trigger)
    if not trigger.ticks_at(moment_ms) and not decisions:
        before, after = trigger.prev_ms(moment_ms), trigger.next_ms(moment_ms)
        near = " and ".join(iso(tick) for tick in (before, after) if tick is not None)
        return Explanation(f"{iso(moment_ms)} was no moment of {schedule.name}: the nearest are {near}", (), decisions)
    if decisions:
        decision = decisions[0]
        count = "" if decision.count in (None, 1) else f" (one of {decision.count:,} ticks)"
        return Explanation(f"it did not run at {iso(moment_ms)}: {_REASONS[decision.reason]}{count}", (), decisions)
    if moment_ms > schedule.settled_ms:
        return Explanation(_undecided(schedule, moment_ms, store.now_ms()))
    if moment_ms < schedule.created_ms:
        return Explanation(f"{schedule.name} did not exist yet: it was created at {iso(schedule.created_ms)}")
    return Explanation(_pruned(moment_ms))


def _pruned(moment_ms: int) -> str:
    return f"what became of {iso(moment_ms)} has been pruned with its history"


def _undecided(schedule: Schedule, moment_ms: int, now_ms: int) -> str:
    if moment_ms > now_ms:
        return f"{iso(moment_ms)} is still to come: everything up to {iso(schedule.settled_ms)} is decided"
    if schedule.error is not None:
        return (
            f"it did not run at {iso(moment_ms)}: the schedule is parked, since it cannot be planned: {schedule.error}"
        )
    if not schedule.enabled:
        note = f" ({schedule.paused_note})" if schedule.paused_note else ""
        return f"it did not run at {iso(moment_ms)}: the schedule is paused{note}"
    if schedule.next_run_ms is None:
        return f"it did not run at {iso(moment_ms)}: the schedule had ended before"
    if schedule.next_run_ms > moment_ms:
        return f"it did not run at {iso(moment_ms)}: the schedule was moved to {iso(schedule.next_run_ms)}"
    return f"{iso(moment_ms)} is due, but no node has planned it yet"


def _describe(run: Run, names: Mapping[str, str]) -> str:
    story = f"run {run.id} {run.state}"
    if run.is_broadcast:
        story = f"broadcast {run.id} to {run.shards} nodes {run.state}"
    elif run.is_shard:
        story = f"shard {run.shard} of {run.shards}: {story}"
    if run.target is not None:
        why = "" if run.is_shard else f" by route {run.policy.route}"
        story += f", sent to node {_named(run.target, names)}{why}"
    if run.started_ms is not None and run.owner is not None:
        story += f", begun {iso(run.started_ms)} on node {_named(run.owner, names)}, attempt {run.attempt}"
    if run.finished_ms is not None:
        story += f", ended {iso(run.finished_ms)}"
    because = _waits_for(run) or _because(run)
    return f"{story}: {because}" if because else story


def _named(node_id: str, names: Mapping[str, str]) -> str:
    return names.get(node_id, node_id)


def _because(run: Run) -> str:
    if run.reason is not None:
        reason, _, detail = run.reason.partition(": ")
        if reason == "misfire" and detail:
            return f"{_GAVE_WAY}: {detail}"
        return _REASONS.get(run.reason, run.reason)
    return (run.error or "").strip().rpartition("\n")[2]


def _waits_for(run: Run) -> str:
    what, _, name = (run.waits_for or "").partition(":")
    match what:
        case "slot":
            return "it waits for another run of the schedule to end"
        case "limit":
            return f"it waits for a place of {run.policy.limit}"
        case "resume":
            return "it waits for the schedule to be resumed"
        case "success":
            return f"it waits for {name} to succeed"
        case _:
            return ""


def _in_force(store: Store, schedule: Schedule, moment_ms: int) -> Schedule | None:
    """The definition that counted at that moment; None if it has been pruned."""
    revisions = store.revisions(schedule.id)
    earlier = [each for each in revisions if each.updated_ms <= moment_ms]
    if earlier:
        return earlier[-1]
    return None if revisions and moment_ms >= schedule.created_ms else schedule
