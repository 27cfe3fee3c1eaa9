"""What is done now and then: sweeping, and forgetting what is old at whatever rate it comes."""

from __future__ import annotations

import pytest
from tests.unit.node.world import World

from onthedot.model.outcome import Outcome
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Retention


@pytest.fixture
def world() -> World:
    return World()


def test_forgetting_goes_on_at_once_while_there_is_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.app.task(name="work")(lambda: None)
    node = world.node(settings=NodeSettings(retention=Retention(history_ms=1000)))
    for _ in range(30):
        world.app.enqueue("work")
    runs = world.store.start_due(node.node.id, ["work"], 100).runs
    world.store.finish(node.node.id, [Outcome(run.id, run.claim_no, "succeeded") for run in runs])
    world.clock.advance(1001)
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
