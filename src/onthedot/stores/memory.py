"""A store in memory: one process, one lock, the same law. For tests, simulations and programs that may forget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, dropwhile, islice
from threading import RLock
from typing import Any, TypeVar

from onthedot.heap import IndexedHeap
from onthedot.model.alert import AlertState, alert_states_from, keys_of_alerts
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.hour import Hour
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.mark import mark_of
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value, ValueState
from onthedot.model.values import replace
from onthedot.rules.effects import Effects
from onthedot.rules.precedence import foremost, turn_of
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import RolledUp, Ticks
from onthedot.stores.asking import counts_of, demands_of, has_part, needed_by, page_of, results_of
from onthedot.stores.counts import COUNTED, Demand, Load, Needed, RunCounts, ScheduleCounts
from onthedot.stores.engine import Engine
from onthedot.stores.known_values import with_values
from onthedot.stores.memory_prune import EndedRuns, Keys, MemoryForgetting, MemoryRolling, Place
from onthedot.stores.prune import Pruner
from onthedot.stores.retention import MINUTES_KEPT_MS, Pruned, Retention
from onthedot.stores.roll_up import roll_up
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.transaction import Claim, LiveRuns, StepRow, TryAgain, most_waiting, step_row, still_live
from onthedot.triggers.pinned import Use

Undo = Callable[[], None]
T = TypeVar("T")


class MemoryStore(Engine):
    """Everything in dicts under one lock; what is due next comes from two heaps."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._read_clock = now_ms
        self._lock = RLock()
        self._tables = _Tables()
        self._listeners: list[Callable[[], None]] = []
        self._rolling = MemoryRolling(self._tables)
        self._pruner = Pruner(MemoryForgetting(self._tables), self._rolling)

    def now_ms(self) -> int:
        return self._read_clock()

    @contextmanager
    def begin(self) -> Iterator[_MemoryTransaction]:
        with self._lock:
            tx = _MemoryTransaction(self._tables, self._read_clock())
            try:
                yield tx
            except BaseException:
                tx.undo()
                raise

    hands_places_on = True

    def has_short_way(self, node_id: str) -> bool:
        return True

    def held(self, run_id: str) -> Run | None:
        return self._tables.runs.get(run_id)

    # reading

    @answerable
    @with_values
    def schedules(
        self,
        *,
        names: Sequence[str] | None = None,
        tag: str | None = None,
        task: str | None = None,
        mode: Mode | None = None,
        state: Facet | None = None,
        search: str = "",
        order: Order = "name",
        after: str = "",
        limit: int = 100,
    ) -> list[Schedule]:
        chosen, now_ms = self._chosen(mode, None if names is None else set(names)), self._read_clock()
        found = [
            row
            for row in chosen
            if (tag is None or tag in row.tags)
            and task in (None, row.task)
            and (state is None or row.has(state, now_ms))
            and (not search or has_part(row, search))
        ]
        return page_of(found, order, after, limit)

    def _chosen(self, mode: Mode | None = None, names: Collection[str] | None = None) -> list[Schedule]:
        """What every node asks for once a second must not cost more than that."""
        with self._lock:
            rows = list(self._tables.schedules.values())
        return [
            row for row in rows if not row.deleted and mode in (None, row.mode) and (names is None or row.name in names)
        ]

    def count_schedules(self, most: int = COUNTED, *, now_ms: int | None = None) -> ScheduleCounts:
        return counts_of(self._chosen(), self._read_clock() if now_ms is None else now_ms, most)

    def needed(self) -> list[Needed]:
        return list({needed_by(row) for row in self._chosen() if row.state == "active"})

    def demands(self, tasks: Sequence[str]) -> list[Demand]:
        return demands_of(sorted((row for row in self._chosen() if row.task in tasks), key=lambda row: row.name))

    @answerable
    @with_values
    def overdue(self, before_ms: int, limit: int = 100) -> list[Schedule]:
        with self._lock:
            due = self._tables.due_schedules.due(before_ms - 1)
            ids = [schedule_id for schedule_id, _ in sorted(due, key=lambda each: (each[1], each[0]))]
            return [self._tables.schedules[schedule_id] for schedule_id in ids[:limit]]

    def count_overdue(self, before_ms: int, most: int = COUNTED) -> int:
        with self._lock:
            return min(len(self._tables.due_schedules.due(before_ms - 1)), most)

    @with_values
    def revisions(self, schedule_id: str) -> list[Schedule]:
        with self._lock:
            return list(self._tables.revisions.get(schedule_id, ()))

    @answerable
    def changes(self, *, name: str | None = None, before: str | None = None, limit: int = 100) -> list[Change]:
        with self._lock:
            newest = reversed(self._tables.changes)
            if before is not None:
                newest = islice(dropwhile(lambda each: each.id != before, newest), 1, None)
            return list(islice((each for each in newest if name in (None, each.schedule)), limit))

    plans_ahead = True

    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        with self._lock:
            soon = [each for each, moment in self._tables.due_schedules.due(until_ms) if moment > after_ms]
            rows = [self._tables.schedules[schedule_id] for schedule_id in soon]
        return [row for row in rows if known.get(row.id) != row.version]

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        with self._lock:
            heaps = self._tables.due_schedules, self._tables.due_runs
            moments = {moment for heap in heaps for _, moment in heap.due(until_ms)}
        overdue = {moment for moment in moments if moment <= after_ms}
        return sorted(moments - overdue | ({min(overdue)} if overdue else set()))

    def find_runs(self, wanted: RunFilter) -> list[Run]:
        with self._lock:
            tables: tuple[dict[str, Run], ...] = self._tables.runs, self._tables.history
            if wanted.ids is None:
                everything = [run for table in tables for run in table.values()]
            else:
                everything = [table[run_id] for table in tables for run_id in wanted.ids if run_id in table]
        newest_first = sorted(everything, key=lambda run: run.id, reverse=True)
        return list(islice((run for run in newest_first if run in wanted), wanted.limit))

    @answerable
    def results(self, flow_id: str, step: str, first: int = 0, limit: int = 1000) -> list[tuple[int, State, Any]]:
        with self._lock:
            runs = [*self._tables.runs.values(), *self._tables.history.values()]
        ended = [run for run in runs if run.parent_id == flow_id and run.step == step and run.is_final]
        return results_of(ended, first, limit)

    def count_runs(self, most: int = COUNTED) -> RunCounts:
        with self._lock:
            found = Counter((run.state, run.is_step) for run in self._tables.runs.values())
        each = ((state, is_step) for is_step in (False, True) for state in (State.WAITING, State.RUNNING))
        return RunCounts(*(min(found[key], most) for key in each))

    def load(self) -> list[Load]:
        with self._lock:
            running = [self._tables.runs[run_id] for owned in self._tables.owned.values() for run_id in owned]
        counted = Counter((run.owner or "", run.task, run.policy.pool) for run in running)
        return [Load(*of, count) for of, count in counted.items()]

    @answerable
    def ticks(self, schedule_ids: Sequence[str], *, first_ms: int = 0, last_ms: int = 1 << 62, each: int = 24) -> Ticks:
        of_each = dict.fromkeys(schedule_ids)
        with self._lock:
            runs = [*self._tables.runs.values(), *self._tables.history.values()]
            decisions = [self.decisions(of, first_ms=first_ms, last_ms=last_ms, limit=each) for of in of_each]
        within = [run for run in runs if first_ms <= run.scheduled_ms <= last_ms]
        within.sort(key=lambda run: (run.scheduled_ms, run.id), reverse=True)
        marks = [[run for run in within if run.schedule_id == of][:each] for of in of_each]
        return Ticks(tuple(map(mark_of, chain.from_iterable(marks))), tuple(chain.from_iterable(decisions)))

    @answerable
    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        with self._lock:
            newest = reversed(self._tables.decisions.get(schedule_id, []))
            return list(islice((d for d in newest if d.first_ms <= last_ms and d.last_ms >= first_ms), limit))

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        with self._lock:
            return self._tables.log.get(run_id, [])[after : after + limit]

    def tally(self, minutes: Sequence[Minute]) -> None:
        with self._lock:
            kept = {(each.minute_ms, each.node_id): each for each in minutes}
            oldest = self._read_clock() - MINUTES_KEPT_MS
            both = {**self._tables.minutes, **kept}
            self._tables.minutes = {key: each for key, each in both.items() if each.minute_ms >= oldest}

    @answerable
    def minutes(self, first_ms: int, last_ms: int) -> list[Minute]:
        with self._lock:
            return [each for key, each in sorted(self._tables.minutes.items()) if first_ms <= key[0] <= last_ms]

    def roll_up(self, limit: int = 10_000) -> RolledUp:
        with self._lock:
            return roll_up(self._rolling, self._read_clock(), limit)

    def rolled_through(self) -> int:
        return self._tables.rolled_through_ms

    @answerable
    def hours(self, of: str, step: str = "", *, first_ms: int = 0, last_ms: int = 1 << 62) -> list[Hour]:
        with self._lock:
            found = [each for each in self._tables.hours.values() if each.of == of and each.step == step]
        return sorted((each for each in found if first_ms <= each.hour_ms <= last_ms), key=lambda each: each.hour_ms)

    def nodes(self) -> list[Node]:
        with self._lock:
            return sorted(
                (node for node in self._tables.nodes.values() if node.lives), key=lambda node: node.started_ms
            )

    def gone_nodes(self, limit: int = 1000) -> list[Node]:
        with self._lock:
            gone = (node for node in self._tables.nodes.values() if not node.lives)
            return sorted(gone, key=lambda node: (node.renewed_ms, node.id), reverse=True)[:limit]

    def tasks(self) -> list[TaskInfo]:
        with self._lock:
            live = {node.id for node in self._tables.nodes.values() if node.lives}
            published = {
                task.name: task for node_id, tasks in self._tables.tasks.items() if node_id in live for task in tasks
            }
        return [published[name] for name in sorted(published)]

    def alert_states(self, schedule_ids: Sequence[str]) -> dict[str, AlertState]:
        keys = keys_of_alerts(schedule_ids)
        with self._lock:
            found = [self._tables.keys[each] for each in keys if each in self._tables.keys]
        return alert_states_from(keys, ((each.key, each.state) for each in found))

    def tokens(self, name: str | None = None) -> list[Token]:
        with self._lock:
            return [each for key, each in sorted(self._tables.tokens.items()) if name in (None, key)]

    def freezes(self) -> list[Freeze]:
        with self._lock:
            return [each for _, each in sorted(self._tables.freezes.items())]

    def values(self, use: Use | None = None, *, new: bool = False) -> list[Value]:
        with self._lock:
            found = [each for each in self._tables.values.values() if each.is_there and use in (None, each.use)]
        wanted = (each for each in found if not new or each.state is ValueState.NEW)
        return sorted(wanted, key=lambda each: each.use)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        with self._lock:
            return [self._tables.values[each] for each in ids if each in self._tables.values]

    @answerable
    @with_values
    def users(self, use: str, *, after: str = "", limit: int = 500) -> list[Schedule]:
        return page_of([row for row in self._chosen() if use in row.uses], "name", after, limit)

    def session(self, session_id: str) -> Session | None:
        return self._tables.sessions.get(session_id)

    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        with self._lock:
            return self._pruner.prune(self._read_clock(), keep, limit, thorough=thorough)

    # life

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(wake)
        return lambda: self._listeners.remove(wake)

    def notify(self) -> None:
        for wake in list(self._listeners):
            wake()

    def close(self) -> None:
        """Nothing is open."""


