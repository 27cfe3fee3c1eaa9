"""Forgetting what is old, in memory, and the tables that tell it without being read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any

from onthedot.heap import IndexedHeap
from onthedot.model.decision import Decision
from onthedot.model.graph import Graph
from onthedot.model.hour import Hour
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.rules.counting import End
from onthedot.stores.prune import is_needed
from onthedot.stores.retention import Pruned
from onthedot.stores.roll_up import STEP, Known

if TYPE_CHECKING:
    from onthedot.stores.memory import _Tables


Place = tuple[str, str, int]
"""Of an hour: of whom, step, and when it begins."""


class EndedRuns(dict[str, Run]):
    """History, in the order in which runs ended; and by schedule, or by task where there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, dict[str, None]] = {}

    def __setitem__(self, run_id: str, run: Run) -> None:
        super().__setitem__(run_id, run)
        self.of.setdefault(_kept_by(run), {})[run_id] = None

    def pop(self, run_id: str, default: Any = None) -> Any:
        """One that is not there is the default."""
        run = super().pop(run_id, None)
        if run is None:
            return default
        group = self.of[_kept_by(run)]
        del group[run_id]
        if not group:
            del self.of[_kept_by(run)]
        return run


_OF_FLOWS = ""
"""Where all steps stand."""


def _kept_by(run: Run) -> str:
    """No name has a slash, so a task and a schedule never share it. Steps are kept by their flow."""
    if run.is_kept_by_flow:
        return _OF_FLOWS
    return f"/{run.task}" if run.schedule is None else run.schedule


class Keys(dict[str, Key]):
    """Those that expire also stand in a heap, by when."""

    def __init__(self) -> None:
        super().__init__()
        self.expiring: IndexedHeap[str] = IndexedHeap()

    def __setitem__(self, name: str, key: Key) -> None:
        self.pop(name)
        super().__setitem__(name, key)
        # Keys of ticks (t:…) go only with their schedule: they are what keeps a backfill from running twice.
        if key.expires_ms is not None and not name.startswith("t:"):
            self.expiring.push(name, key.expires_ms)

    def pop(self, name: str, default: Any = None) -> Any:
        """One that is not there is the default."""
        if name in self.expiring:
            self.expiring.remove(name)
        return super().pop(name, default)


