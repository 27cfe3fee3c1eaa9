"""The answer to "why?" as people tell it: a question, a sentence, and the dated facts behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from onthedot.durations import spoken_duration
from onthedot.errors import TriggerError
from onthedot.insight.change_text import describe_change
from onthedot.insight.explain import Explanation
from onthedot.insight.schedule_history import Pause, ScheduleHistory
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.mark import Mark, mark_of
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.stores.base import Store
from onthedot.texts import counted
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

MOST_CHANGES = 1000
LATE_MS = 1000
_LOOK_AHEAD = 4
_MOST_TICKS = 50
_DID_NOT = "it did not run at "
_OF_THE_SCHEDULE = frozenset({"replaced", "rescheduled", "skipped", "deleted"})
_LEFT_OUT = {
    "misfire": "It was noticed too late, and left out.",
    "paused": "It was paused.",
    "overlap": "An earlier run was still under way.",
    "rescheduled": "It had been moved to another moment.",
    "skipped": "Somebody had asked to skip it.",
    "frozen": "It was frozen.",
    "replaced": "It was changed before.",
    "undeclared": "No live node declared it any more.",
    "deleted": "It was deleted.",
    "covered": "A newer run took its place.",
    "expired": "It could not begin before it expired.",
    "dependency": "What it depends on did not succeed in time.",
    "parked": "It could not be planned.",
    "max_runs": "It had had all of its runs.",
}
_ENDED = {
    State.SUCCEEDED: "It ran, and succeeded",
    State.FAILED: "It ran, and failed",
    State.TIMED_OUT: "It ran out of its time",
    State.LOST: "It was lost with its node",
    State.CANCELLED: "It was cancelled",
    State.RUNNING: "It is running",
    State.WAITING: "It waits to begin",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the story. Moments within its text are ISO, in UTC."""

    at_ms: int
    kind: str
    """A run's state, or what was done: paused, resumed, changed, deleted, left_out, coming."""
    text: str
    who: str = ""
    surface: str = ""
    run: str | None = None
    until_ms: int | None = None
    """Of a range of ticks, the last of them."""


@dataclass(frozen=True, slots=True)
class Story:
    """What became of one moment."""

    moment_ms: int
    question: str
    """Without its moment: "Why did it not run at"."""
    answer: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class After:
    """What came next: the first tick after the one that is asked about."""

    marks: Sequence[Mark] = ()
    decisions: Sequence[Decision] = ()
    coming_ms: int | None = None
    error: str | None = None
    """Of the first of the marks, if it failed."""


def read_story(store: Store, schedule: Schedule, moment_ms: int, found: Explanation) -> Story:
    """Read what is still needed: the audit of the schedule, and the few ticks after that moment."""
    changes = store.changes(name=schedule.name, limit=MOST_CHANGES)
    return tell(moment_ms, found, changes, _after(store, schedule, moment_ms, found))


def tell(moment_ms: int, found: Explanation, changes: Sequence[Change], after: After) -> Story:
    """The story, from what is known."""
    told = [*_before(moment_ms, found, changes), *_itself(moment_ms, found)]
    facts = sorted(told, key=lambda fact: fact.at_ms)
    return Story(moment_ms, _question(found), _answer(found), (*facts, *_next(moment_ms, found, after)))


# the sentence


def _question(found: Explanation) -> str:
    if any(run.state is not State.SKIPPED for run in found.runs):
        return "What became of the tick at"
    return "Why did it not run at" if found.decisions or found.runs or _is_withheld(found) else "What of"


def _is_withheld(found: Explanation) -> bool:
    """Whether it has not run, and nobody has decided on it: the schedule is paused or parked."""
    return found.text.startswith(_DID_NOT)


def _answer(found: Explanation) -> str:
    if found.decisions:
        return _LEFT_OUT.get(found.decisions[0].reason, found.decisions[0].reason)
    if found.runs:
        return _course(found.runs[0])
    return _sentence(found.text.partition(": ")[2] if _is_withheld(found) else found.text)


def _course(run: Run) -> str:
    if run.state is State.SKIPPED:
        return _skipped(run)
    why = _why(run)
    late = "" if (run.lateness_ms or 0) < LATE_MS else f", {_span(run.lateness_ms or 0)} late"
    told = _ENDED[run.state] + late
    return f"{told}: {why}" if why else f"{told}."


def _skipped(run: Run) -> str:
    """A run that was made and never began: late by what it waited for, not by being noticed."""
    reason, _, detail = (run.reason or "").partition(": ")
    if reason == "misfire" and detail:
        return f"It had not begun in time, and gave way to a newer tick: {detail}."
    return _LEFT_OUT.get(reason, f"It was left out: {run.reason}.")


def _why(run: Run) -> str:
    """What failed, or who ended it."""
    match run.state:
        case State.FAILED:
            return telling_line(run.error)
        case State.CANCELLED:
            return run.reason or ""
        case _:
            return ""


def _sentence(text: str) -> str:
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "?", "!")) else f"{whole}."


# who did what before


def _before(moment_ms: int, found: Explanation, changes: Sequence[Change]) -> Iterator[Fact]:
    history = ScheduleHistory(changes)
    if _was_paused(found):
        decided_ms = found.decisions[0].decided_ms if found.decisions else found.runs[0].finished_ms or moment_ms
        yield from _of_pause(history.pause_at(moment_ms, decided_ms))
    for decision in found.decisions:
        if decision.reason in _OF_THE_SCHEDULE:
            yield from (change_fact(each) for each in changes if _is_of(each, decision))
    ids = {run.id for run in found.runs}
    yield from (change_fact(each) for each in changes if each.after.get("run") in ids)
    if not found.runs and not found.decisions:
        yield from _of_pause(history.pause_at(moment_ms, moment_ms))


