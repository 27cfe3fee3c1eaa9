"""Attempts: one owner after the other, bounded in number, and only the latest has an outcome."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from onthedot.model.attempt import Attempt
from onthedot.model.node import NodeState
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import iso
from onthedot.testing.history.broken import (
    Broken,
    Line,
    attempt_lines,
    change_line,
    entry_line,
    in_order,
    node_line,
    run_line,
)
from onthedot.testing.history.history import History

SUPERSEDED = "no outcome of a superseded attempt"
BOUNDED = "attempts are bounded"
DRAIN = "nothing runs after the drain"
_DONE_AGAIN = frozenset({"node_died", "node_stopped", "handed_back"})


def no_superseded_outcome(history: History) -> Iterator[Broken]:
    """Claims of a run only grow and follow each other; a dead node ends nothing after its takeover; and the outcome is
    of the latest claim that the journal knows."""
    for run in history.runs:
        for one, other in pairwise(run.attempts):
            if other.claim_no <= one.claim_no or (one.ended_ms or 0) > other.started_ms + history.transaction_ms:
                lines = (*attempt_lines(run, one), *attempt_lines(run, other))
                what = f"run {run.id} had two owners: claim {one.claim_no} and claim {other.claim_no}"
                yield Broken(SUPERSEDED, what, history.name, in_order(lines))
        yield from _later_claims(history, run)
        yield from _of_the_dead(history, run)
        yield from _begun_by_the_dead(history, run)


def _later_claims(history: History, run: Run) -> Iterator[Broken]:
    for claim_no in history.claims.get(run.id, ()):
        if claim_no > run.claim_no:
            lines = map(entry_line, history.entries[run.id, claim_no])
            what = f"run {run.id} stands under claim {run.claim_no}, and claim {claim_no} was executed after it"
            yield Broken(SUPERSEDED, what, history.name, in_order((run_line(run), *lines)))


def _of_the_dead(history: History, run: Run) -> Iterator[Broken]:
    """Whoever was taken over records nothing more. What the takeover itself ended has a line of its own."""
    death = history.deaths.get(run.owner or "")
    if death is None or not run.is_final or run.finished_ms is None:
        return
    by_takeover = any(each.after.get("died") for each in history.changes_of_runs.get(run.id, ()))
    if not by_takeover and run.finished_ms > death.at_ms + history.transaction_ms:
        what = f"run {run.id} was ended by node {run.owner} after that was found dead"
        yield Broken(SUPERSEDED, what, history.name, in_order((run_line(run), change_line(death))))


def _begun_by_the_dead(history: History, run: Run) -> Iterator[Broken]:
    """Nor does it begin anything: it is declared dead before another says so of a run."""
    for attempt in run.attempts:
        death = history.deaths.get(attempt.node)
        if death is not None and attempt.started_ms > death.at_ms + history.transaction_ms:
            what = f"run {run.id} was begun by node {attempt.node} after that was found dead"
            yield Broken(SUPERSEDED, what, history.name, in_order((*attempt_lines(run, attempt), change_line(death))))


# how many


def attempts_bounded(history: History) -> Iterator[Broken]:
    """No more crashes than `crash_retries` survives, nothing after the last of `retries` unless the task or an operator
    asked for it, and what may be run once at most is begun once."""
    for run in history.runs:
        by_hand = _retries_by_hand(history, run)
        yield from _entered_again(history, run, by_hand)
        yield from _crashed_too_often(history, run)
        for one, other in pairwise(
            () if run.is_step else run.attempts
        ):  # a retry of its flow leaves no line of its own
            if _is_one_too_many(history, run, one, by_hand):
                what = f"attempt {one.number} of run {run.id} was its last, with retries={run.policy.retries}"
                yield _bounded(history, what, run, *attempt_lines(run, one), *attempt_lines(run, other))
            if run.policy.delivery == "at_most_once" and one.outcome in _DONE_AGAIN and not by_hand:
                what = f"run {run.id} may be run once at most, and was begun again after {one.outcome}"
                yield _bounded(history, what, run, *attempt_lines(run, one), *attempt_lines(run, other))


def _crashed_too_often(history: History, run: Run) -> Iterator[Broken]:
    """Each attempt whose node died is a crash, and the one after the last that it survives ends it."""
    if run.is_step:
        return
    died = sum(each.outcome == "node_died" for each in run.earlier)
    if died > run.crashes and not run.exempt:  # an operator's retry sets the count back
        lines = [line for each in run.earlier for line in attempt_lines(run, each)]
        yield _bounded(history, f"run {run.id} lost {died} nodes, and {run.crashes} are counted", run, *lines)
    may = run.policy.crash_retries
    survived = run.crashes - (run.state is State.FAILED or run.policy.delivery == "at_most_once")
    if survived > may:
        yield _bounded(history, f"run {run.id} survived {survived} crashes, of {may} that it may", run)


def _entered_again(history: History, run: Run, by_hand: int) -> Iterator[Broken]:
    """By the journal: what may be run once at most was not entered again after nobody saw it end."""
    if run.policy.delivery != "at_most_once" or run.is_step or by_hand:
        return
    outcomes = {each.claim_no: each.outcome for each in run.attempts}
    *earlier, _ = sorted(history.claims.get(run.id, ())) or [0]
    for claim_no in earlier:
        entries = history.entries[run.id, claim_no]
        if all(each.what == "begin" for each in entries) and outcomes.get(claim_no) not in ("failed", "timed_out"):
            what = f"run {run.id} may be run once at most, and was entered again after claim {claim_no}"
            lines = [line for no in history.claims[run.id] for line in map(entry_line, history.entries[run.id, no])]
            yield _bounded(history, what, run, *lines)


def _is_one_too_many(history: History, run: Run, attempt: Attempt, by_hand: int) -> bool:
    """Whether this attempt failed, was the last that policy allows, and is all the same followed by another.

    A task may ask to be tried again: that a failure was none, only the journal knows. A time-out never is.
    """
    if attempt.outcome not in ("failed", "timed_out") or attempt.number - _crashes(run) <= run.policy.retries + by_hand:
        return False
    entries = history.entries.get((run.id, attempt.claim_no), ())
    raised = [entry.raised for entry in entries if entry.raised is not None]
    return attempt.outcome == "timed_out" or (bool(raised) and "Retry" not in raised)


def _crashes(run: Run) -> int:
    """All, also those before an operator's retry, which sets the count back."""
    return max(run.crashes, sum(each.outcome in _DONE_AGAIN for each in run.earlier))


