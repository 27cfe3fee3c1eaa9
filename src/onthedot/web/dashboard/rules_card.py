"""The rules of a schedule for people: what holds, and which of it was said for this schedule itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onthedot.model.policy import DEFAULT
from onthedot.model.schedule import Schedule
from onthedot.web.dashboard.moments import duration


class Rule(NamedTuple):
    """One line; bold where it was set here."""

    name: str
    value: str
    is_set: bool = False


def rules_of(schedule: Schedule) -> list[Rule]:
    """Those that say something; the rarer ones only where they differ from the default."""
    return [*_common(schedule), *_rare(schedule)]


def _common(schedule: Schedule) -> Iterator[Rule]:
    policy, given = schedule.policy, set(schedule.given)
    yield Rule("overlap", policy.overlap, "overlap" in given)
    grace = f"{policy.misfire.replace('_', ' ')}, grace {duration(policy.grace_ms)}"
    yield Rule("misfire", grace, bool(given & {"misfire", "grace"}))
    retries = f"{policy.retries}, from {duration(policy.backoff_ms)}" if policy.retries else "none"
    yield Rule("retries", retries, bool(given & {"retries", "backoff"}))
    yield Rule("timeout", "none" if policy.timeout_ms is None else duration(policy.timeout_ms), "timeout" in given)
    where = f"{policy.route} · {policy.group or 'all nodes'}"
    yield Rule("route · group", where, bool(given & {"route", "group"}))
    yield Rule("delivery", policy.delivery.replace("_", " "), "delivery" in given)


def _rare(schedule: Schedule) -> Iterator[Rule]:
    policy, given = schedule.policy, set(schedule.given)
    if policy.depends_on:
        within = "" if policy.within_ms is None else f" within {duration(policy.within_ms)}"
        yield Rule("waits for", ", ".join(policy.depends_on) + within, is_set=True)
    for name in ("max_concurrent_runs", "limit", "pool", "priority"):
        if getattr(policy, name) != getattr(DEFAULT, name):
            yield Rule(name.replace("_", " "), str(getattr(policy, name)), name in given)
    if policy.jitter_ms:
        yield Rule("jitter", duration(policy.jitter_ms), "jitter" in given)
    if schedule.max_runs is not None:
        yield Rule("runs", f"{schedule.planned_runs:,} of {schedule.max_runs:,}", is_set=True)
    for name, tasks in (("then", schedule.then), ("on failure", schedule.on_failure)):
        if tasks:
            yield Rule(name, ", ".join(tasks), is_set=True)
    if schedule.mode == "local":
        yield Rule("mode", "local: on every node", is_set=True)
