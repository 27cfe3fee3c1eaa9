"""Advances a world over its plain ticks: it sees that the world is at rest, and writes what nodes would have."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from onthedot.clock import ManualClock
from onthedot.errors import OnthedotError
from onthedot.execution.targets import Lookup
from onthedot.model.ids import new_id
from onthedot.model.node import Node, NodeState
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.node.settings import NodeSettings
from onthedot.testing.bulk import Course, Foresight, Moment, Places, courses_of, forgotten_ms, is_lasting
from onthedot.testing.virtual_node import VirtualNode
from onthedot.testing.virtual_store import NEVER, VirtualStore
from onthedot.testing.virtual_worker import Script

Turn = Callable[[int, int], int]
"""From a moment and a number of nodes to the one whose turn it is."""


class Known(NamedTuple):
    """What was found out of a schedule's row, for as long as it is the same."""

    row: Schedule
    course: Course | None


class FastForward:
    """Of one world. `run_once` goes as far as it can."""

    def __init__(
        self, store: VirtualStore, clock: ManualClock, script: Script, lookup: Lookup, settings: NodeSettings
    ) -> None:
        self._store = store
        self._clock = clock
        self._script = script
        self._lookup = lookup
        self._roles = settings.roles
        self._margin_ms = forgotten_ms(settings)
        self._known: dict[str, Known] = {}
        self._again_ms = 0
        """Before this moment there is nothing to be gained."""

    def begin(self) -> None:
        """Anything may have changed."""
        self._known.clear()
        self._again_ms = 0

    def run_once(self, nodes: Sequence[VirtualNode], turn: Turn, end_ms: int) -> bool:
        """Advance over plain ticks, not beyond the end; whether there were any."""
        if self._clock.now_ms() < self._again_ms or not self._is_at_rest(nodes):
            return False
        foresight = self._foresee(nodes, end_ms)
        with _without_collection():
            advanced, self._again_ms = self._advance(foresight, nodes, turn)
        return advanced

    # whether

    def _is_at_rest(self, nodes: Sequence[VirtualNode]) -> bool:
        """Whether nothing but ticks makes anybody act: no run waits for another, and those that run will end well."""
        live = self._store.live_runs()
        running = [run for run in live if run.state is State.RUNNING]
        return (
            all(node.is_at_rest for node in nodes)
            and not any(run.blocked or run.due_ms <= self._clock.now_ms() for run in live if run.state is State.WAITING)
            and not any(run.cancel_requested_ms or self._store.followers_of(run) for run in running)
            and {run.id for run in running} == {run.id for node in nodes for _, run in node.worker.successes()}
            and self._are_alike(self._store.nodes(), nodes)
        )

    def _are_alike(self, rows: Sequence[Node], nodes: Sequence[VirtualNode]) -> bool:
        """Whether it makes no difference which of the nodes plans."""
        alike = all(row.state is NodeState.ALIVE and row.tasks == rows[0].tasks for row in rows)
        known = {row.id for row in rows} == {node.id for node in nodes}
        return bool(rows) and alike and known and "plan" in self._roles

    def _foresee(self, nodes: Sequence[VirtualNode], end_ms: int) -> Foresight:
        now_ms = self._clock.now_ms()
        rows = self._store.coming_schedules()
        self._learn([row for row in rows if not self._knows(row)])
        busy_ms = self._busy_until_ms(nodes)
        courses = [self._course(row, busy_ms.get(row.id, 0)) for row in rows]
        others = [row.next_run_ms for row, course in zip(rows, courses, strict=True) if course is None]
        events = [end_ms, self._store.next_aside_ms(now_ms), *others]
        sizes = nodes[0].worker.pools.sizes
        return Foresight(
            [course for course in courses if course is not None],
            now_ms,
            horizon_ms=min(event for event in events if event is not None),
            margin_ms=self._margin_ms,
            places=Places(min(sizes.fast, sizes.loop), sizes.slow),
            ends_ms=[end_ms for node in nodes for end_ms, _ in node.worker.successes()],
        )

    def _busy_until_ms(self, nodes: Sequence[VirtualNode]) -> dict[str, int]:
        """When the last live run of each schedule will be over; one that waits may take its time."""
        found = {run.schedule_id: NEVER for run in self._store.live_runs() if run.state is State.WAITING}
        for end_ms, run in (each for node in nodes for each in node.worker.successes()):
            found[run.schedule_id] = max(found.get(run.schedule_id, 0), end_ms)
        return {schedule_id: until_ms for schedule_id, until_ms in found.items() if schedule_id is not None}

    def _course(self, row: Schedule, busy_until_ms: int) -> Course | None:
        """None where its next tick is not plain."""
        return self._known[row.id].course if busy_until_ms <= (row.next_run_ms or 0) else None

    def _knows(self, row: Schedule) -> bool:
        known = self._known.get(row.id)
        return known is not None and known.row is row

    def _learn(self, rows: Sequence[Schedule]) -> None:
        takes = [(row, self._script.fixed_ms(row)) for row in rows if is_lasting(row) and self._is_simple(row.task)]
        sound = [(row, takes_ms) for row, takes_ms in takes if _ends_in_time(row, takes_ms)]
        courses = {each.schedule.id: each for each in courses_of(sound, self._store.nodes()[0])}
        self._known |= {row.id: Known(row, courses.get(row.id)) for row in rows}

    def _is_simple(self, task: str) -> bool:
        """Whether its runs do nothing but take their time, in whichever pool has room."""
        target = self._lookup(task)
        return target is not None and target.pool is None and not self._script.is_called(task)

    # doing

    def _advance(self, foresight: Foresight, nodes: Sequence[VirtualNode], turn: Turn) -> tuple[bool, int]:
        """Whether there was anything to do, and when there may be more."""
        last: dict[str, tuple[Course, VirtualNode]] = {}
        again_ms, next_end_ms, now_ms = 0, _next_end_ms(nodes), self._clock.now_ms()
        try:
            for moment in foresight.moments():
                node = nodes[turn(moment.at_ms, len(nodes))]
                if node.runner.is_careful:
                    break
                if next_end_ms <= moment.at_ms:
                    next_end_ms = self._end_runs(nodes, moment.at_ms)
                now_ms = moment.at_ms
                for course, _ in moment.due:
                    last[course.schedule.id] = course, node
                self._make_runs(moment, node.id, foresight)
            else:
                again_ms = foresight.horizon_ms
        finally:
            self._go_to(now_ms)
            self._write(list(last.values()))
        return bool(last), again_ms

    def _end_runs(self, nodes: Sequence[VirtualNode], until_ms: int) -> int:
        """Let those end that nodes had begun themselves; when the next of them does."""
        while (end_ms := _next_end_ms(nodes)) <= until_ms:
            self._go_to(end_ms)
            for node in nodes:
                node.end_runs(end_ms)
        return end_ms

    def _go_to(self, moment_ms: int) -> None:
        self._clock.advance(moment_ms - self._clock.now_ms())

    def _make_runs(self, moment: Moment, owner: str, foresight: Foresight) -> None:
        at_ms = moment.at_ms
        for course, following_ms in moment.due:
            run_id = new_id(at_ms)
            took_ms = course.takes_ms
            if took_ms is None:
                took_ms = self._asked(course, at_ms, run_id, owner)
                if following_ms is not None and at_ms + took_ms > following_ms:
                    foresight.horizon_ms = min(foresight.horizon_ms, following_ms)
            course.add(at_ms, run_id, owner, took_ms)
            course.next_ms = following_ms

    def _asked(self, course: Course, at_ms: int, run_id: str, owner: str) -> int:
        """What the function says, which may look at the time."""
        self._go_to(at_ms)
        try:
            return self._script.takes_ms(course.begun_at(at_ms, run_id, owner))
        except Exception as error:
            raise OnthedotError(f"plan failed in the simulation: {error}") from error

    def _write(self, touched: Sequence[tuple[Course, VirtualNode]]) -> None:
        now_ms = self._clock.now_ms()
        made = [(course, node, course.ends_ms, course.row()) for course, node in touched if course.runs]
        parts = [course.taken_out(now_ms) for course, *_ in made]
        live = [(run, node, ends_ms) for (_, run), (_, node, ends_ms, _) in zip(parts, made, strict=True) if run]
        live.sort(key=lambda each: each[0].id)
        self._store.put_made([row for *_, row in made], [ended for ended, _ in parts], [run for run, *_ in live])
        for course, _, _, row in made:
            course.schedule = row
            self._known[row.id] = Known(row, course)
        for run, node, ends_ms in live:
            node.go_on_with(run, ends_ms)


def _next_end_ms(nodes: Sequence[VirtualNode]) -> int:
    return min(node.worker.next_end_ms() or NEVER for node in nodes)


def _ends_in_time(row: Schedule, takes_ms: int | None) -> bool:
    most_ms = row.policy.timeout_ms
    return most_ms is None or (takes_ms is not None and takes_ms <= most_ms)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Nothing that is made inside is garbage: to look through all of it again and again would be most of the work."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
