"""What `explain` says of a tick, held against what happened."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import ceil_ms, iso
from onthedot.testing.history.broken import Broken, Line, attempt_lines, decision_line, in_order, run_line
from onthedot.testing.history.history import History

EXPLAIN = "explain is true"
_HOLDER = re.compile(r"run (\S+) began at (\S+) and (still runs|ended at (\S+?))(?: and |$|;)")
_WORDS = {
    "misfire": "noticed too late",
    "paused": "paused",
    "overlap": "overlap policy left it out",
    "rescheduled": "moved to another moment",
    "skipped": "asked to skip it",
    "frozen": "frozen",
    "replaced": "changed before it was planned",
    "undeclared": "no live node declared",
    "deleted": "deleted",
    "parked": "parked",
    "max_runs": "all of its runs",
}


def explain_is_true(history: History) -> Iterator[Broken]:
    """The sentence names the run, its state, node, attempt and moments, or the reason of the decision; and the runs
    that it says were in the way ran then."""
    for moment, text in sorted(history.told.items()):
        runs = [run for run in history.tick_runs.get(moment, ()) if run.is_final]
        for run in runs:
            missing = [said for said in _must_say(run) if said not in text]
            if missing:
                lines = [run_line(run), *(line for each in run.attempts for line in attempt_lines(run, each))]
                yield _untrue(history, moment, text, f"it does not say {missing[0]!r}", lines)
        filled_in = any(run.cause == "backfill" and run.scheduled_ms == moment for run in history.runs)
        if not history.tick_runs.get(moment) and not filled_in:
            yield from _of_decision(history, moment, text)
        yield from _of_holders(history, moment, text)


def _must_say(run: Run) -> Iterator[str]:
    yield f" {run.id} "
    yield f" {run.state}"
    if run.owner is not None and run.started_ms is not None and run.state is not State.SKIPPED:
        yield f"begun {iso(run.started_ms)}"
        yield f"attempt {run.attempt}"
    if run.finished_ms is not None:
        yield f"ended {iso(run.finished_ms)}"


def _of_decision(history: History, moment: int, text: str) -> Iterator[Broken]:
    for each in history.decisions:
        if not each.first_ms <= moment <= each.last_ms:
            continue
        missing = [said for said in (f"did not run at {iso(moment)}", _WORDS.get(each.reason, "")) if said not in text]
        if missing:
            yield _untrue(history, moment, text, f"it does not say {missing[0]!r}", [decision_line(each)])
        return


def _of_holders(history: History, moment: int, text: str) -> Iterator[Broken]:
    """Who is said to have been in the way ran at that moment, as it is said."""
    known = {run.id: run for run in (*history.carried, *history.runs)}
    for run_id, began, _, ended in _HOLDER.findall(text):
        run = known.get(run_id)
        if run is None:
            continue
        starts = {each.started_ms for each in run.attempts} | {run.started_ms}
        wrong = ceil_ms(began) not in starts or (ended and run.is_final and ceil_ms(ended) != run.finished_ms)
        if wrong or ceil_ms(began) > moment or (ended and ceil_ms(ended) < moment):
            yield _untrue(history, moment, text, f"run {run_id} was not in the way then", [run_line(run)])


def _untrue(history: History, moment: int, text: str, why: str, lines: list[Line]) -> Broken:
    said = Line(moment, f"explain: {text}")
    return Broken(EXPLAIN, f"of {iso(moment)} {why}", history.name, in_order([said, *lines]))
