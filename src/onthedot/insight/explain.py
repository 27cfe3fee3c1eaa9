"""Why did it, or did it not, run at that moment? Answered from runs, decisions, revisions, nodes and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.errors import TriggerError
from onthedot.insight.facts import Facts
from onthedot.insight.lateness import LATE_MS, under_way, why_late, why_not_planned
from onthedot.insight.no_tick import why_no_tick
from onthedot.insight.node_history import at
from onthedot.model.attempt import Attempt
from onthedot.model.decision import Decision
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.moments import iso
from onthedot.rules.routing import why_nobody
from onthedot.stores.base import Store
from onthedot.texts import counted
from onthedot.triggers.codec import decode

_REASONS = {
    "misfire": "it was noticed too late, and the misfire policy left it out",
    "paused": "the schedule was paused",
    "overlap": "an earlier run was still under way or waited, and the overlap policy left it out",
    "rescheduled": "the schedule had been moved to another moment",
    "skipped": "somebody had asked to skip it",
    "frozen": "the schedule was frozen",
    "replaced": "the schedule was changed before it was planned",
    "undeclared": "no live node declared the schedule any more",
    "deleted": "the schedule was deleted",
    "covered": "a newer run took its place",
    "expired": "it could not begin before it expired",
    "dependency": "what it depends on did not succeed in time",
    "parked": "the schedule could not be planned, and was parked",
    "max_runs": "the schedule had had all of its runs",
}
_BY_SOMEBODY = frozenset({"rescheduled", "skipped", "replaced", "deleted"})
_IN_THE_AUDIT = frozenset({"node_died", "node_stopped"})
"""Endings of attempts of which the audit tells more."""
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
    facts = Facts(store, schedule.name, around_ms=moment_ms)
    runs = tuple(facts.of_tick(schedule.id, moment_ms))
    found = [] if _is_done(runs) else store.decisions(schedule.id, first_ms=moment_ms, last_ms=moment_ms)
    decisions = tuple(each for each in found if _is_about(each, moment_ms, store))
    in_order = sorted(runs, key=lambda run: (run.is_shard, run.shard or 0, run.id))
    told = [_left_out(each, moment_ms, facts) for each in decisions[:1]]
    told += [describe_run(run, facts) for run in in_order]
    if told:
        return Explanation("; ".join(told), runs, decisions)
    return Explanation(_without_trace(store, schedule, moment_ms, facts))


def _without_trace(store: Store, schedule: Schedule, moment_ms: int, facts: Facts) -> str:
    """What is to be said of a moment of which there is neither a run nor a decision."""
    gap = facts.history.gap_at(moment_ms, gone_ms=schedule.settled_ms if schedule.deleted else None)
    if gap is not None:
        return f"{schedule.name} did not exist at {iso(moment_ms)}: {gap}"
    if schedule.error is not None and moment_ms > schedule.settled_ms:
        return _undecided(schedule, moment_ms, facts)  # also where its trigger cannot be read
    revision = _in_force(store, schedule, moment_ms)
    if revision is None:
        return _pruned(moment_ms)
    unreadable = _why_unreadable(revision)
    if unreadable is not None:
        return f"whether {iso(moment_ms)} is a moment of {schedule.name} cannot be told here: {unreadable}"
    if not _ticks_at(revision, moment_ms):
        return _no_moment(schedule, revision, moment_ms)
    if moment_ms > schedule.settled_ms:
        return _undecided(schedule, moment_ms, facts)
    if moment_ms < schedule.created_ms:
        return f"{schedule.name} did not exist yet: it was created at {iso(schedule.created_ms)}"
    return _pruned(moment_ms)


# a tick that became no run


def _is_done(runs: Sequence[Run]) -> bool:
    """Whether the tick itself was run. A run by hand of the same moment, or one that fills it in, is another matter."""
    return any(run.cause == "tick" for run in runs)


def _is_about(decision: Decision, moment_ms: int, store: Store) -> bool:
    """Whether the moment is one of the ticks that it left out: between two of them lie moments that are none."""
    if moment_ms in (decision.first_ms, decision.last_ms):
        return True
    revisions = (each for each in store.revisions(decision.schedule_id) if each.revision == decision.revision)
    revision = next(revisions, None)
    return revision is None or _why_unreadable(revision) is not None or _ticks_at(revision, moment_ms)


def _left_out(decision: Decision, moment_ms: int, facts: Facts) -> str:
    count = "" if decision.count in (None, 1) else f" (one of {decision.count:,} ticks)"
    why = _why(decision.reason, moment_ms, decision.decided_ms, facts, decision.detail)
    return f"it did not run at {iso(moment_ms)}{count}: {why}"


def _why(reason: str, moment_ms: int, decided_ms: int, facts: Facts, detail: str = "") -> str:
    """The reason, with what else is known: who paused or changed it, what was in its way, who was not there."""
    plain = words_of(reason)
    if reason == "paused":
        pause = facts.history.pause_at(moment_ms, decided_ms)
        return plain if pause is None else f"the schedule was {pause}{_unplanned(moment_ms, pause.began.at_ms, facts)}"
    if reason == "overlap":
        return _overlapped(moment_ms, facts) or plain
    if reason == "misfire":
        return plain + _unplanned(moment_ms, decided_ms, facts)
    if reason == "frozen" and detail:
        return f"{plain} by {detail}"
    author = facts.history.author_at(decided_ms) if reason in _BY_SOMEBODY else None
    if author is None:
        return plain
    return f"{plain}, by {author} at {at(decided_ms)}{_unplanned(moment_ms, decided_ms, facts)}"


def words_of(reason: str) -> str:
    """A reason that a run or a decision keeps, as people say it."""
    return _REASONS.get(reason, reason)


def _unplanned(moment_ms: int, until_ms: int, facts: Facts) -> str:
    """Why nobody had decided on the tick at its moment, so that what came later could take it away."""
    absent = why_not_planned(moment_ms, facts) if until_ms - moment_ms > LATE_MS else None
    return "" if absent is None else f": {absent}"


def _overlapped(moment_ms: int, facts: Facts) -> str | None:
    """Which runs were in the way of a tick: those that ran, else those that waited, with what they waited for."""
    policy = "and the overlap policy left it out"
    holders = under_way(facts.near(moment_ms), moment_ms, facts.now_ms)
    if holders:
        return f"an earlier run was still under way, {policy}: {' and '.join(map(_holder, holders))}"
    waited = [run for run in facts.near(moment_ms) if _waited_at(run, moment_ms)]
    if not waited:
        return None
    oldest = min(waited, key=lambda run: (run.due_ms, run.id))
    why = "; ".join(filter(None, [why_so(oldest, facts), *hindrances(oldest, facts)]))
    return f"an earlier run still waited, {policy}: run {oldest.id} of {iso(oldest.scheduled_ms)} {oldest.state}: {why}"


def _waited_at(run: Run, moment_ms: int) -> bool:
    if run.scheduled_ms >= moment_ms or run.created_ms > moment_ms:
        return False
    if run.state is State.WAITING:
        return True
    return (run.started_ms or run.finished_ms or 0) > moment_ms


def _holder(run: Run) -> str:
    end = "still runs" if run.finished_ms is None else f"ended at {iso(run.finished_ms)}"
    return f"run {run.id} began at {iso(run.started_ms or 0)} and {end}"


def _undecided(schedule: Schedule, moment_ms: int, facts: Facts) -> str:
    nobody = why_nobody(facts.nodes.alive, schedule.task, schedule.policy.group)
    why = _why_undecided(schedule, moment_ms, facts)
    if moment_ms > facts.now_ms:
        but = "" if nobody is None else f"; but it could not run now: {nobody}"
        but = but if why is None else f"; but as things stand it will not run: {why}"
        return f"{iso(moment_ms)} is still to come: everything up to {iso(schedule.settled_ms)} is decided{but}"
    if why is not None:
        return f"it did not run at {iso(moment_ms)}: {why}"
    absent = why_not_planned(facts.now_ms, facts) or nobody
    return f"{iso(moment_ms)} is due, but no node has planned it yet" + ("" if absent is None else f": {absent}")


def _why_undecided(schedule: Schedule, moment_ms: int, facts: Facts) -> str | None:
    """Why the schedule itself is not planned."""
    if schedule.error is not None:
        return f"the schedule is parked, since it cannot be planned: {schedule.error}"
    if not schedule.enabled:
        pause = facts.history.pause_at(moment_ms, facts.now_ms)
        note = f" ({schedule.paused_note})" if schedule.paused_note else ""
        return f"the schedule is {pause or f'paused{note}'}"
    if schedule.next_run_ms is None:
        had_all = schedule.max_runs is not None and schedule.planned_runs >= schedule.max_runs
        why = f": it had had all of its runs (max_runs={schedule.max_runs})" if had_all else ""
        return f"the schedule had ended before{why}"
    window = schedule.frozen_at(moment_ms)
    if window is not None:
        return f"the schedule is frozen by {window.freeze} from {iso(window.start_ms)} to {iso(window.end_ms)}"
    if schedule.next_run_ms > moment_ms and schedule.skips:
        return f"somebody asked to skip it, and to go on at {iso(schedule.next_run_ms)}"
    if schedule.next_run_ms > moment_ms:
        return f"the schedule was moved to {iso(schedule.next_run_ms)}"
    return None


def _pruned(moment_ms: int) -> str:
    return f"what became of {iso(moment_ms)} has been pruned with its history"


def _no_moment(schedule: Schedule, revision: Schedule, moment_ms: int) -> str:
    trigger = decode(revision.trigger)
    before, after = trigger.prev_ms(moment_ms), trigger.next_ms(moment_ms)
    near = " and ".join(iso(tick) for tick in (before, after) if tick is not None)
    why = why_no_tick(trigger, moment_ms)
    because = "" if why is None else f"{why}; "
    return f"{iso(moment_ms)} was no moment of {schedule.name}: {because}the nearest are {near}"


def _ticks_at(revision: Schedule, moment_ms: int) -> bool:
    return decode(revision.trigger).ticks_at(moment_ms)


def _in_force(store: Store, schedule: Schedule, moment_ms: int) -> Schedule | None:
    """The definition that counted at that moment; None if it has been pruned."""
    revisions = store.revisions(schedule.id)
    earlier = [each for each in revisions if each.updated_ms <= moment_ms and _why_unreadable(each) is None]
    if earlier:
        return earlier[-1]
    return None if revisions and moment_ms >= schedule.created_ms else schedule


def _why_unreadable(revision: Schedule) -> str | None:
    try:
        decode(revision.trigger)
    except TriggerError as error:
        return error.line
    return None


# a run


def describe_run(run: Run, facts: Facts) -> str:
    """Where it was, how it went, which nodes died under it, and why it was late."""
    because = why_so(run, facts)
    told = [f"{_course(run, facts)}: {because}" if because else _course(run, facts)]
    told += [f"its step {step.title} waits: {why}" for step, why in waiting_steps(run, facts) if why]
    return "; ".join([*told, *hindrances(run, facts), *facts.alerts_of(run)])


def waiting_steps(flow: Run, facts: Facts) -> list[tuple[Run, str]]:
    """Of a flow that is under way: runs of its steps that have not begun, and why; empty where they were made just
    now."""
    if not flow.is_flow or flow.state is not State.RUNNING:
        return []
    found: list[tuple[Run, str]] = []
    for step, around in facts.waiting_steps(flow):
        late = why_late(step, around)
        found.append((step, why_so(step, around) or ("" if late is None else late.why)))
    return found


def hindrances(run: Run, facts: Facts) -> list[str]:
    """What came between the run and its end: attempts that failed, nodes that died or stopped while they had it, each
    in its turn, and lateness."""
    losses = facts.history.losses_of(run.id)
    failed = [(each.ended_ms or 0, _failed(each, facts)) for each in run.earlier if each.outcome not in _IN_THE_AUDIT]
    went = [*((each.change.at_ms, str(each)) for each in losses), *facts.history.handed_over(run.id)]
    told = [text for _, text in sorted([*failed, *went])]
    forgotten = run.crashes - sum(each.died for each in losses)
    if forgotten > 0:
        told.append("its node died while it ran" if forgotten == 1 else f"its node died {forgotten} times while it ran")
    late = why_late(run, facts)
    return told if late is None else [*told, str(late)]


def _failed(attempt: Attempt, facts: Facts) -> str:
    """ "attempt 1 failed at … on node a: boom"."""
    how = "was handed back" if attempt.outcome == "handed_back" else (attempt.outcome or "ended").replace("_", " ")
    when = "" if attempt.ended_ms is None else f" at {at(attempt.ended_ms)}"
    why = f": {attempt.error}" if attempt.error else ""
    return f"attempt {attempt.number} {how}{when} on node {facts.nodes.name(attempt.node)}{why}"


def _course(run: Run, facts: Facts) -> str:
    """From its plan to its end."""
    story = f"{'filled in by ' if run.is_filled_in else ''}run {run.id} {run.state}"
    if run.is_broadcast:
        story = f"broadcast {run.id} to {counted(run.shards or 0, 'node')} {run.state}"
    elif run.is_shard:
        story = f"shard {run.shard} of {run.shards}: {story}"
    if run.target is not None:
        why = "" if run.is_shard else f" by route {run.policy.route}"
        story += f", sent to node {facts.nodes.name(run.target)}{why}"
    if run.started_ms is not None and run.owner is not None:
        where = f"on node {facts.nodes.name(run.owner)}"
        if run.engine is not None:
            where = f"at engine {run.engine} as {run.engine_id}, watched by node {facts.nodes.name(run.owner)}"
        story += f", begun {iso(run.started_ms)} {where}, attempt {run.attempt}"
    return story if run.finished_ms is None else f"{story}, ended {iso(run.finished_ms)}"


def why_so(run: Run, facts: Facts) -> str:
    """What a run waits for, or why it ended as it did; empty where nothing is to be said."""
    return _waits_for(run, facts) or _because(run, facts)


def _because(run: Run, facts: Facts) -> str:
    if run.reason is None:
        return telling_line(run.error)
    reason, _, detail = run.reason.partition(": ")
    if reason == "misfire" and detail:
        return f"{_GAVE_WAY}: {detail}"
    if reason == "paused":
        return _why(reason, run.scheduled_ms, run.finished_ms or facts.now_ms, facts)
    return words_of(run.reason)


def _waits_for(run: Run, facts: Facts) -> str:
    what, _, name = (run.waits_for or "").partition(":")
    match what:
        case "slot":
            return f"it waits for another run of the schedule to end{_held_by(facts.near(facts.now_ms), run)}"
        case "limit":
            same = [each for each in facts.running if (each.policy.group_limit or ("",))[0] == name]
            return f"it waits for a place of {run.policy.limit}{_held_by(same, run)}"
        case "resume":
            pause = facts.history.pause_at(facts.now_ms, facts.now_ms)
            if pause is None:
                return "it waits for the end of a freeze of its schedule"
            return f"it waits for the schedule to be resumed: {pause}"
        case "success":
            missing = ", and there is no such schedule" if facts.missing(name) else ""
            return f"it waits for {name} to succeed{missing}"
        case _:
            return ""


def _held_by(runs: list[Run], waiting: Run) -> str:
    holders = [run for run in runs if run.state is State.RUNNING and run.id != waiting.id]
    named = [
        f"run {run.id}" if run.schedule == waiting.schedule else f"run {run.id} of {run.title}" for run in holders[:3]
    ]
    more = f" and {len(holders) - 3:,} more" if len(holders) > 3 else ""
    return f": {', '.join(named)}{more}" if named else ""
