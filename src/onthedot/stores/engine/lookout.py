"""Looking at flows: they are told which steps have ended, stop where that was asked, and go on as far as they can.

Under the lock of the flow's row, repeatable, and by anybody: who ended a step looks after its commit, and what died
before that is found by every node's poll. Flows are looked at by the hundred in one transaction. One that cannot be
moved holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from onthedot.model.graph import NODES, TICKS, Graph
from onthedot.model.key import Key
from onthedot.model.ledger import Ledger
from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.model.tracebacks import telling_line
from onthedot.model.values import replace
from onthedot.rules.backfill import filled_before, filling_run
from onthedot.rules.flows import broadcasting
from onthedot.rules.flows.judging import Advance, Wanted, advance, first_bad, what_went_wrong
from onthedot.rules.flows.making import NO_ITEM, Maker, id_of, is_small, opened, waits_again
from onthedot.rules.flows.telling import asked, fate_of, stop_level, told
from onthedot.rules.routing import eligible
from onthedot.rules.start import started
from onthedot.stores.engine.enqueuing import routed
from onthedot.stores.engine.finishing import Tasks, follow
from onthedot.stores.engine.graphs import graph_of
from onthedot.stores.engine.settling import cancelled, put_down, raise_versions
from onthedot.stores.engine.step_facts import StepFacts
from onthedot.stores.transaction import StepRow, Transaction

AT_ONCE = 100
"""How many flows are looked at in one transaction."""
MOST_MADE = 2000
"""Sub-flows are opened in the transaction that makes them until it has made so many runs; the others wait."""
_WELL = (State.SUCCEEDED, State.SKIPPED)


class LookPass(NamedTuple):
    """What a look at some flows did."""

    moved: int = 0
    ended: tuple[Run, ...] = ()
    """Flows."""
    next: frozenset[str] = frozenset()
    """Flows to be looked at now: above what ended, and below what was asked to stop."""
    made: int = 0
    failed: Mapping[str, Exception] = {}
    """Flows that could not be moved, and why."""


def look(tx: Transaction, flow_ids: Collection[str], facts: StepFacts, tasks: Tasks) -> LookPass:
    """Tell, stop and move those of these flows that run."""
    locked = tx.live_runs(flow_ids)
    flows = [run for _, run in sorted(locked.items()) if run.is_flow and run.state is State.RUNNING]
    # A flow may write the rows of its sub-flows, where it stops: those are looked at afterwards.
    later = {run.id for run in flows if run.is_step and run.parent_id in locked}
    flows = [run for run in flows if run.id not in later]
    if not flows:
        return LookPass()
    rows: dict[str, list[StepRow]] = {}
    for row in tx.steps_of([flow.id for flow in flows]):
        rows.setdefault(row.parent_id or "", []).append(row)
    work = Lookout(tx, facts, next=later)
    for flow in flows:
        work.look(flow, rows.get(flow.id, ()))
    return work.write(tasks)


@dataclass(slots=True)
class Lookout:
    """One transaction over some flows, whose rows are locked, as it grows."""

    tx: Transaction
    facts: StepFacts
    flows: list[Run] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    told: list[Run] = field(default_factory=list)
    """Steps that leave the live rows."""
    asked: list[Run] = field(default_factory=list)
    made: list[Run] = field(default_factory=list)
    revived: list[Run] = field(default_factory=list)
    next: set[str] = field(default_factory=set)
    failed: dict[str, Exception] = field(default_factory=dict)
    moved: int = 0
    """How many of those that are told have been moved to history."""
    routed: bool = False
    graphs: dict[str, Graph] = field(default_factory=dict)
    """Those that were asked for, by their hashes."""
    keys: list[Key] = field(default_factory=list)
    blamed: dict[str, tuple[Ledger, Mapping[str, str]]] = field(default_factory=dict)
    """Of flows that end badly: the runs that say why, by their steps."""

    def look(self, flow: Run, rows: Sequence[StepRow]) -> None:
        """One flow with all of its rows. What goes wrong with it is kept, and nothing of it is written."""
        before = self._lengths()
        try:
            self._look(flow, rows)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if self.moved > before[2]:  # something of it is written: all are looked at again, this one alone
                raise
            self._take_back(before)
            self.failed[flow.id] = error

    def tell(self, flow: Run, ended: Sequence[Run]) -> None:
        """A flow of which only these steps are known, which have left the live rows: it goes on as far as it can."""
        graph, before = self._graph(flow), self.facts.ledger(flow)
        if graph is None:
            self.flows.append(replace(flow, ledger=told(before, ended).as_json()))
            self.next.add(flow.id)
        else:
            self.move(flow, graph, told(before, ended), before)

    def _look(self, flow: Run, rows: Sequence[StepRow]) -> None:
        late = flow.until_ms is not None and flow.until_ms <= self.tx.now_ms and flow.cancel_requested_ms is None
        if late:
            flow = asked(flow, "it ran longer than its time-out allows", self.tx.now_ms, late=True)
        ledger = Ledger.from_json(flow.ledger)
        ended = [row for row in rows if row.state in FINAL]
        self.told += ended
        ledger = told(ledger, ended)
        graph = self._graph(flow)
        live = [row for row in rows if row.state not in FINAL]
        if stop_level(flow, ledger) > ledger.carried:
            flow, ledger = self._stop(flow, graph, ledger, live)
        elif live:
            self._open_waiting(row for row in live if row.is_flow and row.state is State.WAITING)
        if graph is not None:
            self.move(flow, graph, ledger)
        elif ledger.hard:
            self._end_blindly(flow, ledger, live)
        else:
            raise LookupError(f"the store has no graph {flow.graph} of flow {flow.id}")

    def _graph(self, flow: Run) -> Graph | None:
        name = flow.graph or ""
        if name not in self.graphs:
            found = graph_of(self.tx, name)
            if found is None:
                return None
            self.graphs[name] = found
        return self.graphs[name]

    def move(self, flow: Run, graph: Graph, ledger: Ledger, before: Ledger | None = None) -> None:
        """As far as it goes; it is written in any case. `before` is the ledger as the row has it, where it was read."""
        went = advance(flow, graph, ledger)
        for wanted in went.wanted:
            self._make(flow, graph, went.ledger, wanted)
        self._keep(flow, graph, went, before)

    def _keep(self, flow: Run, graph: Graph, went: Advance, before: Ledger | None) -> None:
        after = replace(flow, ledger=went.ledger.as_json(before, flow.ledger))
        if went.state is None:
            self.flows.append(after)
            self.facts.note(after, graph, went.ledger, self.tx.now_ms)
            return
        if went.state not in _WELL:
            bad = first_bad(went.ledger)
            ids = {name: id_of(after, graph[name], item, went.ledger) for name, item in bad.items()}
            self.blamed[flow.id] = went.ledger, ids
        self._end(after, went.ledger, went.state)

    def _end(self, flow: Run, ledger: Ledger, state: State) -> None:
        went_well = state in _WELL
        self.facts.forget(flow.id)
        self.ended.append(
            replace(
                flow,
                state=state,
                finished_ms=self.tx.now_ms,
                slot=None,
                until_ms=None,
                fence=ledger.fence,
                error=None if went_well else what_went_wrong(ledger),
                reason=None if went_well else flow.reason,
            )
        )
        if flow.is_step and flow.parent_id is not None:
            self.next.add(flow.parent_id)

    # stopping

    def ask(self, stopping: Sequence[Run]) -> list[Run]:
        """Flows that others wish to stop are looked at next; those that were moved here are asked as they are now. The
        rest, to be written by the caller."""
        moved = {flow.id: number for number, flow in enumerate(self.flows)}
        ended = {flow.id for flow in self.ended}
        others = [run for run in stopping if run.id not in moved and run.id not in ended]
        for run in stopping:
            if run.id in moved:
                self.flows[moved[run.id]] = asked(self.flows[moved[run.id]], run.reason, self.tx.now_ms)
            if run.is_flow and run.id not in ended:
                self.next.add(run.id)
        return others

    def _stop(self, flow: Run, graph: Graph | None, ledger: Ledger, live: Sequence[Run]) -> tuple[Run, Ledger]:
        """Those that wait end, those that run are asked. Carried out when none was passed over as another had it."""
        level = stop_level(flow, ledger)
        free = self.tx.live_runs_if_free([row.id for row in live])
        ended: list[Run] = []
        for run in free.values():
            fate = fate_of(run, graph, level)
            if fate == "cancel":
                ended.append(cancelled(run, flow.reason, self.tx.now_ms))
            elif fate == "ask_flow":
                self.asked.append(asked(run, flow.reason, self.tx.now_ms, late=ledger.late, hard=ledger.hard))
                self.next.add(run.id)
            elif fate == "ask" and run.cancel_requested_ms is None:
                self.asked.append(replace(run, cancel_requested_ms=self.tx.now_ms, reason=flow.reason))
        self.told += ended
        ledger = told(ledger, ended)
        if len(free) == len(live):
            return replace(flow, until_ms=None), replace(ledger, carried=level)
        return flow, ledger

    def _end_blindly(self, flow: Run, ledger: Ledger, live: Sequence[Run]) -> None:
        """A flow without a graph that is to stop at once: it ends when nothing of it runs."""
        ids = {run.id for run in self.told}
        if all(row.id in ids for row in live):
            self._end(replace(flow, ledger=ledger.as_json()), ledger, State.CANCELLED)
        else:
            self.flows.append(replace(flow, ledger=ledger.as_json()))

    # making

    def _make(self, flow: Run, graph: Graph, ledger: Ledger, wanted: Wanted) -> None:
        tx, step = self.tx, wanted.step
        if step.over == TICKS:
            self._fill_in(flow, ledger, wanted)
            return
        if step.over == NODES:
            step, policy = broadcasting.step_of(flow), broadcasting.policy_of(flow)
        else:
            policy = self.facts.policy(flow, graph, step, tx.now_ms)
        maker = Maker(flow, graph, step, ledger, policy, tx.now_ms)
        old = tx.ended_runs([maker.id_of(item) for item in wanted.old]) if wanted.old else {}
        values = None
        if step.is_map:
            self._move_told()  # the list may have come just now
            values = self.facts.items(tx, flow, graph, step)
        for item in wanted.items:
            ended = old.get(maker.id_of(item)) if item in wanted.old else None
            if ended is not None:
                again = maker.again(ended)
                self.revived.append(again)
                if again.is_flow:
                    self.next.add(flow.id)  # opened by the next look, which has its row
                continue
            value = values[item] if values is not None and item < len(values) else NO_ITEM
            self._add(maker.new(item, value if value is NO_ITEM or is_small(value) else NO_ITEM))

    def _fill_in(self, flow: Run, ledger: Ledger, wanted: Wanted) -> None:
        """Runs of a schedule, under its lock. Where another has it, the flow is looked at again; nothing is written."""
        tx = self.tx
        schedule_id = flow.args.get("schedule_id", "")
        schedule = tx.schedules_if_free([schedule_id]).get(schedule_id)
        if schedule is None:
            raise LookupError(f"schedule {flow.args.get('schedule')!r} is locked, or no longer kept")
        ids = {item: id_of(flow, wanted.step, item, ledger) for item in wanted.items}
        old = tx.ended_runs([ids[item] for item in wanted.old]) if wanted.old else {}
        self.revived += [replace(waits_again(run, ledger.fence, tx.now_ms), exempt=True) for run in old.values()]
        new = [item for item in wanted.items if ids[item] not in old]
        first_ms = tx.now_ms - len(new)
        runs = [filling_run(flow, schedule, ids[item], item, first_ms + turn) for turn, item in enumerate(new)]
        self._add_ticks(runs, flow)
        raise_versions(tx, [schedule])

    def _add_ticks(self, runs: Sequence[Run], flow: Run) -> None:
        """A tick that another backfill has is told of at once."""
        taken = self.tx.keys({run.key for run in runs if run.key is not None})
        for run in runs:
            if run.key in taken and taken[run.key].run_id != run.id:
                self.made.append(filled_before(run, self.tx.now_ms))
                self.next.add(flow.id)
            else:
                self.made.append(run)
                self.keys += [] if run.key is None else [Key(run.key, run.id)]

    def _add(self, run: Run) -> None:
        if run.is_flow and run.policy.group_limit is None and len(self.made) < MOST_MADE and self.open(run):
            return
        self.made.append(run)

    def open(self, waiting: Run, begun: Run | None = None) -> bool:
        """Let a waiting flow begin, with its first steps; False where nobody knows its graph."""
        graph = self._graph(waiting)
        if graph is None:
            return False
        run = begun or started(waiting, "", self.tx.now_ms, fence=waiting.fence)
        flow = opened(run, graph, self.tx.now_ms, self._members(run))
        self.move(flow, graph, Ledger.from_json(flow.ledger))
        return True

    def _members(self, run: Run) -> list[str]:
        """The nodes that a broadcast goes to, when it begins for the first time."""
        if not run.is_broadcast or run.ledger is not None:
            return []
        return [node.id for node in eligible(self.tx.nodes(), run.task, run.policy.group)]

    def _open_waiting(self, rows: Iterable[Run]) -> None:
        """Sub-flows that could not be opened when they were made; those behind a limit are started like other runs."""
        ids = [row.id for row in rows if row.waits_for is None]
        for run in (self.tx.live_runs_if_free(ids) if ids else {}).values():
            is_free = run.policy.group_limit is None and not run.is_filled_in
            if run.state is State.WAITING and is_free and len(self.made) < MOST_MADE:
                self.open(run)

    # writing

    def start_some(self, judge: Callable[[Run], Run | None]) -> list[Run]:
        """Those of the new steps that begin at once, where they are judged to: they are written once."""
        made, self.made = routed(self.tx, self.made), []
        begun: list[Run] = []
        for run in made:
            taken = None if run.is_flow or run.is_filled_in else judge(run)
            if taken is None:
                self.made.append(run)
            else:
                begun.append(taken)
        self.routed = True
        return begun

    def write(self, tasks: Tasks) -> LookPass:
        """All flows together, in the order of the locks."""
        tx = self.tx
        made = self.made if self.routed else routed(tx, self.made)
        self._move_told()
        self._say_why()
        tx.revive_runs(self.revived)
        tx.save_runs([*self.flows, *self.asked, *made])
        tx.save_keys(self.keys)
        ended = put_down(tx, self.ended)
        if any(run.schedule_id is not None for run in ended):
            follow(tx, ended, tx.summaries({run.schedule_id for run in ended if run.schedule_id is not None}), tasks)
        moved = len(self.flows) + len(self.ended)
        return LookPass(moved, tuple(self.ended), frozenset(self.next), len(made) + len(self.revived), self.failed)

    def _say_why(self) -> None:
        """Flows that ended badly say what their steps said."""
        ids = [run_id for _, by_step in self.blamed.values() for run_id in by_step.values()]
        found = self.tx.ended_runs(ids) if ids else {}
        for number, flow in enumerate(self.ended):
            ledger, by_step = self.blamed.get(flow.id, (None, {}))
            if ledger is not None:
                why = {name: _why(found[run_id]) for name, run_id in by_step.items() if run_id in found}
                self.ended[number] = replace(flow, error=what_went_wrong(ledger, why))

    def _lengths(self) -> tuple[int, ...]:
        return tuple(len(each) for each in self._lists())

    def _move_told(self) -> None:
        if self.moved < len(self.told):
            self.tx.end_runs(self.told[self.moved :])
            self.moved = len(self.told)

    def _take_back(self, lengths: tuple[int, ...]) -> None:
        for each, length in zip(self._lists(), lengths, strict=True):
            del each[length:]

    def _lists(self) -> tuple[list[Run], ...]:
        return self.flows, self.ended, self.told, self.asked, self.made, self.revived


def _why(run: Run) -> str:
    return telling_line(run.error) or run.reason or ""
