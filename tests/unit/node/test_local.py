"""Local schedules: ticks from memory, decided by the row."""

from __future__ import annotations

import pytest
from tests.unit.node.world import World

from onthedot import every


@pytest.fixture
def world() -> World:
    return World()


def test_a_local_schedule_that_was_changed_elsewhere_fires_as_it_is_now(world: World) -> None:
    """The node holds the row of an earlier revision: it decides nothing under it, and reads the row again."""
    calls: list[int] = []
    world.app.task(name="work")(lambda value=0: calls.append(value))
    world.app.schedules.put("tick", "work", every("1s"), mode="local")
    node = world.node()
    world.clock.advance(500)
    node.plan_once()
    world.app.schedules.put("tick", "work", every("1s"), mode="local", args={"value": 1})
    world.clock.advance(500)
    for _ in range(2):
        node.plan_once()
        world.settle(node)
    assert calls == [1]
