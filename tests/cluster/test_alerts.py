"""Nodes that are killed around the ends of their runs, and nodes that end runs at the same time: each alert once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.cluster.cluster import LEASE_MS, Cluster

from onthedot.model.run import Run

Make = Callable[[str], Cluster]
slow_on = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(
    params=["sqlite", "postgresql_15", slow_on("mariadb"), slow_on("mongodb_new_url"), slow_on("redis_url")]
)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[Cluster] = []
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))

    def make(body: str) -> Cluster:
        made.append(Cluster(tmp_path, url, body, LEASE_MS))
        return made[-1]

    yield make
    for each in made:
        each.close()


KILLED = """
from random import uniform
from threading import Timer
from onthedot import alert

@app.task
def hook(run_id: str, on: str) -> None:
    note(f"{on} {run_id}")

ops = alert("ops", task=hook, on=["failure", "recovery"], every="0s")

@app.schedule(every("1s"), misfire="catch_up", crash_retries=50, max_runs=13, alerts=[ops])
def turns(ctx: Context) -> None:
    "Fails every other second; every third time its process is killed within milliseconds of that end."
    second = int(ctx.scheduled_at.timestamp())
    if second % 3 == 0 and ctx.attempt == 1:
        note(f"killed {second}")
        Timer(uniform(0, 0.03), os.kill, (os.getpid(), signal.SIGKILL)).start()
    if second % 2:
        raise ValueError("an odd second")
"""


def test_a_node_that_is_killed_around_an_end_sends_its_alert_once(cluster: Make) -> None:
    world = cluster(KILLED)
    world.start(), world.start()

    def is_done() -> bool:
        for _ in range(2 - sum(process.poll() is None for process in world.processes)):
            world.start()
        runs = world.runs()
        return sum(run.schedule == "turns" for run in runs) == 13 and all(run.is_final for run in runs)

    world.until(is_done)
    expected = _expected(world.runs("turns"))
    assert len(expected) >= 4
    assert sum(words[0] == "killed" for words in world.notes()) >= 4
    sent = [(run.args["on"], run.parent_id) for run in world.runs() if run.cause == "alert"]
    assert Counter(sent) == Counter(expected)


def _expected(runs: Sequence[Run]) -> list[tuple[str, str | None]]:
    """Ends come one after the other, since one runs at a time: each that differs from the one before is told."""
    ended = [run for run in runs if run.state in ("succeeded", "failed")]
    told: list[tuple[str, str | None]] = []
    before = "succeeded"
    for run in sorted(ended, key=lambda run: (run.finished_ms or 0, run.scheduled_ms)):
        if run.state != before:
            told.append(("failure" if run.state == "failed" else "recovery", run.id))
        before = run.state
    return told


TOGETHER = """
from onthedot import alert

@app.task
def hook(run_id: str) -> None: ...

@app.schedule(every("1d"), overlap="concurrent", alerts=[alert("ops", task=hook, after=3)])
def together(ctx: Context) -> None:
    note(f"began {ctx.run_id}")
    while not (folder / "go").exists():
        time.sleep(0.01)
    raise ValueError("all at once")
"""


def test_three_bad_ends_of_two_nodes_at_the_same_time_are_told_once(cluster: Make) -> None:
    world = cluster(TOGETHER)
    world.start(), world.start()
    world.until(lambda: len(world.app.nodes.list()) == 2 and bool(world.app.schedules.list().items))
    for _ in range(6):
        world.app.schedules.trigger("together")
    world.until(lambda: len({words[1] for words in world.notes()}) == 6)
    (world.folder / "go").touch()
    world.until(lambda: len([run for run in world.runs("together") if run.state == "failed"]) == 6)
    (told,) = [run for run in world.runs() if run.cause == "alert"]
    assert told.args["in_a_row"] == 3