def _was_paused(found: Explanation) -> bool:
    reasons = [*(each.reason for each in found.decisions), *((run.reason or "") for run in found.runs)]
    return any(reason.startswith("paused") for reason in reasons)


def _is_of(change: Change, decision: Decision) -> bool:
    return change.at_ms == decision.decided_ms and "run" not in change.after


def _of_pause(pause: Pause | None) -> Iterator[Fact]:
    if pause is None:
        return
    yield from (change_fact(each) for each in (pause.began, *pause.again))
    if pause.ended is not None:
        yield change_fact(pause.ended)


def change_fact(change: Change) -> Fact:
    """A line of the audit as a fact."""
    kind, text = describe_change(change)
    run = change.after.get("run")
    return Fact(change.at_ms, kind, text, change.by.who, change.by.surface, None if run is None else str(run))


# the tick itself, and the next


def _itself(moment_ms: int, found: Explanation) -> Iterator[Fact]:
    for decision in found.decisions:
        yield Fact(decision.first_ms, "left_out", _ticks(decision, moment_ms), until_ms=decision.last_ms)
    for run in found.runs:
        if not run.is_shard:
            yield from _of_run(run)


def _ticks(decision: Decision, moment_ms: int) -> str:
    many = "many ticks" if decision.count is None else counted(decision.count, "tick")
    if decision.count == 1:
        return "the tick was left out"
    place = "; this is the first of them" if moment_ms == decision.first_ms else ""
    place = "; this is the last of them" if moment_ms == decision.last_ms else place
    return f"{many} left out, one decision{place}"


def _of_run(run: Run) -> Iterator[Fact]:
    for each in run.earlier:
        how = (each.outcome or "ended").replace("_", " ")
        yield Fact(
            each.started_ms, each.outcome or "", f"attempt {each.number}: {how}{_because(each.error)}", run=run.id
        )
    text = f"{_run_text(mark_of(run))}{_because(run.error)}"
    yield Fact(run.started_ms or run.scheduled_ms, str(run.state), text, run=run.id)


def _because(error: str | None) -> str:
    last = telling_line(error)
    return f": {last}" if last else ""


def _next(moment_ms: int, found: Explanation, after: After) -> Iterator[Fact]:
    """The first tick after it: a run, a decision, or one that is still to come."""
    since_ms = max([moment_ms, *(each.last_ms for each in found.decisions)])
    marks = [each for each in after.marks if each.scheduled_ms > since_ms and each.cause == "tick"]
    decisions = [each for each in after.decisions if each.first_ms > since_ms]
    mark = min(marks, key=lambda each: each.scheduled_ms, default=None)
    decision = min(decisions, key=lambda each: each.first_ms, default=None)
    if mark is not None and (decision is None or mark.scheduled_ms < decision.first_ms):
        yield Fact(
            mark.scheduled_ms, str(mark.state), f"the next tick {_run_text(mark)}{_because(after.error)}", run=mark.id
        )
    elif decision is not None:
        why, too = decision.reason.replace("_", " "), " too" if found.decisions else ""
        text = f"the next tick was left out{too}: {why}"
        yield Fact(decision.first_ms, "left_out", text, until_ms=decision.last_ms)
    elif after.coming_ms is not None and after.coming_ms > since_ms:
        yield Fact(after.coming_ms, "coming", "the next tick is still to come")


def _run_text(mark: Mark) -> str:
    if mark.started_ms is None:
        return "waits" if mark.state is State.WAITING else f"was {mark.state.value.replace('_', ' ')}"
    late = mark.lateness_ms or 0
    began = "began on time" if late < LATE_MS else f"began {_span(late)} late"
    if mark.finished_ms is None:
        return f"{began}, and runs"
    ended = {State.TIMED_OUT: "ran out of time", State.CANCELLED: "was cancelled", State.LOST: "was lost"}
    return f"{began} and {ended.get(mark.state, str(mark.state))} after {_span(mark.duration_ms or 0)}"


def _span(ms: int) -> str:
    return spoken_duration(ms)


def _after(store: Store, schedule: Schedule, moment_ms: int, found: Explanation) -> After:
    since_ms = max([moment_ms, *(each.last_ms for each in found.decisions)])
    try:
        ahead = [*islice(_ticks_after(decode(schedule.trigger), since_ms), _LOOK_AHEAD)]
    except TriggerError:
        ahead = []
    if not ahead:
        return After()
    ticks = store.ticks([schedule.id], first_ms=since_ms + 1, last_ms=ahead[-1], each=_MOST_TICKS)
    first = min(ticks.marks, key=lambda mark: mark.scheduled_ms, default=None)
    failed = [] if first is None or first.state is not State.FAILED else store.runs(ids=[first.id], limit=1)
    comes = schedule.plannable and not schedule.is_undeclared(store.now_ms())
    coming_ms = schedule.next_run_ms if comes else None
    return After(ticks.marks, ticks.decisions, coming_ms, failed[0].error if failed else None)


def _ticks_after(trigger: Trigger, since_ms: int) -> Iterator[int]:
    tick = trigger.next_ms(since_ms)
    while tick is not None:
        yield tick
        tick = trigger.next_ms(tick)
