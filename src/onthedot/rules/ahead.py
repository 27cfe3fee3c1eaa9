"""Ticks that are decided before their moment: what will be decided then, if nothing changes until then.

The decision is that of `rules.plan`, asked early. It is kept only where it is plain: one run, which this node begins at
once, and nothing else. At the moment itself the store has only to see that the schedule is still of the same version,
and that nothing of it is live: whatever changes either raises the version. All other ticks are decided when due.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import UNDECLARED_AFTER_MS, Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.rules.routing import is_routed
from onthedot.rules.triggers import trigger_of


@dataclass(frozen=True, slots=True)
class Ahead:
    """What becomes of a schedule's next tick. There are thousands of them, and new ones each second: a few fields."""

    schedule: Schedule
    """As it was read: void as soon as it has another version."""
    run: Run
    """Its run, but for its id, its fence and its moments; the same value for all ticks of a schedule, mostly."""
    tick_ms: int
    next_run_ms: int | None
    """The tick after it."""
    until_ms: int
    """From this moment on the decision would be another: it is late by then, or expired, or the schedule is frozen. Not
    where the next tick is due, too: that is decided after this one, as it would have been in time."""

    @property
    def priority(self) -> int:
        """Of the run."""
        return self.schedule.policy.priority

    def holds_at(self, now_ms: int) -> bool:
        """Whether the decision is that of this moment, too."""
        return self.tick_ms <= now_ms < self.until_ms

    def at(self, now_ms: int, run_id: str) -> Effects:
        """What is decided at this moment."""
        moved = _moved_on(self.schedule, self.next_run_ms, now_ms)
        run = replace(
            self.run,
            id=run_id,
            scheduled_ms=self.tick_ms,
            due_ms=self.tick_ms,
            fence=moved.fence,
            created_ms=now_ms,
            started_ms=now_ms,
        )
        return Effects(moved, (run,))


class AtOnce(NamedTuple):
    """What a store says that checks and writes in one step what was decided ahead."""

    now_ms: int | None
    """Its time; None where the node is dead."""
    begun: frozenset[str]
    """The schedules whose ticks have become runs."""
    more: bool
    """Some schedule is due all the same."""


def decided_ahead(schedules: Iterable[Schedule], node: Node, decide: Decide) -> list[Ahead]:
    """What becomes of the next ticks of these, where that can be told, and is no more than a run that begins here."""
    found: list[Ahead] = []
    for tick_ms, together in _by_moment(schedules).items():
        rows = [Before(each.name, each, ()) for each in together]
        all_effects = decide(rows, Situation(tick_ms, node, len(rows), (node,)))
        for schedule, effects in zip(together, all_effects, strict=True):
            if _is_plain(schedule, effects, node):
                assert effects.schedule is not None
                following_ms = effects.schedule.next_run_ms
                until_ms = _until_ms(schedule, following_ms, tick_ms)
                found.append(Ahead(schedule, effects.runs[0], tick_ms, following_ms, until_ms))
    return found


def decided_again(ahead: Ahead, moved: Schedule) -> Ahead | None:
    """What becomes of the tick after, once this one has become a run and left its schedule so: for the same node. None
    where it may be something else than the same again; then it is decided."""
    tick_ms = moved.next_run_ms
    if tick_ms is None or not _goes_on_alike(ahead) or moved.is_undeclared(tick_ms):
        return None
    following_ms = trigger_of(moved).next_ms(tick_ms)
    if following_ms is None:  # the schedule may have to go with its last tick
        return None
    return Ahead(moved, ahead.run, tick_ms, following_ms, _until_ms(moved, following_ms, tick_ms))


def _goes_on_alike(ahead: Ahead) -> bool:
    """Whether neither the number of the tick nor its moment matters to the decision."""
    schedule, policy = ahead.schedule, ahead.schedule.policy
    if schedule.max_runs is not None or schedule.frozen or policy.jitter_ms or policy.expires_ms is not None:
        return False
    return ahead.run.until_ms is None and not is_routed(ahead.run)


def _by_moment(schedules: Iterable[Schedule]) -> dict[int, list[Schedule]]:
    """Those that may be decided at all, by their next ticks."""
    found: dict[int, list[Schedule]] = {}
    for each in schedules:
        if each.next_run_ms is not None and each.plannable and not each.plan_attempts:
            found.setdefault(each.next_run_ms, []).append(each)
    return found


def _is_plain(schedule: Schedule, effects: Effects, node: Node) -> bool:
    """Whether a store may write it without being told more than moments, an id and a slot."""
    if effects.schedule is None or len(effects.runs) != 1:
        return False
    (run,) = effects.runs
    if effects.stopping or effects.ended or effects.keys or effects.decisions or run.owner != node.id:
        return False
    assert schedule.next_run_ms is not None
    plainly = _moved_on(schedule, effects.schedule.next_run_ms, schedule.next_run_ms)
    return _begins_plainly(run, schedule) and effects.schedule == plainly


def _begins_plainly(run: Run, schedule: Schedule) -> bool:
    """It is what its schedule says, and runs under its first claim."""
    moment_ms = schedule.next_run_ms
    return (
        run.state is State.RUNNING
        and run.claim_no == 1
        and run.scheduled_ms == run.due_ms == moment_ms
        and run.policy == schedule.policy
        and _unlike_a_plain_run(run) == _NOTHING
    )


_unlike_a_plain_run = attrgetter("key", "target", "parent_id", "waits_for", "reason", "trace")
_NOTHING = (None,) * 6


def _moved_on(schedule: Schedule, next_run_ms: int | None, now_ms: int) -> Schedule:
    """The schedule after one more tick, and nothing else."""
    return replace(
        schedule,
        next_run_ms=next_run_ms,
        rescheduled=False,
        settled_ms=now_ms if next_run_ms is None else min(now_ms, next_run_ms - 1),
        last_run_ms=now_ms,
        last_enqueued_ms=now_ms,
        version=schedule.version + 1,
        fence=schedule.fence + 1,
        planned_runs=schedule.planned_runs + 1,
    )


def _until_ms(schedule: Schedule, following: int | None, tick_ms: int) -> int:
    moments = [tick_ms + schedule.policy.grace_ms + 1]
    if following is None and schedule.max_runs is not None:  # a tick after its last run is one that is left out
        beyond = trigger_of(schedule).next_ms(tick_ms)
        moments += [] if beyond is None else [beyond]
    if schedule.policy.expires_ms is not None:
        moments.append(tick_ms + schedule.policy.expires_ms)
    if schedule.declared_seen_ms is not None:
        moments.append(schedule.declared_seen_ms + UNDECLARED_AFTER_MS + 1)
    moments += [each.start_ms for each in schedule.frozen if each.start_ms > tick_ms]
    return min(moments)
