"""What changes by the dozen is written anew on MongoDB: removed and put back, and nothing else is different for it.

And runs that begin the short way are written so: see docs/decisions/0092-mongodb-writes-anew.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from pymongo.collection import Collection
from pymongo.database import Database

from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import start
from onthedot.stores.engine import plainly
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.connect import database_of
from onthedot.stores.mongo.store import MongoStore
from onthedot.stores.mongo.transaction import MongoTransaction
from onthedot.stores.open import open_store
from onthedot.stores.plain import PlainStep
from onthedot.stores.transaction import Claim, TryAgain
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, LEASE_MS, START_MS, Scene

MANY, FEW = 20, 3


@pytest.fixture
def scene(mongodb_url: str) -> Iterator[Scene]:
    clock = ManualClock(START_MS)
    store = open_store(mongodb_url, create=True, now_ms=clock)
    yield Scene(store, clock)
    store.close()


@pytest.fixture
def database(mongodb_url: str, scene: Scene) -> Iterator[Database[dict[str, Any]]]:
    with pymongo.MongoClient[dict[str, Any]](mongodb_url) as client:
        yield database_of(client)


def waiting(scene: Scene, count: int, **fields: Any) -> list[Run]:
    return scene.store.enqueue([scene.new_run(**fields) for _ in range(count)])


def begin(scene: Scene, store: MongoStore, runs: list[Run], node: str) -> None:
    """All in one transaction, whatever they are."""
    with store.begin() as tx:
        live = tx.live_runs([run.id for run in runs])
        tx.save_runs([start.started(run, node, scene.now_ms) for run in live.values()])


def store_of(scene: Scene) -> MongoStore:
    assert isinstance(scene.store, MongoStore)
    return scene.store


def test_what_is_written_anew_keeps_what_this_version_does_not_know(scene: Scene, database: Database[Any]) -> None:
    runs = waiting(scene, MANY)
    database[schema.RUNS].update_many({}, {"$set": {"of_a_later_version": "kept"}})
    begin(scene, store_of(scene), runs, node := scene.node())
    found = list(database[schema.RUNS].find())
    assert {(each["of_a_later_version"], each["state"], each["owner"]) for each in found} == {("kept", "running", node)}
    assert {each["_id"] for each in found} == {run.id for run in runs}
    assert not any("ready_for" in each or "touched" in each for each in found), "they were not written anew"


def test_few_are_changed_where_they_are(scene: Scene, database: Database[Any]) -> None:
    begin(scene, store_of(scene), waiting(scene, FEW), scene.node())
    assert [each["touched"] for each in database[schema.RUNS].find()] == [1] * FEW


def test_large_arguments_are_not_sent_again(scene: Scene, database: Database[Any]) -> None:
    begin(scene, store_of(scene), waiting(scene, MANY, args={"text": "x" * 5000}), scene.node())
    assert [each["touched"] for each in database[schema.RUNS].find()] == [1] * MANY


def test_what_was_written_anew_may_be_changed_again_in_the_same_transaction(scene: Scene) -> None:
    runs, node = waiting(scene, MANY), scene.node()
    with store_of(scene).begin() as tx:
        begun = [start.started(run, node, scene.now_ms) for run in tx.live_runs([run.id for run in runs]).values()]
        tx.save_runs(begun)
        tx.save_runs([replace(run, progress="half of it") for run in begun])
    assert {(run.state, run.progress) for run in scene.store.runs()} == {(State.RUNNING, "half of it")}
    assert len(scene.store.runs()) == MANY


def test_who_has_changed_one_of_them_meanwhile_is_not_overwritten(scene: Scene, mongodb_url: str) -> None:
    runs, node = waiting(scene, MANY), scene.node()
    other = open_store(mongodb_url, create=False, now_ms=scene.clock)

    def begin_them() -> None:
        with store_of(scene).begin() as tx:
            live = tx.live_runs([run.id for run in runs])
            other.request_cancel(runs[7].id, "enough", BY)
            tx.save_runs([start.started(run, node, scene.now_ms) for run in live.values()])

    with pytest.raises(TryAgain):
        begin_them()
    other.close()
    states = {run.id: run.state for run in scene.store.runs()}
    assert states.pop(runs[7].id) is State.CANCELLED
    assert set(states.values()) == {State.WAITING}


def test_a_slot_that_one_of_them_leaves_goes_to_another_of_them(scene: Scene) -> None:
    runs = waiting(scene, MANY)
    with store_of(scene).begin() as tx:
        live = [*tx.live_runs([run.id for run in runs]).values()]
        tx.save_runs([replace(run, slot=f"slot/{number}") for number, run in enumerate(live)])
    with store_of(scene).begin() as tx:
        live = [*tx.live_runs([run.id for run in runs]).values()]
        others = [*live[1:], live[0]]
        tx.save_runs([replace(run, slot=other.slot) for run, other in zip(live, others, strict=True)])
    assert {run.id: run.slot for run in scene.store.runs()} == {
        run.id: other.slot for run, other in zip(live, others, strict=True)
    }


def test_no_two_live_runs_are_of_one_tick_or_in_one_slot_whoever_writes_them(scene: Scene) -> None:
    """The net under the watermark, and that under the schedule's lock."""

    def write(tick: int, slot: str) -> None:
        tick_run = {"cause": "tick", "schedule_id": "s", "schedule": "s", "scheduled_ms": START_MS + tick, "slot": slot}
        with store_of(scene).begin() as tx:
            tx.save_runs([replace(scene.new_run(), **tick_run)])

    write(0, "s/0")
    for tick, slot in ((0, "s/1"), (1, "s/0")):
        with pytest.raises(TryAgain):
            write(tick, slot)
    write(1, "s/1")
    assert sorted((run.scheduled_ms, run.slot) for run in scene.store.runs()) == [
        (START_MS, "s/0"),
        (START_MS + 1, "s/1"),
    ]


