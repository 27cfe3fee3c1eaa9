"""The story of a run in a sentence or two: how it began, what became of each attempt, and where it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import NamedTuple

from onthedot.durations import spoken_duration
from onthedot.model.attempt import Attempt
from onthedot.model.graph import SHARD
from onthedot.model.ledger import Ledger
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.model.step_status import StepStatus
from onthedot.model.tracebacks import telling_line
from onthedot.texts import counted

ON_THE_DOT_MS = 1000
"""What begins within this of its moment is on the dot."""
_MOST_NAMES = 5
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LATER = {
    "manual": "after it was asked for",
    "backfill": "after it was asked for",
    "enqueue": "after it was due",
    "chain": "after the run that it follows",
    "step": "after its flow had it due",
    "shard": "after its broadcast began",
    "alert": "after what it tells of",
    "ping": "after what it tells of",
}
_FATES = {
    "failed": "failed",
    "timed_out": "ran out of time",
    "cancelled": "was cancelled",
    "lost": "was lost",
    "skipped": "was skipped",
    "handed_back": "was handed back",
    "node_stopped": "was given back when its node stopped",
}


class WaitingStep(NamedTuple):
    """A run of a step that was made, and has not begun."""

    step: str
    title: str
    why: str
    """What it waits for; empty where it has only just been made."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a story rests on, beside the run itself."""

    now_ms: int
    usual_ms: int | None = None
    """How long it usually takes; None where nobody can say."""
    why: str = ""
    """What it waits for, or why it ended as it did."""
    why_late: str = ""
    """Why it began late, or has not begun."""
    on_nodes: tuple[str, ...] = ()
    """Of a flow: which of its steps runs where, "load[17] on node b"."""
    waiting: tuple[WaitingStep, ...] = ()
    """Of a flow: the runs of steps that wait."""
    stopped_by: str = ""
    """Who cancelled it, or asked it to stop."""


def tell(run: Run, known: Known) -> str:
    """The whole story; ends with a full stop."""
    if isinstance(run, UnreadableRun):
        return _sentence(f"its row cannot be read, so it is never started: {telling_line(run.error)}")
    if run.is_broadcast:
        return " ".join([_broadcast(run), *([_sentence(_end_of_all(run, known))] if run.is_final else [])])
    told = [_beginning(run, known)] if run.attempts else [*_flow(run, known)]
    clauses = [*_earlier(run.earlier), *_present(run, known)]
    return " ".join(_sentence(each) for each in [_shard(run), *told, _joined(clauses)] if each)


def usual_ms(runs: Iterable[Run]) -> int | None:
    """How long such runs take: the median of those given; None of none."""
    took = [run.duration_ms for run in runs if run.duration_ms is not None]
    return int(median(took)) if took else None


def first_late_ms(run: Run) -> int | None:
    """How late its first attempt began; None where that is not known any more."""
    first = next(iter(run.attempts), None)
    if first is None or first.number > 1:
        return None
    if not any(each.outcome in ("failed", "timed_out") for each in run.earlier):
        return max(first.started_ms - run.due_ms, 0)  # a back-off would have moved it
    return None if run.policy.jitter_ms else max(first.started_ms - run.scheduled_ms, 0)


# how it began


def _beginning(run: Run, known: Known) -> str:
    late_ms = first_late_ms(run)
    if late_ms is None:
        return ""
    if run.cause != "tick" and late_ms == 0:
        return "began at once"
    if run.cause != "tick":
        told = f"began {_said(late_ms)} {_LATER[run.cause]}"
    elif late_ms <= ON_THE_DOT_MS:
        return "began on the dot" + (f", {_said(late_ms)} late" if late_ms else "")
    else:
        told = f"began {_said(late_ms)} late"
    return f"{told}: {known.why_late}" if known.why_late and late_ms > ON_THE_DOT_MS else told