class _Tables:
    def __init__(self) -> None:
        self.schedules: dict[str, Schedule] = {}
        self.ids: dict[str, str] = {}
        self.due_schedules: IndexedHeap[str] = IndexedHeap()
        self.runs: dict[str, Run] = {}
        self.runs_of: dict[str, dict[str, None]] = {}
        self.owned: dict[str, dict[str, None]] = {}
        self.awaited: dict[str, dict[str, None]] = {}
        self.due_runs: IndexedHeap[str] = IndexedHeap()
        self.steps_of: dict[str, dict[str, None]] = {}
        self.untold: dict[str, dict[str, None]] = {}
        self.bounded: IndexedHeap[str] = IndexedHeap()
        """Runs that may wait, or stand for steps, until a moment; by it."""
        self.slots: dict[str, str] = {}
        self.graphs: dict[str, tuple[Graph, int]] = {}
        """Each with when it was last asked to be kept."""
        self.forgotten: dict[str, None] = {}
        """Flows whose steps are to follow them."""
        self.history = EndedRuns()
        self.succeeded: dict[str, int] = {}
        """When each schedule last did: a look through the whole history would grow with every run."""
        self.keys = Keys()
        self.nodes: dict[str, Node] = {}
        self.tasks: dict[str, tuple[TaskInfo, ...]] = {}
        self.decisions: dict[str, list[Decision]] = {}
        self.changes: list[Change] = []
        self.log: dict[str, list[LogLine]] = {}
        self.revisions: dict[str, list[Schedule]] = {}
        self.tokens: dict[str, Token] = {}
        self.sessions: dict[str, Session] = {}
        self.freezes: dict[str, Freeze] = {}
        self.values: dict[str, Value] = {}
        self.minutes: dict[tuple[int, str], Minute] = {}
        self.hours: dict[Place, Hour] = {}
        self.rolled_through_ms = 0

    def note_places(self, run: Run) -> None:
        """Put a live run into every index that it belongs to."""
        if run.slot is not None:
            self.slots[run.slot] = run.id
        for index, key in self._indexes(run):
            index.setdefault(key, {})[run.id] = None
        if run.state is State.WAITING and not run.blocked:
            self.due_runs.push(run.id, run.due_ms)
        if run.until_ms is not None and (run.state is State.WAITING or (run.is_flow and not run.is_final)):
            self.bounded.push(run.id, run.until_ms)

    def forget_places(self, run: Run) -> None:
        """Take it out of them."""
        if run.slot is not None:
            self.slots.pop(run.slot, None)
        for index, key in self._indexes(run):
            index[key].pop(run.id, None)
            if not index[key]:
                del index[key]
        for heap in (self.due_runs, self.bounded):
            if run.id in heap:
                heap.remove(run.id)

    def _indexes(self, run: Run) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        if run.schedule_id is not None:
            yield self.runs_of, run.schedule_id
        if run.state is State.RUNNING and run.owner is not None:
            yield self.owned, run.owner
        if run.state is State.WAITING and run.waits_for is not None:
            yield self.awaited, run.waits_for
        if run.is_step and run.parent_id is not None:
            yield self.steps_of, run.parent_id
            if run.is_final:
                yield self.untold, run.parent_id


