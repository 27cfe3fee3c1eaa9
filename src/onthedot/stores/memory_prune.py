"""Forgetting what is old, in memory, and the tables that tell it without being read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, pairwise, takewhile
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from onthedot.heap import IndexedHeap
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.stores.base import Pruned, Retention
from onthedot.stores.prune import Kind, Pruner, is_needed

if TYPE_CHECKING:
    from onthedot.stores.memory import _Tables

T = TypeVar("T")
Row = tuple[str, int]
"""The id of a row, and the moment by which it is old: so it was found, and so it must still be."""


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


def _kept_by(run: Run) -> str:
    """No name has a slash, so a task and a schedule never share it."""
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


class MemoryPruner:
    """Of one store. It looks at everything each time."""

    def __init__(self, tables: _Tables, lock: RLock) -> None:
        self._tables = tables
        self._lock = lock
        self._pruner = Pruner()

    def prune(self, now_ms: int, keep: Retention, limit: int) -> Pruned:
        """See `Store.prune`."""
        history_ms = now_ms - keep.history_ms
        long_ago_ms = now_ms - max(keep.tombstones_ms, keep.history_ms)
        kinds = [
            self._kind("run", lambda: self._old_runs(history_ms), self._forget_runs),
            self._kind("run too many", lambda: self._runs_beyond(keep.per_schedule), self._forget_runs),
            self._kind(
                "decision",
                lambda: self._old_decisions(history_ms, keep.decisions_per_schedule),
                self._forget_decisions,
            ),
            self._kind("key", lambda: iter(self._tables.keys.expiring.due(now_ms)), self._forget_keys),
            self._kind(
                "change", lambda: self._old_changes(now_ms - keep.changes_ms, keep.most_changes), self._forget_changes
            ),
            self._kind("revision", lambda: self._replaced(history_ms), self._forget_revisions),
            self._kind("tombstone", lambda: self._tombstones(long_ago_ms), self._forget_tombstones),
            self._kind("node", lambda: self._gone(now_ms - keep.nodes_ms), self._forget_nodes),
        ]
        return self._pruner.prune(kinds, limit)

    def _kind(
        self, name: str, find: Callable[[], Iterator[Row]], forget: Callable[[Sequence[Row]], Pruned]
    ) -> Kind[Row]:
        def found(most: int) -> list[Row]:
            with self._lock:
                return list(islice(find(), most))

        def forgotten(rows: Sequence[Row]) -> Pruned:
            with self._lock:
                return forget(rows)

        return Kind(name, found, forgotten)

    # runs

    def _old_runs(self, before_ms: int) -> Iterator[Row]:
        rows = ((run.id, run.finished_ms or 0) for run in self._tables.history.values())
        return takewhile(lambda row: row[1] <= before_ms, rows)

    def _runs_beyond(self, keep: int) -> Iterator[Row]:
        history = self._tables.history
        for ids in history.of.values():
            if len(ids) > keep:
                yield from ((each, history[each].finished_ms or 0) for each in sorted(ids)[: len(ids) - keep])

    def _forget_runs(self, rows: Sequence[Row]) -> Pruned:
        history, log = self._tables.history, self._tables.log
        found = dict(rows)
        still = [
            run_id for run_id in found if run_id in history and (history[run_id].finished_ms or 0) == found[run_id]
        ]
        for run_id in still:
            history.pop(run_id)
        return Pruned(runs=len(still), logs=sum(len(log.pop(run_id, ())) for run_id in still))

    # decisions, from the oldest of each schedule on

    def _old_decisions(self, before_ms: int, keep: int) -> Iterator[Row]:
        for schedule_id, decisions in self._tables.decisions.items():
            surplus = len(decisions) - keep
            for place, decision in enumerate(decisions):
                if decision.decided_ms > before_ms and place >= surplus:
                    break
                yield schedule_id, decision.decided_ms

    def _forget_decisions(self, rows: Sequence[Row]) -> Pruned:
        forgotten = 0
        for schedule_id, decided_ms in rows:
            decisions = self._tables.decisions.get(schedule_id, [])
            if decisions and decisions[0].decided_ms == decided_ms:
                del decisions[0]
                forgotten += 1
            if not decisions:
                self._tables.decisions.pop(schedule_id, None)
        return Pruned(decisions=forgotten)

    # keys, and the audit

    def _forget_keys(self, rows: Sequence[Row]) -> Pruned:
        keys = self._tables.keys
        still = [key for key, expires_ms in rows if key in keys and keys[key].expires_ms == expires_ms]
        for key in still:
            keys.pop(key)
        return Pruned(keys=len(still))

    def _old_changes(self, before_ms: int, keep: int) -> Iterator[Row]:
        surplus = len(self._tables.changes) - keep
        for place, change in enumerate(self._tables.changes):
            if change.at_ms > before_ms and place >= surplus:
                break
            yield change.id, change.at_ms

    def _forget_changes(self, rows: Sequence[Row]) -> Pruned:
        changes = self._tables.changes
        heads = sum(1 for _ in takewhile(lambda both: both[0].id == both[1][0], zip(changes, rows, strict=False)))
        del changes[:heads]
        return Pruned(changes=heads)

    # schedules: what they were, and what is left of them

    def _replaced(self, before_ms: int) -> Iterator[Row]:
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

    def _forget_revisions(self, rows: Sequence[Row]) -> Pruned:
        forgotten = 0
        for schedule_id, revision in rows:
            revisions = self._tables.revisions.get(schedule_id, [])
            if len(revisions) > 1 and revisions[0].revision == revision:
                del revisions[0]
                forgotten += 1
        return Pruned(revisions=forgotten)

    def _tombstones(self, before_ms: int) -> Iterator[Row]:
        tables = self._tables
        for row in tables.schedules.values():
            old = row.deleted and row.updated_ms <= before_ms and row.settled_ms <= before_ms
            if old and not (tables.runs_of.get(row.id) or row.name in tables.history.of or row.id in tables.decisions):
                yield row.id, row.updated_ms

    def _forget_tombstones(self, rows: Sequence[Row]) -> Pruned:
        tables = self._tables
        still = {each for each, updated_ms in rows if self._is_tombstone(each, updated_ms)}
        of_ticks = [key for key in tables.keys if key.startswith("t:") and key.split(":")[1] in still]
        for key in of_ticks:
            tables.keys.pop(key)
        revisions = 0
        for schedule_id in still:
            name = tables.schedules.pop(schedule_id).name
            tables.ids.pop(name)
            tables.runs_of.pop(schedule_id, None)
            tables.succeeded.pop(name, None)
            revisions += len(tables.revisions.pop(schedule_id, ()))
        return Pruned(tombstones=len(still), keys=len(of_ticks), revisions=revisions)

    def _is_tombstone(self, schedule_id: str, updated_ms: int) -> bool:
        row = self._tables.schedules.get(schedule_id)
        return row is not None and row.deleted and row.updated_ms == updated_ms

    # nodes

    def _gone(self, before_ms: int) -> Iterator[Row]:
        owners = {run.owner for run in self._tables.runs.values()}
        for node in self._tables.nodes.values():
            if not node.lives and node.renewed_ms <= before_ms and node.id not in owners:
                yield node.id, node.renewed_ms

    def _forget_nodes(self, rows: Sequence[Row]) -> Pruned:
        for node_id, _ in rows:  # one that is gone stays so
            self._tables.nodes.pop(node_id, None)
            self._tables.tasks.pop(node_id, None)
        return Pruned(nodes=len(rows))
