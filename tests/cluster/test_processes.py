"""Several processes, one store: nothing is lost, nothing is done twice, and nobody sees a lock."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.patience import LONGEST_S

from onthedot import at
from onthedot.model.change import Author
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

slow_on = partial(pytest.param, marks=pytest.mark.slow)
BY = Author("test", "test", "put")

HEADER = """
import sys
from onthedot import every
from onthedot.clock import SystemClock
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.model.change import Author
from onthedot.stores.open import open_store
url, name = sys.argv[1:]
now_ms = SystemClock().now_ms
decide = Decider(lambda: new_id(now_ms()))

def say(text):
    print(text, flush=True)

say("ready")
sys.stdin.readline()
"""

OPEN_AND_WORK = """
store = open_store(url, create=True)
node = store.join(Node(new_id(now_ms()), name, tasks=("task",)), [])
store.change([name], edits.put(edits.Definition("task", every("1m"))), Author(name, "test", "put"))
for number in range(20):
    (run,) = store.enqueue([Run(new_id(now_ms()), "task", "enqueue", now_ms(), now_ms(), key=f"{name} {number}")])
    store.plan_due(node.id, 10, 0, decide)
    begun = store.start_due(node.id, ["task"], 10).runs
    store.finish(node.id, [Outcome(each.id, each.claim_no, "succeeded") for each in begun])
    store.renew(node)
store.leave(node.id)
store.close()
say("done")
"""

PLAN_ALL = """
store = open_store(url, create=False)
node = store.join(Node(new_id(now_ms()), name), [])
while True:
    planned = store.plan_due(node.id, 50, 0, decide)
    ids = [run.schedule_id for effects in planned.effects for run in effects.runs]
    for each in ids:
        say(each)
    if not planned.effects and not planned.passed_over:
        break
store.close()
"""

PLAN_ALL_IN_TEN_THREADS = """
from threading import Barrier, Thread
store = open_store(url, create=False)
together = Barrier(10)
planned = []

def plan(number):
    node = store.join(Node(new_id(now_ms()), f"{name}.{number}"), [])
    together.wait()
    while True:
        done = store.plan_due(node.id, 50, 0, decide)
        planned.extend(run.schedule_id for each in done.effects for run in each.runs)
        if not done.effects and not done.passed_over:
            return

threads = [Thread(target=plan, args=(number,)) for number in range(10)]
for each in threads:
    each.start()
for each in threads:
    each.join()
for each in planned:
    say(each)
store.close()
"""

DECIDE_AND_WAIT = """
store = open_store(url, create=False)
node = store.join(Node(new_id(now_ms()), name), [])

def decide_and_wait(rows, situation):
    effects = decide(rows, situation)
    say("decided")
    sys.stdin.readline()
    return effects

store.plan_due(node.id, 50, 0, decide_and_wait)
"""

PLAN_IN_SMALL_BATCHES = """
store = open_store(url, create=False)
node = store.join(Node(new_id(now_ms()), name), [])
for _ in range(100):
    store.plan_due(node.id, 2, 0, decide)
    say("planned")
sys.stdin.readline()
"""


class Processes:
    """Programs that wait at the line until all of them are there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.running: list[subprocess.Popen[str]] = []

    def start(self, body: str, name: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HEADER + body, self.url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def go(self) -> list[list[str]]:
        """Let all of them run at once to their end; the lines that each has said."""
        for process in self.running:
            tell(process)
        said = []
        for process in self.running:
            output, errors = process.communicate(timeout=LONGEST_S)
            assert process.returncode == 0, errors
            assert errors == ""
            said.append(output.split())
        return said

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    """The next line that a process says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb", "mongodb_new_url", "redis_url"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that does not exist yet."""
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


@pytest.fixture
def processes(url: str) -> Iterator[Processes]:
    processes = Processes(url)
    yield processes
    processes.close()


@pytest.fixture
def opened(url: str) -> Iterator[Callable[[], Store]]:
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(open_store(url, create=True))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def test_six_processes_open_a_store_that_does_not_exist_yet_and_work(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    names = [f"process {number}" for number in range(6)]
    for name in names:
        processes.start(OPEN_AND_WORK, name)
    assert processes.go() == [["done"]] * 6
    store = opened()
    assert [row.name for row in store.schedules()] == names
    runs = [run for run in store.runs(limit=1000) if run.cause == "enqueue"]
    assert Counter(run.key for run in runs) == Counter(f"{name} {number}" for name in names for number in range(20))
    assert store.nodes() == []


def _make_due(store: Store, count: int) -> None:
    """So many schedules with one tick each, which has come."""
    once = edits.put(edits.Definition("task", at("2026-01-01T00:00Z")))
    for first in range(0, count, 100):  # a server cuts off who does nothing inside a transaction for 2 s
        store.change([f"schedule {number}" for number in range(first, min(first + 100, count))], once, BY)


def _expect_one_run_each(store: Store, count: int) -> None:
    runs = store.runs(limit=2 * count)
    assert len(runs) == count
    assert len({run.schedule_id for run in runs}) == count
    assert {(row.planned_runs, row.next_run_ms) for row in store.schedules(limit=count)} == {(1, None)}


@pytest.mark.parametrize(
    "url",
    ["sqlite", "mariadb", "mongodb_new_url", "redis_url", slow_on("postgresql_15")],
    indirect=True,
)
def test_eight_processes_plan_two_thousand_due_schedules_and_none_twice(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    store = opened()
    _make_due(store, 2000)
    for number in range(8):
        processes.start(PLAN_ALL, f"planner {number}")
    said = processes.go()
    _expect_one_run_each(store, 2000)
    assert Counter(Counter(each for lines in said for each in lines).values()) == Counter({1: 2000})


@pytest.mark.parametrize(
    "url",
    ["postgresql_15", slow_on("mongodb_new_url"), slow_on("redis_url"), slow_on("sqlite"), slow_on("mariadb")],
    indirect=True,
)
def test_fifty_planners_plan_ten_thousand_due_schedules_and_none_twice(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    store = opened()
    _make_due(store, 10_000)
    for number in range(5):
        processes.start(PLAN_ALL_IN_TEN_THREADS, f"planners {number}")
    said = processes.go()
    _expect_one_run_each(store, 10_000)
    assert Counter(Counter(each for lines in said for each in lines).values()) == Counter({1: 10_000})


def test_a_process_killed_inside_its_planning_transaction_leaves_nothing_behind(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    store = opened()
    _make_due(store, 200)
    victim = processes.start(DECIDE_AND_WAIT, "victim")
    tell(victim)
    assert hear(victim) == "decided"
    victim.kill()
    victim.communicate()
    assert store.runs() == []
    processes.running = [processes.start(PLAN_ALL, "survivor")]
    processes.go()
    _expect_one_run_each(store, 200)


def test_a_process_killed_while_it_plans_loses_nothing_and_nothing_is_planned_twice(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    store = opened()
    _make_due(store, 1000)
    for number in range(3):
        victim = processes.start(PLAN_IN_SMALL_BATCHES, f"victim {number}")
        tell(victim)
        assert [hear(victim) for _ in range(20)] == ["planned"] * 20
        victim.kill()  # wherever it is just then; had it planned all that it may, most would be left
        victim.communicate()
    assert len(store.runs(limit=2000)) < 1000
    processes.running = [processes.start(PLAN_ALL, f"survivor {number}") for number in range(2)]
    processes.go()
    _expect_one_run_each(store, 1000)
