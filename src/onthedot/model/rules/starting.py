"""Which waiting runs of a schedule start now, judged under its lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.model.rules.overlap import holds_back, room_for
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace


@dataclass(frozen=True, slots=True)
class Starts:
    """What becomes of a schedule's waiting runs: each appears at most once."""

    schedule: Schedule | None
    started: tuple[Run, ...] = ()
    skipped: tuple[Run, ...] = ()
    changed: tuple[Run, ...] = ()
    """Runs that go on waiting, but blocked or no longer so."""


def started(run: Run, node_id: str, now_ms: int, *, fence: int = 0, slot: str | None = None) -> Run:
    """The run as the node's own, from this moment on."""
    return replace(
        run,
        state=State.RUNNING,
        owner=node_id,
        claim_no=run.claim_no + 1,
        attempt=run.attempt + 1,
        fence=fence,
        slot=slot,
        blocked=False,
        started_ms=now_ms,
    )


def skipped(run: Run, reason: str, now_ms: int) -> Run:
    """The run, ended without having been done."""
    return replace(run, state=State.SKIPPED, reason=reason, finished_ms=now_ms, owner=None, slot=None, blocked=False)


def judge(
    schedule: Schedule, live: Sequence[Run], candidates: frozenset[str], *, node_id: str, now_ms: int, free: int
) -> Starts:
    """Start the oldest due runs that there is room for, at most `free`; only candidates may start here.

    A run that is not a candidate (another node's task, or no worker left) keeps its place: what is younger and needs
    the same room does not overtake it.
    """
    running = [run for run in live if run.state is State.RUNNING]
    waiting = sorted((run for run in live if run.state is State.WAITING), key=lambda run: (run.due_ms, run.id))
    begun: list[Run] = []
    ended: list[Run] = []
    changed: list[Run] = []
    for run in waiting:
        if run.due_ms > now_ms:
            continue
        reason = _must_skip(run, schedule, waiting, now_ms)
        if reason is not None:
            ended.append(skipped(run, reason, now_ms))
            continue
        if holds_back(run, schedule):
            changed += [] if run.blocked else [replace(run, blocked=True)]
            continue
        room = room_for(schedule, [*running, *begun])
        if not room.free and _gives_way(run, schedule):
            ended.append(skipped(run, "overlap", now_ms))
        elif not room.free:
            changed += [] if run.blocked else [replace(run, blocked=True)]
        elif run.id in candidates and len(begun) < free:
            schedule = replace(schedule, fence=schedule.fence + 1, last_run_ms=now_ms)
            begun.append(started(run, node_id, now_ms, fence=schedule.fence, slot=room.slot))
        else:
            changed += [replace(run, blocked=False)] if run.blocked else []
            if room.slot is not None:
                break
    touched = bool(begun or ended or changed)
    return Starts(
        replace(schedule, version=schedule.version + 1) if touched else None, tuple(begun), tuple(ended), tuple(changed)
    )


def _must_skip(run: Run, schedule: Schedule, waiting: Sequence[Run], now_ms: int) -> str | None:
    if schedule.deleted:
        return "deleted"
    if not (run.cause == "tick" and run.never_begun and not run.exempt):
        return None
    if not schedule.enabled:
        return "paused"
    late = now_ms > run.due_ms + run.policy.grace_ms
    newer = any(
        other.cause == "tick" and other.scheduled_ms > run.scheduled_ms and other.due_ms <= now_ms for other in waiting
    )
    return "misfire" if late and newer and run.policy.misfire != "catch_up" else None


def _gives_way(run: Run, schedule: Schedule) -> bool:
    """Whether a run that finds no room is not done at all; what has begun, or was asked for by hand, waits instead."""
    return schedule.policy.overlap == "discard" and run.cause == "tick" and run.never_begun and not run.exempt