class MemoryForgetting:
    """Of one store, under its lock: what is found stays so until it is forgotten. It looks at everything each time."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables

    # runs

    def old_runs(self, before_ms: int, most: int) -> list[str]:
        history = self._tables.history.values()
        old = takewhile(lambda run: (run.finished_ms or 0) <= before_ms or run.is_kept_by_flow, history)
        return [run.id for run in islice((run for run in old if not run.is_kept_by_flow), most)]

    def surplus_runs(self, keep: int, most: int, *, thorough: bool, before_ms: int) -> list[str]:
        history = self._tables.history
        groups = (ids for group, ids in history.of.items() if len(ids) > keep and group != _OF_FLOWS)
        surplus = (run_id for ids in groups for run_id in sorted(ids)[: len(ids) - keep])
        return list(islice((each for each in surplus if (history[each].finished_ms or 0) <= before_ms), most))

    def forget_runs(self, items: Sequence[str]) -> Pruned:
        history, log = self._tables.history, self._tables.log
        flows = {run_id: None for run_id in items if run_id in history and history[run_id].is_flow}
        self._tables.forgotten |= flows
        runs = sum(history.pop(run_id) is not None for run_id in items)
        return Pruned(runs=runs, logs=sum(len(log.pop(run_id, ())) for run_id in items), more=bool(flows))

    # flows

    def steps_left(self, most: int) -> list[str]:
        forgotten = self._tables.forgotten
        if not forgotten:
            return []
        steps = (run.id for run in self._tables.history.values() if run.is_kept_by_flow and run.parent_id in forgotten)
        return list(islice(steps, most))

    def bare_flows(self, most: int) -> list[str]:
        if not self._tables.forgotten:
            return []
        ended = {run.parent_id for run in self._tables.history.values() if run.is_kept_by_flow}
        bare = (each for each in self._tables.forgotten if each not in ended and each not in self._tables.steps_of)
        return list(islice(bare, most))

    def forget_flows(self, items: Sequence[str]) -> Pruned:
        for flow_id in items:
            self._tables.forgotten.pop(flow_id, None)
        return Pruned()

    def unused_graphs(self, before_ms: int, most: int, *, thorough: bool) -> list[str]:
        old = [graph for graph, seen_ms in self._tables.graphs.values() if seen_ms <= before_ms]
        return list(islice((graph.hash for graph in old if not self._is_used(graph)), most))

    def _is_used(self, graph: Graph) -> bool:
        tables, task = self._tables, f"@{graph.name}"
        schedules = [row for row in tables.schedules.values() if row.task == task]
        definitions = chain(schedules, *(tables.revisions.get(row.id, ()) for row in schedules))
        runs = chain(tables.runs.values(), tables.history.values())
        steps = (step for other, _ in tables.graphs.values() for step in other.steps)
        needed = chain(
            (each.graph for each in definitions), (run.graph for run in runs), (step.graph for step in steps)
        )
        return graph.hash in needed

    def forget_graphs(self, items: Sequence[str]) -> Pruned:
        return Pruned(graphs=sum(self._tables.graphs.pop(each, None) is not None for each in items))

    # decisions: each by its schedule and when it was made, from the oldest of each schedule on

    def old_decisions(self, before_ms: int, most: int) -> list[tuple[str, int]]:
        return self._decisions(lambda decisions: takewhile(lambda each: each.decided_ms <= before_ms, decisions), most)

    def surplus_decisions(self, keep: int, most: int, *, thorough: bool) -> list[tuple[str, int]]:
        return self._decisions(lambda decisions: decisions[: max(len(decisions) - keep, 0)], most)

    def _decisions(self, choose: Callable[[list[Decision]], Iterable[Decision]], most: int) -> list[tuple[str, int]]:
        chosen = (each for decisions in self._tables.decisions.values() for each in choose(decisions))
        return [(each.schedule_id, each.decided_ms) for each in islice(chosen, most)]

    def forget_decisions(self, items: Sequence[tuple[str, int]]) -> Pruned:
        forgotten = 0
        for schedule_id, decided_ms in items:
            decisions = self._tables.decisions.get(schedule_id, [])
            if decisions and decisions[0].decided_ms == decided_ms:
                del decisions[0]
                forgotten += 1
            if not decisions:
                self._tables.decisions.pop(schedule_id, None)
        return Pruned(decisions=forgotten)

    # keys, and the audit

    def expired_keys(self, before_ms: int, most: int) -> list[str]:
        return [key for key, _ in self._tables.keys.expiring.due(before_ms)[:most]]

    def forget_keys(self, items: Sequence[str]) -> Pruned:
        return Pruned(keys=sum(self._tables.keys.pop(key) is not None for key in items))

    def old_changes(self, before_ms: int, most: int) -> list[str]:
        old = takewhile(lambda change: change.at_ms <= before_ms, self._tables.changes)
        return [change.id for change in islice(old, most)]

    def surplus_changes(self, keep: int, most: int) -> list[str]:
        surplus = max(len(self._tables.changes) - keep, 0)
        return [change.id for change in self._tables.changes[: min(surplus, most)]]

    def forget_changes(self, items: Sequence[str]) -> Pruned:
        """They are the oldest."""
        named = set(items)
        heads = sum(1 for _ in takewhile(lambda change: change.id in named, self._tables.changes))
        del self._tables.changes[:heads]
        return Pruned(changes=heads)

    # schedules: what they were, and what is left of them

    def replaced_revisions(self, before_ms: int, most: int, *, thorough: bool) -> list[tuple[str, int]]:
        return list(islice(self._replaced(before_ms), most))

    def _replaced(self, before_ms: int) -> Iterator[tuple[str, int]]:
        """By schedule and number, from the oldest of each schedule on."""
        for schedule_id, revisions in self._tables.revisions.items():
            if len(revisions) < 2 or revisions[1].updated_ms > before_ms:
                continue
            oldest = self._oldest_of(schedule_id, revisions[0].name)
            for revision, following in pairwise(revisions):
                if following.updated_ms > before_ms or is_needed(revision.revision, following.updated_ms, *oldest):
                    break
                yield schedule_id, revision.revision

    def _oldest_of(self, schedule_id: str, name: str) -> tuple[int | None, int | None]:
        """The revision of the oldest run, live or ended, and the first moment of the oldest decision."""
        tables = self._tables
        ended = (tables.history[run_id] for run_id in tables.history.of.get(name, ()))
        live = (tables.runs[run_id] for run_id in tables.runs_of.get(schedule_id, ()))
        revisions = (run.revision for run in chain(ended, live) if run.revision is not None)
        decisions = tables.decisions.get(schedule_id)
        return min(revisions, default=None), decisions[0].first_ms if decisions else None

    def forget_revisions(self, items: Sequence[tuple[str, int]]) -> Pruned:
        for schedule_id, _ in items:
            del self._tables.revisions[schedule_id][0]
        return Pruned(revisions=len(items))

    def bare_tombstones(self, before_ms: int, most: int) -> list[str]:
        tables = self._tables
        old = (
            row
            for row in tables.schedules.values()
            if row.deleted and row.updated_ms <= before_ms and row.settled_ms <= before_ms
        )
        bare = (
            row.id
            for row in old
            if not (tables.runs_of.get(row.id) or row.name in tables.history.of or row.id in tables.decisions)
        )
        return list(islice(bare, most))

    def forget_tombstones(self, items: Sequence[str]) -> Pruned:
        tables, gone = self._tables, set(items)
        of_ticks = [key for key in tables.keys if key.startswith("t:") and key.split(":")[1] in gone]
        for key in of_ticks:
            tables.keys.pop(key)
        revisions = 0
        for schedule_id in items:
            name = tables.schedules.pop(schedule_id).name
            tables.ids.pop(name)
            tables.runs_of.pop(schedule_id, None)
            tables.succeeded.pop(name, None)
            revisions += len(tables.revisions.pop(schedule_id, ()))
        return Pruned(tombstones=len(items), keys=len(of_ticks), revisions=revisions)

    # nodes

    def gone_nodes(self, before_ms: int, most: int) -> list[str]:
        owners = {run.owner for run in self._tables.runs.values()}
        gone = (node for node in self._tables.nodes.values() if not node.lives and node.renewed_ms <= before_ms)
        return list(islice((node.id for node in gone if node.id not in owners), most))

    def forget_nodes(self, items: Sequence[str]) -> Pruned:
        for node_id in items:
            self._tables.nodes.pop(node_id, None)
            self._tables.tasks.pop(node_id, None)
        return Pruned(nodes=len(items))

    # statistics

    def old_hours(self, before_ms: int, most: int) -> list[Place]:
        return list(islice((place for place in self._tables.hours if place[2] <= before_ms), most))

    def forget_hours(self, items: Sequence[Place]) -> Pruned:
        return Pruned(hours=sum(self._tables.hours.pop(place, None) is not None for place in items))


class MemoryRolling:
    """Of one store, under its lock."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables

    def rolled_through(self) -> int:
        return self._tables.rolled_through_ms

    def ends(self, after_ms: int, last_ms: int, most: int) -> list[End]:
        ended = [run for run in self._tables.history.values() if after_ms < (run.finished_ms or 0) <= last_ms]
        ended.sort(key=lambda run: run.finished_ms or 0)
        return [_end_of(run) for run in ended[: most or None]]

    def flows(self, ids: Sequence[str]) -> list[Run]:
        tables = self._tables
        found = (tables.runs.get(each) or tables.history.get(each) for each in ids)
        return [run for run in found if run is not None]

    def hours_at(self, hour_ms: int, places: Sequence[tuple[str, str]]) -> list[Known]:
        found = (self._tables.hours.get((of, step, hour_ms)) for of, step in places)
        return [(each, None) for each in found if each is not None]

    def keep(self, before_ms: int, through_ms: int, new: Sequence[Hour], changed: Sequence[Known]) -> bool:
        if self._tables.rolled_through_ms != before_ms:
            return False
        self._tables.rolled_through_ms = through_ms
        for each in (*new, *(hour for hour, _ in changed)):
            self._tables.hours[each.of, each.step, each.hour_ms] = each
        return True


def _end_of(run: Run) -> End:
    of, step = (f"{STEP}{run.parent_id}", run.step or "") if run.is_kept_by_flow else (_kept_by(run), "")
    error = run.error or run.reason
    return of, step, run.state.value, run.due_ms, run.started_ms, run.finished_ms, error
