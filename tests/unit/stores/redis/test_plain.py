"""The short way of plain runs on Redis: what changes between its reading and its script, and what others see of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.stores.redis_indexes import check_indexes

from onthedot.errors import NodeDead
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.plain import begins_plainly
from onthedot.stores.answers import Started
from onthedot.stores.open import open_store
from onthedot.stores.redis import plain
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.transaction import Claim
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, START_MS, Scene


@pytest.fixture
def scene(redis_url: str) -> Iterator[Scene]:
    clock = ManualClock(START_MS)
    store = open_store(redis_url, create=True, now_ms=clock)
    yield Scene(store, clock)
    store.close()
    check_indexes(redis_url)


def _once_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do it when what is due has been read, before the script is sent."""
    acts = [act]

    def judged(run: Run) -> bool:
        if acts:
            acts.pop()()
        return begins_plainly(run)

    monkeypatch.setattr(plain, "begins_plainly", judged)


def _held(scene: Scene) -> int:
    assert isinstance(scene.store, RedisStore)
    return int(scene.store._server.ask("ZCARD", "busy"))


def test_what_somebody_changes_meanwhile_is_passed_over_and_the_others_begin(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, _ = scene.node(), scene.node("other")
    gone, first, second = [scene.waiting_run() for _ in range(3)]
    _once_read(monkeypatch, lambda: scene.store.request_cancel(gone.id, "enough", BY))
    started = scene.store.start_due(node, ["job"], 10)
    assert ([run.id for run in started.runs], started.passed_over) == ([first.id, second.id], True)
    assert scene.run(gone).state is State.CANCELLED
    assert _held(scene) == 0


def test_a_node_that_is_declared_dead_meanwhile_begins_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = scene.node(), scene.node("other")
    run = scene.waiting_run()
    _once_read(monkeypatch, lambda: scene.store.leave(node))
    with pytest.raises(NodeDead):
        scene.store.start_due(node, ["job"], 10)
    assert scene.run(run).state is State.WAITING
    assert _held(scene) == 0


def test_what_it_leaves_to_the_general_way_nobody_passes_over(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = scene.node(), scene.node("other")
    plainly, limited = scene.waiting_run(), scene.waiting_run(policy=Policy(limit="g:1"))
    store = scene.store
    assert isinstance(store, RedisStore)
    seen: list[int] = []
    general = store._start_what_is_due

    def noted(claim: Claim, limit: int) -> Started:
        seen.append(_held(scene))
        return general(claim, limit)

    monkeypatch.setattr(store, "_start_what_is_due", noted)
    assert {each.id for each in scene.start(node)} == {plainly.id, limited.id}
    assert seen == [0]


def test_more_than_a_command_takes_begin_and_end_at_once(scene: Scene) -> None:
    node = scene.node()
    runs = [scene.new_run() for _ in range(2 * plain._PART + 1)]
    scene.store.enqueue(runs)
    begun = scene.start(node, limit=len(runs))
    assert len(begun) == len(runs)
    outcomes = [Outcome(run.id, run.claim_no, "succeeded", number) for number, run in enumerate(begun)]
    assert len(scene.store.finish(node, outcomes).recorded) == len(runs)
    assert scene.run(begun[-1]).result == len(runs) - 1
