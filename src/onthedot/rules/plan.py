"""Which ticks become runs: a pure function of rows, facts and the store's time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from onthedot.errors import OnthedotError, TriggerTooNew
from onthedot.model.decision import Decision, Reason
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import routing
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.misfire import Selection, select
from onthedot.rules.overlap import asked_to_stop, gives_way_to, room_for
from onthedot.rules.spans import span
from onthedot.rules.start import skipped, started
from onthedot.rules.triggers import trigger_of
from onthedot.triggers.base import Trigger
from onthedot.triggers.replan import due_ms

_BLANK = Run("", "", "tick", 0, 0)
"""Runs are made from it: setting the fields that differ costs a sixth of making all of them."""


class Route(Protocol):
    """Chooses the node of a run; None for whoever is free."""

    def __call__(
        self, run: Run, turn: int, nodes: Sequence[Node], now_ms: int, *, busy: Mapping[str, int]
    ) -> str | None: ...


def _by_row(run: Run, turn: int, nodes: Sequence[Node], now_ms: int, *, busy: Mapping[str, int]) -> str | None:
    """A route that remembers nothing."""
    able = routing.eligible(nodes, run.task, run.policy.group)
    return routing.choose(routing.Question(run, turn, able, now_ms, routing.Known(busy)))


class Room(Protocol):
    """What can begin on the planning node."""

    def take(self, run: Run) -> bool:
        """Whether the run can; if so, its place is taken."""


class _AnyRoom:
    """Room for whatever comes: only the free workers count."""

    def take(self, run: Run) -> bool:
        return True


class _Place:
    """The planning node, and what it can still take in this pass."""

    def __init__(self, situation: Situation, route: Route, room: Room) -> None:
        self.node_id = situation.node.id
        self._situation = situation
        self._route = route
        self._room = room
        self._free = situation.free_workers

    def target_of(self, run: Run, turn: int) -> str | None:
        situation = self._situation
        return self._route(run, turn, situation.nodes, situation.now_ms, busy=situation.busy)

    def take(self, run: Run) -> bool:
        """Whether the run begins here at once; what is judged at the start (limits, dependencies) waits for that."""
        policy = run.policy
        if self._free <= 0 or policy.limit is not None or policy.depends_on or policy.route == "broadcast":
            return False
        node = self._situation.node
        if run.target not in (None, node.id) or not routing.takes(node, run.task, policy.group):
            return False
        if not self._room.take(run):
            return False
        self._free -= 1
        return True


def _urgency(rows: Sequence[Before]) -> Callable[[int], int]:
    """Of the row with this number; the least first, and equals as they come."""
    return lambda each: 0 if (schedule := rows[each].schedule) is None else -schedule.policy.priority


class Decider:
    """Decides a batch. Ids and room come from outside, so that the decision itself rests only on its arguments."""

    def __init__(
        self, make_id: Callable[[], str], route: Route = _by_row, make_room: Callable[[], Room] = _AnyRoom
    ) -> None:
        self._make_id = make_id
        self._route = route
        self._make_room = make_room

    def __call__(self, rows: Sequence[Before], situation: Situation) -> list[Effects]:
        """One bad row stops nothing else: it is parked, with its error.

        Where not all can begin at once, those of higher priority do; what then waits starts by its precedence.
        """
        place = _Place(situation, self._route, self._make_room())
        order = (
            range(len(rows)) if situation.free_workers >= len(rows) else sorted(range(len(rows)), key=_urgency(rows))
        )
        decided = {each: self._decide_or_park(rows[each], situation.now_ms, place) for each in order}
        return [decided[each] for each in range(len(rows))]

    def _decide_or_park(self, row: Before, now_ms: int, place: _Place) -> Effects:
        schedule = row.schedule
        assert schedule is not None, "only schedules that exist are due"
        try:
            return self._decide(schedule, row.live, now_ms, place)
        except TriggerTooNew:
            return Effects()  # left alone, for nodes that know it
        except (OnthedotError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return Effects(
                schedule=replace(schedule, error=f"{error}", version=schedule.version + 1, updated_ms=now_ms)
            )

    def _decide(self, schedule: Schedule, live: Sequence[Run], now_ms: int, place: _Place) -> Effects:
        first_ms = schedule.next_run_ms
        if first_ms is None or first_ms > now_ms or first_ms <= schedule.settled_ms:
            return Effects()
        trigger = trigger_of(schedule)
        selection = select(trigger, first_ms, schedule.policy, now_ms)
        work = _Work(self._make_id, schedule, trigger, list(live), now_ms, place)
        if schedule.rescheduled:
            work.leave_out("rescheduled", schedule.settled_ms + 1, first_ms - 1)
        if schedule.is_undeclared(now_ms):
            work.leave_out("undeclared", first_ms, now_ms, also_ms=first_ms)
        else:
            if selection.missed:
                work.leave_out("misfire", *selection.missed, also_ms=first_ms)
            work.fire(selection)
        return work.effects(max(selection.settled_ms, schedule.settled_ms))


@dataclass(slots=True)
class _Work:
    """The decision on one schedule, as it grows."""

    make_id: Callable[[], str]
    schedule: Schedule
    trigger: Trigger
    live: list[Run]
    now_ms: int
    place: _Place
    started: int = 0
    runs: list[Run] = field(default_factory=list)
    asked_to_stop: list[Run] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    crowded: list[int] = field(default_factory=list)
    """Ticks for which there is neither room to run nor to wait."""
    decisions: list[Decision] = field(default_factory=list)

    def fire(self, selection: Selection) -> None:
        for tick in selection.fire:
            if self._ended:
                break
            run = self._run_for(tick)
            if run is None:
                self.crowded.append(tick)
                continue
            self.runs.append(run)
            self.live.append(run)
        if self.crowded:
            self._decided("overlap", self.crowded[0], self.crowded[-1], len(self.crowded))

    def leave_out(self, reason: Reason, first_ms: int, last_ms: int, also_ms: int | None = None) -> None:
        """Record the ticks in [first, last] as not run, if there are any."""
        left_out = span(self.trigger, first_ms, last_ms, also_ms)
        if left_out is not None:
            self._decided(reason, left_out.first_ms, left_out.last_ms, left_out.count)

    def effects(self, settled_ms: int) -> Effects:
        following = None if self._ended else self.trigger.next_ms(settled_ms)
        before = self.schedule
        schedule = replace(
            before,
            next_run_ms=following,
            settled_ms=settled_ms,
            rescheduled=False,
            planned_runs=before.planned_runs + len(self.runs),
            plan_attempts=0,
            version=before.version + 1,
            fence=before.fence + self.started,
            last_run_ms=self.now_ms if self.started else before.last_run_ms,
            last_enqueued_ms=self.now_ms if self.runs else before.last_enqueued_ms,
            deleted=before.auto_remove and following is None and not self.live,
        )
        return Effects(
            schedule=schedule,
            runs=(*self.asked_to_stop, *self.runs),
            ended=tuple(self.ended),
            decisions=tuple(self.decisions),
        )

    @property
    def _ended(self) -> bool:
        most = self.schedule.max_runs
        return most is not None and self.schedule.planned_runs + len(self.runs) >= most

    def _run_for(self, tick: int) -> Run | None:
        """The run of a tick, running here where that is possible; None if there is neither room to run nor to wait."""
        schedule = self.schedule
        run = replace(
            _BLANK,
            id=self.make_id(),
            task=schedule.task,
            scheduled_ms=tick,
            due_ms=due_ms(self.trigger, tick, schedule.policy.jitter_ms, schedule.name),
            args=schedule.args,
            policy=schedule.policy,
            schedule_id=schedule.id,
            schedule=schedule.name,
            revision=schedule.revision,
            created_ms=self.now_ms,
        )
        if routing.is_routed(run):
            run = replace(run, target=self.place.target_of(run, schedule.planned_runs + len(self.runs)))
        room = room_for(schedule, self.live)
        due = [each for each in self.live if each.state is State.WAITING and each.due_ms <= self.now_ms]
        if room.free and not due and run.due_ms <= self.now_ms and self.place.take(run):
            self.started += 1
            fence = schedule.fence + self.started
            return started(run, self.place.node_id, self.now_ms, fence=fence, slot=room.slot)
        if not room.free and schedule.policy.overlap == "discard":
            return None
        if schedule.policy.overlap == "cover":
            return self._covering(run, room.free)
        queued = sum(each.cause == "tick" and each.never_begun and not each.is_shard for each in due)
        if schedule.policy.slots is not None and queued >= schedule.policy.most_waiting and (due or not room.free):
            return None
        return run if room.free or run.due_ms > self.now_ms else replace(run, blocked=True)

    def _covering(self, run: Run, free: bool) -> Run:
        """It takes the place of older ticks that wait, and asks those that run to stop; it never starts beside them."""
        older = {each.id for each in self.live if gives_way_to(each, run)}
        new = {each.id for each in self.runs} & older  # never written: ticks that are left out, not runs that end
        self.crowded += [each.scheduled_ms for each in self.runs if each.id in new]
        self.ended += [skipped(each, "covered", self.now_ms) for each in self.live if each.id in older - new]
        self.runs = [each for each in self.runs if each.id not in new]
        self.live = [each for each in self.live if each.id not in older]
        if free or run.due_ms > self.now_ms:
            return run
        asked = {each.id: each for each in asked_to_stop(self.live, self.now_ms)}
        self.live = [asked.get(each.id, each) for each in self.live]
        self.runs = [asked.pop(each.id, each) for each in self.runs]
        self.asked_to_stop += asked.values()
        return replace(run, blocked=True)

    def _decided(self, reason: Reason, first_ms: int, last_ms: int, count: int | None) -> None:
        self.decisions.append(
            Decision(
                id=self.make_id(),
                schedule_id=self.schedule.id,
                schedule=self.schedule.name,
                revision=self.schedule.revision,
                reason=reason,
                first_ms=first_ms,
                last_ms=last_ms,
                count=count,
                decided_ms=self.now_ms,
            )
        )
