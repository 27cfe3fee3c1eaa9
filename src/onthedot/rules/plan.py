"""Which ticks become runs: a pure function of rows, facts and the store's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from onthedot.errors import OnthedotError, TriggerTooNew
from onthedot.model.decision import Decision, Reason
from onthedot.model.freeze import Window
from onthedot.model.run import Run, for_slot
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import routing
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.rules.expiry import bounded, why_late
from onthedot.rules.freezing import Open, pieces, undecided
from onthedot.rules.misfire import Selection, select
from onthedot.rules.overlap import Slot, asked_to_stop, gives_way_to, slot_for, waits
from onthedot.rules.spans import span
from onthedot.rules.start import skipped, started
from onthedot.rules.triggers import trigger_of
from onthedot.triggers.base import Trigger
from onthedot.triggers.replan import due_ms

_BLANK = Run("", "", "tick", 0, 0)
"""Runs are made from it: setting the fields that differ costs a sixth of making all of them."""


class Room(Protocol):
    """What can begin on the planning node."""

    def take(self, run: Run) -> bool:
        """Whether the run can; if so, its place is taken."""


class _AnyRoom:
    """Room for whatever comes: only the free workers count."""

    def take(self, run: Run) -> bool:
        return True


class _Batch:
    """What the decisions of one pass share: the nodes and their load, and what the planning node can still take."""

    def __init__(self, situation: Situation, room: Room) -> None:
        self.node_id = situation.node.id
        self.router = routing.Router(situation.nodes, situation.load, situation.now_ms)
        self._situation = situation
        self._room = room
        self._free = situation.free_workers

    def take(self, run: Run) -> bool:
        """Whether the run begins here at once; what is judged at the start (limits, dependencies) waits for that."""
        policy = run.policy
        if self._free <= 0 or policy.limit is not None or policy.depends_on or policy.route == "broadcast":
            return False
        if run.is_flow or why_late(run, self._situation.now_ms, unmet=False) is not None:
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


def parked(schedule: Schedule, why: str, now_ms: int) -> Effects:
    """The schedule is left out from now on, visible with the reason, until somebody puts it anew."""
    return Effects(schedule=replace(schedule, error=why, version=schedule.version + 1, updated_ms=now_ms))


def parking(why: str) -> Decide:
    """Decides that every schedule is parked."""
    return lambda rows, situation: [
        parked(row.schedule, why, situation.now_ms) for row in rows if row.schedule is not None
    ]


class Decider:
    """Decides a batch. Ids and room come from outside, so that the decision itself rests only on its arguments."""

    def __init__(self, make_id: Callable[[], str], make_room: Callable[[], Room] = _AnyRoom) -> None:
        self._make_id = make_id
        self._make_room = make_room

    def __call__(self, rows: Sequence[Before], situation: Situation) -> list[Effects]:
        """One bad row stops nothing else: it is parked, with its error.

        Where not all can begin at once, those of higher priority do; what then waits starts by its precedence.
        """
        batch = _Batch(situation, self._make_room())
        order = (
            range(len(rows)) if situation.free_workers >= len(rows) else sorted(range(len(rows)), key=_urgency(rows))
        )
        decided = {each: self._decide_or_park(rows[each], situation.now_ms, batch) for each in order}
        return [decided[each] for each in range(len(rows))]

    def _decide_or_park(self, row: Before, now_ms: int, batch: _Batch) -> Effects:
        schedule = row.schedule
        assert schedule is not None, "only schedules that exist are due"
        try:
            return self._decide(schedule, row, now_ms, batch)
        except TriggerTooNew:
            return Effects()  # left alone, for nodes that know it
        except (OnthedotError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return parked(schedule, f"{error}", now_ms)

    def _decide(self, schedule: Schedule, row: Before, now_ms: int, batch: _Batch) -> Effects:
        first_ms = schedule.next_run_ms
        if first_ms is None or first_ms > now_ms or first_ms <= schedule.settled_ms:
            return Effects()
        trigger = trigger_of(schedule)
        work = _Work(self._make_id, schedule, trigger, row, now_ms, batch)
        if schedule.rescheduled:
            why: Reason = "skipped" if schedule.skips else "rescheduled"
            work.leave_out(why, schedule.settled_ms + 1, first_ms - 1)
        if schedule.is_undeclared(now_ms):
            work.leave_out("undeclared", first_ms, now_ms, also_ms=first_ms)
            settled_ms = now_ms
        elif schedule.frozen:
            settled_ms = work.fire_outside(schedule.frozen, first_ms)
        else:
            selection = select(trigger, first_ms, schedule.policy, now_ms)
            settled_ms = selection.settled_ms
            if selection.missed:
                work.leave_out("misfire", *selection.missed, also_ms=first_ms)
            work.fire(selection)
        return work.effects(max(settled_ms, schedule.settled_ms))


@dataclass(slots=True)
class _Work:
    """The decision on one schedule, as it grows."""

    make_id: Callable[[], str]
    schedule: Schedule
    trigger: Trigger
    before: Before
    now_ms: int
    batch: _Batch
    live: list[Run] = field(init=False)
    started: int = 0
    runs: list[Run] = field(default_factory=list)
    asked_to_stop: list[Run] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    crowded: list[int] = field(default_factory=list)
    """Ticks for which there is neither room to run nor to wait."""
    decisions: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.live = list(self.before.live)

    def fire(self, selection: Selection) -> None:
        """Make a run of each tick that there is room for; what is left out is a decision."""
        for number, tick in enumerate(selection.fire):
            if self._ended:
                left = selection.fire[number:]
                self._decided("max_runs", left[0], left[-1], len(left))
                break
            self._let_late_ones_go(tick)
            run = self._run_for(tick)
            if run is None:
                self.crowded.append(tick)
                continue
            self.runs.append(run)
            self.live.append(run)
        if self.crowded:
            self._decided("overlap", self.crowded[0], self.crowded[-1], len(self.crowded))

    def fire_outside(self, windows: Sequence[Window], first_ms: int) -> int:
        """The same where freezes may lie between the first undecided tick and now; up to where all is decided then."""
        frozen = self.schedule.frozen_at(self.now_ms)
        if frozen is not None:
            self._leave_out_frozen(windows, first_ms, self.now_ms, frozen)
            return self.now_ms
        trigger = Open(self.trigger, tuple(windows))
        in_window = self.schedule.frozen_at(first_ms) is not None
        first_open_ms = trigger.next_ms(first_ms) if in_window else first_ms
        if first_open_ms is None or first_open_ms > self.now_ms:
            self._leave_out_frozen(windows, first_ms, self.now_ms)
            return self.now_ms
        selection = select(trigger, first_open_ms, self.schedule.policy, self.now_ms)
        self._leave_out_frozen(windows, first_ms, selection.settled_ms)
        if selection.missed:
            for piece in pieces(windows, *selection.missed):
                if piece.window is None:
                    self.leave_out("misfire", piece.first_ms, piece.last_ms, also_ms=first_ms)
        self.fire(selection)
        return selection.settled_ms

    def _leave_out_frozen(
        self, windows: Sequence[Window], first_ms: int, last_ms: int, now_in: Window | None = None
    ) -> None:
        """Ticks in the windows. If now is in one, the others are left out as well: too late, or as this one began."""
        late_until_ms = self.now_ms - self.schedule.policy.grace_ms
        for piece in pieces(windows, first_ms, last_ms):
            window = piece.window or now_in
            if window is None:
                continue
            from_ms = piece.first_ms
            if piece.window is None:
                self.leave_out("misfire", from_ms, min(piece.last_ms, late_until_ms - 1), also_ms=first_ms)
                from_ms = max(from_ms, late_until_ms)
            self.leave_out("frozen", from_ms, piece.last_ms, also_ms=first_ms, detail=window.freeze)

    def leave_out(
        self, reason: Reason, first_ms: int, last_ms: int, also_ms: int | None = None, detail: str = ""
    ) -> None:
        """Record the ticks in [first, last] as not run, if there are any."""
        left_out = span(self.trigger, first_ms, last_ms, also_ms) if first_ms <= last_ms else None
        if left_out is not None:
            self._decided(reason, left_out.first_ms, left_out.last_ms, left_out.count, detail)

    def effects(self, settled_ms: int) -> Effects:
        following = None if self._ended else self.trigger.next_ms(settled_ms)
        before = self.schedule
        nothing_left = not self.live and not self.before.more
        schedule = replace(
            before,
            next_run_ms=following,
            settled_ms=settled_ms,
            rescheduled=False,
            skips=0,
            frozen=undecided(before, settled_ms) if before.frozen else (),
            planned_runs=before.planned_runs + len(self.runs),
            plan_attempts=0,
            version=before.version + 1,
            fence=before.fence + self.started,
            last_run_ms=self.now_ms if self.started else before.last_run_ms,
            last_enqueued_ms=self.now_ms if self.runs else before.last_enqueued_ms,
            left_out_ms=self.now_ms if self._leaves_out else before.left_out_ms,
            deleted=before.auto_remove and following is None and nothing_left,
        )
        return Effects(
            schedule=schedule,
            runs=tuple(self.runs),
            stopping=tuple(self.asked_to_stop),
            ended=tuple(self.ended),
            decisions=tuple(self.decisions),
        )

    @property
    def _leaves_out(self) -> bool:
        """Whether a tick is left out that nobody asked to leave out."""
        return bool(self.ended) or any(each.reason in ("misfire", "overlap") for each in self.decisions)

    @property
    def _ended(self) -> bool:
        most = self.schedule.max_runs
        return most is not None and self.schedule.planned_runs + len(self.runs) >= most

    def _let_late_ones_go(self, tick: int) -> None:
        """A tick that waits, was never begun and is later than grace gives way to this newer one, with its reason."""
        policy = self.schedule.policy
        if policy.misfire == "catch_up" or policy.overlap == "cover":
            return
        late = [
            run
            for run in self.live
            if run.is_waiting_tick and run.scheduled_ms < tick and self.now_ms > run.due_ms + run.policy.grace_ms
        ]
        if late:
            self.ended += [skipped(run, f"misfire: {self._why_waiting(run)}", self.now_ms) for run in late]
            gone = {run.id for run in late}
            self.live = [run for run in self.live if run.id not in gone]

    def _why_waiting(self, run: Run) -> str:
        nobody = self.batch.router.why_nobody(run)
        if nobody is not None:
            return nobody
        waits_for = (run.waits_for or "").partition(":")[0]
        if waits_for == "limit":
            return f"no place of {run.policy.limit} was free"
        if waits_for == "success":
            return "what it depends on had not succeeded"
        if not slot_for(self.schedule, self.live).free:
            return "an earlier run was still under way"
        return "no worker took it in time"

    def _run_for(self, tick: int) -> Run | None:
        """The run of a tick, running here where that is possible; None if there is neither room to run nor to wait."""
        schedule = self.schedule
        run = self._routed(self._new_run(tick))
        slot = slot_for(schedule, self.live)
        due = [each for each in self.live if waits(each, self.now_ms)]
        if slot.free and not due and run.due_ms <= self.now_ms and self.batch.take(run):
            self.started += 1
            fence = schedule.fence + self.started
            return started(run, self.batch.node_id, self.now_ms, fence=fence, slot=slot.name)
        if not slot.free and schedule.policy.overlap == "discard":
            return None
        if schedule.policy.overlap == "cover":
            return self._covering(run, slot)
        if self._is_crowded(tick, due, slot):
            return None
        return run if slot.free or run.due_ms > self.now_ms else replace(run, waits_for=for_slot(schedule.id))

    def _new_run(self, tick: int) -> Run:
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
            graph=schedule.graph,
            created_ms=self.now_ms,
        )
        return bounded(run)

    def _routed(self, run: Run) -> Run:
        if not routing.is_routed(run):
            return run
        turn = self.schedule.planned_runs + len(self.runs)
        chosen = self.batch.router.choose(run, turn, self.schedule.routed)
        if chosen is None:
            return run
        route = run.policy.route
        if route in routing.BY_USE:
            able = self.batch.router.able(run)
            used = routing.used_after(self.schedule.routed, route, chosen, turn, able)
            self.schedule = replace(self.schedule, routed=used)
        return replace(run, target=chosen.id)

    def _is_crowded(self, tick: int, due: Sequence[Run], slot: Slot) -> bool:
        """Whether no more may wait. A tick that was only planned late, beside nothing that ran then, always may."""
        policy = self.schedule.policy
        if policy.slots is None or (slot.free and not due) or not self._overlapped(tick):
            return False
        queued = sum(run.is_waiting_tick for run in due)
        return self.before.more or queued >= policy.most_waiting

    def _overlapped(self, tick: int) -> bool:
        """Whether at the tick's own moment an earlier run was under way, or waited."""
        return any(
            (run.started_ms or 0) <= tick if run.state is State.RUNNING else run.due_ms <= tick
            for run in self.before.live
        )

    def _covering(self, run: Run, slot: Slot) -> Run:
        """It takes the place of older ticks that wait, and asks those that run to stop; it never starts beside them."""
        older = {each.id for each in self.live if gives_way_to(each, run)}
        new = {each.id for each in self.runs} & older  # never written: ticks that are left out, not runs that end
        self.crowded += [each.scheduled_ms for each in self.runs if each.id in new]
        self.ended += [skipped(each, "covered", self.now_ms) for each in self.live if each.id in older - new]
        self.runs = [each for each in self.runs if each.id not in new]
        self.live = [each for each in self.live if each.id not in older]
        if slot.free or run.due_ms > self.now_ms:
            return run
        asked = {each.id: each for each in asked_to_stop(self.live, self.now_ms)}
        self.live = [asked.get(each.id, each) for each in self.live]
        self.runs = [asked.pop(each.id, each) for each in self.runs]
        self.asked_to_stop += asked.values()
        return replace(run, waits_for=for_slot(self.schedule.id))

    def _decided(self, reason: Reason, first_ms: int, last_ms: int, count: int | None, detail: str = "") -> None:
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
                detail=detail,
                after_ms=self.trigger.prev_ms(first_ms),
            )
        )
