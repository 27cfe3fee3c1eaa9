"""What becomes of a running run when its owner reports, stops, or is found dead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onthedot.model.node import Node, engines
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run, for_resume
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import make, replace
from onthedot.rules.expiry import bounded
from onthedot.rules.overlap import holds_back
from onthedot.rules.routing import eligible
from onthedot.rules.start import skipped
from onthedot.triggers.stable_hash import spread_over

MAY_WAIT_AGAIN = frozenset({"failed", "timed_out", "handed_back"})
"""Endings after which a run may be tried again."""
_STATES = {state.value: state for state in State}


def may_record(run: Run, node_id: str, claim_no: int) -> bool:
    """Whether the node still owns the run under this claim number."""
    return run.state is State.RUNNING and run.owner == node_id and run.claim_no == claim_no


def settle(run: Run, schedule: ScheduleSummary | None, outcome: Outcome, now_ms: int) -> Run:
    """The run after its owner's report. The schedule is how its schedule stands, if it has one."""
    if outcome.ending == "handed_back":
        return _handed_back(run, schedule, outcome, now_ms)
    was_asked = run.cancel_requested_ms is not None and outcome.ending != "succeeded"
    reason = run.reason or outcome.reason if was_asked else outcome.reason  # its node does not know why it had to stop
    size = run.size if outcome.size is None else outcome.size  # a shard has it from the beginning
    told: dict[str, Any] = {"result": outcome.result, "size": size, "error": outcome.error, "reason": reason}
    if outcome.ending in ("failed", "timed_out") and may_retry(run, schedule, outcome):
        ended = replace(run, **told)
        after = outcome.retry_after_ms if outcome.retry_after_ms is not None else backoff_ms(run)
        kept = replace(ended, earlier=run.earlier_with(now_ms, outcome.ending, outcome.error))
        return _wait_again(kept, schedule, now_ms + after, now_ms)
    told |= {"state": _STATES[outcome.ending], "finished_ms": now_ms, "slot": None}
    return make(type(run), {**run.__dict__, **told})


def take_over(run: Run, schedule: ScheduleSummary | None, now_ms: int) -> Run:
    """The run after its owner was found dead: a crash, of which a run survives so many.

    It keeps the moment at which it was due, so that it comes before later runs of its schedule.
    """
    crashed = replace(run, crashes=run.crashes + 1)
    if crashed.crashes > run.policy.crash_retries and run.policy.delivery == "at_least_once":
        return _end(replace(crashed, error=f"its node died {crashed.crashes} times while it ran"), State.FAILED, now_ms)
    return _without_owner(crashed, schedule, "died", now_ms)


def adopted(run: Run, heir: Node) -> Run:
    """A run that is executed elsewhere, as another node's to watch: the attempt goes on, and nothing has crashed."""
    return replace(run, owner=heir.id, claim_no=run.claim_no + 1)


def heir_of(run: Run, nodes: Iterable[Node], now_ms: int) -> Node | None:
    """Who watches a run that is executed elsewhere when its node is gone: one that has its task and its engine."""
    able = eligible(nodes, run.task, run.policy.group, not_=run.owner)
    able = tuple(each for each in able if run.engine in engines(each) and not each.expired(now_ms))
    return able[spread_over(run.id, "heir", len(able))] if able else None


def given_back(run: Run, schedule: ScheduleSummary | None, now_ms: int) -> Run:
    """The run after its owner ended its own incarnation, with the run stopped or not begun: no crash."""
    return _without_owner(run, schedule, "stopped", now_ms)


def _without_owner(run: Run, schedule: ScheduleSummary | None, fate: str, now_ms: int) -> Run:
    if run.policy.delivery == "at_most_once":
        return _end(replace(run, reason=f"its node {fate}, and it may not be run twice"), State.LOST, now_ms)
    if schedule is not None and schedule.deleted:
        return _end(replace(run, reason=f"its node {fate}, and its schedule is deleted"), State.LOST, now_ms)
    kept = replace(run, earlier=run.earlier_with(now_ms, f"node_{fate}"))
    return _wait_again(kept, schedule, min(run.due_ms, now_ms), now_ms)


def _handed_back(run: Run, schedule: ScheduleSummary | None, outcome: Outcome, now_ms: int) -> Run:
    if outcome.entered and run.policy.delivery == "at_most_once":
        why = outcome.reason or "its node stopped"
        return _end(replace(run, reason=f"{why}, and it may not be run twice"), State.LOST, now_ms)
    if outcome.entered:
        given = replace(run, earlier=run.earlier_with(now_ms, "handed_back"))
        return _wait_again(given, schedule, run.due_ms, now_ms)
    waiting = _wait_again(replace(run, attempt=run.attempt - 1), schedule, run.due_ms, now_ms)
    may_expire = waiting.state is State.WAITING and waiting.never_begun and not waiting.exempt
    return bounded(waiting) if may_expire else waiting


def backoff_ms(run: Run) -> int:
    """How long to wait before the next attempt: doubled each time up to the longest, from half of it to all of it."""
    errors = max(run.attempt - run.crashes, 1)
    whole = min(run.policy.backoff_ms << min(errors - 1, 40), run.policy.max_backoff_ms)
    return whole - spread_over(run.id, f"backoff/{run.attempt}", whole // 2 + 1)


def may_retry(run: Run, schedule: ScheduleSummary | None, outcome: Outcome) -> bool:
    """Whether a run that went wrong so is tried again; of its schedule only matters whether it is deleted."""
    if outcome.final or (schedule is not None and schedule.deleted):
        return False
    return outcome.retry_after_ms is not None or run.attempt - run.crashes <= run.policy.retries


def _wait_again(run: Run, schedule: ScheduleSummary | None, due_ms: int, now_ms: int) -> Run:
    waiting = replace(
        run,
        state=State.WAITING,
        due_ms=due_ms,
        claim_no=run.claim_no + 1,
        owner=None,
        slot=None,
        waits_for=None,
        progress=None,
        remote=None,
    )
    if run.cancel_requested_ms is not None:
        return replace(waiting, state=State.CANCELLED, finished_ms=now_ms, reason=run.reason or "cancelled")
    if schedule is None or run.schedule_id is None:
        return waiting
    if schedule.deleted:
        return skipped(waiting, "deleted", now_ms)
    if holds_back(run, schedule):
        if run.never_begun:
            return skipped(waiting, "paused", now_ms)
        return replace(waiting, waits_for=for_resume(run.schedule_id))
    return waiting


def _end(run: Run, state: State, now_ms: int) -> Run:
    return replace(run, state=state, finished_ms=now_ms, slot=None)
