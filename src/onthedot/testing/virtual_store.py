"""The store of a world: in memory, it forgets nothing, and it can say when anything will be due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from onthedot.model.decision import Decision
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import By, Edit, Effects, Keep
from onthedot.stores.memory import MemoryStore


class VirtualStore(MemoryStore):
    """For one world, in one thread."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms)
        self._local: tuple[str, ...] = ()

    def change(self, names: Sequence[str], edit: Edit, by: By) -> list[Effects]:
        effects = super().change(names, edit, by)
        self._local = tuple(row.id for row in self._tables.schedules.values() if row.mode == "local")
        return effects

    def prune(self, keep: Keep, limit: int = 1000) -> int:
        return 0

    def next_due_ms(self) -> int | None:
        """The first moment at which a schedule or a waiting run is due. O(1), but for local schedules."""
        heaps = self._tables.due_schedules, self._tables.due_runs
        heads = [head[1] for heap in heaps if (head := heap.peek()) is not None]
        if self._local:
            rows = [self._tables.schedules[each] for each in self._local]
            alive = [row for row in rows if row.enabled and not row.deleted and row.error is None]
            heads += [row.next_run_ms for row in alive if row.next_run_ms is not None]
        return min(heads, default=None)

    def needs_a_look(self) -> bool:
        """Whether something waits that only a node's regular look will find: a cancellation, a dependency."""
        return any(
            (run.cancel_requested_ms is not None and run.state is State.RUNNING)
            or (run.blocked and bool(run.policy.depends_on))
            for run in self._tables.runs.values()
        )

    def all_runs(self) -> Iterable[Run]:
        """All that ever were, in no promised order."""
        yield from self._tables.history.values()
        yield from self._tables.runs.values()

    def all_decisions(self) -> Iterable[Decision]:
        """All that ever were, in no promised order."""
        for decisions in self._tables.decisions.values():
            yield from decisions
