"""Ticks: each became one run or part of one decision, and each decision has its cause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from onthedot.model.decision import Decision
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.moments import iso
from onthedot.testing.history.broken import Broken, Line, change_line, decision_line, in_order, run_line
from onthedot.testing.history.history import History, trigger_of
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.replan import goes_on_after_ms

ONE_RUN = "one run per tick"
NONE_VANISHES = "no tick vanishes"
MOST_RUNS = "no more runs than max_runs"
CAUSE = "no decision without its cause"


def one_run_per_tick(history: History) -> Iterator[Broken]:
    """No tick has two runs, nor a run and a decision that counts it as left out."""
    for moment, runs in sorted(history.tick_runs.items()):
        if len(runs) > 1:
            yield _broken(history, ONE_RUN, f"{iso(moment)} has {len(runs)} runs", *map(run_line, runs))
    keys: dict[str, Run] = {}
    for run in history.runs:
        if run.key is not None and run.cause == "backfill" and keys.setdefault(run.key, run) is not run:
            lines = map(run_line, (keys[run.key], run))
            yield _broken(history, ONE_RUN, f"{iso(run.scheduled_ms)} was filled in twice under one key", *lines)


def no_tick_vanishes(history: History) -> Iterator[Broken]:
    """Every tick of the trigger then in force, up to the watermark, is a run or in a decision."""
    ranges = sorted(history.decisions, key=lambda each: each.first_ms)
    for epoch in _epochs(history):
        yield from _vanished(history, epoch, ranges)
    yield from _miscounted(history)


def runs_bounded(history: History) -> Iterator[Broken]:
    """No more ticks became runs than the largest `max_runs` that it ever had."""
    schedule = history.schedule
    if schedule is None or history.until_ms < schedule.settled_ms:
        return
    whole = len(history.definitions) >= schedule.revision
    most = [each.max_runs for each in history.definitions if each.max_runs is not None]
    if whole and len(most) == len(history.definitions) and schedule.planned_runs > max(most):
        what = f"{schedule.planned_runs} of its ticks became runs, of {max(most)} at most"
        latest = sorted(history.tick_runs)[-3:]
        yield _broken(history, MOST_RUNS, what, *(run_line(run) for each in latest for run in history.tick_runs[each]))


class _Epoch(NamedTuple):
    """A time in which one trigger counted."""

    trigger: Trigger
    after_ms: int
    until_ms: int


def _epochs(history: History) -> Iterator[_Epoch]:
    """As far as definitions are known, without the times in which the schedule did not exist."""
    schedule = history.schedule
    if schedule is None:
        return
    latest = min(history.until_ms, schedule.settled_ms)
    definitions = history.definitions
    for number, each in enumerate(definitions):
        trigger = trigger_of(each)
        ends_ms = definitions[number + 1].updated_ms if number + 1 < len(definitions) else latest
        begins_ms = max(each.updated_ms if each.revision > 1 else schedule.created_ms, history.since_ms)
        if trigger is None or isinstance(trigger, At):  # a single moment may be moved a little: its run is its own sign
            continue
        if number:
            begins_ms = max(begins_ms, _goes_on_after(definitions[number - 1], each, trigger))
        for span in _existing(history, begins_ms, min(ends_ms, latest)):
            yield _Epoch(trigger, *span)


def _goes_on_after(old: Schedule, new: Schedule, trigger: Trigger) -> int:
    """After a change of zone, fixed times go on after the wall-clock time of the last tick."""
    before = trigger_of(old)
    if before is None or old.trigger == new.trigger:
        return new.updated_ms
    return goes_on_after_ms(before, trigger, before.prev_ms(new.updated_ms + 1), new.updated_ms)


def _existing(history: History, first_ms: int, last_ms: int) -> Iterator[tuple[int, int]]:
    """The parts of (first, last] in which it was not deleted, nor had had all of its runs."""
    for change in history.changes:
        if change.before.get("deleted") is True and change.after.get("deleted") is False:
            gone_ms = int(change.before.get("settled_ms", change.at_ms))
            if first_ms < min(gone_ms, last_ms):
                yield first_ms, min(gone_ms, last_ms)
            first_ms = max(first_ms, change.at_ms)
    if first_ms < last_ms:
        yield first_ms, last_ms


def _vanished(history: History, epoch: _Epoch, ranges: list[Decision]) -> Iterator[Broken]:
    """Jumps over decisions, so that the cost does not grow with the ticks that they leave out."""
    place = 0
    known = history.tick_runs
    tick = epoch.trigger.next_ms(epoch.after_ms)
    while tick is not None and tick <= epoch.until_ms:
        while place < len(ranges) and ranges[place].last_ms < tick:
            place += 1
        if tick in known:
            tick = epoch.trigger.next_ms(tick)
        elif place < len(ranges) and ranges[place].first_ms <= tick:
            tick = epoch.trigger.next_ms(ranges[place].last_ms)
        else:
            yield _lost(history, tick, ranges)
            tick = epoch.trigger.next_ms(tick)


def _lost(history: History, tick: int, ranges: list[Decision]) -> Broken:
    before = (
        [run for moment in known[:1] for run in history.tick_runs[moment]] if (known := _before(history, tick)) else []
    )
    after = [run for moment in sorted(history.tick_runs) if moment > tick for run in history.tick_runs[moment]][:1]
    around = [*(each for each in ranges if each.last_ms < tick)][-1:] + [
        *(each for each in ranges if each.first_ms > tick)
    ][:1]
    assert history.schedule is not None
    settled = Line(tick, f"tick {iso(tick)}: no run, no decision; decided through {iso(history.schedule.settled_ms)}")
    lines = (*map(run_line, (*before, *after)), *map(decision_line, around), settled)
    return _broken(history, NONE_VANISHES, f"{iso(tick)} is neither a run nor in a decision", *lines)


def _before(history: History, tick: int) -> list[int]:
    return sorted((moment for moment in history.tick_runs if moment < tick), reverse=True)


def _miscounted(history: History) -> Iterator[Broken]:
    """What a decision counts and what ran in its range are together all ticks of it."""
    moments = sorted(history.tick_runs)
    for each in history.decisions:
        revision = history.revision(each.revision)
        trigger = None if revision is None else trigger_of(revision)
        if (
            each.count is None
            or trigger is None
            or each.first_ms <= history.since_ms
            or each.last_ms > history.until_ms
        ):
            continue
        ticks = trigger.count_ms(each.first_ms, each.last_ms + 1)
        if ticks is None:
            continue
        most = ticks + len(_moved_into(history, each, trigger))
        inside = [moment for moment in moments if each.first_ms <= moment <= each.last_ms]
        runs = [run_line(run) for moment in inside for run in history.tick_runs[moment][:1]]
        if each.count + len(inside) > most:
            what = f"{len(inside)} ticks ran, and a decision leaves {each.count} of {most} out"
            yield _broken(history, ONE_RUN, what, decision_line(each), *runs)
        elif each.count + len(inside) < ticks:
            what = f"of {ticks} ticks {len(inside)} ran, and the decision around them counts {each.count}"
            yield _broken(history, NONE_VANISHES, what, decision_line(each), *runs)


def _moved_into(history: History, each: Decision, trigger: Trigger) -> set[int]:
    """Moments in its range to which somebody had moved the schedule: they count like ticks, and are none."""
    moved = [change.after.get("next_run_ms") for change in history.changes]
    moments = {each.first_ms, each.last_ms, *(moment for moment in moved if isinstance(moment, int))}
    return {ms for ms in moments if each.first_ms <= ms <= each.last_ms and not trigger.ticks_at(ms)}


# causes


def no_decision_without_cause(history: History) -> Iterator[Broken]:
    """A pause was there, an earlier run was in the way, it was late: what a decision says has happened."""
    for each in history.decisions:
        missing = _missing_cause(history, each)
        if missing is not None:
            causes = [change_line(change) for change in history.changes if _is_near(change.at_ms, each)]
            yield _broken(history, CAUSE, f"{each.reason}, but {missing}", decision_line(each), *causes[-3:])
    for run in history.runs:
        missing = _missing_reason(history, run) if run.state is State.SKIPPED and run.cause == "tick" else None
        if missing is not None:
            yield _broken(history, CAUSE, f"a run was skipped as {run.reason}, but {missing}", run_line(run))


def _is_near(at_ms: int, decision: Decision) -> bool:
    return decision.first_ms <= at_ms <= decision.decided_ms


def _first_missed_ms(history: History, each: Decision) -> int:
    """Of all that was missed together: a freeze in its midst makes two decisions of it."""
    beside = (other for other in history.decisions if other.decided_ms == each.decided_ms)
    return min(other.first_ms for other in beside if other.reason == "misfire")


def _missing_cause(history: History, each: Decision) -> str | None:
    revision = history.revision(each.revision)
    forgotten = each.decided_ms < history.changes_since_ms
    match each.reason:
        case "misfire":
            late_ms = each.decided_ms - _first_missed_ms(history, each)
            in_time = revision is not None and late_ms <= revision.policy.grace_ms
            if in_time:
                return f"its first tick was only {late_ms} ms late when it was decided"
            return None if revision is None else _missing_lateness(history, each, revision.policy)
        case "overlap":
            return None if _was_in_the_way(history, each) else "no run of the schedule ran or waited then"
        case "paused":
            return None if forgotten or _is_paused(history, each.decided_ms) else "the schedule was not paused then"
        case "replaced" | "deleted":
            return None if forgotten or _was_changed(history, each.decided_ms) else "nobody changed the schedule then"
        case "rescheduled":
            moved = any(change.after.get("rescheduled") is True for change in history.changes)
            return None if forgotten or moved else "nobody had moved it"
        case "skipped":
            asked = any(change.after.get("skips") for change in history.changes)
            return None if forgotten or asked else "nobody had asked for it"
        case "frozen":
            return _missing_freeze(history, each)
        case "max_runs":
            limited = revision is None or any(known.max_runs is not None for known in history.definitions)
            return None if limited else "it may have any number of runs"
        case "undeclared":
            declared = revision is None or revision.origin != "api"
            return None if declared else "no code and no file declares it"
        case _:
            return None


def _missing_lateness(history: History, each: Decision, policy: Policy) -> str | None:
    """What is within grace is kept by `skip`, whatever else was missed."""
    late_ms = each.decided_ms - each.last_ms
    if policy.misfire != "skip" or late_ms > policy.grace_ms:
        return None
    return f"its last tick was only {late_ms} ms late when it was decided, and its misfire policy is skip"


def _was_in_the_way(history: History, each: Decision) -> bool:
    """Whether a run lived when it was decided, or one may have that is forgotten.

    The end of a run is told by when its transaction began, and seen by others when that is over.
    """
    lived_ms = each.decided_ms - history.transaction_ms
    lives = ((run.created_ms, run.finished_ms) for run in (*history.carried, *history.runs))
    return lived_ms <= history.forgotten_ms or any(
        made - history.transaction_ms <= each.decided_ms and (end is None or end >= lived_ms) for made, end in lives
    )


def _missing_freeze(history: History, each: Decision) -> str | None:
    """One that is forgotten, was changed or ended is not judged."""
    for freeze in history.freezes:
        whole = freeze.name == each.detail and freeze.revision == 1 and not freeze.thawed
        if whole and not (freeze.start_ms <= each.decided_ms and each.first_ms < freeze.end_ms):
            return f"freeze {freeze.name} is from {iso(freeze.start_ms)} to {iso(freeze.end_ms)}"
    return None


def _is_paused(history: History, at_ms: int) -> bool:
    slack_ms = history.slack_ms
    return any(span.first_ms - slack_ms <= at_ms <= span.end_ms + slack_ms for span, _ in history.pauses)


def _was_changed(history: History, at_ms: int) -> bool:
    return any(abs(change.at_ms - at_ms) <= history.slack_ms for change in history.changes if "run" not in change.after)


def _missing_reason(history: History, run: Run) -> str | None:
    ended_ms = run.finished_ms or 0
    if ended_ms < history.changes_since_ms:
        return None
    match (run.reason or "").partition(":")[0]:
        case "paused":
            return None if _is_paused(history, ended_ms) else "the schedule was not paused then"
        case "deleted":
            gone = (change.after.get("deleted") is True for change in history.changes)
            missing = history.schedule is not None and not history.schedule.deleted and not any(gone)
            return "the schedule was never deleted" if missing else None
        case "misfire" if ended_ms <= run.due_ms + run.policy.grace_ms:
            return f"it had waited only {ended_ms - run.due_ms} ms"
        case _:
            return None


def decided_once(history: History) -> Iterator[Broken]:
    """No two decisions hold the same tick."""
    for one, other in pairwise(sorted(history.decisions, key=lambda each: (each.first_ms, each.last_ms))):
        if other.first_ms <= one.last_ms:
            lines = map(decision_line, (one, other))
            yield _broken(history, ONE_RUN, f"{iso(other.first_ms)} is in two decisions", *lines)


def _broken(history: History, promise: str, what: str, *lines: Line) -> Broken:
    return Broken(promise, what, history.name, in_order(lines))
