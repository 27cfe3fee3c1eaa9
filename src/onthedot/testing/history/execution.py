"""What was done, by the journal, and what the store says was done: the same."""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.testing.history.broken import Broken, attempt_lines, entry_line, in_order, run_line
from onthedot.testing.history.history import History

ONCE = "each claim is executed once"
DONE = "what is recorded was done"


def each_claim_once(history: History) -> Iterator[Broken]:
    """No claim is entered twice, in whichever process."""
    for (run_id, claim_no), entries in history.entries.items():
        begun = [each for each in entries if each.what == "begin"]
        if len(begun) > 1:
            what = f"run {run_id} was entered {len(begun)} times under claim {claim_no}"
            yield Broken(ONCE, what, history.name, in_order(map(entry_line, begun)))


def what_is_recorded_was_done(history: History) -> Iterator[Broken]:
    """A success has a beginning and an end in the journal; what was never begun by the store has none; and whoever
    entered was the owner."""
    for run in history.runs:
        here = run.owner is not None and run.remote is None  # what an engine did, it has not written
        if run.task in history.journalled and run.state is State.SUCCEEDED and here:
            entries = history.entries.get((run.id, run.claim_no), [])
            if {each.what for each in entries} != {"begin", "end"} and _is_in_time(history, run):
                what = f"run {run.id} succeeded under claim {run.claim_no}, and its task was not seen to do it"
                yield Broken(DONE, what, history.name, in_order((run_line(run), *map(entry_line, entries))))
        yield from _not_the_owner(history, run)


def _not_the_owner(history: History, run: Run) -> Iterator[Broken]:
    """An attempt that was handed back before its task was entered is not kept: claims without one are left out."""
    owners = {each.claim_no: each for each in run.attempts}
    for claim_no, attempt in owners.items():
        entries = history.entries.get((run.id, claim_no), [])
        if any(each.node != attempt.node for each in entries):
            lines = (*attempt_lines(run, attempt), *map(entry_line, entries))
            what = f"claim {claim_no} of run {run.id} is of node {attempt.node}, and another entered the task"
            yield Broken(DONE, what, history.name, in_order(lines))
    if run.attempt == 0 and not run.earlier and run.state in (State.SKIPPED, State.CANCELLED):
        entries = [each for claim_no in history.claims.get(run.id, ()) for each in history.entries[run.id, claim_no]]
        if entries and run.started_ms is None:
            what = f"run {run.id} is {run.state} without having begun, and its task was entered"
            yield Broken(DONE, what, history.name, in_order((run_line(run), *map(entry_line, entries))))


def _is_in_time(history: History, run: Run) -> bool:
    """Whether the journal was written then, and had not been read."""
    return run.created_ms > history.since_ms and (run.finished_ms or 0) + history.slack_ms < history.journal_until_ms
