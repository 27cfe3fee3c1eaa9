"""Plain ticks in bulk: what the nodes of a world would make of them, without driving the nodes.

A tick is plain if it becomes one run, which begins at once on the node whose turn it is, ends well, and is followed by
nothing. Whether it is, the real rules say, once for each schedule; from then on only moments, ids, owners and counters
differ. The rest of this file is about when that holds for all that is due.

Nodes remember for a while what they did: when to renew, to read ahead, and which tasks were slow. All of it is worth
nothing after `forgotten_ms`. So plain ticks are left out of a node's life only where nothing else happens so soon
after them; the others are left to the nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from onthedot.execution.slowness import MINUTE_MS, SLOW_MS
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import make, replace
from onthedot.node.read_ahead import LOOK_AHEAD_MS
from onthedot.node.settings import NodeSettings
from onthedot.rules.ahead import Ahead, decided_ahead
from onthedot.rules.end import settle
from onthedot.rules.plan import Decider
from onthedot.rules.triggers import trigger_of
from onthedot.testing.virtual_store import NEVER
from onthedot.triggers.base import Trigger

SLOW_FOR_MS = 2 * MINUTE_MS
"""So long after its last slow run no task is taken to be slow any more."""


def forgotten_ms(settings: NodeSettings) -> int:
    """After how long nothing hangs any more on what a node did."""
    return max(SLOW_FOR_MS, LOOK_AHEAD_MS, settings.heartbeat_ms, settings.poll_ms) + 1


def is_lasting(schedule: Schedule) -> bool:
    """Whether what the rules say of one tick they say of each, as long as nobody changes the schedule."""
    policy = schedule.policy
    return (
        schedule.max_runs is None
        and not schedule.auto_remove
        and not (schedule.then or schedule.alerts or schedule.ping)
        and (schedule.origin == "api" or schedule.declared_seen_ms is None)
        and policy.route == "any"
        and policy.jitter_ms == 0
        and policy.pool is None
    )


@dataclass(slots=True)
class Course:
    """One schedule on its way through plain ticks."""

    schedule: Schedule
    """Its row as it was read, or last written."""
    takes_ms: int | None
    """How long its runs take; None where a function says so for each."""
    trigger: Trigger
    begun: Run
    """A run as it begins. Others differ in moments, id, owner and fence."""
    ended: Run
    runs: list[Run] = field(default_factory=list)
    """What was made of its ticks since the row was read, in their order, each as it ends."""
    next_ms: int | None = None
    """The tick after the last of them."""

    @property
    def ends_ms(self) -> int:
        """When its last run ends."""
        return (self.runs[-1].finished_ms or 0) if self.runs else 0

    def begun_at(self, moment_ms: int, run_id: str, owner: str) -> Run:
        """The run of this tick, as it begins."""
        return self._of(self.begun, moment_ms, run_id, owner)

    def add(self, moment_ms: int, run_id: str, owner: str, took_ms: int) -> None:
        """The run of this tick, as it ends."""
        run = self._of(self.ended, moment_ms, run_id, owner)
        run.__dict__["finished_ms"] = moment_ms + took_ms  # nobody has seen it yet
        self.runs.append(run)

    def _of(self, like: Run, moment_ms: int, run_id: str, owner: str) -> Run:
        """What `replace` gives, in half the time."""
        fields = like.__dict__.copy()
        fields["id"] = run_id
        fields["owner"] = owner
        fields["fence"] = self.schedule.fence + len(self.runs) + 1
        fields["scheduled_ms"] = fields["due_ms"] = fields["created_ms"] = fields["started_ms"] = moment_ms
        return make(Run, fields)

    def row(self) -> Schedule:
        """The schedule after all its runs."""
        before, count, last_ms = self.schedule, len(self.runs), self.runs[-1].scheduled_ms
        return replace(
            before,
            next_run_ms=self.next_ms,
            settled_ms=last_ms,
            last_run_ms=last_ms,
            last_enqueued_ms=last_ms,
            rescheduled=False,
            version=before.version + count,
            fence=before.fence + count,
            planned_runs=before.planned_runs + count,
        )

    def taken_out(self, now_ms: int) -> tuple[list[Run], Run | None]:
        """Those of its runs that have ended by now, and the one that has not, as it runs."""
        runs, self.runs = self.runs, []
        if not runs or (runs[-1].finished_ms or 0) <= now_ms:
            return runs, None
        last = runs.pop()
        return runs, replace(last, state=State.RUNNING, slot=self.begun.slot, finished_ms=None)


def courses_of(schedules: Sequence[tuple[Schedule, int | None]], node: Node) -> list[Course]:
    """Of those of these whose next tick the rules find plain on this node; each comes with how long its runs take."""
    takes = {schedule.id: takes_ms for schedule, takes_ms in schedules}
    ahead = decided_ahead([schedule for schedule, _ in schedules if not schedule.frozen], node, Decider(lambda: ""))
    return [_course(each, takes[each.schedule.id]) for each in ahead]


def _course(ahead: Ahead, takes_ms: int | None) -> Course:
    (begun,) = ahead.at(ahead.tick_ms, "").runs
    ended = settle(begun, None, Outcome(begun.id, begun.claim_no, "succeeded"), ahead.tick_ms)
    return Course(ahead.schedule, takes_ms, trigger_of(ahead.schedule), begun, ended)


class Moment(NamedTuple):
    """Plain ticks that are due together, in the order in which a node plans them, each with the one that follows."""

    at_ms: int
    due: list[tuple[Course, int | None]]


@dataclass(frozen=True, slots=True)
class Places:
    """How many runs a node can have at once, if none of them is slow, and if they are."""

    fast: int
    slow: int


class Foresight:
    """Which moments can be taken in bulk: until something else happens, found out before it does."""

    def __init__(
        self,
        courses: Iterable[Course],
        now_ms: int,
        *,
        horizon_ms: int,
        margin_ms: int,
        places: Places,
        ends_ms: Sequence[int] = (),
    ) -> None:
        self.horizon_ms = horizon_ms
        """From here on nothing is known."""
        self._margin_ms = margin_ms
        self._places = places
        self._coming = [(each.schedule.next_run_ms or 0, each.schedule.id, each) for each in courses]
        heapify(self._coming)
        self._ends = sorted(ends_ms)
        """Of all that runs, on whichever node."""
        self._slow_until_ms = max([now_ms, *ends_ms]) + SLOW_FOR_MS

    def moments(self) -> Iterator[Moment]:
        """Those after which nothing happens for a while but more of the like. `horizon_ms` may be lowered meanwhile."""
        ahead: deque[Moment] = deque()
        while self._coming and self._coming[0][0] < self.horizon_ms:
            at_ms = self._coming[0][0]
            while ahead and ahead[0].at_ms + self._margin_ms <= min(at_ms, self.horizon_ms):
                yield ahead.popleft()
            due = self._take(at_ms)
            if self._has_room(at_ms, len(due)):
                ahead.append(Moment(at_ms, due))
                self._begin(at_ms, due)
            else:
                self.horizon_ms = min(at_ms, self.horizon_ms)
        while ahead and ahead[0].at_ms + self._margin_ms <= self.horizon_ms:
            yield ahead.popleft()

    def _take(self, at_ms: int) -> list[tuple[Course, int | None]]:
        due: list[tuple[Course, int | None]] = []
        while self._coming and self._coming[0][0] == at_ms:
            _, schedule_id, course = self._coming[0]
            following_ms = course.trigger.next_ms(at_ms)
            if following_ms is None:
                heappop(self._coming)
            else:
                heapreplace(self._coming, (following_ms, schedule_id, course))
            due.append((course, following_ms))
        return due

    def _has_room(self, at_ms: int, count: int) -> bool:
        """Whether all can begin on one node, whichever the others are on, and leave room there."""
        while self._ends and self._ends[0] <= at_ms:
            heappop(self._ends)
        places = self._places.fast if at_ms >= self._slow_until_ms else min(self._places.fast, self._places.slow)
        return len(self._ends) + count < places

    def _begin(self, at_ms: int, due: Sequence[tuple[Course, int | None]]) -> None:
        """Note when these end. A run that outlasts its schedule's next tick makes that tick another matter.

        One of which only a function will say how long it takes lasts until the next tick, for all that is known.
        """
        for course, following_ms in due:
            next_ms = NEVER if following_ms is None else following_ms
            ends_ms = next_ms if course.takes_ms is None else at_ms + course.takes_ms
            if ends_ms > next_ms:
                self.horizon_ms = min(self.horizon_ms, next_ms)
            if course.takes_ms is None and next_ms < at_ms + self._margin_ms:
                self.horizon_ms = min(self.horizon_ms, at_ms)
            if ends_ms - at_ms > SLOW_MS:
                self._slow_until_ms = max(self._slow_until_ms, ends_ms + SLOW_FOR_MS)
            heappush(self._ends, ends_ms)
