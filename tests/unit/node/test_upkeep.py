"""What is done now and then: sweeping, and forgetting what is old at whatever rate it comes."""

from __future__ import annotations

import pytest
from tests.unit.node.world import World

from onthedot.node.settings import NodeSettings
from onthedot.stores.retention import ROLL_UP_AFTER_MS, Retention


@pytest.fixture
def world() -> World:
    return World()


def test_forgetting_goes_on_at_once_while_there_is_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.app.task(name="work")(lambda: None)
    for _ in range(30):
        world.app.runs.cancel(world.app.enqueue("work").id)
    world.clock.advance(ROLL_UP_AFTER_MS)
    node = world.node(settings=NodeSettings(retention=Retention(history_ms=1000)))
    prune = world.store.prune
    monkeypatch.setattr(world.store, "prune", lambda keep: prune(keep, 10))
    waits = [node._upkeep.prune_once()]
    while waits[-1] == 0:
        waits.append(node._upkeep.prune_once())
    assert len(waits) >= 3
    assert world.runs() == []


def test_a_node_that_is_cut_off_neither_sweeps_nor_forgets(world: World) -> None:
    node = world.node()
    world.clock.advance(25_001)
    world.store.away = True  # whoever asks it fails
    assert node._upkeep.sweep_once() > 0
    assert node._upkeep.prune_once() > 0
