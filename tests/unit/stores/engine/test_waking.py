"""Whoever freed a slot, or left a run behind one, looks again after its own commit: no wake-up falls in between."""

from __future__ import annotations

import pytest
from tests.unit.stores.engine.stores import InterruptedStore

from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import HOUR, MINUTE, START_MS, Scene


@pytest.fixture
def store() -> InterruptedStore:
    return InterruptedStore(ManualClock(START_MS))


@pytest.fixture
def scene(store: InterruptedStore) -> Scene:
    clock = store._read_clock
    assert isinstance(clock, ManualClock)
    return Scene(store, clock)


def test_who_plans_a_run_behind_a_slot_looks_again_after_its_commit(scene: Scene, store: InterruptedStore) -> None:
    """The slot comes free after the planner has seen it taken, and before its run can be found by whoever frees it."""
    node = scene.node()
    holder = scene.running(node, grace_ms=HOUR)
    scene.wait(MINUTE)
    store.before["save_schedules"] = lambda: _end(scene, holder)
    (behind,) = scene.plan(node)
    assert behind.blocked
    assert [run.id for run in scene.start(node)] == [behind.id]


def test_who_leaves_a_run_behind_a_slot_looks_again_after_its_commit(scene: Scene, store: InterruptedStore) -> None:
    node = scene.node()
    holder = scene.running(node, grace_ms=HOUR)
    scene.trigger("by-hand")
    store.before["save_schedules"] = lambda: _end(scene, holder)
    assert scene.start(node) == []
    assert [run.id for run in scene.start(node)] == ["by-hand"]


def _end(scene: Scene, holder: object) -> None:
    scene.end(holder)  # type: ignore[arg-type]
