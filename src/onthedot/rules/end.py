"""What becomes of a running run when its owner reports, or is found dead."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.overlap import holds_back
from onthedot.rules.start import skipped
from onthedot.triggers.stable_hash import spread_over


def may_record(run: Run, node_id: str, claim_no: int) -> bool:
    """Whether the node still owns the run under this claim number."""
    return run.state is State.RUNNING and run.owner == node_id and run.claim_no == claim_no


def settle(run: Run, schedule: ScheduleSummary | None, outcome: Outcome, now_ms: int) -> Run:
    """The run after its owner's report. The schedule is how its schedule stands, if it has one."""
    if outcome.ending == "handed_back":
        if outcome.entered and run.policy.delivery == "at_most_once":
            return _end(replace(run, reason="its node stopped, and it may not be run twice"), State.LOST, now_ms)
        given_back = run if outcome.entered else replace(run, attempt=run.attempt - 1)
        return _wait_again(given_back, schedule, run.due_ms, now_ms)
    was_asked = run.cancel_requested_ms is not None and outcome.ending != "succeeded"
    reason = run.reason or outcome.reason if was_asked else outcome.reason  # its node does not know why it had to stop
    ended = replace(run, result=outcome.result, error=outcome.error, reason=reason)
    if outcome.ending in ("failed", "timed_out") and _may_retry(run, schedule, outcome):
        after = outcome.retry_after_ms if outcome.retry_after_ms is not None else backoff_ms(run)
        return _wait_again(ended, schedule, now_ms + after, now_ms)
    return _end(ended, State(outcome.ending), now_ms)


def take_over(run: Run, schedule: ScheduleSummary | None, now_ms: int) -> Run:
    """The run after its owner was found dead."""
    crashed = replace(run, crashes=run.crashes + 1)
    if run.policy.delivery == "at_most_once":
        return _end(replace(crashed, reason="its node died, and it may not be run twice"), State.LOST, now_ms)
    if schedule is not None and schedule.deleted:
        return _end(replace(crashed, reason="its node died, and its schedule is deleted"), State.LOST, now_ms)
    if crashed.crashes > run.policy.crash_retries:
        return _end(replace(crashed, error=f"its node died {crashed.crashes} times while it ran"), State.FAILED, now_ms)
    return _wait_again(crashed, schedule, now_ms, now_ms)


def after_shards(parent: Run, shards: Sequence[Run], now_ms: int) -> Run:
    """A broadcast after these of its shards have ended: with the last one it ends itself, and well if all did."""
    left = (parent.shards_left or 0) - len(shards)
    bad = [run for run in shards if run.state is not State.SUCCEEDED]
    errors = [parent.error] if parent.error else []
    errors += [f"shard {run.shard} {run.state}" for run in sorted(bad, key=lambda run: run.shard or 0)]
    after = replace(parent, shards_left=max(left, 0), error=", ".join(errors) or None)
    if left > 0:
        return after
    if parent.cancel_requested_ms is not None and errors:
        return _end(after, State.CANCELLED, now_ms)
    return _end(after, State.FAILED if errors else State.SUCCEEDED, now_ms)


def backoff_ms(run: Run) -> int:
    """How long to wait before the next attempt: doubled each time up to the longest, from half of it to all of it."""
    errors = max(run.attempt - run.crashes, 1)
    whole = min(run.policy.backoff_ms << min(errors - 1, 40), run.policy.max_backoff_ms)
    return whole - spread_over(run.id, f"backoff/{run.attempt}", whole // 2 + 1)


def _may_retry(run: Run, schedule: ScheduleSummary | None, outcome: Outcome) -> bool:
    if outcome.final or (schedule is not None and schedule.deleted):
        return False
    return outcome.retry_after_ms is not None or run.attempt - run.crashes <= run.policy.retries


def _wait_again(run: Run, schedule: ScheduleSummary | None, due_ms: int, now_ms: int) -> Run:
    waiting = replace(
        run, state=State.WAITING, due_ms=due_ms, claim_no=run.claim_no + 1, owner=None, slot=None, blocked=False
    )
    if run.cancel_requested_ms is not None:
        return replace(waiting, state=State.CANCELLED, finished_ms=now_ms, reason=run.reason or "cancelled")
    if schedule is None:
        return waiting
    if schedule.deleted:
        return skipped(waiting, "deleted", now_ms)
    if holds_back(run, schedule):
        return skipped(waiting, "paused", now_ms) if run.never_begun else replace(waiting, blocked=True)
    return waiting


def _end(run: Run, state: State, now_ms: int) -> Run:
    return replace(run, state=state, finished_ms=now_ms, slot=None)
