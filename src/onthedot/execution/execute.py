"""One attempt, from the call to the outcome: errors in the task become values here."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable
from typing import Any

from onthedot.execution.context import Cancelled, Context, GiveUp, Retry, Skip, enter
from onthedot.execution.targets import Target
from onthedot.model.outcome import Outcome

MOST_BYTES = 65_536
"""What is kept of a result or an error."""


def execute(target: Target, context: Context) -> Outcome:
    """Call a plain function."""
    enter(context)
    try:
        result = target.call(context, context.run.args)
    except BaseException as error:  # SystemExit too: a task must not end the node
        return outcome_of(context, error)
    return _succeeded(context, result)


async def execute_async(target: Target, context: Context) -> Outcome:
    """Await an `async def` function, for no longer than its time-out."""
    enter(context)
    timeout_ms = context.run.policy.timeout_ms
    try:
        called = target.call(context, context.run.args)
        assert isinstance(called, Awaitable)
        result = await asyncio.wait_for(called, None if timeout_ms is None else timeout_ms / 1000)
    except TimeoutError as error:
        return _outcome(context, "timed_out", error=_shown(error) or f"it took longer than {timeout_ms} ms")
    except BaseException as error:
        return outcome_of(context, error)
    return _succeeded(context, result)


def outcome_of(context: Context, error: BaseException) -> Outcome:
    """What an exception means for the run."""
    match error:
        case Retry():
            return _outcome(context, "failed", error=str(error), retry_after_ms=error.after_ms)
        case GiveUp():
            return _outcome(context, "failed", error=str(error), final=True)
        case Skip():
            return _outcome(context, "skipped", reason=str(error))
        case Cancelled() | asyncio.CancelledError() if context.cancelled:
            return _outcome(context, "cancelled", reason=context.run.reason or "cancelled")
        case _:
            return _outcome(context, "failed", error=_shown(error))


def _succeeded(context: Context, result: Any) -> Outcome:
    try:
        size = len(json.dumps(result))
    except (TypeError, ValueError) as error:
        return _outcome(context, "failed", error=f"its result is no JSON value: {error}", final=True)
    if size > MOST_BYTES:
        return _outcome(
            context, "succeeded", reason=f"its result of {size:,} bytes was not kept: the most is {MOST_BYTES:,}"
        )
    return _outcome(context, "succeeded", result=result)


def _outcome(context: Context, ending: Any, **fields: Any) -> Outcome:
    return Outcome(context.run.id, context.run.claim_no, ending, **fields)


def _shown(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    return text[-MOST_BYTES:]
