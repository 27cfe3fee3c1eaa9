"""Real processes on one store, and real signals: nothing is lost, nothing is done twice, and all can be told."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.cluster.cluster import LEASE_MS, LONG_LEASE_MS, TICKING, Cluster
from tests.patience import LONGEST_S

from onthedot import every
from onthedot.insight.explain import hindrances
from onthedot.insight.facts import Facts

Make = Callable[..., Cluster]
slow_on = partial(pytest.param, marks=pytest.mark.slow)
ON_EACH_KIND = pytest.mark.parametrize(
    "url", ["sqlite", "mongodb_new_url", "redis_url", slow_on("postgresql_15"), slow_on("mariadb")], indirect=True
)
"""Where all SQL databases are alike."""
ON_TWO_KINDS = pytest.mark.parametrize(
    "url",
    ["sqlite", "redis_url", slow_on("mongodb_new_url"), slow_on("postgresql_15"), slow_on("mariadb")],
    indirect=True,
)
"""Where processes die three times, and what is counted is the engine's, which all stores share."""


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb", "mongodb_new_url", "redis_url"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that does not exist yet."""
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


@pytest.fixture
def cluster(tmp_path: Path, url: str) -> Iterator[Make]:
    made: list[Cluster] = []

    def make(body: str, lease_ms: int = LEASE_MS) -> Cluster:
        made.append(Cluster(tmp_path, url, body, lease_ms))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_when_one_of_two_nodes_is_killed_every_tick_still_becomes_one_run(cluster: Make) -> None:
    world = cluster(TICKING)
    first, second = world.start(), world.start()
    world.until(lambda: len(world.notes()) >= 3)
    first.kill()
    killed_after = len(world.notes())
    world.until(lambda: len(world.notes()) >= killed_after + 6)
    second.send_signal(signal.SIGTERM)
    assert second.wait(LONGEST_S) == 0
    world.expect_every_tick_once("tick")
    assert "succeeded" in str(world.app.schedules.explain("tick", world.runs("tick")[-1].scheduled_at))


SLOW = """
@app.task(delivery="{delivery}")
def slow(ctx: Context) -> str:
    note(f"entered {{ctx.run_id}} {{ctx.attempt}}")
    if ctx.attempt == 1:
        time.sleep(600)
    return "done"
"""


def test_a_run_whose_node_was_killed_is_run_again_under_the_same_id(cluster: Make) -> None:
    world = cluster(SLOW.format(delivery="at_least_once"))
    run = world.app.enqueue("slow", unchecked=True)
    killed = world.start()
    world.until(lambda: len(world.notes()) == 1)
    killed.kill()
    world.start()
    world.until(lambda: world.app.runs.get(run.id).is_final)
    again = world.app.runs.get(run.id)
    assert (again.state, again.attempt, again.crashes, again.result) == ("succeeded", 2, 1, "done")
    assert [words[2] for words in world.notes()] == ["1", "2"]
    told, *_ = hindrances(again, Facts(world.app.open_store(), None))
    assert re.search(r"node same name died, last heard of at \S+, and another node of that name took over at ", told)


@ON_EACH_KIND
def test_a_run_that_may_happen_once_at_most_is_lost_with_its_node(cluster: Make) -> None:
    world = cluster(SLOW.format(delivery="at_most_once"))
    run = world.app.enqueue("slow", unchecked=True, delivery="at_most_once")
    killed = world.start()
    world.until(lambda: len(world.notes()) == 1)
    killed.kill()
    world.start()
    world.until(lambda: world.app.runs.get(run.id).is_final)
    assert world.app.runs.get(run.id).state == "lost"
    assert len(world.notes()) == 1


@ON_EACH_KIND
def test_a_node_that_restarts_under_its_name_takes_over_from_the_old_one_and_not_from_itself(cluster: Make) -> None:
    world = cluster(SLOW.format(delivery="at_least_once"), LONG_LEASE_MS)
    first = world.app.enqueue("slow", unchecked=True)
    killed = world.start()
    world.until(lambda: len(world.notes()) == 1)
    killed.kill()
    world.start()
    second = world.app.enqueue("slow", unchecked=True)
    world.until(lambda: world.app.runs.get(first.id).is_final)
    assert world.app.runs.get(first.id).attempt == 2
    assert (world.app.runs.get(second.id).attempt, world.app.runs.get(second.id).crashes) == (1, 0)


