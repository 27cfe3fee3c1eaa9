"""Keeping the lease: renew, agree with the store about what runs here, go on as another, take over from the dead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from onthedot.clock import StoreClock
from onthedot.errors import NodeDead
from onthedot.events import Draining, Emitter, LeaseLost, TookOver
from onthedot.execution.worker import Worker
from onthedot.model.change import Author
from onthedot.model.node import Node, NodeState
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.node.lease import Ask, Claim, Here, Lease, Orders
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Store


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the heartbeat acts on, and whom it tells."""

    store: Store
    clock: StoreClock
    emitter: Emitter
    worker: Worker
    incarnation: Callable[[], Node]
    """The row of a new one."""
    labels: Callable[[], Mapping[str, str]]
    tasks: Callable[[], tuple[tuple[str, ...], list[TaskInfo]]]
    reported: Callable[[], set[Claim]]
    """Outcomes on their way to the store."""
    asked_ms: Callable[[], int | None]
    """Since when a plan or a start is under way, if one is: its answer may bring runs that were begun, and ended,
    without it."""
    report: Callable[[Outcome], None]
    on_joined: Callable[[Node, bool], None]
    """The node goes on as this incarnation; whether there are others in the store, dead or alive."""
    on_rejoined: Callable[[], None]
    """It had lost its lease: what it has declared may be gone from the store."""
    on_ended: Callable[[Sequence[Run]], None]
    """What becomes of runs that were taken over."""
    on_suspect: Callable[[], None]
    """A peer is dead: a plan may have been the cause."""
    wake: Callable[[], None]
    """Something may be due."""


