"""One attempt, from the call to the outcome: errors in the task become values here."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

from onthedot import storable
from onthedot.execution.context import Cancelled, Context, GiveUp, Retry, Skip, TimedOut, WorkFailed, enter, leave
from onthedot.execution.deadlines import Deadline
from onthedot.execution.results import NotAsExpected, kept
from onthedot.execution.targets import Target
from onthedot.model.outcome import Outcome


def execute(target: Target, context: Context) -> Outcome:
    """Call a plain function."""
    enter(context)
    try:
        result = target.call(context, context.run.args)
    except BaseException as error:  # SystemExit too: a task must not end the node
        return outcome_of(context, error)
    finally:
        leave(context)
    return succeeded(context, result)


def execute_until(target: Target, context: Context, deadline: Deadline) -> Outcome:
    """Call a plain function, in which its time-out or a cancellation may be raised anywhere between begin and leave."""
    enter(context)
    result, error, ended = None, None, False
    try:
        try:
            deadline.begin()
            result = target.call(context, context.run.args)
            ended = True
        except BaseException as raised:
            error = raised
        deadline.leave()
    except (TimedOut, Cancelled) as raised:  # it came when the call was just over
        deadline.leave()
        error = error if ended or error is not None else raised
    leave(context)
    return succeeded(context, result) if error is None else outcome_of(context, error)


async def execute_async(target: Target, context: Context) -> Outcome:
    """Await an `async def` function, for no longer than its time-out."""
    enter(context)
    timeout_ms = context.run.policy.timeout_ms
    limit = None if timeout_ms is None else asyncio.timeout(timeout_ms / 1000)
    try:
        if limit is None:
            result = await target.call(context, context.run.args)
        else:
            async with limit:
                result = await target.call(context, context.run.args)
    except BaseException as error:
        if limit is not None and limit.expired():
            context.time_out()
            return outcome_of(context, error, expired=True)
        return outcome_of(context, error)
    finally:
        leave(context)
    return succeeded(context, result)


def stuck(context: Context, place: str) -> Outcome:
    """The outcome of a task that went on after its time-out or its cancellation, and could not be stopped."""
    said = f"could not be stopped: its thread is still at {place}"
    if not context.timed_out:
        return _outcome(context, "cancelled", error=f"it {said}", reason=context.run.reason or "cancelled")
    return _outcome(context, "timed_out", error=f"it took longer than its time-out and {said}")


def stuck_on_loop(context: Context, place: str | None) -> Outcome:
    """The outcome of an `async def` task that went on after its time-out, or after it was asked to stop."""
    how = "it did not end when it was cancelled" if place is None else f"its event loop is still at {place}"
    if context.cancelled and not context.timed_out:
        return _outcome(context, "cancelled", error=how, reason=context.run.reason or "cancelled")
    return _outcome(context, "timed_out", error=f"it took longer than its time-out and could not be stopped: {how}")


def rolled_back(context: Context, outcome: Outcome) -> Outcome:
    """The outcome of a task that ended its run in a transaction that was not committed."""
    if outcome.ending != "succeeded":
        return outcome
    return _outcome(context, "failed", error="ctx.complete() was called, but its transaction was not committed")


def outcome_of(context: Context, error: BaseException, *, expired: bool = False) -> Outcome:
    """What an exception means for the run, whatever the exception's own methods do; `expired`: a time-out raised it."""
    try:
        return _meaning(context, error) if not expired else _outcome(context, "timed_out", error=_trace(error))
    except BaseException as also:
        said = f"it raised a {type(error).__name__} that cannot be shown: {type(also).__name__}"
        return _outcome(context, "timed_out" if expired else "failed", error=storable.end(said))


def _meaning(context: Context, error: BaseException) -> Outcome:
    match error:
        case Retry():
            return _outcome(context, "failed", error=_text(error), retry_after_ms=error.after_ms)
        case GiveUp():
            return _outcome(context, "failed", error=_text(error), final=True)
        case Skip():
            return _outcome(context, "skipped", reason=storable.beginning(storable.shown(error)))
        case TimedOut() if context.timed_out:
            return _outcome(context, "timed_out", error=_trace(error))
        case WorkFailed() if context.timed_out:
            return _outcome(context, "timed_out", error=_text(error), result=_kept(error.result))
        case WorkFailed() if context.cancelled:
            reason = context.run.reason or "cancelled"
            return _outcome(context, "cancelled", error=_text(error), result=_kept(error.result), reason=reason)
        case WorkFailed():
            return _outcome(context, "failed", error=_text(error), result=_kept(error.result))
        case Cancelled() | asyncio.CancelledError() if context.cancelled:
            return _outcome(context, "cancelled", reason=context.run.reason or "cancelled")
        case _:
            return _outcome(context, "failed", error=_trace(error))


def succeeded(context: Context, result: Any) -> Outcome:
    """The outcome of a run that returned this, if it can be kept."""
    try:
        value, size, dropped = kept(result, context.expected)
    except NotAsExpected as error:
        return _outcome(context, "failed", error=f"{error}", final=True)
    except storable.NotStorable as error:
        said = f"its result is no JSON value: {error}"
        return _outcome(context, "failed", error=storable.beginning(said), final=True)
    late = "it went on after its time-out, and came to its end" if context.timed_out else None
    return _outcome(context, "succeeded", result=value, size=size, reason=dropped or late)


def _outcome(context: Context, ending: Any, **fields: Any) -> Outcome:
    return Outcome(context.run.id, context.run.claim_no, ending, flow=context.flow, **fields)


def _kept(result: Any) -> Any:
    """What came of work that failed all the same, if it can be kept."""
    try:
        return storable.plain(result)
    except storable.NotStorable:
        return None


def _text(error: BaseException) -> str:
    return storable.end(storable.shown(error))


def _trace(error: BaseException) -> str:
    return storable.end("".join(traceback.format_exception(error)))