POISON = """
import re
import signal

@app.task(crash_retries=2)
def poison() -> None:
    note("poison")
    os.kill(os.getpid(), signal.SIGKILL)

@app.task
def innocent(ctx: Context) -> None:
    time.sleep(0.2)
"""


@ON_TWO_KINDS
def test_a_task_that_kills_its_node_is_dead_after_its_crash_retries_and_its_neighbours_finish(cluster: Make) -> None:
    world = cluster(POISON)
    culprit = world.app.enqueue("poison", unchecked=True, crash_retries=2)
    neighbours = [world.app.enqueue("innocent", unchecked=True) for _ in range(5)]

    def finished() -> bool:
        if all(process.poll() is not None for process in world.processes):
            world.start()  # what a supervisor does
        return all(world.app.runs.get(run.id).is_final for run in (culprit, *neighbours))

    world.until(finished)
    assert world.app.runs.get(culprit.id).state == "failed"
    assert world.app.runs.get(culprit.id).crashes == 3
    assert {world.app.runs.get(run.id).state for run in neighbours} == {"succeeded"}


DEADLY_PLAN = """
from onthedot.rules.plan import Decider

plan = Decider._decide

def deadly(self, schedule, *facts):
    if schedule.name == "culprit":
        note("died")
        os._exit(9)
    return plan(self, schedule, *facts)

Decider._decide = deadly

@app.task
def work(ctx: Context) -> None:
    note(f"{ctx.schedule} {int(ctx.scheduled_at.timestamp())}")
"""


@ON_TWO_KINDS
def test_a_plan_that_kills_its_process_is_parked_after_three_tries_and_the_next_process_goes_on(
    cluster: Make,
) -> None:
    world = cluster(DEADLY_PLAN)
    schedules = world.app.schedules
    for name in ("before", "culprit", "beside"):
        schedules.put(name, "work", every("1s"), unchecked=True, overlap="concurrent")
    deaths = 0
    process = world.start()

    def goes_on() -> bool:
        nonlocal deaths, process
        if process.poll() is not None:
            deaths += 1
            process = world.start()  # what a supervisor does
        return {words[0] for words in world.notes()} >= {"before", "beside"} and bool(schedules.get("culprit").error)

    world.until(goes_on)
    assert deaths == 4, "one before anything was counted, and three counted tries"
    ticks = Counter((run.schedule, run.scheduled_ms) for run in world.runs())
    assert set(ticks.values()) == {1}, "a tick was planned twice"
    assert world.runs("culprit") == []
    shown = subprocess.run(
        [sys.executable, "-m", "onthedot", "schedules", "show", "culprit", "--store", world.url],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "parked" in shown.stdout
    assert "death of the process" in shown.stdout
    process.kill()
    process.wait()
    schedules.put("culprit", "work", every("1h"), unchecked=True)
    mended = schedules.get("culprit")
    assert (mended.error, mended.plan_attempts) == (None, 0)


LOAD = """
@app.task
def work() -> None:
    time.sleep(0.05)
"""


def test_a_node_told_to_stop_under_load_finishes_or_hands_back_and_exits_with_0(cluster: Make) -> None:
    world = cluster(LOAD)
    runs = [world.app.enqueue("work", unchecked=True) for _ in range(300)]
    node = world.start()
    world.until(lambda: any(run.state == "succeeded" for run in world.runs()))
    node.send_signal(signal.SIGTERM)
    assert node.wait(LONGEST_S) == 0
    states = Counter(str(run.state) for run in world.runs())
    assert sum(states.values()) == len(runs)
    assert set(states) <= {"succeeded", "waiting"}, "something was left running"


@pytest.mark.parametrize(
    "url",
    ["postgresql_15", slow_on("mariadb"), slow_on("sqlite"), slow_on("mongodb_new_url"), slow_on("redis_url")],
    indirect=True,
)
def test_four_processes_start_at_once_on_a_store_that_does_not_exist_and_work(cluster: Make) -> None:
    world = cluster(TICKING)
    processes = [world.start() for _ in range(4)]
    world.until(lambda: len(world.notes()) >= 3)
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(LONGEST_S) for process in processes] == [0, 0, 0, 0]
    assert set(Counter((words[0], words[1]) for words in world.notes()).values()) == {1}, "an attempt was made twice"
