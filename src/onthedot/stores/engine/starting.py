"""Starting waiting runs: those that are due, have room, and may run on this node."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from onthedot.model.run import Run, for_slot
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import backfill, start
from onthedot.rules.expiry import waits_at_most_ms, why_late
from onthedot.rules.flows.broadcasting import as_flow, is_whole
from onthedot.rules.precedence import turn_of
from onthedot.rules.routing import eligible
from onthedot.stores.answers import Started
from onthedot.stores.engine.finishing import Tasks
from onthedot.stores.engine.graphs import graphs_of
from onthedot.stores.engine.limits import Limits
from onthedot.stores.engine.lookout import AT_ONCE, Lookout, LookPass
from onthedot.stores.engine.planning import alive, stopping
from onthedot.stores.engine.settling import put_down
from onthedot.stores.transaction import Claim, LiveRuns, Transaction, TryAgain

NOBODY: frozenset[str] = frozenset()
_LOOKS = 8
"""How often it looks further where all that was found must not start here yet."""


class StartPass(NamedTuple):
    """What a starting pass did."""

    started: Started
    behind: tuple[Run, ...] = ()
    """Runs that were left behind something that they wait for."""
    unblocked: bool = False
    """Some may begin that waited for something, and did not begin here and now."""
    looked: LookPass = LookPass()
    """What became of the flows that began, or were told before."""


def start_due(  # noqa: PLR0917
    tx: Transaction,
    claim: Claim,
    limit: int,
    lookout: Lookout,
    tasks: Tasks,
    only: Collection[str] | None = None,
    first: Sequence[Run] = (),
) -> StartPass:
    """Make due runs this node's; `only` some of them, where a batch was refused and its culprit is looked for.

    Those that stood behind what has just come free come `first`, as if they had been woken. New steps of the flows that
    begin, and of those that the lookout has moved already, begin here where they can.
    """
    node_id = claim.node_id
    found, held_back = candidates_for(tx, claim, limit or AT_ONCE)  # without a worker, flows begin
    chosen = [run for run in found if only is None or run.id in only]
    candidates = [*(replace(run, waits_for=None) for run in first), *chosen]
    ids = {run.schedule_id for run in candidates if run.schedule_id is not None}
    schedules = tx.schedules_if_free(ids)
    alive(tx, node_id)
    work = _Work(tx, claim, limit, frozenset(run.id for run in candidates), lookout, is_whole_batch=only is None)
    work.judge(candidates, schedules)
    work.open()
    looked = work.write(tasks)
    started = Started(tuple(work.begun), tuple(work.skipped), len(schedules) < len(ids), tx.now_ms, held_back)
    behind = tuple(run for run in work.changed if run.blocked)
    return StartPass(started, behind, len(behind) < len(work.changed), looked)


@dataclass(slots=True)
class _Work:
    """One starting pass, as it grows."""

    tx: Transaction
    claim: Claim
    limit: int
    candidates: frozenset[str]
    lookout: Lookout
    is_whole_batch: bool = True
    """Nobody looks for a culprit: of a schedule others may begin, too, whose slot has come free."""
    workers: int = 0
    """How many have been given away; a flow needs none."""
    limits: Limits = field(init=False)
    read: dict[str, Run] = field(default_factory=dict)
    begun: list[Run] = field(default_factory=list)
    opened: list[Run] = field(default_factory=list)
    """Flows that begin."""
    skipped: list[Run] = field(default_factory=list)
    changed: list[Run] = field(default_factory=list)
    stopping: list[Run] = field(default_factory=list)
    touched: list[Schedule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limits = Limits(self.tx)

    @property
    def node_id(self) -> str:
        return self.claim.node_id

    def judge(self, candidates: Sequence[Run], schedules: Mapping[str, Schedule]) -> None:
        """All candidates in turn; those of a schedule that somebody else has locked are left to the next pass."""
        alone = self.tx.live_runs([run.id for run in candidates if run.schedule_id is None])
        live = _with_candidates(self.tx.live_beside(list(schedules.values())), candidates)
        for run_id, schedule_id in _in_turn(candidates):
            if schedule_id is None and run_id in alone:
                self.start_alone(alone[run_id])
            elif schedule_id is not None and schedule_id in schedules:
                self.start_of(schedules[schedule_id], live[schedule_id])

    def start_alone(self, run: Run) -> None:
        """A one-off run, or a step: nothing holds it but its group's limit."""
        flow = as_flow(run)
        if run.state is not State.WAITING or (self.workers >= self.limit and not flow.is_flow):
            return
        if why_late(run, self.tx.now_ms, unmet=False) is not None:
            if not run.is_step:  # what becomes of a step, its flow is told by the poll
                self.skipped.append(start.skipped(run, "expired", self.tx.now_ms))
            return
        if run.task == backfill.TASK and not self.tx.schedules_if_free([run.args.get("schedule_id", "")]):
            return  # it begins with runs of that schedule
        if self.limits.admits(run):
            self._begin(flow)
        else:
            self.changed.append(start.behind_limit(run))

    def _begin(self, run: Run) -> Run:
        """A step goes on with the fence of its flow, which opening one that has no schedule does not move."""
        fence = 0 if not (run.is_step or run.is_flow) else run.fence if run.is_flow else run.fence + 1
        begun = start.started(run, self.node_id, self.tx.now_ms, fence=fence)
        self.begun.append(begun)
        self.workers += not run.is_flow
        return begun

    def open(self) -> None:
        """Flows that begin make their first steps, which begin here if they can."""
        self.opened = [run for run in self.begun if run.is_flow]
        self.begun = [run for run in self.begun if not run.is_flow]
        for flow in self.opened:
            self.lookout.open(flow, flow)
        self.lookout.start_some(self._begun_at_once)

    def _begun_at_once(self, run: Run) -> Run | None:
        if self.workers >= self.limit or is_whole(run) or not self.claim.takes(run):
            return None
        return self._begin(run) if self.limits.admits(run) else None

    def start_of(self, schedule: Schedule, live: Sequence[Run]) -> None:
        """The runs of one schedule, which is locked."""
        behind = (
            frozenset(run.id for run in live if self._stood_behind_the_slot(run)) if self.is_whole_batch else NOBODY
        )
        facts = start.StartFacts(
            self.tx.now_ms,
            self.node_id,
            self.candidates | behind,
            unmet=self._unmet(schedule),
            admits=self.limits.admits,
        )
        starts = start.judge(schedule, live, facts, free=self.limit - self.workers)
        self.read |= {run.id: run for run in live}
        self.touched += [] if starts.schedule is None else [starts.schedule]
        self.changed += starts.changed
        self.begun += starts.started
        self.workers += sum(not run.is_flow for run in starts.started)
        self.skipped += starts.skipped
        self.stopping += starts.stopping

    def _stood_behind_the_slot(self, run: Run) -> bool:
        """As if it had been woken: whoever frees a slot leaves it to what is due already, which may be younger.

        What has crashed a node, and what needs its graph, is judged with more care: it waits for nothing then, and is
        found by the next pass.
        """
        is_plain = not run.crashes and not run.is_flow and not is_whole(run)
        return is_plain and run.waits_for == for_slot(run.schedule_id or "") and self.claim.takes(run)

    def _unmet(self, schedule: Schedule) -> str | None:
        since_ms = self.tx.now_ms - waits_at_most_ms(schedule.policy)
        unmet = (name for name in schedule.policy.depends_on if not self.tx.succeeded_since(name, since_ms))
        return next(unmet, None)

    def write(self, tasks: Tasks) -> LookPass:
        """In the order of the locks."""
        self._lock_what_changes()
        self.stopping = self.lookout.ask(self.stopping)
        self.tx.save_schedules(self.touched)
        self.limits.save()
        self.tx.save_runs([*self.stopping, *self.changed, *self.begun])
        put_down(self.tx, self.skipped)
        return self.lookout.write(tasks)

    def _lock_what_changes(self) -> None:
        """Runs of schedules were read under the schedule's lock alone; a cancellation may have come between."""
        waiting = {run.id for run in (*self.begun, *self.opened, *self.changed, *self.skipped) if run.id in self.read}
        locked = self.tx.live_runs(waiting)
        if any(run_id not in locked or locked[run_id].claim_no != self.read[run_id].claim_no for run_id in waiting):
            raise TryAgain
        free = self.tx.live_runs_if_free([run.id for run in self.stopping])
        self.stopping = list(stopping(free, self.stopping))


