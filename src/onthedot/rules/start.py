"""Which waiting runs of a schedule start now, judged under its lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.overlap import asked_to_stop, holds_back, room_for


def _always(run: Run) -> bool:
    return True


DEFAULT_WITHIN_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What else a start rests on."""

    now_ms: int
    node_id: str
    candidates: frozenset[str]
    """The runs that may start here."""
    met: bool = True
    """Whether what the schedule depends on has succeeded in time."""
    admits: Callable[[Run], bool] = _always
    """Takes a place of the run's group, if one is left."""


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


def blocked(run: Run) -> Run:
    """The run as it waits behind others, out of the way of those that can start."""
    return run if run.blocked else replace(run, blocked=True)


def skipped(run: Run, reason: str, now_ms: int) -> Run:
    """The run, ended without having been done."""
    return replace(run, state=State.SKIPPED, reason=reason, finished_ms=now_ms, owner=None, slot=None, blocked=False)


def judge(schedule: Schedule, live: Sequence[Run], facts: Facts, *, free: int) -> Starts:
    """Start the oldest due runs that there is room for, at most `free`; only candidates may start here.

    A run that is not a candidate (another node's task, or no worker left) keeps its place: what is younger and needs
    the same room does not overtake it.
    """
    judging = _Judging(schedule, list(live), facts, free)
    waiting = sorted((run for run in live if run.state is State.WAITING), key=lambda run: (run.due_ms, run.id))
    for run in waiting:
        if run.due_ms > facts.now_ms:
            continue
        reason = _must_skip(run, schedule, waiting, facts)
        if reason is not None:
            judging.ended.append(skipped(run, reason, facts.now_ms))
        elif holds_back(run, schedule) or _waits_for_others(run, facts):
            judging.block(run)
        elif run.is_shard:  # its parent holds the slot
            judging.start(run, None)
        elif not judging.place(run):
            break
    return judging.starts()


@dataclass(slots=True)
class _Judging:
    """The judgement on one schedule, as it grows."""

    schedule: Schedule
    live: list[Run]
    facts: Facts
    free: int
    begun: list[Run] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    changed: dict[str, Run] = field(default_factory=dict)

    def place(self, run: Run) -> bool:
        """Start the run if there is room; whether younger ones may have what room there is."""
        room = room_for(self.schedule, [each for each in self.live if each.state is State.RUNNING] + self.begun)
        if room.free:
            return self.start(run, room.slot)
        if _gives_way(run, self.schedule):
            self.ended.append(skipped(run, "overlap", self.facts.now_ms))
            return True
        if self.schedule.policy.overlap == "cover":
            asked = {each.id: each for each in asked_to_stop(self.live, self.facts.now_ms)}
            self.changed |= asked
            self.live = [asked.get(each.id, each) for each in self.live]
        self.block(run)
        return True

    def start(self, run: Run, slot: str | None) -> bool:
        """Start the run if it may start here and now; else it keeps its place before what needs the same slot."""
        if run.id not in self.facts.candidates or len(self.begun) >= self.free:
            if run.blocked:
                self.changed[run.id] = replace(run, blocked=False)
            return slot is None
        if not self.facts.admits(run):
            self.block(run)
            return True
        self.schedule = replace(self.schedule, fence=self.schedule.fence + 1, last_run_ms=self.facts.now_ms)
        fence = self.schedule.fence
        self.begun.append(started(run, self.facts.node_id, self.facts.now_ms, fence=fence, slot=slot))
        return True

    def block(self, run: Run) -> None:
        if not run.blocked:
            self.changed[run.id] = replace(run, blocked=True)

    def starts(self) -> Starts:
        touched = self.begun or self.ended or self.changed
        schedule = replace(self.schedule, version=self.schedule.version + 1) if touched else None
        return Starts(schedule, tuple(self.begun), tuple(self.ended), tuple(self.changed.values()))


def _must_skip(run: Run, schedule: Schedule, waiting: Sequence[Run], facts: Facts) -> str | None:
    if schedule.deleted:
        return "deleted"
    if not (run.cause == "tick" and run.never_begun and not run.exempt):
        return None
    if not schedule.enabled:
        return "paused"
    if run.is_shard:
        return None
    now_ms = facts.now_ms
    if _waits_for_others(run, facts) and now_ms > run.due_ms + waits_at_most_ms(run.policy):
        return "dependency"
    if not any(_replaces(other, run) and other.due_ms <= now_ms for other in waiting):
        return None
    if schedule.policy.overlap == "cover":
        return "covered"
    late = now_ms > run.due_ms + run.policy.grace_ms
    return "misfire" if late and run.policy.misfire != "catch_up" else None


def _replaces(newer: Run, run: Run) -> bool:
    return newer.cause == "tick" and not newer.is_shard and newer.scheduled_ms > run.scheduled_ms


def waits_at_most_ms(policy: Policy) -> int:
    """How old the success that a run depends on may be, and how long it waits for one."""
    return DEFAULT_WITHIN_MS if policy.within_ms is None else policy.within_ms


def _waits_for_others(run: Run, facts: Facts) -> bool:
    """Whether it depends on a success that has not come; what an operator asked for waits for nobody."""
    return bool(run.policy.depends_on) and not facts.met and run.cause == "tick" and not (run.exempt or run.is_shard)


def _gives_way(run: Run, schedule: Schedule) -> bool:
    """Whether a run that finds no room is not done at all; what has begun, or was asked for by hand, waits instead."""
    return schedule.policy.overlap == "discard" and run.cause == "tick" and run.never_begun and not run.exempt