def _flow(run: Run, known: Known) -> Iterator[str]:
    """How far a flow is: what runs and where, what went wrong, what waits and for what."""
    if run.state is not State.RUNNING:
        return
    far = [_far(step, known) for step in run.steps if step.state == "running"]
    where = [_and_others(known.on_nodes)] if known.on_nodes else []
    if far:
        yield "; ".join([*far, *where, *_items_that_wait(run, known)])
    state = {step.name: step.state for step in run.steps}
    ahead = [step for step in run.steps if step.state == "waiting" and not step.closing]
    next_ones = [step for step in ahead if not any(state.get(name) == "waiting" for name in step.after)]
    waits = [f"{step.name} waits for {_list(_awaited(step, state))}" for step in next_ones if _awaited(step, state)]
    if waits:
        yield "; ".join(waits[:_MOST_NAMES])
    later = [step.name for step in ahead if step not in next_ones]
    if later:
        yield f"still to come: {_and_others(later)}"


def _far(step: StepStatus, known: Known) -> str:
    if step.mapped:
        bad = f", {step.failed:,} bad" if step.failed else ""
        return f"{step.name} {step.ended:,} of {step.total:,}{bad}"
    waits = next((each for each in known.waiting if each.step == step.name), None)
    return f"{step.name} runs" if waits is None else f"{step.name} waits{_colon(waits.why)}"


def _items_that_wait(run: Run, known: Known) -> list[str]:
    """The first of each map that waits for something, with the reason."""
    mapped = [step.name for step in run.steps if step.state == "running" and step.mapped]
    first = (next((each for each in known.waiting if each.step == name and each.why), None) for name in mapped)
    return [f"{each.title} waits{_colon(each.why)}" for each in first if each is not None]


def _colon(why: str) -> str:
    return f": {why}" if why else ""


def _awaited(step: StepStatus, state: Mapping[str, str]) -> list[str]:
    return [name for name in step.after if state.get(name) == "running"]


def _and_others(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_MOST_NAMES])}{' and others' if len(names) > _MOST_NAMES else ''}"


