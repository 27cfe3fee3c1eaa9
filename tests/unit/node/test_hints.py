"""The ring of a node: when it looks, and when it looks again."""

from __future__ import annotations

import pytest
from tests.unit.node.world import START, World

from onthedot import every
from onthedot.node.settings import NodeSettings
from onthedot.stores.answers import Planned


@pytest.fixture
def world() -> World:
    return World()


def test_a_node_looks_again_shortly_after_a_moment_that_a_peer_may_have_planned(world: World) -> None:
    """The peer may have routed the run to this node just after it looked, and no store must be able to notify."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(world.clock.now_ms()))
    world.app.schedules.put("tick", "work", every("10s"), route="last")
    planner = world.node("a")
    world.clock.advance(1)
    target = world.node("b")
    for node in (planner, target):
        node.heartbeat_once()
        node.plan_once()
    world.clock.advance(9_999)
    wait_ms = target.plan_once()
    due = [run.target for run in world.runs()]
    assert due == [target.node.id], "it was quicker, and has it now"
    assert wait_ms <= 50


@pytest.mark.parametrize("ahead", [True, False])
def test_a_plan_that_came_early_and_was_answered_late_keeps_its_hint(
    world: World, monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    """The store looked before the moment; that it has passed when the answer arrives decides nothing."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(world.clock.now_ms()))
    world.app.schedules.put("tick", "work", every("10s"))
    node = world.node(settings=NodeSettings(plan_ahead=ahead))
    world.clock.advance(9_500)
    node.plan_once()
    assert node._clock._offset_ms is not None
    node._clock._offset_ms += 300
    world.clock.advance(200)
    road = "plan_ahead" if ahead else "plan_due"
    plan = getattr(world.store, road)

    def plan_slowly(*args: object) -> Planned:
        planned: Planned = plan(*args)
        world.clock.advance(400)
        return planned

    with monkeypatch.context() as slow:
        slow.setattr(world.store, road, plan_slowly)
        assert node.plan_once() == 0, "it is looked at again at once"
    node.plan_once()
    world.settle(node)
    assert calls == [START + 10_100]


def test_a_node_that_reads_seldom_is_on_time_for_what_it_has_planned_itself(world: World) -> None:
    """What was just decided says when the schedule is due again: the next reading may come too late for it."""
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(world.clock.now_ms()))
    world.app.schedules.put("tick", "work", every("1s"))
    node = world.node(settings=NodeSettings(poll_ms=4500))
    while world.clock.now_ms() < START + 4500:
        wait_ms = node.plan_once()
        world.settle(node)
        world.clock.advance(max(wait_ms, 1))
    assert calls == [START + second * 1000 for second in range(1, 5)]
