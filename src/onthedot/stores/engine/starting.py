"""Starting waiting runs: those that are due, have room, and may run on this node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.rules import routing
from onthedot.rules import start as starting
from onthedot.rules.broadcast import expanded
from onthedot.rules.precedence import turn_of
from onthedot.stores.base import Started
from onthedot.stores.engine.limits import Limits
from onthedot.stores.engine.transactions import Transactions, by_schedule
from onthedot.stores.transaction import Transaction


class Starting(Transactions):
    """`start_due`."""

    def start_due(self, node_id: str, tasks: Sequence[str], limit: int) -> Started:
        if limit <= 0:
            return Started()
        started, elsewhere = self._transact(lambda rows: self._start_due(rows, node_id, tasks, limit))
        self._wake_blocked(started.skipped)
        if elsewhere:
            self.notify()
        return started

    def _start_due(self, rows: Transaction, node_id: str, tasks: Sequence[str], limit: int) -> tuple[Started, bool]:
        """What was started, and whether runs were made for other nodes."""
        alive = cache(rows.nodes)  # asked once, if at all
        candidates = _candidates(rows, node_id, tasks, limit, alive)
        ids = {run.schedule_id for run in candidates if run.schedule_id is not None}
        schedules = rows.schedules_if_free(ids)
        self._alive(rows, node_id)
        work = _Work(rows, node_id, limit, frozenset(run.id for run in candidates), alive)
        alone = rows.live_runs([run.id for run in candidates if run.schedule_id is None])
        live = by_schedule(rows.live_of(list(schedules)))
        for run_id, schedule_id in _in_turn(candidates):
            if schedule_id is None and run_id in alone:
                work.start_alone(alone[run_id])
            elif schedule_id in schedules:
                work.start_of(schedules[schedule_id], live.get(schedule_id, ()))
        elsewhere = work.expand()
        rows.save_schedules(work.touched)
        work.limits.save()
        rows.save_runs([*work.changed, *work.begun, *elsewhere])
        self._end(rows, work.skipped)
        mine = tuple(run for run in work.begun if run.owner == node_id)
        return Started(mine, tuple(work.skipped), passed_over=len(schedules) < len(ids)), bool(elsewhere)


@dataclass(slots=True)
class _Work:
    """One starting pass, as it grows."""

    rows: Transaction
    node_id: str
    limit: int
    candidates: frozenset[str]
    alive: Callable[[], Sequence[Node]]
    limits: Limits = field(init=False)
    begun: list[Run] = field(default_factory=list)
    skipped: list[Run] = field(default_factory=list)
    changed: list[Run] = field(default_factory=list)
    touched: list[Schedule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limits = Limits(self.rows)

    def start_alone(self, run: Run) -> None:
        """A one-off run: nothing holds it but its group's limit."""
        if run.state is not State.WAITING or len(self.begun) >= self.limit:
            return
        if self.limits.admits(run):
            self.begun.append(starting.started(run, self.node_id, self.rows.now_ms))
        else:
            self.changed.append(starting.blocked(run))

    def start_of(self, schedule: Schedule, live: Sequence[Run]) -> None:
        """The runs of one schedule, which is locked."""
        facts = starting.Facts(
            self.rows.now_ms, self.node_id, self.candidates, met=self._met(schedule), admits=self.limits.admits
        )
        starts = starting.judge(schedule, live, facts, free=self.limit - len(self.begun))
        self.touched += [] if starts.schedule is None else [starts.schedule]
        self.changed += starts.changed
        self.begun += starts.started
        self.skipped += starts.skipped

    def _met(self, schedule: Schedule) -> bool:
        since_ms = self.rows.now_ms - starting.waits_at_most_ms(schedule.policy)
        return all(self.rows.succeeded_since(name, since_ms) for name in schedule.policy.depends_on)

    def expand(self) -> list[Run]:
        """Give every broadcast that starts a shard for each node; this node's begin with it. The others' shards."""
        elsewhere: list[Run] = []
        for run in [run for run in self.begun if routing.is_whole(run)]:
            members = _members(run, self.alive())
            parent, shards = expanded(run, members, self.rows.now_ms)
            self.begun[self.begun.index(run)] = parent
            here = [shard for shard in shards if shard.target == self.node_id]
            self.begun += [starting.started(each, self.node_id, self.rows.now_ms, fence=parent.fence) for each in here]
            elsewhere += [shard for shard in shards if shard.target != self.node_id]
        return elsewhere


def _candidates(
    rows: Transaction, node_id: str, tasks: Sequence[str], limit: int, alive: Callable[[], Sequence[Node]]
) -> list[Run]:
    """Up to so many due runs that may begin here; those that must not yet, do not hide the others."""
    asked = limit
    while True:
        chosen = due = rows.due_runs(node_id, tasks, asked)
        if any(run.policy.group for run in due):
            group = next((node.group for node in alive() if node.id == node_id), None)
            chosen = [run for run in due if run.policy.group in (None, group)]
        if any(routing.is_whole(run) for run in chosen):  # a broadcast waits while all that could take it drain
            chosen = [run for run in chosen if not routing.is_whole(run) or _members(run, alive())]
        if any(run.crashes for run in chosen):
            chosen = _one_crashed_at_most(chosen, rows.owned_by(node_id))
        if len(chosen) >= limit or len(due) < asked:
            return chosen[:limit]
        asked *= 4


def _in_turn(candidates: Sequence[Run]) -> Iterator[tuple[str, str | None]]:
    """One-off runs, and schedules where the first of their runs stands: its runs are judged together."""
    seen: set[str] = set()
    for run in sorted(candidates, key=turn_of):
        if run.schedule_id is None or run.schedule_id not in seen:
            yield run.id, run.schedule_id
            seen.add(run.schedule_id or run.id)


def _members(run: Run, nodes: Sequence[Node]) -> Sequence[Node]:
    return routing.eligible(nodes, run.task, run.policy.group)


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
