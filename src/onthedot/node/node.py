"""A node: one process's part in the cluster, from its first lease to its last outcome.

    heartbeat   renews the lease, agrees with the store about what runs here, takes over from the dead
    lease       watches that nothing runs here when the lease is over
    plan        reads ahead, plans what is due, starts what waits
    outcomes    writes how runs ended           logs    writes what they said
    sweep       finds what a lost wake-up left  prune   forgets what is old

Each is a loop with a thread of its own. What they decide is decided by objects without threads: `Lease`, `Agenda`, and
the rules.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from onthedot.clock import Clock, StoreClock
from onthedot.errors import NodeDead, OnthedotError
from onthedot.events import Emitter, Failure, LoopRestarted, NodeStarted, NodeStopped, OutcomeRefused
from onthedot.execution.capture import capture_logging
from onthedot.execution.engines.engine import Engine
from onthedot.execution.targets import Lookup
from onthedot.execution.thread_pool import Counts, Pool, Room, Sizes
from onthedot.execution.worker import NOTICED_MS, Outlet, Worker
from onthedot.loop import Loop
from onthedot.model.ids import new_id
from onthedot.model.node import SKEW_LABEL, SLOW_LABEL, ZONES_LABEL, Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.node.agenda import LOOK_AGAIN_MS
from onthedot.node.drain import Drain
from onthedot.node.garbage import make_pauses_rare
from onthedot.node.heartbeat import Heartbeat, Surroundings
from onthedot.node.lease import Claim
from onthedot.node.local import LocalPlanner
from onthedot.node.planner import Planner
from onthedot.node.planning_pass import Parts, PlanningPass
from onthedot.node.run_events import emit_ended, emit_recorded
from onthedot.node.settings import NodeSettings
from onthedot.node.supervisor import Supervisor
from onthedot.node.tally import Tally
from onthedot.node.upkeep import Upkeep
from onthedot.node.writers import LogWriter, OutcomeWriter
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Finished
from onthedot.stores.base import Store
from onthedot.triggers.tzfile import zones_version

LONGEST_RUSH_MS = 200
"""How long outcomes wait at most while what is due is planned: each written batch would make the rest later."""
LONGEST_HOLD_MS = 100
"""And before something is due, however long a batch takes."""


_MOST_SLOW = 20
"""So many tasks that it found to be slow a node tells by name."""
_LAST_BATCHES = 1000
"""How many batches of outcomes a stopping node writes: one that always clashes must not keep it for ever."""


class Gauges(NamedTuple):
    """How a node stands at the moment of asking."""

    pools: Mapping[Pool, Counts]
    clock_offset_ms: int
    renewed_for_ms: int


class NodeRunner:
    """Made without touching the store. `start` and `stop` may be called once each, from any thread."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        emitter: Emitter,
        lookup: Lookup,
        tasks: Callable[[], tuple[tuple[str, ...], list[TaskInfo]]],
        *,
        settings: NodeSettings,
        declare: Callable[[], None] = lambda: None,
        declare_again: Callable[[], None] = lambda: None,
        make_worker: Callable[..., Worker] = Worker,
        engines: Mapping[str, Engine] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._emitter = emitter
        self._tasks = tasks
        self._settings = settings
        self._declare_again = declare_again
        self._clock = StoreClock(store.now_ms, clock)
        self._zones = zones_version()
        self._rush_since_ms: int | None = None
        self._writing_takes_ms = 0
        """How long a batch of outcomes took of late."""
        self._told_of_worker = False
        self._tally = Tally()
        self._logs = LogWriter(store, self._node_id)
        self._outcomes = OutcomeWriter(
            self._finish, self._node_id, self._after_finish, before_writing=self._write_logs, wake=self._wake_outcomes
        )
        self.worker = make_worker(
            lookup,
            self._clock,
            emitter,
            self._outcomes.add,
            sizes=Sizes.of(settings.capacity, has_engines=bool(engines)),
            on_line=self._logs.add,
            store=store,
            on_completed=self._after_completion,
            on_begun=self._count_begun,
            engines=engines,
            may_enter=self._may_enter,
            outlet=Outlet(self._goes_on_in_one_step, self._outcomes.keep, self._write_here),
        )
        self._drain = Drain(self.worker, self._clock, emitter, lambda: self.node)
        self._planner = Planner(store, Decider(lambda: new_id(self._clock.now_ms()), self._room), emitter.emit)
        self._heartbeat = Heartbeat(settings, self._surroundings())
        self._pass = PlanningPass(settings, self._parts())
        self._upkeep = Upkeep(
            store,
            self._clock,
            sweep_ms=settings.sweep_ms,
            retention=settings.retention,
            may=lambda: not self._heartbeat.is_cut_off,
            declare=declare,
            write_tally=self._write_tally,
            wake=self.wake,
        )
        self._supervisor = Supervisor(self._make_loops(), lambda name: emitter.emit(LoopRestarted(name)))
        self._unlisten: Callable[[], None] = lambda: None
        self._unhear: Callable[[], None] = lambda: None

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            store=self._store,
            clock=self._clock,
            emitter=self._emitter,
            worker=self.worker,
            incarnation=self._incarnation,
            labels=self._labels,
            tasks=self._tasks,
            reported=self._outcomes.pending,
            asked_ms=lambda: self._pass.asked_ms,
            report=self._outcomes.add,
            on_joined=self._after_join,
            on_rejoined=self._declare_again,
            on_ended=self._after_end,
            on_suspect=self._suspect,
            wake=self.wake,
        )

    def _parts(self) -> Parts:
        return Parts(
            store=self._store,
            clock=self._clock,
            emitter=self._emitter,
            worker=self.worker,
            heartbeat=self._heartbeat,
            planner=self._planner,
            local=LocalPlanner(self._store, self._planner.plan_one, lambda: self._tasks()[0]),
            tasks=lambda: self._tasks()[0],
            around_planning=self._rush,
            decide_ahead=Decider(lambda: ""),
            make_id=lambda: new_id(self._clock.now_ms()),
            is_ending=lambda claim: self._outcomes.has(claim) or self.worker.is_about_to_end(claim),
            wake=self._go_on,
            on_doubt=self._ask_at_once,
        )

    def _make_loops(self) -> list[Loop]:
        passes: dict[str, Callable[[], int | None]] = {
            "plan": self.plan_once,
            "outcomes": self.write_once,
            "logs": self._logs.run_once,
            "heartbeat": self.heartbeat_once,
            "lease": self.watch_lease_once,
            "sweep": self._upkeep.sweep_once,
            "prune": self._upkeep.prune_once,
        }
        return [Loop(name, run_once, self._clock, self._on_failure) for name, run_once in passes.items()]

    # life

    def join(self) -> None:
        """Become a node of the store, without a thread yet."""
        self._heartbeat.join()

    def start(self) -> None:
        """Join, and begin to plan and execute."""
        capture_logging()
        self.join()
        self._unlisten = self._store.listen(self.wake)
        self._unhear = self._store.hear_flows(self._after_flows)
        self._supervisor.start()
        if self._settings.tune_gc:
            make_pauses_rare()
        self._emitter.emit(NodeStarted(self.node.id, self.node.name))

    def stop(self) -> bool:
        """Drain: take no more, let what runs finish within the drain time, give back the rest; whether all ended."""
        self._heartbeat.is_draining = True
        self._unlisten()
        self._supervisor.stop(["plan", "sweep", "prune"])
        self._pass.let_go()  # who writes outcomes may be about to begin runs
        self.worker.hand_back()
        self._leave_engines()
        all_ended = self._drain.wait(self._settings.drain_ms)
        self._drain.hand_back()
        self._supervisor.stop()
        if self._heartbeat.has_joined:
            self._take_leave()
        self.worker.close()
        if self._heartbeat.has_joined:
            self._emitter.emit(NodeStopped(self.node.id, self.node.name))
        return all_ended

    def _leave_engines(self) -> None:
        """What they have goes on. Those who can watch it do so at once; else whoever comes."""
        try:
            self._heartbeat.hand_over()
        except Exception as error:  # the store is away: others take over in a while
            self._on_failure("stop", error)
        self.worker.let_go_of_engines()

    def hurry(self) -> None:
        """Do not wait for what runs when it stops, or stops already: give it back."""
        self._drain.hurry()

    def _take_leave(self) -> None:
        """Write the last outcomes and end the incarnation. Where the store is away, others take over in a while."""
        try:
            for _ in range(_LAST_BATCHES):
                if self._outcomes.run_once() is None:
                    break
            self._unhear()
            self._write_tally()
            self._store.leave(self.node.id)
        except Exception as error:
            self._on_failure("stop", error)

    @property
    def node(self) -> Node:
        """The row of the present incarnation."""
        return self._heartbeat.lease.node

    @property
    def loops(self) -> Mapping[str, Loop]:
        """What this node does again and again, for those who drive it by hand instead of starting it."""
        return self._supervisor.loops

    @property
    def goes_on(self) -> bool:
        """Whether the last pass of planning left something to be looked at again as soon as it said."""
        return self._pass.agenda.is_woken

    @property
    def is_at_rest(self) -> bool:
        """Whether no pass is asked for, and none will be when a run ends: it acts when something is due."""
        agenda = self._pass.agenda
        busy = agenda.is_woken or agenda.is_hungry or self._heartbeat.is_draining
        return not busy and not any(loop.is_woken for loop in self.loops.values())

    @property
    def is_careful(self) -> bool:
        """Whether a process may have died of a plan: what was due then is tried one by one."""
        return self._planner.is_careful

    @property
    def is_drained(self) -> bool:
        """Whether it was asked from outside to take no more, and has nothing left to do."""
        return self._heartbeat.is_draining and not self.worker.executing() and not self._outcomes.pending()

    @property
    def is_healthy(self) -> bool:
        """Whether it holds its lease, and each of its loops has passed lately."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Why it is not healthy, one sentence each."""
        cut_off = ["it could not renew its lease, and calls no task"] if self._heartbeat.is_cut_off else []
        stuck = [f"the loop {name} has not come to an end of its pass" for name in self._supervisor.stuck()]
        return cut_off + self.worker.problems() + stuck

    def gauges(self) -> Gauges:
        """How it stands now, for metrics."""
        return Gauges(
            pools=self.worker.counts(),
            clock_offset_ms=self._clock.skew_ms,
            renewed_for_ms=self._heartbeat.lease.age_ms(self._clock.monotonic_ms()),
        )

    def assume_renewed(self) -> None:
        """As if it had renewed its lease until now: for simulations, which leave out beats in which nothing happens."""
        self._heartbeat.lease.assume_renewed(self._clock.monotonic_ms())

    def publish_tasks(self) -> None:
        """Tell the store which tasks this node has now: they have changed while it runs."""
        self._heartbeat.publish_tasks()
        self.wake()

    def wake(self) -> None:
        """Look now: something may have become due, or was put."""
        self._pass.agenda.wake()
        self.loops["plan"].wake()

    def _go_on(self) -> None:
        """Make another pass now, without reading ahead anew."""
        self._pass.agenda.go_on()
        self.loops["plan"].wake()

    # the passes of its loops

    def plan_once(self) -> int:
        """Read ahead, plan what is due, start what waits. Says how long nothing will be due."""
        return self._pass.run_once()

    def heartbeat_once(self) -> int:
        """Renew, and carry out what follows from the answer."""
        return self._heartbeat.run_once()

    def watch_lease_once(self) -> int:
        """Stop what runs here before another may take it; and see that all loops live."""
        self._supervisor.look()
        self._tell_of_worker()
        self._pass.watch()
        self.worker.hand_back_stuck()
        return min(self._heartbeat.watch_once(), self._settings.poll_ms)

    def _tell_of_worker(self) -> None:
        """Once, when something begins to be wrong with it."""
        problems = self.worker.problems(NOTICED_MS)
        if problems and not self._told_of_worker:
            self._emitter.emit(Failure("worker", OnthedotError("; ".join(problems))))
        self._told_of_worker = bool(problems)

    def write_once(self) -> int | None:
        """Write the outcomes that there are, in one batch; what is due goes first, but not for ever."""
        rush_since_ms = self._rush_since_ms
        if rush_since_ms is not None and self._clock.monotonic_ms() - rush_since_ms < LONGEST_RUSH_MS:
            return LOOK_AGAIN_MS
        hold_ms = self._pass.waits_for_herd_ms(self._writing_takes_ms)
        if hold_ms:
            return hold_ms
        began_ms = self._clock.monotonic_ms()
        try:
            return self._outcomes.run_once()
        finally:
            took_ms = min(self._clock.monotonic_ms() - began_ms, LONGEST_HOLD_MS)
            self._writing_takes_ms = max(took_ms, self._writing_takes_ms // 2)

    def _rush(self, begins: bool) -> None:
        if not begins:
            self._rush_since_ms = None
            self._wake_outcomes()
        elif self._rush_since_ms is None:
            self._rush_since_ms = self._clock.monotonic_ms()

    # what follows from what

    def _node_id(self) -> str:
        return self.node.id

    def _room(self) -> Room:
        return self.worker.pools.room()

    def _may_enter(self) -> bool:
        return not self._heartbeat.is_cut_off

    def _wake_outcomes(self) -> None:
        self.loops["outcomes"].wake()

    def _goes_on_in_one_step(self, outcome: Outcome) -> bool:
        """Whether runs may wait for the place of this one, or steps for its end."""
        return self._pass.agenda.is_hungry or outcome.flow is not None

    def _write_here(self) -> None:
        """In the thread of a run that has ended; where another writes just now, that one goes on."""
        if self._outcomes.is_writing:
            self._wake_outcomes()
        else:
            self.loops["outcomes"].step_here()

    def _ask_at_once(self) -> None:
        """An answer may have been lost: the next renewal tells what the store has made this node's."""
        self.loops["heartbeat"].wake()

    def _suspect(self) -> None:
        self._planner.quarantine(self._clock.now_ms())

    def _after_join(self, _joined: Node, others: bool) -> None:
        if others:  # alive, or dead without a word: which of the two, nobody can tell within a lease
            self._suspect()

    def _after_finish(self, finished: Finished, outcomes: Mapping[Claim, Outcome]) -> None:
        self._pass.recorded(finished.recorded)
        emit_recorded(self._emitter, finished.recorded, outcomes)
        self._tally.ended(self._node_id(), finished.recorded)
        self.worker.engines.recorded(outcomes, finished)
        for run_id in finished.refused:
            self._emitter.emit(OutcomeRefused(run_id))
        if any(run.state is State.WAITING for run in finished.recorded):
            self.wake()
        elif finished.woken or self._pass.left_some:
            self._go_on()

    def _after_completion(self, run: Run) -> None:
        """A task has ended its run in its own transaction: who waited behind it may be judged again."""
        self._after_end([run])
        self.loops["sweep"].wake()
        self.wake()

    def _after_end(self, runs: Sequence[Run]) -> None:
        emit_ended(self._emitter, runs)
        self._tally.ended(self._node_id(), runs)

    def _after_flows(self, flows: Sequence[Run]) -> None:
        """No worker does a flow: whoever told it of its last step has ended it."""
        emit_ended(self._emitter, flows)
        self._tally.flows_ended(self._node_id(), flows)

    def _count_begun(self, run: Run, at_ms: int, late_ms: int) -> None:
        self._tally.began(run.owner or "", run, at_ms, late_ms)

    def _write_tally(self) -> None:
        self._tally.write(self._store.tally)

    def _finish(self, node_id: str, outcomes: list[Outcome]) -> Finished:
        return self._pass.finish(node_id, outcomes)

    def _write_logs(self) -> None:
        try:
            self._logs.flush()
        except Exception as error:  # what a run said must not hold up how it ended
            self._on_failure("logs", error)

    def _on_failure(self, stage: str, error: BaseException) -> None:
        if isinstance(error, NodeDead):
            self.loops["heartbeat"].wake()
        self._emitter.emit(Failure(stage, error))

    # what it says of itself

    def _incarnation(self) -> Node:
        executes = "execute" in self._settings.roles
        return Node(
            id=new_id(self._clock.now_ms()),
            name=self._settings.name or f"{socket.gethostname()}:{os.getpid()}",
            group=self._settings.group,
            labels=self._labels(),
            roles=self._settings.roles,
            capacity=self._settings.capacity if executes else 0,
            pools=self.worker.pools.sizes.by_pool() if executes else {},
            tasks=self._tasks()[0],
            lease_ms=self._settings.lease_ms,
        )

    def _labels(self) -> dict[str, str]:
        """What was set, and what an operator cannot see from elsewhere."""
        slow = self.worker.pools.found_slow()[:_MOST_SLOW]
        told = {SLOW_LABEL: "\n".join(slow)} if slow else {}
        told |= self.worker.engines.labels()
        return {**self._settings.labels, SKEW_LABEL: str(self._clock.skew_ms), ZONES_LABEL: self._zones, **told}
