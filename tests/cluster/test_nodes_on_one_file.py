"""Real processes on one SQLite file, and real signals: nothing is lost, nothing is done twice, and all can be told."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onthedot import App, every
from onthedot.model.run import Run
from onthedot.stores.open import open_store

LONGEST_S = 60.0

HEADER = """
import os, sys, time
from pathlib import Path
from onthedot import App, Context, every
from onthedot.app.node import NodeSettings

folder = Path(__file__).parent
app = App(
    sys.argv[1],
    node=NodeSettings(name="same name", lease_ms=3000, heartbeat_ms=500, poll_ms=200, drain_ms=10_000),
)

def note(text):
    with (folder / "notes").open("a") as notes:
        notes.write(f"{text} {os.getpid()}\\n")
"""


class Cluster:
    """Processes that run one program on one store."""

    def __init__(self, folder: Path, url: str, body: str) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.program = folder / "jobs.py"
        self.program.write_text(HEADER + textwrap.dedent(body) + "\napp.run()\n")
        self.url = url
        self._app: App | None = None

    @property
    def app(self) -> App:
        """For asking and enqueueing; it makes the store if no node has."""
        if self._app is None:
            self._app = App(self.url, store=open_store(self.url, create=True))
        return self._app

    def start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, str(self.program), self.url], cwd=self.folder)
        self.processes.append(process)
        return process

    def notes(self) -> list[list[str]]:
        """What tasks have written down: words, the last one the process."""
        path = self.folder / "notes"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def runs(self, schedule: str | None = None) -> list[Run]:
        return list(self.app.runs.list(schedule=schedule, limit=10_000).items)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that must come true."""
        end = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.05)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        if self._app is not None:
            self._app.open_store().close()


Make = Callable[[str], Cluster]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def cluster(tmp_path: Path, url: str) -> Iterator[Make]:
    made: list[Cluster] = []

    def make(body: str) -> Cluster:
        made.append(Cluster(tmp_path, url, body))
        return made[-1]

    yield make
    for each in made:
        each.close()


TICKING = """
@app.schedule(every("1s"), overlap="concurrent")
def tick(ctx: Context) -> None:
    note(f"{int(ctx.scheduled_at.timestamp())} {ctx.attempt}")
"""


def test_when_one_of_two_nodes_is_killed_every_tick_still_becomes_one_run(cluster: Make) -> None:
    world = cluster(TICKING)
    first, second = world.start(), world.start()
    world.until(lambda: len(world.notes()) >= 3)
    first.kill()
    killed_after = len(world.notes())
    world.until(lambda: len(world.notes()) >= killed_after + 6)
    second.send_signal(signal.SIGTERM)
    assert second.wait(LONGEST_S) == 0
    schedule = world.app.schedules.get("tick")
    ticks = Counter(run.scheduled_ms for run in world.runs("tick"))
    decided = world.app.open_store().decisions(schedule.id)
    assert set(ticks.values()) == {1}, "a tick was run twice"
    covered = set(ticks) | {ms for each in decided for ms in range(each.first_ms, each.last_ms + 1, 1000)}
    assert covered >= set(range(min(ticks), max(ticks) + 1, 1000)), "a tick vanished"
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


def test_a_node_that_restarts_under_its_name_takes_over_from_the_old_one_and_not_from_itself(cluster: Make) -> None:
    world = cluster(SLOW.format(delivery="at_least_once"))
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
import signal

@app.task(crash_retries=2)
def poison() -> None:
    note("poison")
    os.kill(os.getpid(), signal.SIGKILL)

@app.task
def innocent(ctx: Context) -> None:
    time.sleep(0.2)
"""


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
from onthedot.planner.decide import Decider

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


def test_a_plan_that_kills_its_process_is_parked_and_the_fourth_process_goes_on(cluster: Make) -> None:
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
    assert deaths == 3
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


def test_four_processes_start_at_once_on_a_file_that_does_not_exist_and_work(cluster: Make) -> None:
    world = cluster(TICKING)
    processes = [world.start() for _ in range(4)]
    world.until(lambda: len(world.notes()) >= 3)
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(LONGEST_S) for process in processes] == [0, 0, 0, 0]
    assert set(Counter(words[0] for words in world.notes()).values()) == {1}
