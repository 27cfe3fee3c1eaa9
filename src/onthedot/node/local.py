"""`local` mode: ticks computed in memory with the heap, decided in the store one schedule at a time.

Every node that knows the task of a local schedule holds it. Lattices are anchored in the definition, so all compute the
same ticks; the schedule's row and its watermark decide whose comes first, and the others find nothing left to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onthedot.heap import IndexedHeap
from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Effects
from onthedot.stores.base import Store

REFRESH_MS = 1000
MOST = 100_000

PlanOne = Callable[[str, Schedule], Effects | None]


class LocalPlanner:
    """Reads its schedules once a second, so that a put, pause or edit reaches it; fires from memory in between."""

    def __init__(self, store: Store, plan_one: PlanOne, tasks: Callable[[], Sequence[str]]) -> None:
        self._store = store
        self._plan_one = plan_one
        self._tasks = tasks
        self._rows: dict[str, Schedule] = {}
        self._heap: IndexedHeap[str] = IndexedHeap()
        self._next_refresh_ms = 0

    def run_once(self, node_id: str, now_ms: int) -> list[Effects]:
        """Decide all ticks that have come; what was decided here and not by another node."""
        if now_ms >= self._next_refresh_ms:
            self._next_refresh_ms = now_ms + REFRESH_MS
            self._refresh()
        decided: list[Effects] = []
        for schedule_id, _ in self._heap.pop_due(now_ms):
            effects = self._plan_one(node_id, self._rows[schedule_id])
            if effects is not None and effects.schedule is not None:
                decided.append(effects)
                self._hold(effects.schedule)
            else:
                self._next_refresh_ms = 0  # it was changed, or another node was first: look at the row again
        return decided

    def peek(self) -> int | None:
        """The next moment at which one of them ticks."""
        first = self._heap.peek()
        return None if first is None else first[1]

    def _refresh(self) -> None:
        tasks = frozenset(self._tasks())
        found = self._store.schedules(mode="local", limit=MOST)
        rows = {row.id: row for row in found if row.task in tasks and row.enabled and row.error is None}
        for gone in self._rows.keys() - rows.keys():
            self._rows.pop(gone)
            if gone in self._heap:
                self._heap.remove(gone)
        for row in rows.values():
            self._hold(row)

    def _hold(self, row: Schedule) -> None:
        self._rows[row.id] = row
        if row.id in self._heap:
            self._heap.remove(row.id)
        if row.next_run_ms is not None and row.error is None:
            self._heap.push(row.id, row.next_run_ms)