class Heartbeat:
    """Owns the lease of the present incarnation. `run_once` and `watch_once` are called by a thread each."""

    def __init__(self, settings: NodeSettings, around: Surroundings) -> None:
        self._settings = settings
        self._around = around
        self._changing = Lock()
        self._lease: Lease | None = None
        self.is_draining = False
        self.is_alone = True
        self._looked_ms = 0
        self._gone: set[Claim] = set()
        """What had begun here when it last looked, and was neither here nor the store's any more."""
        self._names: dict[str, str] = {}
        """What the nodes are called that were seen at the last renewal, by their ids."""

    @property
    def lease(self) -> Lease:
        """Of the present incarnation; there is none before `join`."""
        assert self._lease is not None, "the node has not joined"
        return self._lease

    @property
    def has_joined(self) -> bool:
        """Whether there is one: not where the store did not answer from the start."""
        return self._lease is not None

    @property
    def is_cut_off(self) -> bool:
        """Whether it may plan nothing, and call no task."""
        return self._lease is None or self._lease.is_over(self._around.clock.monotonic_ms())

    def join(self) -> None:
        """Register an incarnation of its own."""
        around = self._around
        around.clock.settle()
        joined_ms = self._now_ms()
        joined = around.store.join(around.incarnation(), around.tasks()[1])
        others = any(each.id != joined.id for each in around.store.nodes())
        with self._changing:
            self._lease = Lease(joined, joined_ms, self._settings.give_up_ms)
            around.worker.serve(joined.id)
        around.on_joined(joined, others)

    def publish_tasks(self) -> None:
        """Tell the store which tasks this node has now: they have changed while it runs."""
        names, infos = self._around.tasks()
        lease = self.lease  # not under the lock: who watches it must not wait for a store that says nothing
        lease.node = self._around.store.join(replace(lease.node, tasks=names), infos)

    # the thread of renewals

    def run_once(self) -> int:
        """Renew, and carry out what follows from the answer. Says when to renew again."""
        lease = self.lease
        if lease.is_over(self._now_ms()):
            return self._go_on_as_another(lease)
        ask = Ask(self._now_ms(), frozenset(self._executing()))
        try:
            renewal = self._around.store.renew(self._row(lease.node))
        except NodeDead:
            return self._go_on_as_another(lease)
        if lease.is_over(self._now_ms()):  # the answer came too late: what ran here has been stopped meanwhile
            return self._go_on_as_another(lease)
        self._around.clock.measure()
        orders = lease.answered(ask, renewal, self._here(), self._now_ms(), self._around.clock.now_ms())
        self._names = {node.id: node.name for node in renewal.nodes}
        self._carry_out(orders)
        return self._settings.heartbeat_ms

    def _here(self) -> Here:
        executing = self._executing()  # first: what leaves the worker has reported before, so it is in one of both
        return Here(executing, self._around.reported(), self._around.worker.begun(), not self.is_draining)

    def _carry_out(self, orders: Orders) -> None:
        worker = self._around.worker
        self.is_alone = orders.is_alone
        for run_id, claim_no in orders.stop:
            worker.give_up(run_id, claim_no)
        for run_id, claim_no in orders.cancel:
            worker.cancel(run_id, claim_no)
        worker.begin(*orders.begin)
        for run_id, claim_no in orders.fail:
            self._around.report(Outcome(run_id, claim_no, "failed", error="it ended without an outcome"))
        self._forget_begun(orders.remember)
        if orders.is_drained and not self.is_draining:
            self._be_drained()
        if self.is_draining:
            self.hand_over()
        for node_id, renewals in orders.take_over:
            self._take_over(node_id, renewals)

    def _forget_begun(self, remember: frozenset[str]) -> None:
        """Of what has ended, all that no answer can bring any more: where one is awaited, what it was asked after.

        Nor what has begun and ended since the answer was compared, and is not recorded: the next would bring it.
        """
        worker, asked_ms = self._around.worker, self._around.asked_ms()
        begun, here = worker.begun(), worker.executing()  # in this order: what has left it was reported before
        reported = self._around.reported()
        kept = {*remember, *here, *(run_id for run_id, _ in reported)}
        ended = {claim for claim in begun.items() if claim[0] not in kept}
        if asked_ms is None:
            worker.forget_begun(ended)
        elif asked_ms > self._looked_ms:
            worker.forget_begun(ended & self._gone)
        self._looked_ms, self._gone = self._now_ms(), ended

    def _take_over(self, node_id: str, renewals: int) -> None:
        around = self._around
        around.on_suspect()
        by = Author(self.lease.node.name, "node", "take over")
        taken = around.store.take_over(node_id, renewals, by)
        if not taken:
            return
        around.emitter.emit(TookOver(node_id, len(taken), self._names.get(node_id, "")))
        around.on_ended(taken)
        around.wake()

    def _be_drained(self) -> None:
        """Somebody asked this node to take no more: it gives back what has not begun, and says so to its app."""
        self.is_draining = True
        self._around.worker.hand_back()
        self._around.emitter.emit(Draining(self.lease.node.id, self.lease.node.name))

    def hand_over(self) -> None:
        """Let others watch what engines have of this node, where there are others that can."""
        if not self._around.worker.has_some_at_engines:
            return
        for run in self._around.store.hand_over(self.lease.node.id):
            self._around.worker.give_up(run.id, run.claim_no - 1)

    def _go_on_as_another(self, lease: Lease) -> int:
        """Stop all that runs here, end the old incarnation, and join as a new one.

        Whoever ends its own incarnation gives its runs back at once, and no crash is counted. If it was taken over
        meanwhile, there is nothing left to end. Renewing it would leave runs that nobody executes.
        """
        stopped = self._stop_everything(lease)
        self._around.store.leave(lease.node.id)
        self._around.emitter.emit(LeaseLost(lease.node.id, lease.node.name, stopped))
        self.join()
        self._around.on_rejoined()
        self._around.wake()
        return 0

    # the thread that watches

    def watch_once(self) -> int:
        """Stop what runs here before another may take it, also while a renewal waits for a store that says nothing."""
        lease = self._lease
        if lease is not None and lease.is_over(self._now_ms()):
            self._stop_everything(lease)
            return self._settings.poll_ms
        return self._settings.poll_ms if lease is None else lease.over_in_ms(self._now_ms())

    def _stop_everything(self, lease: Lease) -> int:
        """First nothing more may begin: what is stopped here may be another's in a moment.

        Where the process has gone on as another incarnation meanwhile, that one's runs are none of this lease.
        """
        with self._changing:
            if self._lease is not lease:
                return 0
            self._around.worker.serve(None)
            executing = self._executing()
        for run_id, claim_no in executing:
            self._around.worker.give_up(run_id, claim_no)
        return len(executing)

    def _executing(self) -> set[Claim]:
        return set(self._around.worker.executing().items())

    def _row(self, node: Node) -> Node:
        state = NodeState.DRAINING if self.is_draining else NodeState.ALIVE
        return replace(node, state=state, labels=self._around.labels())

    def _now_ms(self) -> int:
        return self._around.clock.monotonic_ms()
