"""One pass of the planning thread: read ahead, plan what is due, start what waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from onthedot.clock import StoreClock
from onthedot.events import BatchPlanned, Emitter, Idle, Misfired, Parked, RunSkipped
from onthedot.execution.thread_pool import Pool
from onthedot.execution.worker import Worker
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.node.agenda import Agenda, Result, Steps
from onthedot.node.garbage import Collections
from onthedot.node.heartbeat import Heartbeat
from onthedot.node.lease import Claim
from onthedot.node.local import LocalPlanner
from onthedot.node.planner import BATCH, Planner
from onthedot.node.prepared import Carried, Prepared
from onthedot.node.read_ahead import ReadAhead
from onthedot.node.ring import TimeRing
from onthedot.node.settings import NodeSettings
from onthedot.rules.ahead import Ahead
from onthedot.rules.effects import Decide, Effects
from onthedot.stores.answers import Finished, Planned, Started
from onthedot.stores.base import Store

DECIDE_AHEAD_MS = 2500
"""How long before its moment what comes is read and decided."""
AHEAD_BATCH = 250
"""Of those that are only written: each batch begins as soon as it is."""
TURN_MS = 100
"""While all workers are taken as they come free: how often each kind of work has its turn, at most."""
LONGEST_TURN_MS = 1000
"""However long one took: the store may only have been slow that time."""
OTHERS = 9
"""So many times as long as the turn of what was not decided ahead takes, all else has its own."""
BATCHES = 4
"""How many batches are planned before waiting runs get their turn."""
QUIET_MS = 250
"""What is due after nothing was for so long has outcomes wait for it beforehand: see `waits_for_herd_ms`."""
PASS_IS_LATE_MS = 20
GIVEN_ON_S = 0.02
"""How long who writes outcomes waits for a pass, to give places of groups on to the next."""
MOST_LIMITED = 10_000
"""Of more it is looked which of them are still here."""
ECHOES_MS = (50, 200)
"""How long after a moment a node looks again: a peer that was quicker may have routed runs to it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pass goes through."""

    store: Store
    clock: StoreClock
    emitter: Emitter
    worker: Worker
    heartbeat: Heartbeat
    planner: Planner
    local: LocalPlanner
    tasks: Callable[[], tuple[str, ...]]
    around_planning: Callable[[bool], None]
    """Called with True before and with False after what is due is planned: outcomes wait meanwhile."""
    decide_ahead: Decide
    make_id: Callable[[], str]
    is_ending: Callable[[Claim], bool]
    """Whether a run that was begun here is over in a moment, or is over and not recorded yet."""
    wake: Callable[[], None]
    """Make a pass now."""
    on_doubt: Callable[[], None]
    """An answer may have been lost: whatever the store has made this node's must be asked for at once."""