def candidates_for(tx: Transaction, claim: Claim, limit: int) -> tuple[list[Run], bool]:
    """Up to so many due runs that may begin here; those that must not yet, do not hide the others.

    And whether there are some that may as soon as another has ended here.
    """
    asked, held_back = limit, False
    nodes = cache(tx.nodes)  # asked once, if at all
    for _ in range(_LOOKS):
        chosen = due = tx.due_runs(claim, asked)
        if any(is_whole(run) for run in chosen):  # a broadcast waits while all that could take it drain
            chosen = [run for run in chosen if not is_whole(run) or eligible(nodes(), run.task, run.policy.group)]
        if any(run.is_flow for run in chosen):  # one whose graph nobody keeps waits, in nobody's way
            graphs = graphs_of(tx, {run.graph for run in chosen if run.graph is not None})
            chosen = [run for run in chosen if run.graph is None or run.graph in graphs]
        if any(run.crashes for run in chosen):
            alone = _one_crashed_at_most(chosen, tx.owned_by(claim.node_id))
            chosen, held_back = alone, len(alone) < len(chosen)
        if len(chosen) >= limit or len(due) < asked:
            break
        asked *= 4
    return chosen[:limit], held_back


def _with_candidates(live: Mapping[str, LiveRuns], candidates: Sequence[Run]) -> dict[str, list[Run]]:
    """What is live of each schedule, and its candidates where a crowd stands before them."""
    found = {schedule_id: {run.id: run for run in each.runs} for schedule_id, each in live.items()}
    for run in candidates:
        if run.schedule_id is not None:
            found.setdefault(run.schedule_id, {}).setdefault(run.id, run)
    return {schedule_id: list(runs.values()) for schedule_id, runs in found.items()}


def _in_turn(candidates: Sequence[Run]) -> Iterator[tuple[str, str | None]]:
    """One-off runs, and schedules where the first of their runs stands: its runs are judged together."""
    seen: set[str] = set()
    for run in sorted(candidates, key=turn_of):
        if run.schedule_id is None or run.schedule_id not in seen:
            yield run.id, run.schedule_id
            seen.add(run.schedule_id or run.id)


def _one_crashed_at_most(candidates: Sequence[Run], own: Sequence[Run]) -> list[Run]:
    """A run that has crashed a node begins only while no other such run is here, so that the culprit stands out."""
    crashed_here = any(run.crashes for run in own)
    chosen: list[Run] = []
    for run in candidates:
        if run.crashes and crashed_here:
            continue
        crashed_here = crashed_here or run.crashes > 0
        chosen.append(run)
    return chosen
