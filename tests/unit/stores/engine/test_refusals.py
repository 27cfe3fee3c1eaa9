"""A batch that the store refuses is split until the culprit stands alone; the rest stands."""

from __future__ import annotations

import pytest
from tests.unit.stores.engine.stores import RefusingStore

from onthedot.errors import Clash, Conflict, StoreUnavailable
from onthedot.model.log_line import LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, LEASE_MS, START_MS, Scene


@pytest.fixture
def store() -> RefusingStore:
    return RefusingStore(ManualClock(START_MS))


@pytest.fixture
def scene(store: RefusingStore) -> Scene:
    clock = store._read_clock
    assert isinstance(clock, ManualClock)
    return Scene(store, clock)


def begun(scene: Scene, node: str, count: int = 7) -> list[Run]:
    """So many one-off runs, which run on this node."""
    for _ in range(count):
        scene.waiting_run()
    return scene.start(node)


def test_an_outcome_that_is_refused_fails_its_run_with_the_reason_and_the_others_stand(
    scene: Scene, store: RefusingStore
) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.refuses = lambda run: run.result == "bad"
    outcomes = [Outcome(run.id, run.claim_no, "succeeded", "bad" if run is runs[3] else None) for run in runs]
    finished = scene.store.finish(node, outcomes)
    assert len(finished.recorded) == 7
    assert [scene.run(run).state for run in runs].count(State.SUCCEEDED) == 6
    culprit = scene.run(runs[3])
    assert (culprit.state, "no such character" in (culprit.error or "")) == (State.FAILED, True)


def test_an_outcome_that_cannot_even_fail_is_refused_and_the_others_stand(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.refuses = lambda run: run.id == runs[3].id
    finished = scene.store.finish(node, [Outcome(run.id, run.claim_no, "succeeded") for run in runs])
    assert (len(finished.recorded), finished.refused) == (6, (runs[3].id,))


def test_a_run_that_cannot_be_started_fails_with_the_reason_and_the_others_start(
    scene: Scene, store: RefusingStore
) -> None:
    node = scene.node()
    waiting = [scene.waiting_run() for _ in range(7)]
    bad = waiting[3]
    store.refuses = lambda run: run.id == bad.id and run.state is State.RUNNING
    assert {run.id for run in scene.start(node)} == {run.id for run in waiting} - {bad.id}
    assert (scene.run(bad).state, "could not be started" in (scene.run(bad).error or "")) == (State.FAILED, True)


def test_a_takeover_gives_back_all_but_the_run_that_is_refused(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    runs = begun(scene, node)
    bad = runs[3]
    store.refuses = lambda run: run.id == bad.id
    assert {run.id for run in scene.kill(node)} == {run.id for run in runs} - {bad.id}
    assert scene.store.nodes() == [], "it is dead all the same"
    store.refuses = lambda run: False
    assert scene.is_refused(bad), "what the store still holds for it, it cannot record"


def test_a_takeover_that_was_cut_short_is_finished_by_the_sweep(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.refuses = lambda run: run.id == runs[3].id
    scene.kill(node)
    store.refuses = lambda run: False
    assert scene.store.sweep() == 1
    assert scene.run(runs[3]).state is State.WAITING


def test_a_dead_node_is_not_forgotten_while_the_store_holds_runs_of_it(scene: Scene, store: RefusingStore) -> None:
    node = scene.node("web")
    runs = begun(scene, node)
    store.refuses = lambda run: run.id == runs[3].id
    scene.kill(node)
    with pytest.raises(Conflict, match="still holds runs of it: any live node gives them back"):
        scene.store.forget_node(node, BY)
    store.refuses = lambda run: False
    scene.store.sweep()
    assert scene.store.forget_node(node, BY).name == "web"


def test_a_line_that_is_refused_is_left_out_and_the_others_stand(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    (run,) = begun(scene, node, 1)
    store.refused_text = "\x00"
    assert scene.store.log(node, [LogLine(run.id, 1, scene.now_ms, "info", text) for text in "ab\x00cd"]) == 4
    assert [line.text for line in scene.store.logs(run.id)] == ["a", "b", "c", "d"]


def test_what_only_clashed_with_others_is_written_once_more_and_fails_nothing(
    scene: Scene, store: RefusingStore
) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.error = Clash("again and again")
    store.refuses = lambda run: run.id == runs[3].id
    finished = scene.store.finish(node, [Outcome(run.id, run.claim_no, "succeeded") for run in runs])
    assert (len(finished.recorded), finished.refused, finished.again) == (6, (), (runs[3].id,))
    waiting = scene.waiting_run()
    store.refuses = lambda run: run.id == waiting.id
    assert scene.start(node) == []
    store.refuses = lambda run: False
    assert scene.run(runs[3]).state is State.RUNNING
    assert [run.id for run in scene.start(node)] == [waiting.id]


def test_a_node_leaves_also_where_one_of_its_runs_is_refused(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.refuses = lambda run: run.id == runs[3].id
    scene.store.leave(node)
    assert scene.store.nodes() == []
    assert [scene.run(run).state for run in runs].count(State.WAITING) == 6


def test_where_the_store_is_away_nothing_is_split_and_nothing_fails(scene: Scene, store: RefusingStore) -> None:
    node = scene.node()
    runs = begun(scene, node)
    store.error = StoreUnavailable("away")
    asked: list[int] = []
    store.refuses = lambda run: bool(asked.append(1) or True)  # type: ignore[func-returns-value]
    with pytest.raises(StoreUnavailable):
        scene.store.finish(node, [Outcome(run.id, run.claim_no, "succeeded") for run in runs])
    scene.wait(LEASE_MS)
    with pytest.raises(StoreUnavailable):
        scene.store.take_over(node, 0)
    store.refuses = lambda run: False
    assert {scene.run(run).state for run in runs} == {State.RUNNING}
    assert len(asked) == 2
