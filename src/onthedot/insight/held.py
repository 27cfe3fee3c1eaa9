"""Why the coming ticks of schedules make no run, or none that begins, as things stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from onthedot.insight.status import Unable, alive_of
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.moments import iso
from onthedot.rules import routing
from onthedot.rules.freezing import Open
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

Need = tuple[str, str | None]
"""The task, and the group of nodes."""


def why_held(schedule: Schedule, nodes: Sequence[Node], now_ms: int) -> str | None:
    """A sentence's end: what holds it, and what becomes of its ticks; None where they run."""
    if schedule.error is not None:
        return "it is parked: it cannot be planned, and its ticks are left out"
    if not schedule.enabled:
        return "it is paused: its ticks are left out"
    window = schedule.frozen_at(now_ms)
    if window is not None:
        return f"it is frozen by {window.freeze} until {iso(window.end_ms)}: its ticks are left out"
    if schedule.is_undeclared(now_ms):
        return "no live node declares it any more: its ticks are left out"
    alive = alive_of(nodes, now_ms)
    nobody = routing.why_nobody(alive, schedule.task, schedule.policy.group)
    if nobody is None:
        return None
    return f"{nobody}: its runs wait for one" if alive else f"{nobody}: nothing is planned until one is"


def coming_ticks(schedule: Schedule, now_ms: int) -> Iterator[int]:
    """The moments at which it would run from now on, as many as it may still have. What has gone by while it was held
    is over; what is only late is not; what a freeze leaves out is none. `TriggerError` where its trigger cannot be
    read."""
    trigger: Trigger = decode(schedule.trigger)
    tick = schedule.next_run_ms
    if schedule.frozen:
        trigger = Open(trigger, schedule.frozen)
        tick = trigger.next_ms(tick) if tick is not None and schedule.frozen_at(tick) else tick
    if tick is not None and tick <= now_ms and (not schedule.plannable or schedule.is_undeclared(now_ms)):
        tick = trigger.next_ms(now_ms)
    left = None if schedule.max_runs is None else max(schedule.max_runs - schedule.planned_runs, 0)
    return islice(_from(trigger, tick), left)


def _from(trigger: Trigger, tick: int | None) -> Iterator[int]:
    while tick is not None:
        yield tick
        tick = trigger.next_ms(tick)


def unable_of(needs: Mapping[Need, Sequence[str]], nodes: Sequence[Node], now_ms: int) -> list[Unable]:
    """Those of these names, by what they need, whose runs would wait for a node; together where the reason is the
    same."""
    alive = alive_of(nodes, now_ms)
    found: dict[str, list[str]] = {}
    for (task, group), names in needs.items():
        reason = routing.why_nobody(alive, task, group)
        if reason is not None:
            found.setdefault(reason, []).extend(names)
    return [Unable(tuple(sorted(names)), len(names), reason) for reason, names in found.items()]
