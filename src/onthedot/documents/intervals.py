"""When a recurring document is due again: pure functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from onthedot.documents.jobs import Job, as_utc
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, MomentError, TriggerError
from onthedot.moments import floor_ms, from_ms
from onthedot.triggers import Trigger, cron, every
from onthedot.triggers.every import Every


def trigger_of(job: Job) -> Trigger | None:
    """When the job repeats, until its end; None: it does not.

    A duration counts from the document's own moment, so each stays on its own lattice; `H` in a cron text goes by
    its id. What cannot be read is a TriggerError or a MomentError.
    """
    if job.interval is None or job.interval == "":
        return None
    trigger = _read(job.interval)
    if isinstance(trigger, Every):
        return replace(trigger, anchor_ms=floor_ms(job.sleep_until))
    return trigger.with_key(str(job.id))


def next_due(trigger: Trigger, job: Job, ended_at: datetime, rest_ms: int) -> datetime | None:
    """The first tick after the work has ended, and no sooner than `rest_ms` after it; None: it will not be due again.

    Ticks that have passed by then are not made up for: the work that has just ended stands for them.
    """
    ended_ms = floor_ms(ended_at)
    tick_ms = trigger.next_ms(max(ended_ms, floor_ms(job.sleep_until), ended_ms + rest_ms - 1))
    if tick_ms is None:
        return None
    tick = from_ms(tick_ms)
    return None if job.repeat_until is not None and tick > as_utc(job.repeat_until) else tick


def check(job: Job) -> Trigger | None:
    """The job's trigger, after everything that the next moment depends on was read once."""
    if job.unreadable is not None:
        raise MomentError(job.unreadable)
    if job.repeat_until is not None:
        as_utc(job.repeat_until)
    return trigger_of(job)


def _read(interval: Any) -> Trigger:
    if isinstance(interval, timedelta):
        return every(interval)
    if not isinstance(interval, str):
        raise TriggerError(f"an interval is a cron text or a duration, not {interval!r}", hint=_EXAMPLES)
    return _read_text(interval)


_EXAMPLES = 'write it like "0 9 * * mon-fri" or "15m"'


@lru_cache(maxsize=4096)
def _read_text(text: str) -> Trigger:
    try:
        to_duration_ms(text)
    except DurationError:
        if len(text.split()) < 5 and not text.lstrip().startswith(("@", "CRON_TZ=", "TZ=")):
            raise TriggerError(f"{text!r} is neither a cron text nor a duration", hint=_EXAMPLES) from None
        return cron(text)
    return every(text)