def _retries_by_hand(history: History, run: Run) -> int:
    asked = [each for each in history.changes_of_runs.get(run.id, ()) if "node" not in each.after and each.before]
    counted = sum(1 for each in asked if each.after.get("state") == "waiting")
    return max(counted, 1) if run.exempt and run.cause != "manual" else counted


def _bounded(history: History, what: str, run: Run, *lines: Line) -> Broken:
    return Broken(BOUNDED, what, history.name, in_order((run_line(run), *lines)))


# the end


def nothing_after_drain(history: History) -> Iterator[Broken]:
    """No run is left with a node that has stopped or died, but for what an engine has: that waits for a node that can
    watch it. And no task is entered after its node has stopped."""
    for run in history.runs:
        if run.state is State.RUNNING and run.owner is not None and (run.remote is None or history.is_over):
            yield from _left_running(history, run)
    for (run_id, _), entries in history.entries.items():
        node = history.node_by_id.get(entries[0].node)
        if node is None or node.state is not NodeState.STOPPED:
            continue
        late = [
            each for each in entries if each.what == "begin" and (each.at_ms or 0) > node.renewed_ms + node.lease_ms
        ]
        if late:
            what = f"run {run_id} was entered after its node {node.name} had stopped"
            yield Broken(DRAIN, what, history.name, in_order((node_line(node), *map(entry_line, late))))


def _left_running(history: History, run: Run) -> Iterator[Broken]:
    node = history.node_by_id.get(run.owner or "")
    gone = node is not None and node.state is NodeState.STOPPED
    if history.is_over or gone:
        state = "nobody knows" if node is None else f"is {node.state}"
        lines = (run_line(run), *([] if node is None else [node_line(node)]))
        what = f"run {run.id} still runs since {iso(run.started_ms or 0)}, on a node that {state}"
        yield Broken(DRAIN, what, history.name, in_order(lines))
