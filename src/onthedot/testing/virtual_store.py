"""The store of a world: in memory, it forgets nothing, and it can say when anything will be due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from onthedot.heap import IndexedHeap
from onthedot.model.change import Author
from onthedot.model.decision import Decision
from onthedot.model.minute import Minute
from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import State
from onthedot.rules.effects import Edit, Effects
from onthedot.rules.expiry import waits_at_most_ms
from onthedot.stores.answers import RolledUp
from onthedot.stores.memory import MemoryStore
from onthedot.stores.retention import Pruned, Retention

NEVER = 1 << 62


class VirtualStore(MemoryStore):
    """For one world, in one thread."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms)
        self._local: tuple[str, ...] = ()
        self._watched: tuple[str, ...] = ()
        self.plans_ticks = True
        """Whether there are nodes that plan."""
        self.on_enqueued: Callable[[list[Run]], list[Run]] = lambda runs: runs
        """Gets what was enqueued, and gives what to answer."""

    def change(self, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
        effects = super().change(names, edit, by)
        self._local = tuple(row.id for row in self._tables.schedules.values() if row.mode == "local")
        self._watched = tuple(row.id for row in self._tables.schedules.values() if row.watch_ms is not None)
        return effects

    def schedules(self, *, mode: Mode | None = None, **wanted: Any) -> list[Schedule]:
        if mode == "local" and not self._local:  # nodes ask once a second
            return []
        return super().schedules(mode=mode, **wanted)

    def enqueue(self, runs: Sequence[Run], connection: Any = None, by: Author | None = None) -> list[Run]:
        return self.on_enqueued(super().enqueue(runs, None, by))  # a connection leads to another database

    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        return Pruned()

    def roll_up(self, limit: int = 10_000) -> RolledUp:
        """Nothing, as with `tally`."""
        return RolledUp()

    def tally(self, minutes: Sequence[Minute]) -> None:
        """Nothing is kept: a world in bulk leaves out the passes that write it, and must be the same as one without."""

    def next_due_ms(self, after_ms: int = -1) -> int | None:
        """The first moment after this one at which a schedule or a waiting run is due."""
        heads = [self.next_aside_ms(after_ms)]
        if self.plans_ticks:
            heads.append(_first_after(self._tables.due_schedules, after_ms))
        return min((head for head in heads if head is not None), default=None)

    def next_aside_ms(self, after_ms: int = -1) -> int | None:
        """The same, but for the schedules that planners plan together: of waiting runs, and in `local` mode."""
        heads = [_first_after(self._tables.due_runs, after_ms)]
        if self._local:
            rows = [self._tables.schedules[each] for each in self._local]
            heads += [row.next_run_ms for row in rows if row.enabled and not row.deleted and row.error is None]
        return min((head for head in heads if head is not None and head > after_ms), default=None)

    def next_look_ms(self) -> int | None:
        """When a node's regular look will find what nothing else tells of: a cancellation, a dependency, what has
        waited too long, or a schedule that is overdue."""
        looks = [self._tables.schedules[each].watch_ms for each in self._watched]
        return min([*(self._look_ms(run) for run in self._tables.runs.values()), *filter(None, looks)], default=None)

    def _look_ms(self, run: Run) -> int:
        now_ms = self.now_ms()
        if run.cancel_requested_ms is not None and run.state is State.RUNNING and not run.is_flow:
            return now_ms
        until_ms = NEVER if run.until_ms is None or run.is_final else max(run.until_ms, now_ms)
        if not (run.blocked and run.policy.depends_on):
            return until_ms
        since_ms = now_ms - waits_at_most_ms(run.policy)
        if all(self._tables.succeeded.get(name, -1) >= since_ms for name in run.policy.depends_on):
            return now_ms
        return until_ms

    # what is advanced in bulk

    def coming_schedules(self) -> list[Schedule]:
        """Those that planners plan together, and that have a next tick, in no promised order."""
        return [self._tables.schedules[each] for each in self._tables.due_schedules]

    def live_runs(self) -> Collection[Run]:
        """All that run or wait."""
        return self._tables.runs.values()

    def followers_of(self, run: Run) -> tuple[str, ...]:
        """What may be enqueued when the run succeeds."""
        schedule = self._tables.schedules.get(run.schedule_id or "")
        if schedule is None:
            return ()
        return (*schedule.then, *(alert.task for alert in schedule.alerts), *schedule.ping)

    def put_made(self, schedules: Sequence[Schedule], ended: Iterable[Sequence[Run]], live: Sequence[Run]) -> None:
        """Write rows that are known to be what nodes would have written, without asking for anything.

        What ended, succeeded. It comes by schedule, the latest last.
        """
        with self.begin() as tx:
            tx.save_schedules(schedules)
            tx.save_runs(live)
        history, succeeded = self._tables.history, self._tables.succeeded
        for runs in ended:
            for run in runs:
                history[run.id] = run
            if runs:
                name, finished_ms = runs[-1].schedule or "", runs[-1].finished_ms or 0
                succeeded[name] = max(finished_ms, succeeded.get(name, 0))

    # what there was

    def all_runs(self) -> Iterable[Run]:
        """All that ever were, in no promised order."""
        yield from self._tables.history.values()
        yield from self._tables.runs.values()

    def all_decisions(self) -> Iterable[Decision]:
        """All that ever were, in no promised order."""
        for decisions in self._tables.decisions.values():
            yield from decisions


def _first_after(heap: IndexedHeap[str], after_ms: int) -> int | None:
    """O(1), unless something is there that nobody takes."""
    head = heap.peek()
    if head is None or head[1] > after_ms:
        return None if head is None else head[1]
    return min((moment for each in heap if (moment := heap.moment_of(each)) > after_ms), default=None)