def test_many_begin_and_end_alike_by_both_ways(
    scene: Scene, database: Database[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = scene.node()
    waiting(scene, MANY, args={"text": "ü"}, trace="t")
    plain = _lives(scene, database, node)
    monkeypatch.setattr(store_of(scene), "has_short_way", lambda node_id: False)
    waiting(scene, MANY, args={"text": "ü"}, trace="t")
    assert plain == _lives(scene, database, node)


def _lives(scene: Scene, database: Database[Any], node: str) -> list[list[dict[str, Any]]]:
    """The documents of all that is due, begun and then ended, without their ids."""
    begun = scene.start(node)
    assert len(begun) == MANY
    live = _without_ids(database[schema.RUNS])
    outcomes = [Outcome(run.id, run.claim_no, "succeeded") for run in begun]
    assert len(scene.store.finish(node, outcomes).recorded) == MANY
    ended = _without_ids(database[schema.HISTORY])
    database[schema.HISTORY].delete_many({})
    return [live, ended]


def _without_ids(collection: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(collection.find({}, {"_id": 0}))


def test_a_takeover_while_runs_begin_the_short_way_wins(scene: Scene, mongodb_url: str) -> None:
    """Not a run of theirs is written by both: only the gate of the node is."""
    (run,) = waiting(scene, 1)
    node = scene.node()
    claim = Claim(node, None, ("job",), None, ("job",))
    other = open_store(mongodb_url, create=False, now_ms=scene.clock)

    def begin_it() -> None:
        with store_of(scene).begin() as tx:
            done = plainly.step(tx, PlainStep(node, claim=claim, most=1), MongoTransaction.begin_plainly)
            assert [each.id for each in done.begun or ()] == [run.id]
            scene.wait(LEASE_MS)
            assert other.take_over(node, 0) == []

    with pytest.raises(TryAgain):
        begin_it()
    other.close()
    assert scene.run(run).state is State.WAITING


def test_where_others_live_nothing_begins_the_short_way(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due is reserved before the transaction begins, so that two nodes share it without a clash."""
    asked: list[PlainStep] = []
    step = plainly.step

    def noted(tx: Any, given: PlainStep, *begin: Any) -> Any:
        asked.append(given)
        return step(tx, given, *begin)

    monkeypatch.setattr(plainly, "step", noted)
    node = scene.node()
    waiting(scene, 2)
    (alone,) = scene.start(node, limit=1)
    scene.node("another")
    (beside,) = scene.start(node, limit=1)
    scene.end(alone)
    scene.end(beside)
    assert [(each.claim is not None, len(each.ends)) for each in asked] == [(True, 0), (False, 1), (False, 1)]
