"""A node: the stages joined, from the first lease to the last outcome."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from onthedot.clock import Clock, StoreClock
from onthedot.errors import NodeDead
from onthedot.events import (
    BatchPlanned,
    Draining,
    Emitter,
    Failure,
    Idle,
    LeaseLost,
    Misfired,
    NodeStarted,
    NodeStopped,
    OutcomeRefused,
    Parked,
    RunEnded,
    RunSkipped,
    TookOver,
)
from onthedot.execution.capture import capture_logging
from onthedot.execution.targets import Lookup
from onthedot.execution.thread_pool import Counts, Pool, Room, Sizes
from onthedot.execution.worker import Worker
from onthedot.loop import Loop
from onthedot.model.ids import new_id
from onthedot.model.node import SKEW_LABEL, ZONES_LABEL, Node, NodeState
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.node.lease import Reaper
from onthedot.node.local import LocalPlanner
from onthedot.node.planner import BATCH, Planner
from onthedot.node.read_ahead import PreRead
from onthedot.node.ring import Hint, TimeRing
from onthedot.node.settings import NodeSettings
from onthedot.node.writers import LogWriter, OutcomeWriter
from onthedot.rules.effects import Effects
from onthedot.rules.plan import Decider
from onthedot.rules.router import Router
from onthedot.stores.base import Finished, LogLine, Store, TaskInfo
from onthedot.triggers.tzfile import zones_version

BATCHES = 4
"""How many batches are planned before waiting runs get their turn."""
LOOK_AGAIN_MS = 50
LONGEST_RUSH_MS = 500
"""How long outcomes wait at most while what is due is planned: each written batch would make the rest later."""
PRUNE_MS = 60_000
ECHOES_MS = (50, 200)
DECLARE_MS = 300_000
"""How often a node says that it still declares its schedules: after an hour of silence they count as undeclared."""


class _Pass(NamedTuple):
    """What planning or starting did."""

    began: bool = False
    passed_over: bool = False
    more: bool = False


class Gauges(NamedTuple):
    """How a node stands at the moment of asking."""

    pools: Mapping[Pool, Counts]
    clock_offset_ms: int
    renewed_for_ms: int


class NodeRunner:
    """One process's part in the cluster. `start` and `stop` may be called once each, from any thread."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        emitter: Emitter,
        lookup: Lookup,
        tasks: Callable[[], tuple[tuple[str, ...], list[TaskInfo]]],
        *,
        settings: NodeSettings,
        still_declared: Callable[[], None] = lambda: None,
        make_worker: Callable[..., Worker] = Worker,
    ) -> None:
        self._store = store
        self._emitter = emitter
        self._tasks = tasks
        self._settings = settings
        self._still_declared = still_declared
        self._declared_ms = 0
        self._clock = StoreClock(store.now_ms, clock)
        self._router = Router()
        decide = Decider(lambda: new_id(self._clock.now_ms()), self._router, self._room)
        self._planner = Planner(store, decide, emitter.emit)
        self._local = LocalPlanner(store, self._planner.plan_one, lambda: self._tasks()[0])
        self._ring: TimeRing[int] = TimeRing()
        self._preread = PreRead(store, self._ring, every_ms=settings.poll_ms)
        self._reaper = Reaper(clock)
        self._lock = Lock()
        self._zones = zones_version()
        self.node = self._incarnation()
        self._renewed_ms = self._clock.monotonic_ms()
        self.worker = make_worker(
            lookup,
            self._clock,
            emitter,
            self._report,
            sizes=Sizes.of(settings.capacity),
            on_line=self._keep_line,
            store=store,
            on_completed=self._after_completion,
        )
        self._draining = False
        self._woken = self._reread = True
        self._hungry = False
        self._plans_on = False
        """Whether schedules may be due that the last batch left, or could not be planned."""
        self._waits = False
        """Whether runs may wait in the store that could begin here."""
        self._rush_since_ms: int | None = None
        self._alone = True
        self._idle = False
        self._swept_ms = self._pruned_ms = 0
        self._ended: dict[str, int] = {}
        self._loops = {
            "plan": Loop("plan", self.plan_once, self._clock, self._failed),
            "outcomes": Loop("outcomes", self.write_once, self._clock, self._failed),
            "logs": Loop("logs", self.write_logs_once, self._clock, self._failed),
            "heartbeat": Loop("heartbeat", self.heartbeat_once, self._clock, self._failed),
            "lease": Loop("lease", self.watch_lease_once, self._clock, self._failed),
        }
        self._make_writers()
        self._unlisten: Callable[[], None] = lambda: None

    # life

    @property
    def loops(self) -> Mapping[str, Loop]:
        """What this node does again and again, for those who drive it by hand instead of starting it."""
        return self._loops

    @property
    def goes_on(self) -> bool:
        """Whether the last pass of planning left something to be looked at again as soon as it said."""
        return self._woken

    def start(self) -> None:
        """Join, and begin to plan and execute."""
        capture_logging()
        self._unlisten = self._store.listen(self.wake)
        for loop in self._loops.values():
            loop.start()
        self._emitter.emit(NodeStarted(self.node.id, self.node.name))

    def publish_tasks(self) -> None:
        """Tell the store which tasks this node has now: they have changed while it runs."""
        names, infos = self._tasks()
        with self._lock:
            self.node = self._store.join(replace(self.node, tasks=names), infos)
        self.wake()

    def wake(self) -> None:
        """Look now: something may have become due, or was put."""
        self._reread = True
        self._go_on()

    def _go_on(self) -> None:
        """Make another pass now, without reading ahead anew."""
        self._woken = True
        self._loops["plan"].wake()

    def stop(self) -> bool:
        """Drain: take no more, let what runs finish within the drain time, give back the rest; whether all ended."""
        self._draining = True
        self._unlisten()
        self._loops["plan"].stop()
        self._loops["plan"].join()
        self.worker.hand_back()
        all_ended = self.worker.wait_empty(self._settings.drain_ms)
        self.worker.hand_back(entered=True)
        others = [self._loops[name] for name in ("heartbeat", "lease", "outcomes", "logs")]
        for loop in others:
            loop.stop()
        for loop in others:
            loop.join()
        while self._outcomes.run_once() is not None:
            pass
        self._store.leave(self.node.id)
        self.worker.close()
        self._emitter.emit(NodeStopped(self.node.id, self.node.name))
        return all_ended

    @property
    def is_drained(self) -> bool:
        """Whether it was asked from outside to take no more, and has nothing left to do."""
        return self._draining and not self.worker.executing() and not self._outcomes.pending()

    def gauges(self) -> Gauges:
        """How it stands now, for metrics."""
        return Gauges(
            pools=self.worker.counts(),
            clock_offset_ms=self._clock.skew_ms,
            renewed_for_ms=self._clock.monotonic_ms() - self._renewed_ms,
        )

    @property
    def is_healthy(self) -> bool:
        """Whether it holds its lease: one that does not calls no task."""
        return not self._cut_off

    @property
    def _executes(self) -> bool:
        return "execute" in self._settings.roles

    # planning and starting

    def plan_once(self) -> int | None:
        """One pass: read ahead, plan what is due, start what waits. Says how long nothing will be due."""
        if self._cut_off or self._draining:
            return self._settings.poll_ms
        now_ms = self._clock.now_ms()
        woken, self._woken = self._woken, False
        reread, self._reread = self._reread, False
        if self._preread.run_once(now_ms, at_once=reread) and self.worker.executing():
            for run_id in self._store.cancels(self.node.id):
                self.worker.cancel(run_id)
        local = self._local.run_once(self.node.id, now_ms)
        self._tell(local)
        due = self._ring.due(now_ms)
        self._echo(due, now_ms)
        self._sweep(now_ms)
        if not (due or woken or local or self._woken or self._plans_on):
            return self._until_next()
        if self._waits and self._executes:
            self._start(share=2)  # what is new may begin at once, but not in all places for which others wait
        # A worker that came free is no reason to look for what is due.
        self._plans_on = self._plans_on or bool(due) or reread
        planned = self._plan() if self._plans_on and "plan" in self._settings.roles else _Pass()
        self._plans_on = planned.more or planned.passed_over
        started = self._start() if self._executes else _Pass()
        if planned.more or started.more:
            self._woken = True
            return 0
        if planned.passed_over or started.passed_over:
            self._woken = True
            return LOOK_AGAIN_MS
        self._note_idle(planned.began or started.began)
        return self._until_next()

    def _start(self, *, share: int = 1) -> _Pass:
        """Start what waits, in each pool as much as can begin there, or a share of it; the rest stays in the store."""
        tasks = self._tasks()[0]
        began = passed_over = more = waits = False
        hungry = self.worker.pools.is_full
        for opening in self.worker.pools.openings(tasks):
            most = min(max(opening.room // share, 1), BATCH)
            started = self._store.start_due(self.node.id, opening.tasks, most)
            self.worker.begin(*started.runs)
            for run in started.skipped:
                self._emitter.emit(RunSkipped(run.id, run.task, run.schedule, run.reason))
            began, passed_over = began or bool(started.runs), passed_over or started.passed_over
            if len(started.runs) >= most:  # more may wait: go on when workers come free
                hungry = waits = True
                more = more or bool(self.worker.pools.openings(opening.tasks))
        self._hungry, self._waits = hungry, waits
        return _Pass(began, passed_over, more)

    def _room(self) -> Room:
        return self.worker.pools.room()

    def _plan(self) -> _Pass:
        """Plan what is due, a few batches one after the other; outcomes wait meanwhile."""
        began = passed_over = more = False
        self._rush_since_ms = self._clock.monotonic_ms()
        try:
            for _ in range(BATCHES):
                began_ms = self._clock.monotonic_ms()
                planned = self._planner.run_once(self.node.id, self.worker.pools.free)
                own = [run for effects in planned.effects for run in effects.runs if run.owner == self.node.id]
                self.worker.begin(*own)
                self._preread.remember(_next_moments(planned.effects), self._clock.now_ms())
                self._tell_batch(planned.effects, self._clock.monotonic_ms() - began_ms)
                began, passed_over, more = began or bool(own), passed_over or planned.passed_over, planned.more
                if not more:
                    break
        finally:
            self._rush_since_ms = None
            self._loops["outcomes"].wake()
        return _Pass(began, passed_over, more)

    def _tell_batch(self, all_effects: Sequence[Effects], took_ms: int) -> None:
        if all_effects:
            runs = sum(len(effects.runs) for effects in all_effects)
            self._emitter.emit(BatchPlanned(len(all_effects), runs, took_ms))
        self._tell(all_effects)

    def _tell(self, all_effects: Sequence[Effects]) -> None:
        for effects in all_effects:
            for decision in effects.decisions:
                self._emitter.emit(Misfired(decision.schedule, decision.reason, decision.count))
            if effects.schedule is not None and effects.schedule.error is not None:
                self._emitter.emit(Parked(effects.schedule.name, effects.schedule.error))

    def _echo(self, due: Sequence[Hint[int]], now_ms: int) -> None:
        """Look again shortly after a moment: a peer that was quicker may have routed runs to this node."""
        if self._alone or not any(hint.key >= 0 for hint in due):
            return
        for after_ms in ECHOES_MS:
            self._ring.put(-after_ms, now_ms + after_ms)  # no moment of the store, and no cause of further echoes

    def _until_next(self) -> int:
        now_ms = self._clock.now_ms()  # planning has taken its time
        moments = [moment for moment in (self._ring.peek(), self._local.peek()) if moment is not None]
        return max(min([self._preread.due_in_ms(now_ms), *(moment - now_ms for moment in moments)]), 0)

    def _sweep(self, now_ms: int) -> None:
        if now_ms < self._swept_ms + self._settings.sweep_ms:
            return
        self._swept_ms = now_ms
        if self._store.sweep() + self._store.reroute(self._reroute):
            self._woken = True
        if now_ms >= self._pruned_ms + PRUNE_MS:
            self._pruned_ms = now_ms
            self._store.prune(self._settings.keep)
        if now_ms >= self._declared_ms + DECLARE_MS:
            self._declared_ms = now_ms
            self._still_declared()

    def _reroute(self, run: Run, nodes: Sequence[Node], now_ms: int) -> str | None:
        return self._router(run, 0, nodes, now_ms, busy={}) or (nodes[0].id if run.is_shard else None)

    def _note_idle(self, busy: bool) -> None:
        idle = not busy and not self.worker.executing()
        if idle and not self._idle:
            self._emitter.emit(Idle(self.node.id))
        self._idle = idle

    # the lease

    @property
    def _cut_off(self) -> bool:
        return self._clock.monotonic_ms() - self._renewed_ms > self._settings.give_up_ms

    def heartbeat_once(self) -> int | None:
        """Renew, and make the worker agree with the store; take over from the dead."""
        sent_ms = self._clock.monotonic_ms()
        before = self.worker.executing()  # what begins after the store has answered is not in its answer
        state = NodeState.DRAINING if self._draining else NodeState.ALIVE
        try:
            renewal = self._store.renew(replace(self.node, state=state, labels=self._labels()))
        except NodeDead:
            self._join_anew()
            return 0
        self._renewed_ms = sent_ms
        self._alone = len(renewal.nodes) == 1
        if renewal.node.state is NodeState.DRAINING and not self._draining:
            self._be_drained()
        self._clock.measure()
        self._compare(before, renewal.own)
        for node_id, renewals in self._reaper.suspects(renewal.nodes, self.node.id, self._clock.now_ms()):
            self._planner.be_careful(self._clock.now_ms())
            taken = self._store.take_over(node_id, renewals)
            if taken:
                self._emitter.emit(TookOver(node_id, len(taken)))
                self._tell_ended(taken)
                self.wake()
        return self._settings.heartbeat_ms

    def watch_lease_once(self) -> int | None:
        """Stop what runs here before another may take it, also while a renewal waits for a store that says nothing."""
        left_ms = self._renewed_ms + self._settings.give_up_ms - self._clock.monotonic_ms()
        if left_ms < 0:
            self._stop_everything()
            return self._settings.poll_ms
        return left_ms + 1

    def _be_drained(self) -> None:
        """Somebody asked this node to take no more: it gives back what has not begun, and says so to its app."""
        self._draining = True
        self.worker.hand_back()
        self._emitter.emit(Draining(self.node.id, self.node.name))

    def _compare(self, before: dict[str, int], own: tuple[Run, ...]) -> None:
        """What the store does not hold, stop; what was never begun here, begin; what is to be cancelled, cancel.

        What was begun, is no longer here and is still held by the store a renewal later, has lost its outcome.
        """
        held = {run.id: run for run in own}
        pending = self._outcomes.pending()
        for run_id, claim_no in before.items():
            if run_id not in pending and (run_id not in held or held[run_id].claim_no != claim_no):
                self.worker.give_up(run_id)
        here = self.worker.executing()
        pending = self._outcomes.pending()  # in this order: what leaves the worker has reported before
        ended = {run.id: run.claim_no for run in own if run.id not in here and self.worker.has_begun(run)}
        for run in own:
            if run.cancel_requested_ms is not None:
                self.worker.cancel(run.id)
            if run.id in ended:
                if run.id not in pending and self._ended.get(run.id) == run.claim_no:
                    self._report(Outcome(run.id, run.claim_no, "failed", error="it ended without an outcome"))
            elif run.id not in here and not self._draining:
                self.worker.begin(run)
        self._ended = ended
        self.worker.forget_begun({*held, *pending})

    def _join_anew(self) -> None:
        """Declared dead: stop all that runs here, and go on as another incarnation."""
        self._emitter.emit(LeaseLost(self.node.id, self.node.name, len(self.worker.executing())))
        self._stop_everything()
        with self._lock:
            self.node = self._incarnation()
            self._make_writers()
        self._renewed_ms = self._clock.monotonic_ms()

    def _make_writers(self) -> None:
        """What writes for this incarnation."""
        self._logs = LogWriter(self._store, self.node.id)
        self._outcomes = OutcomeWriter(self._store, self.node.id, self._after_finish)
        self._outcomes.wake = self._loops["outcomes"].wake
        self._outcomes.before_writing = self._write_logs

    def _stop_everything(self) -> None:
        for run_id in self.worker.executing():
            self.worker.give_up(run_id)

    def _incarnation(self) -> Node:
        names, infos = self._tasks()
        name = self._settings.name or f"{socket.gethostname()}:{os.getpid()}"
        node = Node(
            id=new_id(self._clock.now_ms()),
            name=name,
            group=self._settings.group,
            labels=self._labels(),
            roles=self._settings.roles,
            capacity=self._settings.capacity if self._executes else 0,
            tasks=names,
            lease_ms=self._settings.lease_ms,
        )
        joined = self._store.join(node, infos)
        if any(each.id != joined.id for each in self._store.nodes()):
            # Somebody is alive, or died without a word: which of the two, nobody can tell within a lease.
            self._planner.be_careful(self._clock.now_ms())
        return joined

    def _labels(self) -> dict[str, str]:
        """What was set, and what an operator cannot see from elsewhere."""
        return {**self._settings.labels, SKEW_LABEL: str(self._clock.skew_ms), ZONES_LABEL: self._zones}

    # outcomes

    def write_once(self) -> int | None:
        """Write the outcomes that there are, in one batch; what is due goes first, but not for ever."""
        rush_since_ms = self._rush_since_ms
        if rush_since_ms is not None and self._clock.monotonic_ms() - rush_since_ms < LONGEST_RUSH_MS:
            return LOOK_AGAIN_MS
        return self._outcomes.run_once()

    def write_logs_once(self) -> int | None:
        """Write what runs have said, in batches."""
        return self._logs.run_once()

    def _keep_line(self, line: LogLine) -> None:
        self._logs.add(line)

    def _write_logs(self) -> None:
        try:
            self._logs.flush()
        except Exception as error:  # what a run said must not hold up how it ended
            self._failed("logs", error)

    def _report(self, outcome: Outcome) -> None:
        self._outcomes.add(outcome)

    def _after_finish(self, finished: Finished) -> None:
        self._tell_ended(finished.recorded)
        for run_id in finished.refused:
            self._emitter.emit(OutcomeRefused(run_id))
        if any(run.state is State.WAITING for run in finished.recorded):
            self.wake()
        elif finished.woken or self._hungry:
            self._go_on()

    def _after_completion(self) -> None:
        """A task has ended its run in its own transaction: who waited behind it may be judged again."""
        self._store.sweep()
        self.wake()

    def _tell_ended(self, runs: Sequence[Run]) -> None:
        if self._emitter.is_heard(RunEnded):
            for run in runs:
                if run.is_final:
                    self._emitter.emit(RunEnded(run.id, run.task, run.schedule, run.state.value))

    def _failed(self, stage: str, error: Exception) -> None:
        if isinstance(error, NodeDead):
            self._loops["heartbeat"].wake()
        self._emitter.emit(Failure(stage, error))


def _next_moments(all_effects: Sequence[Effects]) -> set[int]:
    """When the schedules that were just planned are due again."""
    planned = (effects.schedule for effects in all_effects)
    return {each.next_run_ms for each in planned if each is not None and each.next_run_ms is not None}
