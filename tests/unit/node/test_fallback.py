"""When batches cannot be written: schedule by schedule, on a real file in which one row refuses every write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.node.world import START, FileWorld

from onthedot import every
from onthedot.errors import StoreError
from onthedot.events import Event, Failure, FellBack, Recovered
from onthedot.node.node import NodeRunner
from onthedot.node.planner import FAILURES


class World(FileWorld):
    """Three tasks that count their calls, and a row that can be poisoned."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.calls: Counter[str] = Counter()
        for name in ("a", "bad", "z"):
            self.app.task(name=name)(lambda name=name: self.calls.update([name]))

    def poison(self) -> None:
        self.sql(
            "CREATE TRIGGER poison BEFORE UPDATE ON onthedot_schedules WHEN NEW.name = 'bad'"
            " BEGIN SELECT RAISE(ABORT, 'poisoned'); END"
        )

    def told(self) -> list[Event]:
        return [event for event in self.events if isinstance(event, FellBack | Recovered | Failure)]

    def ticks(self, name: str) -> list[int]:
        return sorted((run.scheduled_ms - START) // 1000 for run in self.runs(name))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.store.close()


def fall_back(world: World) -> NodeRunner:
    """A node to which every batch has failed often enough."""
    for name in ("a", "bad", "z"):
        world.app.schedules.put(name, name, every("10s"))
    node = world.node()
    node.plan_once()
    world.poison()
    world.clock.advance(10_000)
    for _ in range(FAILURES - 1):
        with pytest.raises(StoreError, match="poisoned"):
            node.plan_once()
        node.wake()
    world.pass_by(0, node)
    return node


def test_a_row_that_refuses_every_write_does_not_keep_the_others_from_their_ticks(world: World) -> None:
    node = fall_back(world)
    for _ in range(3):
        world.pass_by(10_000, node)
    assert world.ticks("a") == world.ticks("z") == [10, 20, 30, 40]
    assert world.calls == {"a": 4, "z": 4}, "a tick fired that was not written, or fired twice"
    assert world.ticks("bad") == []


def test_the_fallback_and_the_row_that_causes_it_are_told_once_each(world: World) -> None:
    node = fall_back(world)
    for _ in range(3):
        world.pass_by(10_000, node)
    assert [type(event) for event in world.told()] == [FellBack, Failure]
    assert world.told()[1].stage == "plan of bad"  # type: ignore[attr-defined]


def test_when_the_row_heals_planning_goes_on_in_batches_and_nothing_is_lost(world: World) -> None:
    node = fall_back(world)
    world.pass_by(10_000, node)
    world.sql("DROP TRIGGER poison")
    world.pass_by(10_000, node)
    assert isinstance(world.told()[-1], Recovered)
    assert world.ticks("bad") == [30]
    world.pass_by(10_000, node)
    assert world.ticks("bad") == [30, 40]
    assert world.ticks("a") == [10, 20, 30, 40]
    assert world.calls == {"a": 4, "bad": 2, "z": 4}
    decided = world.store.decisions(world.app.schedules.get("bad").id)
    assert [(each.reason, each.count) for each in decided] == [("misfire", 2)]


def test_a_local_row_that_refuses_every_write_does_not_keep_the_others_from_their_ticks(world: World) -> None:
    world.app.schedules.put("bad", "bad", every("10s"), mode="local")
    world.app.schedules.put("a", "a", every("10s"), mode="local")
    world.app.schedules.put("z", "z", every("10s"))
    node = world.node()
    node.plan_once()
    world.poison()
    for _ in range(3):
        world.pass_by(10_000, node)
    assert world.calls == {"a": 3, "z": 3}


def test_a_store_that_is_away_is_not_asked_row_by_row(world: World) -> None:
    world.app.schedules.put("a", "a", every("10s"))
    node = world.node()
    node.plan_once()
    world.clock.advance(10_000)
    world.store.close()
    world.file.rename(world.file.with_suffix(".away"))
    world.file.mkdir()
    for _ in range(2 * FAILURES):
        with pytest.raises(StoreError):
            node.plan_once()
        node.wake()
    assert world.told() == []
