"""What a node counts by the minute: nothing is counted twice or lost, and where nothing happened nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.unit.node.world import START, World

from onthedot import every
from onthedot.errors import StoreUnavailable
from onthedot.model.histogram import bucket_of
from onthedot.model.minute import MINUTE_MS, Minute
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.node import tally as tallies
from onthedot.node.tally import Tally

NOON = 720 * MINUTE_MS


def _run(name: str, state: State = State.RUNNING, ended_ms: int | None = None) -> Run:
    return Run(f"id-{name}", "task", "tick", NOON, NOON, state=state, schedule=name, finished_ms=ended_ms)


def _written(tally: Tally) -> list[Minute]:
    minutes: list[Minute] = []
    tally.write(minutes.extend)
    return minutes


def test_a_minute_says_how_many_began_how_late_and_which_was_the_latest() -> None:
    tally = Tally()
    for name, late_ms in (("a", 3), ("b", 5000), ("c", 3)):
        tally.began("n1", _run(name), NOON + late_ms, late_ms)
    tally.ended("n1", [_run("a", State.SUCCEEDED, NOON + 9), _run("b", State.FAILED, NOON + 9), _run("c")])
    lateness = {bucket_of(3): 2, bucket_of(5000): 1}
    ended = {"succeeded": 1, "failed": 1}
    assert _written(tally) == [Minute(NOON, "n1", 3, ended, lateness, 5000, "id-b", "b")]


def test_a_flow_counts_once_beside_its_steps_and_one_in_another_not_at_all() -> None:
    tally = Tally()
    step = replace(_run("s", State.SUCCEEDED, NOON), parent_id="id-f", step="load")
    flow = replace(_run("f", State.SUCCEEDED, NOON), graph="g")
    bad = replace(_run("b", State.FAILED, NOON), graph="g")
    tally.ended("n1", [_run("r", State.SUCCEEDED, NOON), step])
    tally.flows_ended("n1", [flow, bad, replace(flow, id="id-g", parent_id="id-f", step="inner")])
    (minute,) = _written(tally)
    assert (minute.ended, minute.ended_steps) == ({"succeeded": 2}, {"succeeded": 1})
    assert (minute.ended_flows, minute.listed) == ({"succeeded": 1, "failed": 1}, {"succeeded": 2, "failed": 1})


def test_what_comes_later_is_added_and_the_whole_minute_is_written_again() -> None:
    tally = Tally()
    tally.began("n1", _run("a"), NOON, 0)
    assert [each.begun for each in _written(tally)] == [1]
    tally.began("n1", _run("b"), NOON + 59_999, 0)
    tally.began("n1", _run("c"), NOON + 60_000, 0)
    assert [(each.minute_ms, each.begun) for each in _written(tally)] == [(NOON, 2), (NOON + 60_000, 1)]


def test_where_nothing_has_happened_nothing_is_written() -> None:
    tally = Tally()
    tally.write(lambda minutes: pytest.fail(f"written: {minutes}"))
    tally.began("n1", _run("a"), NOON, 0)
    assert len(_written(tally)) == 1
    tally.write(lambda minutes: pytest.fail(f"written twice: {minutes}"))


def test_what_could_not_be_written_is_written_next_time() -> None:
    tally = Tally()
    tally.began("n1", _run("a"), NOON, 0)

    def refuse(_: list[Minute]) -> None:
        raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        tally.write(refuse)
    tally.began("n1", _run("b"), NOON, 0)
    assert [each.begun for each in _written(tally)] == [2]


def test_each_incarnation_has_minutes_of_its_own() -> None:
    tally = Tally()
    tally.began("n1", _run("a"), NOON, 0)
    tally.began("n2", _run("b"), NOON, 0)
    assert [(each.node_id, each.begun) for each in _written(tally)] == [("n1", 1), ("n2", 1)]


def test_where_nobody_writes_only_so_many_runs_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MOST_UNCOUNTED", 10)
    tally = Tally()
    for number in range(25):
        tally.began("n1", _run(str(number)), NOON, number)
    (minute,) = _written(tally)
    assert (minute.begun, minute.latest_ms) == (10, 24)


def test_old_minutes_are_forgotten_once_they_are_written() -> None:
    tally = Tally()
    for number in range(100):
        tally.began("n1", _run("a"), NOON + number * MINUTE_MS, 0)
        assert len(_written(tally)) == 1
    assert len(tally._counts) <= 3


def test_the_store_has_what_a_node_began_and_ended_and_an_idle_node_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()

    @world.app.schedule(every("10s"))
    def tick() -> None:
        pass

    world.app.sync()
    node = world.node()
    written: list[list[Minute]] = []
    keep = world.store.tally

    def noted(minutes: Sequence[Minute]) -> None:
        written.append([*minutes])
        keep(minutes)

    monkeypatch.setattr(world.store, "tally", noted)
    node._upkeep.sweep_once()
    assert written == []
    for _ in range(3):
        world.clock.advance(10_000)
        node.heartbeat_once()
        node.plan_once()
        world.settle(node)
    node._upkeep.sweep_once()
    node._upkeep.sweep_once()
    assert len(written) == 1
    found = world.store.minutes(START - MINUTE_MS, START + MINUTE_MS)
    assert sum(each.begun for each in found) == 3
    assert {each.node_id for each in found} == {node.node.id}
    assert sum(each.ended["succeeded"] for each in found) == 3


def test_a_node_that_stops_writes_what_it_has_counted() -> None:
    world = World()
    world.app.task(name="once")(lambda: None)
    node = world.node()
    world.app.enqueue("once")
    node.plan_once()
    world.settle(node)
    node.stop()
    assert sum(each.begun for each in world.store.minutes(0, 1 << 60)) == 1