class PlanningPass:
    """`run_once` is called by one thread; `wake` and `go_on` by any."""

    def __init__(self, settings: NodeSettings, parts: Parts) -> None:
        self._settings = settings
        self._parts = parts
        self._ring: TimeRing[int] = TimeRing()
        self._read_ahead = ReadAhead(parts.store, self._ring, every_ms=settings.poll_ms)
        self.agenda = Agenda(plans="plan" in settings.roles, executes="execute" in settings.roles)
        self._prepared = Prepared(parts.decide_ahead) if settings.plan_ahead and parts.store.plans_ahead else None
        self._latest: dict[str, Claim] = {}
        """Of each schedule the run that was last begun here by what was decided ahead, until it is recorded."""
        self._planned: list[Schedule] = []
        self._carried: list[Carried] = []
        """Since the last pass; their next ticks are decided when there is time."""
        self._prepared_ms = 0
        self._read_due_ms = self._looked_ms = 0
        """When what is due was last read from the store; and what waits there."""
        self._turn_ms = TURN_MS
        self._holds_on_since_ms: int | None = None
        """Since when what is due waits for workers that are about to come free, pass after pass."""
        self._more_due = False
        """The last plan left something due."""
        self._idle = False
        self._every_pool = True
        """Since the last reading no pass has looked into all pools: only its schedule may have named that of a run."""
        self._claiming = Lock()
        """Held by who takes runs from the store: two would take more than there is room for."""
        self._claimed_ms = 0
        """When it was taken last, or a little before."""
        self._turned_away = False
        """The last pass could not take runs, since another thread did."""
        self._freed_meanwhile = False
        """Since the pass that is under way began, runs have ended whose places nobody has filled."""
        self._collections = Collections(parts.clock)
        self._due_ms = 0
        """When the last pass found something due."""
        self._herd_ms: int | None = None
        """When something will be due again, if that is not soon after the last."""
        self._limited: set[str] = set()
        """The runs here that hold places of groups. Others wait for these, and not for workers."""
        self.left_some = False
        """Whether the last `finish` left runs to be started, and room for them. What ends later is no matter of it: the
        step that records that starts others."""

    def run_once(self) -> int:
        """One pass. Says how long nothing will be due."""
        try:
            return self._pass()
        finally:
            self._collections.look(crowd_goes_on=self._holds_on_since_ms is not None or self.agenda.is_hungry)

    def _pass(self) -> int:
        parts = self._parts
        if parts.heartbeat.is_cut_off or parts.heartbeat.is_draining:
            return self._settings.poll_ms
        now_ms = parts.clock.now_ms()
        if self._read_ahead.run_once(now_ms, at_once=self.agenda.take_reread()):
            self._every_pool = True
            self._read_coming(now_ms)
            if parts.worker.executing():
                self._cancel_asked()
            self._tend_flows()
        local = parts.local.run_once(self._node_id, now_ms)
        self._emit(local)
        first_ms = self._ring.peek()
        is_due = first_ms is not None and first_ms <= now_ms
        self._due_ms = now_ms if is_due else self._due_ms
        steps = self.agenda.begin(due=is_due, planned_locally=bool(local))
        if not steps.any:
            return self._until_next()
        self._turned_away = True  # first, and then the lock: who lets go of it looks afterwards
        if not self._claim(0):
            if steps.plan:  # next: who records outcomes would otherwise take its turn again and again
                parts.around_planning(True)
            self.agenda.go_on()
            return self._settings.poll_ms
        self._turned_away = self._freed_meanwhile = False
        try:
            planned, started = self._take_steps(steps)
            again_ms = self.agenda.ended(planned, started, is_full=self._parts.worker.pools.is_full)
            if again_ms is None and self._freed_meanwhile and self.agenda.is_hungry:
                self.agenda.go_on()  # who wrote how they ended could not know that runs wait for their places
                again_ms = 0
        finally:
            self._claiming.release()
        return self._ended(planned, started, again_ms)

    @property
    def asked_ms(self) -> int | None:
        """When something was asked of the store of which what it gave has not begun yet."""
        return self._claimed_ms if self._claiming.locked() else None

    def _take_steps(self, steps: Steps) -> tuple[Result, Result]:
        started = Result(waits=steps.waiting_first)
        try:
            if steps.waiting_first:
                self._start(share=2)
            planned = self._plan() if steps.plan else Result()
            waits = planned.holds_on and not self._is_turn(self._looked_ms)
            if steps.start and not waits:
                started = self._start(every_pool=self._every_pool)
                self._every_pool = False
        except BaseException:
            self._doubt()
            raise
        return planned, started

    def _doubt(self) -> None:
        """Nobody knows what the store made of what it was asked."""
        self.agenda.failed()
        self._parts.on_doubt()

    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        """Record outcomes; where runs wait for the places that they leave, or for ends of steps, start some of those
        in the same step.

        Called by another thread than `run_once`; none of them waits for the other, but `run_once` is called again. Only
        where a place is given on, a moment is worth it: without, somebody must be woken, and started by another step.
        """
        frees = self._take_limited(outcomes) or any(outcome.flow is not None for outcome in outcomes)
        waits = any(outcome.contested for outcome in outcomes)  # for as long as a user likes: nobody waits with it
        may_start = (self.agenda.is_hungry or frees) and not waits and self._may_start_for(node_id)
        if may_start and self._claim(GIVEN_ON_S if frees else 0):
            try:
                return self._finish_and_start(node_id, outcomes)
            except BaseException:
                self._doubt()
                raise
            finally:
                self._claiming.release()
                if self._turned_away:
                    self._parts.wake()
        self._freed_meanwhile = True  # first: the pass that is under way looks at it when it has said who waits
        self.left_some = self.agenda.is_hungry
        return self._parts.store.finish(node_id, outcomes)

    def recorded(self, runs: Iterable[Run]) -> None:
        """The store has recorded what became of these."""
        for run in runs:
            if run.schedule_id is not None and self._latest.get(run.schedule_id) == (run.id, run.claim_no):
                self._latest.pop(run.schedule_id, None)

    def _take_limited(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether these free places of groups, for which others may wait."""
        limited = [outcome.run_id for outcome in outcomes if outcome.run_id in self._limited]
        for run_id in limited:
            self._limited.discard(run_id)
        return bool(limited)

    def waits_for_herd_ms(self, takes_ms: int) -> int:
        """For how long what takes so long should not begin, since something is due before it would be done.

        Called by any thread. Not where moments follow each other closely: outcomes would wait all the time. And not
        for a pass that does not come.
        """
        herd_ms = self._herd_ms
        if herd_ms is None or takes_ms <= 0 or "plan" not in self._settings.roles:
            return 0
        left_ms = herd_ms - self._parts.clock.now_ms()
        return max(left_ms, 0) + 1 if -PASS_IS_LATE_MS < left_ms < takes_ms else 0

    def watch(self) -> None:
        """Called now and then by another thread than `run_once`, which may be waiting for the store."""
        self._collections.look(crowd_goes_on=True)

    def let_go(self) -> None:
        """Come back when nobody takes runs. Who begins to do so later sees whether the node drains by then."""
        with self._claiming:
            self._collections.let_go()

    def _claim(self, patience_s: float) -> bool:
        """Take the lock of who takes runs, if it comes free in time."""
        if not self._claiming.acquire(timeout=patience_s):
            return False
        self._claimed_ms = self._parts.clock.monotonic_ms()
        return True

    def _may_start_for(self, node_id: str) -> bool:
        beat = self._parts.heartbeat
        is_ready = "execute" in self._settings.roles and node_id == self._node_id
        return is_ready and not beat.is_cut_off and not beat.is_draining

    def _finish_and_start(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        parts = self._parts
        tasks = parts.tasks()
        may_start = self._may_start_for(node_id)  # asked again: see `let_go`
        openings = parts.worker.pools.openings(tasks) if may_start else []
        if not openings:
            self.left_some = True
            return parts.store.finish(node_id, outcomes)
        opening, most = openings[0], min(openings[0].room, BATCH)
        finished, started = parts.store.finish_and_start(
            node_id, outcomes, opening.tasks, most, pools=opening.pools, known=tasks
        )
        self._begin(started)
        self._collections.look(crowd_goes_on=True)
        more = started.held_back or len(started.runs) >= most
        elsewhere = len(openings) > 1 or started.passed_over
        self.agenda.fed(more=more or elsewhere)
        self.left_some = elsewhere or (more and opening.room > len(started.runs))
        return finished

    def _ended(self, planned: Result, started: Result, again_ms: int | None) -> int:
        self._drop_hints(planned, started)
        if not planned.holds_on or self._parts.clock.monotonic_ms() - self._prepared_ms >= LONGEST_TURN_MS:
            self._prepare()  # else it would make the rest later
        if again_ms is not None:
            return again_ms
        self._note_idle(planned.began or started.began)
        return self._until_next()

    @property
    def _node(self) -> Node:
        return self._parts.heartbeat.lease.node

    @property
    def _node_id(self) -> str:
        return self._node.id

    # the steps

    def _plan(self) -> Result:
        """Plan what is due: what was decided ahead, then a few batches of the rest; outcomes wait meanwhile."""
        result = Result()
        self._parts.around_planning(True)
        if self._holds_on_since_ms is None:
            self._holds_on_since_ms = self._parts.clock.monotonic_ms()
        try:
            if self._prepared is not None and self._prepared.waits and self._is_turn(self._read_due_ms):
                self._take_turn()
            result = self._plan_ahead()
            if result.more and not result.holds_on:
                result = self._plan_batches(result)
            return result
        finally:
            waits_for_outcomes = self._prepared is not None and self._prepared.waits_for_outcomes
            if not result.holds_on or waits_for_outcomes:
                self._parts.around_planning(False)
            if not result.holds_on:
                self._holds_on_since_ms = None

    def _is_turn(self, last_ms: int) -> bool:
        """Whether it is long enough ago that this had its turn, or all had."""
        return self._parts.clock.monotonic_ms() - max(last_ms, self._holds_on_since_ms or 0) >= self._turn_ms

    def _take_turn(self) -> None:
        """What is due and was not decided ahead gets a tenth of the time: with it comes what was and stands before it,
        at several times the cost."""
        began_ms = self._parts.clock.monotonic_ms()
        self._plan_batch()
        took_ms = self._parts.clock.monotonic_ms() - began_ms
        self._turn_ms = min(max(TURN_MS, OTHERS * took_ms), LONGEST_TURN_MS)

    def _plan_batches(self, before: Result) -> Result:
        result = before
        for _ in range(BATCHES):
            batch = self._plan_batch()
            result = Result(
                result.began or batch.began,
                result.passed_over or batch.passed_over,
                batch.more,
                store_ms=batch.store_ms if result.store_ms is None else result.store_ms,
                holds_on=batch.holds_on,
            )
            if not result.more or result.holds_on:
                break
        return result

    def _plan_ahead(self) -> Result:
        """Write what was decided before its moment, as much as can begin."""
        parts, prepared, result = self._parts, self._prepared, Result(more=True)
        if prepared is None:
            return result
        while True:
            sent_ms = parts.clock.monotonic_ms()
            room = parts.worker.pools.room_soon()
            ahead = prepared.take(self._node, parts.clock.now_ms(), AHEAD_BATCH, room, self._is_ending)
            if not ahead:
                break
            self._collections.note(len(ahead))
            planned = self._carry_out(parts.planner.run_ahead(self._node_id, ahead, parts.make_id), sent_ms, ahead)
            result = replace(planned, began=result.began or planned.began)
        return replace(result, holds_on=prepared.waits and self._brisk() is not None)

    def _is_ending(self, schedule_id: str) -> bool:
        latest = self._latest.get(schedule_id)
        return latest is not None and self._parts.is_ending(latest)

    def _brisk(self) -> Pool | None:
        return self._parts.worker.pools.brisk(self._settings.hold_on_ms)

    def _plan_batch(self) -> Result:
        """As much as can begin, where workers come free one after the other: what is planned before it can begin is
        written twice, and those who could begin wait for it. Else all that is due, up to a batch."""
        parts = self._parts
        pools = parts.worker.pools
        brisk = self._brisk()
        most = BATCH if brisk is None else min(pools.free_in(brisk), BATCH)
        if most <= 0 and self._more_due:
            return Result(more=True, holds_on=True)
        sent_ms = self._read_due_ms = parts.clock.monotonic_ms()
        most = most if most > 0 else BATCH
        return self._carry_out(parts.planner.run_once(self._node_id, pools.free, most), sent_ms)

    def _carry_out(self, planned: Planned, sent_ms: int, ahead: Sequence[Ahead] = ()) -> Result:
        parts = self._parts
        answered_ms = parts.clock.monotonic_ms()
        self._more_due = planned.more
        if planned.now_ms is not None:
            parts.clock.note(planned.now_ms, sent_ms, answered_ms)
        own = [run for effects in planned.effects for run in effects.runs if run.owner == self._node_id]
        parts.worker.begin(*own)
        self._read_ahead.remember(_next_moments(planned.effects), parts.clock.now_ms())
        moved = [effects.schedule for effects in planned.effects if effects.schedule is not None]
        if ahead:
            by_id = {each.schedule.id: each for each in ahead}
            self._carried += [(by_id[each.id], each) for each in moved]
            self._latest |= {run.schedule_id: (run.id, run.claim_no) for run in own if run.schedule_id is not None}
        else:
            self._planned += moved
        if planned.effects:
            runs = sum(len(effects.runs) for effects in planned.effects)
            parts.emitter.emit(BatchPlanned(len(planned.effects), runs, answered_ms - sent_ms))
        self._emit(planned.effects)
        return Result(bool(own), planned.passed_over, planned.more, store_ms=planned.now_ms)

    def _prepare(self) -> None:
        self._prepared_ms = self._parts.clock.monotonic_ms()
        planned, self._planned = self._planned, []
        carried, self._carried = self._carried, []
        if self._prepared is not None:
            self._prepared.go_on(carried, self._node, self._parts.clock.now_ms())
            self._prepared.put(planned, self._node, self._parts.clock.now_ms())

    def _read_coming(self, now_ms: int) -> None:
        """Decide what comes in the next seconds, as far as it is not decided yet."""
        if self._prepared is not None and "plan" in self._settings.roles:
            known = {**self._prepared.versions, **{moved.id: moved.version for _, moved in self._carried}}
            coming = self._parts.store.coming(now_ms, now_ms + DECIDE_AHEAD_MS, known)
            self._prepared.put(coming, self._node, now_ms)

    def _start(self, *, share: int = 1, every_pool: bool = False) -> Result:
        """Start what waits, in each pool as much as can begin there, or a share of it; the rest stays in the store."""
        parts = self._parts
        tasks = parts.tasks()
        self._looked_ms = parts.clock.monotonic_ms()
        began = passed_over = more = waits = False
        store_ms: int | None = None
        for opening in parts.worker.pools.openings(tasks, every_pool=every_pool):
            most = min(max(opening.room // share, 1), BATCH)
            started = parts.store.start_due(self._node_id, opening.tasks, most, pools=opening.pools, known=tasks)
            self._begin(started)
            began, passed_over = began or bool(started.runs), passed_over or started.passed_over
            store_ms = started.now_ms if store_ms is None else store_ms
            waits = waits or started.held_back
            if len(started.runs) >= most:  # more may wait: go on when workers come free
                waits = True
                more = more or opening.room > len(started.runs)
        return Result(began, passed_over, more, waits, store_ms)

    def _begin(self, started: Started) -> None:
        self._collections.note(len(started.runs))
        self._limited.update(run.id for run in started.runs if run.policy.limit is not None)
        if len(self._limited) > MOST_LIMITED:  # of those that ended otherwise nobody has told
            self._limited.intersection_update(self._parts.worker.executing())
        self._parts.worker.begin(*started.runs)
        for run in started.skipped:
            self._parts.emitter.emit(RunSkipped(run.id, run.task, run.schedule, run.reason))

    def _tend_flows(self) -> None:
        """Flows whose steps ended where nobody looked; and where all workers are busy, what needs none of them."""
        parts = self._parts
        if parts.store.tend_flows():
            self.agenda.go_on()
        flows = [task for task in parts.tasks() if task.startswith("@")]
        if flows and "execute" in self._settings.roles and not parts.worker.pools.openings(flows):
            parts.store.start_due(self._node_id, flows, 0)

    def _cancel_asked(self) -> None:
        for run_id in self._parts.store.cancels(self._node_id):
            self._parts.worker.cancel(run_id)

    # hints

    def _drop_hints(self, planned: Result, started: Result) -> None:
        """A hint goes only when the store has looked at or after its moment; one that came early stays for the rest.

        What was just decided may have been routed to other nodes, which look again shortly after.
        """
        looked_ms = planned.store_ms if "plan" in self._settings.roles else started.store_ms
        if looked_ms is None:
            return
        dropped = self._ring.due(looked_ms)
        if self._parts.heartbeat.is_alone or not any(hint.key >= 0 for hint in dropped):
            return
        now_ms = self._parts.clock.now_ms()
        for after_ms in ECHOES_MS:
            self._ring.put(-after_ms, now_ms + after_ms)  # no moment of the store, and no cause of further echoes

    def _until_next(self) -> int:
        now_ms = self._parts.clock.now_ms()  # planning has taken its time
        moments = [moment for moment in (self._ring.peek(), self._parts.local.peek()) if moment is not None]
        first_ms = min(moments, default=None)
        self._herd_ms = None if first_ms is None or first_ms < self._due_ms + QUIET_MS else first_ms
        return max(min([self._read_ahead.due_in_ms(now_ms), *(moment - now_ms for moment in moments)]), 0)

    # telling

    def _emit(self, all_effects: Iterable[Effects]) -> None:
        emit = self._parts.emitter.emit
        for effects in all_effects:
            for decision in effects.decisions:
                emit(Misfired(decision.schedule, decision.reason, decision.count))
            for run in effects.ended:
                emit(RunSkipped(run.id, run.task, run.schedule, run.reason))
            if effects.schedule is not None and effects.schedule.error is not None:
                emit(Parked(effects.schedule.name, effects.schedule.error))

    def _note_idle(self, busy: bool) -> None:
        idle = not busy and not self._parts.worker.executing()
        if idle and not self._idle:
            self._parts.emitter.emit(Idle(self._node_id))
        self._idle = idle


def _next_moments(all_effects: Sequence[Effects]) -> set[int]:
    """When the schedules that were just planned are due again, and when runs of them that wait for their moment are."""
    planned = (effects.schedule for effects in all_effects)
    again = {each.next_run_ms for each in planned if each is not None and each.next_run_ms is not None}
    return again | {run.due_ms for effects in all_effects for run in effects.runs if run.owner is None}
