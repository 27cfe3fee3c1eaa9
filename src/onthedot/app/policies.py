"""The policies that a task or schedule may have, and what each may say. The values themselves stay as written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from onthedot.app.alerting import alerts_problem, ping_problem
from onthedot.app.remedies import did_you_mean
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError
from onthedot.storable import label_problem

Check = Callable[[object], str | None]

_MOST_PLACES = 1000
"""Each place of a group is a row that is looked at before a run of it starts."""
_MOST = 2**31 - 1
"""What fits into a number of every database."""


def _duration(value: object) -> str | None:
    try:
        # a number lacks its unit, which is what the error of its text says
        to_duration_ms(value if isinstance(value, timedelta) else str(value))
    except DurationError as error:
        return str(error)
    return None


def _whole(least: int) -> Check:
    def check(value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"{value!r} is not a whole number"
        if value > _MOST:
            return f"it is more than {_MOST:,}"
        return f"{value} is less than {least}" if value < least else None

    return check


def _one_of(*words: str) -> Check:
    def check(value: object) -> str | None:
        if value in words:
            return None
        return f"{value!r} is not known; {did_you_mean(str(value), words)}"

    return check


def _yes_or_no(value: object) -> str | None:
    return None if isinstance(value, bool) else f"{value!r} is neither true nor false"


def _texts(value: object) -> str | None:
    items = value if isinstance(value, list) else [value]
    return next((problem for item in items if (problem := label_problem(item))), None)


def _limit(value: object) -> str | None:
    problem = label_problem(value)
    if problem is not None:
        return problem
    name, _, most = str(value).rpartition(":")
    if name and most.isdecimal() and 0 < int(most) <= _MOST_PLACES:
        return None
    if name and most.isdecimal() and int(most) > _MOST_PLACES:
        return (
            f"a group has at most {_MOST_PLACES:,} places, not {most}; leave limit= out where so many may run at once"
        )
    return f"{value!r} is not a group and how many of it may run at once; write it like 'mail:5'"


POLICIES: dict[str, Check] = {
    "misfire": _one_of("fire_once", "skip", "catch_up"),
    "grace": _duration,
    "catch_up_window": _duration,
    "max_catch_up": _whole(1),
    "overlap": _one_of("serial", "discard", "cover", "concurrent"),
    "max_waiting": _whole(0),
    "max_concurrent_runs": _whole(1),
    "limit": _limit,
    "group": label_problem,
    "route": _one_of(
        "any", "first", "last", "round", "random", "lfu", "lru", "hash", "failover", "busyover", "broadcast"
    ),
    "pool": _one_of("fast", "slow", "process"),
    "retries": _whole(0),
    "crash_retries": _whole(0),
    "backoff": _duration,
    "max_backoff": _duration,
    "timeout": _duration,
    "expires": _duration,
    "delivery": _one_of("at_least_once", "at_most_once"),
    "depends_on": _texts,
    "within": _duration,
    "tags": _texts,
    "mode": _one_of("durable", "local"),
    "priority": _whole(-_MOST),
    "jitter": _duration,
    "max_runs": _whole(1),
    "auto_remove": _yes_or_no,
    "enabled": _yes_or_no,
    "then": _texts,
    "on_failure": _texts,
    "alerts": alerts_problem,
    "ping": ping_problem,
}
