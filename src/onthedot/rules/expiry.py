"""Until when a run is worth beginning: what waits longer is skipped, with its reason, whoever could have taken it."""

from __future__ import annotations

from typing import Literal

from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.values import replace

Late = Literal["expired", "dependency"]
DEFAULT_WITHIN_MS = 86_400_000


def waits_at_most_ms(policy: Policy) -> int:
    """How old the success that a run depends on may be, and how long it waits for one."""
    return DEFAULT_WITHIN_MS if policy.within_ms is None else policy.within_ms


def expires_at(run: Run) -> int | None:
    """From this moment on it is not begun any more; None where it is always worth it. What has begun never expires."""
    expires_ms = run.policy.expires_ms
    return None if expires_ms is None or not run.never_begun else run.due_ms + expires_ms


def is_gated(run: Run) -> bool:
    """Whether it may have to wait for the success of others. What an operator asked for waits for nobody, and what had
    begun once is not judged again."""
    return bool(run.policy.depends_on) and run.cause == "tick" and run.never_begun and not run.exempt


def gate_until_ms(run: Run) -> int:
    """Until then it waits for others."""
    return run.due_ms + waits_at_most_ms(run.policy) + 1


def until_ms_of(run: Run, *, gated: bool) -> int | None:
    """When somebody must look at it, if it still waits then."""
    moments = [expires_at(run), gate_until_ms(run) if gated else None]
    return min((each for each in moments if each is not None), default=None)


def bounded(run: Run) -> Run:
    """A new run, with the moment until which it waits."""
    if run.policy.expires_ms is None and not run.policy.depends_on:
        return run
    return replace(run, until_ms=until_ms_of(run, gated=is_gated(run)))


def why_late(run: Run, now_ms: int, *, unmet: bool) -> Late | None:
    """Why a run that waits is not begun any more; None where it may wait on: its moment has not come, or it was that of
    others, who have succeeded."""
    if run.until_ms is None or run.until_ms > now_ms:
        return None
    ends_ms = expires_at(run)
    if is_gated(run) and (ends_ms is None or ends_ms > now_ms):
        return "dependency" if unmet else None
    return "expired"