class _MemoryTransaction:
    """One transaction: it writes at once, and takes everything back if it fails."""

    def __init__(self, tables: _Tables, now_ms: int) -> None:
        self._tables = tables
        self._undo: list[Undo] = []
        self._now_ms = now_ms

    @property
    def now_ms(self) -> int:
        return self._now_ms

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def prefetch(self, node_id: str, run_ids: Collection[str]) -> None:
        """Each is read when it is asked for."""

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        due = self._tables.due_schedules.due(self._now_ms)
        in_turn = sorted((moment < on_time_from_ms, moment, schedule_id) for schedule_id, moment in due)
        return [self._tables.schedules[schedule_id] for *_, schedule_id in in_turn[:limit]], False

    def unchanged(self, schedules: Sequence[Schedule]) -> set[str]:
        tables = self._tables
        now = ((each, tables.schedules.get(each.id)) for each in schedules)
        same = (row for each, row in now if row is not None and row.version == each.version and row.plannable)
        return {row.id for row in same if row.id not in tables.runs_of}

    def save_ahead(self, owner: str, all_effects: Sequence[Effects]) -> None:
        self.save_schedules([each.schedule for each in all_effects if each.schedule is not None])
        self.save_runs([run for each in all_effects for run in each.runs])

    def is_due(self) -> bool:
        first = self._tables.due_schedules.peek()
        return first is not None and first[1] <= self._now_ms

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        ids = ((name, self._tables.ids.get(name)) for name in names)
        return {name: self._tables.schedules[schedule_id] for name, schedule_id in ids if schedule_id is not None}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        return {each: self._tables.schedules[each] for each in sorted(ids) if each in self._tables.schedules}

    def lock_schedules(self, ids: Collection[str]) -> dict[str, Schedule]:
        return self.schedules_if_free(ids)

    def summaries(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        return {row.id: row.summary for row in self.schedules_if_free(ids).values()}

    def watched(self, limit: int) -> list[str]:
        found = [row for row in self._tables.schedules.values() if row.watch_ms is not None]
        due = sorted((row.watch_ms or 0, row.id) for row in found if (row.watch_ms or 0) <= self._now_ms)
        return [schedule_id for _, schedule_id in due[:limit]]

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        for row in schedules:
            if self._tables.ids.get(row.name, row.id) != row.id:
                raise TryAgain
            self._put_schedule(row.id, row)

    def _put_schedule(self, schedule_id: str, row: Schedule | None) -> None:
        old = self._tables.schedules.get(schedule_id)
        self._undo.append(lambda: self._set_schedule(schedule_id, old))
        self._set_schedule(schedule_id, row)

    def _set_schedule(self, schedule_id: str, row: Schedule | None) -> None:
        tables = self._tables
        old = tables.schedules.pop(schedule_id, None)
        if old is not None:
            tables.ids.pop(old.name, None)
        if schedule_id in tables.due_schedules:
            tables.due_schedules.remove(schedule_id)
        if row is None:
            return
        tables.schedules[schedule_id] = row
        tables.ids[row.name] = schedule_id
        if row.plannable and row.next_run_ms is not None:
            tables.due_schedules.push(schedule_id, row.next_run_ms)

    # runs

    def due_runs(self, claim: Claim, limit: int) -> list[Run]:
        due = [self._tables.runs[run_id] for run_id, _ in self._tables.due_runs.due(self._now_ms)]
        return foremost(filter(claim.takes, due), turn_of, limit)

    def live_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        return {each.id: self._live_beside(each) for each in schedules if each.id in self._tables.runs_of}

    def _live_beside(self, schedule: Schedule) -> LiveRuns:
        live = self.live_of([schedule.id])
        waiting = [run for run in live if run.state is State.WAITING]
        most = most_waiting(schedule.policy)
        running = (run for run in live if run.state is State.RUNNING)
        return LiveRuns((*running, *waiting[:most]), len(waiting) > most)

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        tables = self._tables
        found = [tables.runs[run_id] for each in schedule_ids for run_id in tables.runs_of.get(each, ())]
        return sorted(found, key=lambda run: (run.due_ms, run.id))

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        found = (self._tables.runs[run_id] for run_id in ids if run_id in self._tables.runs)
        return {run.id: run for run in still_live(found)}

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        return self.live_runs(ids)

    def schedules_of(self, run_ids: Collection[str]) -> set[str]:
        return {run.schedule_id for run in self.live_runs(run_ids).values() if run.schedule_id is not None}

    def owned_by(self, node_id: str) -> list[Run]:
        return [self._tables.runs[run_id] for run_id in sorted(self._tables.owned.get(node_id, ()))]

    def load(self) -> dict[str, int]:
        return {node_id: len(runs) for node_id, runs in self._tables.owned.items()}

    def waiting_for(self, what: str, limit: int) -> list[Run]:
        waiting = [self._tables.runs[run_id] for run_id in self._tables.awaited.get(what, ())]
        return foremost((run for run in waiting if run.due_ms <= self._now_ms), turn_of, limit)

    def are_awaited(self, whats: Collection[str]) -> set[str]:
        return {what for what in whats if self._tables.awaited.get(what)}

    def awaited(self, limit: int, after: str = "") -> list[str]:
        later = sorted(what for what, runs in self._tables.awaited.items() if what > after and runs)
        return [what for what in later if self.waiting_for(what, 1)][:limit]

    def routed_runs(self, limit: int) -> list[Run]:
        routed = [self._tables.runs[run_id] for run_id, _ in self._tables.due_runs.due(self._now_ms)]
        return sorted((run for run in routed if run.target is not None), key=lambda run: (run.due_ms, run.id))[:limit]

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        return self._tables.succeeded.get(schedule, -1) >= since_ms

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        return {run_id: self._tables.history[run_id] for run_id in ids if run_id in self._tables.history}

    def save_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if run.slot is not None and self._tables.slots.get(run.slot, run.id) != run.id:
                raise TryAgain
            assert type(run) is not StepRow, "a step as `steps_of` gives it is not whole"
            old = self._tables.runs.get(run.id)
            self._undo.append(lambda run_id=run.id, old=old: self._set_run(run_id, old))  # type: ignore[misc]
            self._set_run(run.id, run)

    def _set_run(self, run_id: str, run: Run | None) -> None:
        tables = self._tables
        old = tables.runs.pop(run_id, None)
        if old is not None:
            tables.forget_places(old)
        if run is not None:
            tables.runs[run_id] = run
            tables.note_places(run)

    def end_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            old = self._tables.runs.get(run.id)
            self._undo.append(lambda run_id=run.id, old=old: self._set_run(run_id, old))  # type: ignore[misc]
            self._set_run(run.id, None)
            whole = old if isinstance(run, StepRow) and old is not None else run
            self._put(self._tables.history, run.id, replace(whole, slot=None))
            if run.state is State.SUCCEEDED and run.schedule is not None:
                before_ms = self._tables.succeeded.get(run.schedule, 0)
                self._put(self._tables.succeeded, run.schedule, max(run.finished_ms or 0, before_ms))

    def revive_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._put(self._tables.history, run.id, None)
        self.save_runs(runs)

    # flows

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        return {each: self._tables.graphs[each][0] for each in hashes if each in self._tables.graphs}

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        for graph in graphs:
            self._put(self._tables.graphs, graph.hash, (graph, self._now_ms))

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        tables = self._tables
        ids = sorted(run_id for each in flow_ids for run_id in tables.steps_of.get(each, ()))
        return [step_row(tables.runs[run_id].__dict__) for run_id in ids]

    def untold(self, limit: int, after: str = "") -> list[str]:
        return sorted(each for each in self._tables.untold if each > after)[:limit]

    def past_until(self, limit: int) -> list[Run]:
        in_turn = sorted((moment, run_id) for run_id, moment in self._tables.bounded.due(self._now_ms))
        return [self._tables.runs[run_id] for _, run_id in in_turn[:limit]]

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        found = {key: self._tables.keys[key] for key in keys if key in self._tables.keys}
        return {key: row for key, row in found.items() if row.expires_ms is None or row.expires_ms > self._now_ms}

    def save_keys(self, keys: Sequence[Key]) -> None:
        for key in keys:
            held = self.keys([key.key]).get(key.key)
            if held is not None and held.run_id != key.run_id:
                raise TryAgain
            self._put(self._tables.keys, key.key, key)

    # nodes

    def node(self, node_id: str) -> Node | None:
        return self._tables.nodes.get(node_id)

    def node_shared(self, node_id: str) -> Node | None:
        return self._tables.nodes.get(node_id)

    def nodes(self) -> list[Node]:
        return sorted((node for node in self._tables.nodes.values() if node.lives), key=lambda node: node.started_ms)

    def owners(self) -> set[str]:
        return set(self._tables.owned)

    def save_node(self, node: Node) -> None:
        self._put(self._tables.nodes, node.id, node)

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        self._put(self._tables.tasks, node_id, tuple(tasks))

    def forget_node(self, node_id: str) -> None:
        self._put(self._tables.nodes, node_id, None)
        self._put(self._tables.tasks, node_id, None)

    # who may use the HTTP API

    def token(self, name: str) -> Token | None:
        return self._tables.tokens.get(name)

    def save_token(self, token: Token) -> None:
        self._put(self._tables.tokens, token.name, token)

    def forget_token(self, name: str) -> None:
        self._put(self._tables.tokens, name, None)
        self._forget_sessions(name, 1 << 62)

    def save_session(self, session: Session) -> None:
        self._forget_sessions(session.token, self._now_ms)
        self._put(self._tables.sessions, session.id, session)

    def forget_session(self, session_id: str) -> None:
        self._put(self._tables.sessions, session_id, None)

    def _forget_sessions(self, token: str, until_ms: int) -> None:
        for each in list(self._tables.sessions.values()):
            if each.token == token and each.expires_ms <= until_ms:
                self.forget_session(each.id)

    # freezes

    def freezes(self) -> list[Freeze]:
        return [each for _, each in sorted(self._tables.freezes.items())]

    def freeze(self, name: str) -> Freeze | None:
        return self._tables.freezes.get(name)

    def save_freeze(self, freeze: Freeze) -> None:
        self._put(self._tables.freezes, freeze.name, freeze)

    def forget_freeze(self, name: str) -> None:
        self._put(self._tables.freezes, name, None)

    # what triggers name

    def value(self, use: Use) -> Value | None:
        revisions = (each for each in self._tables.values.values() if each.use == use)
        return max(revisions, key=lambda each: each.rev, default=None)

    def value_shared(self, use: Use) -> Value | None:
        return self.value(use)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return [self._tables.values[each] for each in ids if each in self._tables.values]

    def add_value(self, value: Value) -> None:
        self._put(self._tables.values, value.id, value)

    def change_value(self, value: Value) -> None:
        self._put(self._tables.values, value.id, value)

    def forget_values(self, ids: Collection[str]) -> None:
        for each in ids:
            self._put(self._tables.values, each, None)

    # what happened

    def last_decisions(self, schedule_ids: Collection[str]) -> dict[str, Decision]:
        return {each: kept[-1] for each in schedule_ids if (kept := self._tables.decisions.get(each))}

    def save_decisions(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            kept = self._tables.decisions.setdefault(decision.schedule_id, [])
            if kept and kept[-1].id == decision.id:
                self._undo.append(lambda kept=kept, last=kept[-1]: kept.__setitem__(-1, last))  # type: ignore[misc]
                kept[-1] = decision
            else:
                self._append(kept, decision)

    def add_log(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            self._append(self._tables.log.setdefault(line.run_id, []), line)

    def add_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._append(self._tables.changes, change)

    def add_revision(self, schedule: Schedule) -> None:
        self._append(self._tables.revisions.setdefault(schedule.id, []), schedule)

    def _put(self, table: dict[str, T], key: str, value: T | None) -> None:
        old = table.get(key)
        self._undo.append(lambda: _set(table, key, old))
        _set(table, key, value)

    def _append(self, table: list[T], value: T) -> None:
        table.append(value)
        self._undo.append(lambda: (table.pop(), None)[1])


def _set(table: dict[str, T], key: str, value: T | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
