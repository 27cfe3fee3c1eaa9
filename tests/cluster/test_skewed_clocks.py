"""Nodes on machines whose wall clocks are wrong: the store's clock alone says what is due."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.cluster.cluster import Cluster
from tests.patience import LONGEST_S
from tests.servers.base import unavailable

from onthedot.clock import SystemClock
from onthedot.insight.doctor import examine
from onthedot.model.finding import Level

SKEW_S = 600
TICKS = 5

JOBS = """
@app.schedule(every("1s"), overlap="concurrent")
def tick(ctx: Context) -> None:
    note(f"tick {int(ctx.scheduled_at.timestamp())} {int(time.time())} {ctx.attempt}")

@app.task
def later(due: int) -> None:
    note(f"later {due} {int(time.time())}")
"""


def clock_off_by(seconds: int) -> dict[str, str]:
    """What makes a process believe in another time of day, while its monotonic clock stays right."""
    found = find_spec("libfaketime")
    places = () if found is None else found.submodule_search_locations or ()
    libraries = [path for place in places for path in Path(place).rglob("libfaketime.so.1")]
    if not libraries:
        unavailable("no libfaketime here: pip install libfaketime==3.0.1")
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME": f"{seconds:+}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


@pytest.fixture
def world(postgresql_15: str, tmp_path: Path) -> Iterator[Cluster]:
    world = Cluster(tmp_path, postgresql_15, JOBS)
    yield world
    for node in world.processes:
        node.send_signal(signal.SIGTERM)
    ended = [node.wait(LONGEST_S) for node in world.processes]
    world.close()
    assert set(ended) == {0}


def expect_nothing_early(world: Cluster) -> list[list[str]]:
    """By the clock of this process, which is the server's too."""
    notes = world.notes()
    now = time.time()
    assert [words for words in notes if int(words[1]) > now] == [], "before its moment"
    return notes


def expect_five_ticks_and_a_deferred_run(world: Cluster) -> list[list[str]]:
    """Watched all along; a node that went by its own clock would be early, or silent for ten minutes."""
    world.until(lambda: bool(expect_nothing_early(world)))
    due = int(time.time()) + 4  # rounded down, so not after the true one
    run = world.app.enqueue("later", args={"due": due}, delay="4s", unchecked=True)
    seen = len(world.notes())
    world.until(lambda: len(expect_nothing_early(world)) >= seen + TICKS)
    world.until(lambda: bool(expect_nothing_early(world)) and world.app.runs.get(run.id).is_final)
    assert str(world.app.runs.get(run.id).state) == "succeeded"
    for each in world.runs():
        assert each.started_ms is None or each.started_ms >= each.due_ms, "started before its moment"
    world.expect_every_tick_once("tick")
    return world.notes()


@pytest.mark.parametrize("skew", [SKEW_S, -SKEW_S], ids=["ahead", "behind"])
def test_a_node_whose_wall_clock_is_ten_minutes_off_fires_on_time_and_doctor_names_it(
    world: Cluster, skew: int
) -> None:
    world.start(**clock_off_by(skew))
    notes = expect_five_ticks_and_a_deferred_run(world)
    off = [int(words[2]) - int(words[1]) for words in notes]
    assert all(abs(each - skew) < SKEW_S / 2 for each in off), "its clock was not wrong: nothing was tried"
    (found,) = [each for each in examine(world.app.open_store(), SystemClock()) if each.level is Level.PROBLEM]
    assert found.what.startswith("the clock of node same name is ")
    assert ("ahead of" if skew > 0 else "behind") in found.what


def test_nodes_whose_clocks_disagree_by_twenty_minutes_run_every_tick_once(world: Cluster) -> None:
    for skew in (SKEW_S, 0, -SKEW_S):
        world.start(**clock_off_by(skew))
    world.until(lambda: bool(world.notes()) and len(world.app.nodes.list()) == 3)
    notes = expect_five_ticks_and_a_deferred_run(world)
    ticks = [(words[1], words[3]) for words in notes if words[0] == "tick"]
    assert len(ticks) == len(set(ticks)), "an attempt was made twice"
