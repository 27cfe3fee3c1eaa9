"""After an unclean death: overdue rows one by one, counted before they are tried; everything else as ever."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onthedot.clock import ManualClock
from onthedot.events import Event
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.model.values import replace
from onthedot.node.planner import Planner
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.rules.quarantine import TRIES, UNDER_WAY_MS
from onthedot.stores.memory import MemoryStore
from onthedot.triggers import every

START = 1_800_000_000_000
BY = Author("test", "test", "put")


class Killed(BaseException):
    """What a process does not survive."""


class World:
    """A store, and processes that plan; some schedules kill whoever plans them."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.store = MemoryStore(self.clock.now_ms)
        self.decide = Decider(lambda: new_id(self.clock.now_ms()))
        self.deadly: set[str] = set()
        self.tried: list[list[str]] = []

    def put(self, *names: str) -> None:
        self.store.change(names, edits.put(edits.Definition("job", every("1m"))), BY)

    def row(self, name: str) -> Schedule:
        return self.store.schedules(names=[name])[0]

    def deciding(self, rows: Sequence[Before], situation: Situation) -> list[Effects]:
        if rows:
            self.tried.append(sorted(row.name for row in rows))
        if any(row.name in self.deadly for row in rows):
            raise Killed
        return self.decide(rows, situation)

    def process(self, *, careful: bool = True) -> tuple[Planner, str]:
        events: list[Event] = []
        planner = Planner(self.store, self.deciding, events.append)
        if careful:
            planner.quarantine(self.clock.now_ms())
        return planner, self.store.join(Node(new_id(self.clock.now_ms()), "n", tasks=("job",)), []).id

    def drain(self, planner: Planner, node_id: str) -> None:
        """As a node does it: again while there is more."""
        while planner.run_once(node_id, 0).more:
            pass

    def planned(self) -> set[str]:
        return {run.schedule or "" for run in self.store.runs(limit=10_000)}


@pytest.fixture
def world() -> World:
    return World()


def test_overdue_schedules_are_tried_one_by_one_and_their_counts_are_gone_afterwards(world: World) -> None:
    names = [f"s{number}" for number in range(50)]
    world.put(*names)
    world.clock.advance(60_000)
    world.drain(*world.process())
    assert world.planned() == set(names)
    assert {len(batch) for batch in world.tried} == {1}
    assert {world.row(name).plan_attempts for name in names} == {0}


def test_what_became_due_since_is_planned_in_batches_beside_them(world: World) -> None:
    world.put("old")
    world.clock.advance(90_000)
    planner, node_id = world.process()
    world.put("new 1", "new 2")
    world.clock.advance(60_000)
    world.drain(planner, node_id)
    assert ["new 1", "new 2"] in world.tried
    assert world.planned() == {"old", "new 1", "new 2"}


def test_where_nothing_is_overdue_care_costs_one_small_batch(world: World) -> None:
    world.put(*(f"s{number}" for number in range(100)))
    planner, node_id = world.process()
    world.clock.advance(60_000)
    world.drain(planner, node_id)
    assert [len(batch) for batch in world.tried] == [20, 80]


def test_after_all_that_was_overdue_planning_goes_on_in_batches(world: World) -> None:
    world.put("a", "b")
    world.clock.advance(60_000)
    planner, node_id = world.process()
    world.drain(planner, node_id)
    world.tried.clear()
    world.clock.advance(60_000)
    world.drain(planner, node_id)
    assert world.tried == [["a", "b"]]


def test_the_culprit_is_parked_after_three_tries_and_its_neighbours_are_planned(world: World) -> None:
    world.put("a", "culprit", "z")
    world.deadly = {"culprit"}
    world.clock.advance(60_000)
    deaths = 0
    planner, node_id = world.process(careful=False)
    while world.row("culprit").error is None:
        try:
            world.drain(planner, node_id)
            world.clock.advance(UNDER_WAY_MS)
        except Killed:
            deaths += 1
            planner, node_id = world.process()
    world.drain(planner, node_id)
    assert deaths == 1 + TRIES, "the first death came before it was counted"
    assert world.planned() == {"a", "z"}
    assert "death of the process" in (world.row("culprit").error or "")


def test_an_innocent_schedule_is_not_parked_for_two_deaths_of_others(world: World) -> None:
    world.put("innocent")
    world.clock.advance(60_000)
    for _ in range(2):
        planner, node_id = world.process()
        planner.run_once(node_id, 0)  # it is counted, and the process dies of something else before it is tried
        world.clock.advance(UNDER_WAY_MS)
    world.drain(*world.process())
    assert (world.row("innocent").error, world.planned()) == (None, {"innocent"})


def test_a_put_takes_a_parked_culprit_back_and_forgets_its_tries(world: World) -> None:
    test_the_culprit_is_parked_after_three_tries_and_its_neighbours_are_planned(world)
    world.put("culprit")
    assert (world.row("culprit").error, world.row("culprit").plan_attempts) == (None, 0)
    world.deadly.clear()
    world.clock.advance(60_000)
    world.drain(*world.process(careful=False))
    assert "culprit" in world.planned()


def test_many_careful_nodes_at_once_do_not_count_each_others_tries(world: World) -> None:
    names = [f"s{number}" for number in range(20)]
    world.put(*names)
    world.clock.advance(60_000)
    nodes = [world.process() for _ in range(10)]
    for _ in range(100):
        for planner, node_id in nodes:
            planner.run_once(node_id, 0)
    assert world.planned() == set(names)
    assert {world.row(name).error for name in names} == {None}


def test_a_row_of_a_newer_version_is_left_alone_and_never_parked_for_it(world: World) -> None:
    world.put("newer", "z")
    row = world.row("newer")
    strange = {"v": 99, "type": "lunar"}
    world.store.change(["newer"], lambda before, now_ms: Effects(schedule=replace(row, trigger=strange)), BY)
    world.clock.advance(60_000)
    for _ in range(2 * TRIES):
        world.drain(*world.process())
        world.clock.advance(UNDER_WAY_MS)
    assert (world.row("newer").error, world.row("newer").plan_attempts) == (None, 0)
    assert world.planned() == {"z"}


def test_a_local_schedule_that_kills_is_counted_and_parked_too(world: World) -> None:
    world.put("culprit")
    world.deadly = {"culprit"}
    world.clock.advance(60_000)
    deaths = 1
    while world.row("culprit").error is None:
        planner, node_id = world.process()
        try:
            planner.plan_one(node_id, world.row("culprit"))
        except Killed:
            deaths += 1
        world.clock.advance(UNDER_WAY_MS)
    assert deaths == 1 + TRIES, "the first death came before it was counted"
