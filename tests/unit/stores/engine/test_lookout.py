"""Looking at flows beside rows that others have locked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from onthedot.model.graph import Graph, Step
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.memory import MemoryStore, _MemoryTransaction
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, START_MS, Scene

GRAPH = Graph("flow", (Step("m", "job", over=[1, 2]),))


def test_a_stop_is_carried_out_when_every_live_step_was_ended_or_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(START_MS)
    store = MemoryStore(clock)
    scene = Scene(store, clock)
    node = scene.node(tasks=("job", "@flow"))
    store.save_graphs([GRAPH])
    flow = scene.waiting_run(task="@flow", graph=GRAPH.hash)
    scene.start(node, 1, ("job", "@flow"))
    held = {run.id for run in store.runs(parent=flow.id) if run.state is State.WAITING}

    def but_held(tx: Any, ids: Collection[str]) -> dict[str, Run]:
        found: dict[str, Run] = tx.live_runs([each for each in ids if each not in held])
        return found

    with monkeypatch.context() as locked:
        locked.setattr(_MemoryTransaction, "live_runs_if_free", but_held)
        store.request_cancel(flow.id, "enough", BY)
        assert scene.run(flow).until_ms is not None, "somebody has one of its steps locked"
    assert len(held) == 1
    assert scene.start(node, 1, ("job", "@flow")) != [], "which may begin meanwhile"
    assert store.tend_flows() == 1
    assert scene.run(flow).until_ms is None
    assert {run.cancel_requested_ms is not None for run in store.runs(parent=flow.id)} == {True}


def test_a_flow_is_remembered_until_it_ends_or_nothing_here_has_moved_it_for_a_minute() -> None:
    clock = ManualClock(START_MS)
    store = MemoryStore(clock)
    scene = Scene(store, clock)
    node = scene.node(tasks=("job", "@flow"))
    store.save_graphs([GRAPH])
    flows = [scene.waiting_run(task="@flow", graph=GRAPH.hash) for _ in range(3)]
    scene.start(node, 1, ("@flow",))
    (moved,) = [flow for flow in flows if store.known_flow(flow.id)]
    store.request_cancel(moved.id, "enough", BY)
    assert scene.run(moved).is_final
    assert store.known_flow(moved.id) is None, "it has ended"
    scene.start(node, 1, ("@flow",))
    (left,) = [flow for flow in flows if store.known_flow(flow.id)]
    clock.pass_by(60_000)
    scene.start(node, 1, ("@flow",))
    assert store.known_flow(left.id) is None, "another process may have ended it"
    assert len([flow for flow in flows if store.known_flow(flow.id)]) == 1
