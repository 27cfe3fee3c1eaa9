"""What must hold after every step, whatever happened: the promises of DESIGN.md, section 3, checked on the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from greenlet import getcurrent
from tests.model.node import ModelNode
from tests.model.tables import tables_of

from onthedot.model.decision import Decision
from onthedot.model.node import NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import FINAL, LEGAL, State
from onthedot.node.lease import Claim
from onthedot.stores.engine import Engine
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

_LIVING = (NodeState.ALIVE, NodeState.DRAINING)
WITHOUT_OUTCOME = "it ended without an outcome"
"""What a node says of a run that it began and lost: no task of the model does that."""


class Violation(BaseException):
    """A promise was broken. Nothing that survives errors survives it."""


def require(holds: bool, promise: str, *values: object) -> None:
    """A violation, unless it holds."""
    if not holds:
        raise Violation(f"{promise}: {', '.join(map(str, values))}")


class Watch:
    """Remembers everything that was ever recorded, also what has been pruned since."""

    def __init__(self, store: Engine, names: Collection[str]) -> None:
        self._store = store
        self._names = names
        self._begin = store.begin
        self._tables = tables_of(store, names, self._begin)
        self._runs: dict[str, Run] = {}
        self._ticks: dict[tuple[str, int], str] = {}
        self._rows: dict[str, Schedule] = {}
        self._shards: set[tuple[str, int]] = set()
        self._decisions: dict[str, Decision] = {}
        self._triggers: dict[tuple[str, int], Trigger] = {}
        self._entered: Counter[Claim] = Counter()
        self._fences: Counter[str] = Counter()
        """By schedule the highest that a run of it has had."""
        self._given_up: set[str] = set()
        """Incarnations of processes that have gone on as another."""
        self.latest_ms = 0
        self.acting: dict[object, tuple[str, str, frozenset[Claim]]] = {}
        """By greenlet the call of the store that it is in: its name, its node, and the claims that it reports."""
        self.retried: str | None = None
        """The run that an operator has done again in this step."""
        self.retries: Counter[str] = Counter()

    def entered(self, claim: Claim, node: ModelNode) -> None:
        """User code was called."""
        require(node.fresh(), "a node that is cut off calls no task", node.id, claim)
        self._entered[claim] += 1
        require(self._entered[claim] == 1, "each claim is executed once", claim)
        run = self._runs[claim[0]]
        if run.policy.delivery == "at_most_once":
            times = sum(count for each, count in self._entered.items() if each[0] == run.id)
            asked = self.retries[run.id] + (self.retries[run.parent_id or ""] if run.is_shard else 0)
            require(times <= 1 + asked, "at most once means at most once", claim)

    def after(self, nodes: Iterable[ModelNode]) -> None:
        """Everything, after a step and after each commit in it."""
        self.latest_ms = max(self.latest_ms, self._store.now_ms())
        self._tables = tables_of(self._store, self._names, self._begin)
        for run in chain(self._tables.runs.values(), self._tables.history.values()):
            old = self._runs.get(run.id)
            if old is not run and old != run:
                self._check_run(old, run)
                self._check_version(old, run)
            self._runs[run.id] = run
        for row in self._tables.schedules.values():
            if self._rows.get(row.id) is not row:
                self._check_row(self._rows.get(row.id), row)
                self._rows[row.id] = row
        self._check_running()
        for node in nodes:
            self._note_incarnation(node)
            self._check_node(node)

    def _note_incarnation(self, node: ModelNode) -> None:
        if node.has_joined() and node.id not in node.incarnations:
            self._given_up |= set(node.incarnations)
            node.incarnations.append(node.id)

    # runs

    def _check_run(self, old: Run | None, run: Run) -> None:
        before = None if old is None else old.state
        require(before is run.state or (before, run.state) in LEGAL, "states go legal ways only", before, run)
        if old is None:
            self._check_birth(run)
        else:
            require(run.claim_no >= old.claim_no, "claim numbers only grow", old, run)
            if old.state in FINAL and run.state not in FINAL:
                with_its_whole = run.is_shard and self.retries[run.parent_id or ""] > 0
                require(run.id == self.retried or with_its_whole, "what has ended stays so", old, run)
            if old.state is State.RUNNING and run.state is not State.RUNNING:
                self._check_ending(old, run)
        if run.state is State.RUNNING and (old is None or old.claim_no != run.claim_no):
            self._check_start(run)

    def _check_version(self, old: Run | None, run: Run) -> None:
        before, now = self._rows.get(run.schedule_id or ""), self._tables.schedules.get(run.schedule_id or "")
        if before is None or now is None or run.state in FINAL:
            return
        joined = old is None or old.state is not run.state or (old.blocked and not run.blocked)
        require(not joined or now.version > before.version, "who adds, starts or wakes a run raises the version", run)

    def _check_birth(self, run: Run) -> None:
        if run.is_shard:
            shard = (run.parent_id or "", run.shard or 0)
            require(shard not in self._shards and shard[1] < (run.shards or 0), "each shard of the total once", run)
            self._shards.add(shard)
        elif run.cause == "tick":
            key = (run.schedule_id or "", run.scheduled_ms)
            require(self._ticks.setdefault(key, run.id) == run.id, "one run per tick, ever", run)
            row = self._tables.schedules[run.schedule_id or ""]
            require(run.scheduled_ms <= row.settled_ms, "the watermark passes every tick that was run", run, row)

    def _check_start(self, run: Run) -> None:
        now_ms = self._store.now_ms()
        require(run.due_ms <= now_ms, "never early", run, now_ms)
        if run.is_broadcast:
            require(run.owner is None, "a broadcast has no owner", run)
        else:
            require(run.target in (None, run.owner), "a routed run starts on its node only", run)
            owner = self._tables.nodes[run.owner or ""]
            require(owner.state in _LIVING, "a dead node starts nothing", run, owner)
        if run.is_shard:
            whole = self._whole(run)
            require(whole.state is State.RUNNING, "a shard runs only while its broadcast does", run, whole)
            require(run.fence > whole.fence, "a shard has a higher fence than its broadcast began with", run, whole)
        if run.schedule_id is not None:
            row = self._tables.schedules[run.schedule_id]
            fresh = run.fence > self._fences[row.id]
            require(fresh, "the fence grows with every start", run, self._fences[row.id])
            self._fences[row.id] = max(run.fence, self._fences[row.id])
            require(not row.deleted, "nothing of a deleted schedule starts", run)
            require(row.enabled or run.cause != "tick" or run.exempt, "pause means pause", run)
            frozen = row.frozen_at(now_ms) is not None and run.cause == "tick" and not run.exempt
            require(not frozen, "in a freeze nothing starts", run, row)

    def _whole(self, shard: Run) -> Run:
        parent_id = shard.parent_id or ""
        return self._tables.runs.get(parent_id) or self._tables.history[parent_id]

    def _check_ending(self, old: Run, run: Run) -> None:
        require(run.claim_no > old.claim_no or run.state in FINAL, "who waits again has a new claim", old, run)
        asked = old.cancel_requested_ms is not None
        require(not asked or run.state in FINAL, "who was asked to stop does not wait again", old, run)
        if old.is_broadcast:
            going_on = [each for each in self._tables.runs.values() if each.is_shard and each.parent_id == run.id]
            require(not going_on, "a broadcast ends with its last shard", run, *going_on)
            return
        call, node_id, claims = self.acting.get(getcurrent(), ("nobody", "", frozenset()))
        if call == "take_over":
            require(old.owner not in self._given_up, "who goes on as another first ends what it was", old)
        if call in ("take_over", "leave", "sweep"):
            return
        require(call.startswith("finish"), "only its owner or a takeover ends a run", call, old, run)
        mine = old.owner == node_id and (old.id, old.claim_no) in claims
        require(mine, "a superseded owner cannot record", node_id, old, run)
        require(run.error != WITHOUT_OUTCOME, "what is executed is reported", old)

    def _check_running(self) -> None:
        running = [run for run in self._tables.runs.values() if run.state is State.RUNNING]
        for run in running:
            if run.is_broadcast:
                continue
            owner = self._tables.nodes[run.owner or ""]
            require(owner.state in _LIVING, "no run is left with a dead node", run, owner)
        if len(running) < 2:
            return
        slots = [run.slot for run in running if run.slot is not None]
        require(len(slots) == len(set(slots)), "never two owners of one slot", *running)
        for (group, places), count in Counter(filter(None, (run.policy.group_limit for run in running))).items():
            require(count <= places, f"never more at once than {group} has places", *running)
        for schedule_id, count in Counter(filter(None, (run.schedule_id for run in running))).items():
            most = self._tables.schedules[schedule_id].policy.slots
            require(most is None or count <= most, "never more at once than slots", *running)

    def check_cut_off(self, nodes: Iterable[ModelNode]) -> None:
        """After each node's own timer has had its turn: a node that is cut off has stopped what it ran."""
        for node in nodes:
            if node.up() and not node.fresh():
                require(not node.worker.entered(), "a node that is cut off stops its runs", node.id)

    # schedules

    def _check_row(self, old: Schedule | None, row: Schedule) -> None:
        next_ms = row.next_run_ms
        require(next_ms is None or next_ms > row.settled_ms, "the next moment is later than the watermark", row)
        require(row.settled_ms <= self.latest_ms, "the watermark is never beyond the store's time", row)
        decisions = self._new_decisions(row.id, 0 if old is None else old.settled_ms)
        if old is None:
            return
        require(row.settled_ms >= old.settled_ms, "the watermark only moves forward", old, row)
        for each in decisions:
            inside = old.settled_ms < each.first_ms <= each.last_ms <= row.settled_ms
            require(inside, "a tick is decided once", each, old, row)
        if not old.deleted:
            self._check_ticks(old, row, decisions)

    def _check_ticks(self, old: Schedule, row: Schedule, decisions: list[Decision]) -> None:
        """Every tick between two watermarks, of the trigger then in force, is a run or in one decision."""
        trigger = self._trigger(old)
        moments = list(trigger.between_ms(old.settled_ms + 1, row.settled_ms + 1))
        extra = old.next_run_ms if old.rescheduled else None
        if extra is not None and extra <= row.settled_ms and extra not in moments:
            moments.append(extra)
        for moment in moments:
            answers = sum(each.first_ms <= moment <= each.last_ms for each in decisions)
            answers += (row.id, moment) in self._ticks
            require(
                answers == 1, f"no tick vanishes, and none is explained {answers} times", moment, old, row, decisions
            )
        for each in decisions:
            count = sum(each.first_ms <= moment <= each.last_ms for moment in moments)
            require(each.count == count, "a decision counts its ticks", each, moments)

    def _new_decisions(self, schedule_id: str, settled_ms: int) -> list[Decision]:
        """What was decided since: new decisions, and what has been added to the last one."""
        kept = self._tables.decisions.get(schedule_id, ())
        new = [added for each in kept if (added := _added(self._decisions.get(each.id), each, settled_ms)) is not None]
        self._decisions.update((each.id, each) for each in kept)
        return new

    def _trigger(self, row: Schedule) -> Trigger:
        key = row.id, row.revision
        if key not in self._triggers:
            self._triggers[key] = decode(row.trigger)
        return self._triggers[key]

    # nodes

    def _check_node(self, node: ModelNode) -> None:
        """A node that may believe in its lease executes nothing that is not its own."""
        if not node.fresh():
            return
        for run_id, claim_no in node.worker.entered():
            run = self._tables.runs.get(run_id)
            mine = run is not None and (run.owner, run.claim_no) == (node.id, claim_no)
            require(mine, "who executes owns", node.id, run or self._runs[run_id], claim_no)

    @property
    def at_rest(self) -> bool:
        """Whether no run lives."""
        return not self._tables.runs

    def check_end(self) -> None:
        """After all have had the time to do their work: nothing is left undone."""
        live = self._tables.runs.values()
        for run in live:
            require(self._waits_for_resume(run), "everything comes to an end", run)

    def _waits_for_resume(self, run: Run) -> bool:
        if run.state is not State.WAITING or run.schedule_id is None:
            return False
        return not self._tables.schedules[run.schedule_id].enabled and run.cause == "tick" and not run.exempt


def _added(old: Decision | None, now: Decision, settled_ms: int) -> Decision | None:
    if old is None:
        return now
    if old == now or old.last_ms == now.last_ms:
        return None
    return replace(now, first_ms=max(old.last_ms, settled_ms) + 1, count=(now.count or 0) - (old.count or 0))