def _list(names: Sequence[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _shard(run: Run) -> str:
    return f"shard {run.shard} of {run.shards}" if run.is_shard else ""


def _broadcast(run: Run) -> str:
    shards = run.shards or 0
    entry = Ledger.from_json(run.ledger).steps.get(SHARD)
    ended = shards if run.is_final else 0 if entry is None else entry.ended.bit_count()
    so_far = "all have ended" if ended == shards else f"{ended} of them {'has' if ended == 1 else 'have'} ended"
    return _sentence(f"sent to {counted(shards, 'node')}; {so_far}")


def _end_of_all(run: Run, known: Known) -> str:
    why = f": {known.why}" if known.why else ""
    return f"it {_FATES.get(run.state, run.state)}{why}"


# what became of its attempts


def _earlier(attempts: Sequence[Attempt]) -> Iterator[str]:
    """One clause for each attempt; those with the same fate in a row share one."""
    for outcome, same in groupby(attempts, key=lambda each: each.outcome or "ended"):
        numbers = [each.number for each in same]
        yield _together(outcome, numbers) if len(numbers) > 1 else _alone(outcome, numbers[0])


def _alone(outcome: str, number: int) -> str:
    if outcome == "node_died":
        return f"its {_ordinal(number)} node died"
    return f"its {_ordinal(number)} attempt {_FATES.get(outcome, outcome)}"


def _together(outcome: str, numbers: Sequence[int]) -> str:
    which = f"attempts {numbers[0]} {'and' if len(numbers) == 2 else 'to'} {numbers[-1]}"
    if outcome == "node_died":
        return f"its nodes died in {which}"
    return f"its {which} {_FATES.get(outcome, outcome).replace('was ', 'were ')}"


def _ordinal(number: int) -> str:
    if number < len(_ORDINALS):
        return _ORDINALS[number]
    last = 0 if number // 10 % 10 == 1 else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


# where it is now


def _present(run: Run, known: Known) -> Iterator[str]:
    who = f"the {_ordinal(run.attempt)}" if run.earlier else "it"
    match run.state:
        case State.WAITING:
            yield _waits(run, known)
        case State.RUNNING:
            yield _runs(run, known, who)
        case State.SUCCEEDED:
            yield f"{who} succeeded{_after(run)}{_usually(known)}"
        case State.FAILED | State.TIMED_OUT:
            yield _failed(run, known, who)
        case State.CANCELLED:
            yield _cancelled(run, known)
        case State.SKIPPED:
            yield f"{'it left itself out' if _holds_its_last(run) else 'left out'}{_after(run)}{_because(known)}"
        case State.LOST:
            yield f"it was lost{_after(run)}{_because(known)}"


def _waits(run: Run, known: Known) -> str:
    if known.why and run.blocked:
        return known.why
    again = "again " if run.earlier else ""
    ahead_ms = run.due_ms - known.now_ms
    if ahead_ms > 0:
        return f"it tries again in {_said(ahead_ms)}" if again else f"due in {_said(ahead_ms)}"
    because = f": {known.why_late}" if known.why_late else ""
    return f"it has been due {again}for {_said(-ahead_ms)}{because}"


def _runs(run: Run, known: Known, who: str) -> str:
    since_ms = max(known.now_ms - (run.started_ms or known.now_ms), 0)
    told = f"{who} has been at {_at(run)} for {_said(since_ms)}{_as(run)}"
    if run.cancel_requested_ms is None:
        return told + _usually(known)
    by = f" by {known.stopped_by}" if known.stopped_by else ""
    ago = _said(max(known.now_ms - run.cancel_requested_ms, 0))
    why = f" ({run.reason})" if run.reason else ""
    return f"{told}; it was asked to stop{by} {ago} ago{why}, and has not yet"


def _failed(run: Run, known: Known, who: str) -> str:
    if not _began(run):
        return f"it could not be started{_because(known)}"
    if run.state is State.TIMED_OUT:
        limit = run.policy.timeout_ms
        allowed = "" if limit is None else f"; it may take {_said(limit)}"
        return f"{who} ran out of time{_after(run)}{allowed}"
    last = ", its last," if run.earlier else ""
    return f"{who}{last} failed{_after(run)}{_because(known)}"


def _cancelled(run: Run, known: Known) -> str:
    by = f" by {known.stopped_by}" if known.stopped_by else ""
    if not _began(run):
        return f"cancelled{by} before it began{_because(known)}"
    when = _after(run) if _holds_its_last(run) else " before its next attempt"
    return f"it was cancelled{by}{when}{_because(known)}"


def _holds_its_last(run: Run) -> bool:
    """Whether it ended in an attempt, and not while it waited for the next."""
    return (run.owner is not None or run.is_flow) and run.duration_ms is not None


def _began(run: Run) -> bool:
    """Whether anything of it was done; a flow has no node of its own."""
    return bool(run.attempts) or (run.is_flow and run.started_ms is not None)


def _after(run: Run) -> str:
    if not _holds_its_last(run):
        return ""
    return f" after {_said(run.duration_ms or 0)}" + (f" at engine {run.engine}" if run.engine else "")


def _at(run: Run) -> str:
    """Where it is executed."""
    if run.engine is None:
        return "it"
    return f"engine {run.engine}" if run.is_taken else f"the door of engine {run.engine}"


def _as(run: Run) -> str:
    return "" if run.engine is None else f", as {run.engine_id}"


def _usually(known: Known) -> str:
    return "" if known.usual_ms is None else f"; it usually takes {_said(known.usual_ms)}"


def _because(known: Known) -> str:
    return f": {known.why}" if known.why else ""


# sentences


def _said(ms: int) -> str:
    return spoken_duration(ms).replace(".0 s", " s")


def _joined(clauses: Sequence[str]) -> str:
    """ "a, b, and c"."""
    *before, last = clauses
    return f"{', '.join(before)}, and {last}" if before else last


def _sentence(text: str) -> str:
    shown = text.strip()
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")
