"""Runs on a real Dask cluster: nodes and schedulers that die, answers that are lost, what is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from tests.cluster.cluster import Cluster
from tests.engines.dask_cluster import DaskCluster, dask_cluster
from tests.patience import LONGEST, LONGEST_S

from onthedot import App
from onthedot.dask import DaskEngine
from onthedot.errors import SettingsError
from onthedot.model.run import Run
from onthedot.model.states import State

NODES = """
from onthedot.dask import DaskEngine
from onthedot.execution.engines import away

away.UNKNOWN_MS = 2000  # a minute is long for a test

class Dying(DaskEngine):
    def submit(self, engine_id, call):
        if "DIE_BEFORE" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        super().submit(engine_id, call)
        if "DIE_AFTER" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)

app.engine("cluster", Dying(os.environ["DASK"]))

@app.task(engine="cluster")
def work(text: str) -> str:
    note(f"begun {text}")
    while not (folder / f"go-{text}").exists():
        time.sleep(0.05)
    return text.upper()
"""


class Nodes(Cluster):
    """Nodes on one SQLite file, which give their runs to a cluster."""

    def __init__(self, folder: Path, dask: DaskCluster) -> None:
        super().__init__(folder, f"sqlite:///{folder / 'jobs.db'}", NODES)
        self.dask = dask

    def node(self, **environment: str) -> int:
        return self.start(DASK=self.dask.address, **environment).pid

    def enqueue(self, text: str, **options: str) -> Run:
        return self.app.enqueue("work", args={"text": text}, unchecked=True, **options)

    def is_done_there(self, run: Run) -> bool:
        return self.app.runs.get(run.id).remote == "at cluster" and bool(self.notes())

    def go(self, text: str) -> None:
        (self.folder / f"go-{text}").touch()

    def ended(self, run: Run) -> Run:
        return self.app.runs.wait(run.id, timeout=LONGEST)

    @property
    def begun(self) -> int:
        return len(self.notes())


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def nodes(tmp_path: Path, dask: DaskCluster) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path, dask)
    yield nodes
    nodes.close()


def test_when_its_node_is_killed_another_goes_on_with_it_and_it_begins_and_ends_once(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    first = nodes.app.runs.get(run.id).owner
    nodes.node()
    nodes.until(lambda: len(nodes.app.nodes.list()) == 2)
    nodes.processes[0].kill()
    nodes.until(lambda: nodes.app.runs.get(run.id).owner != first)
    nodes.go("a")
    ended = nodes.ended(run)
    assert (ended.state, ended.result, nodes.begun) == (State.SUCCEEDED, "A", 1)
    assert (ended.attempt, ended.crashes, ended.earlier, ended.engine_id) == (1, 0, (), f"{run.id}.1")


def test_a_node_that_stops_hands_over_at_once_and_waits_for_nothing(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    nodes.node()
    nodes.until(lambda: len(nodes.app.nodes.list()) == 2)
    nodes.processes[0].send_signal(signal.SIGTERM)
    assert nodes.processes[0].wait(LONGEST_S) == 0
    assert nodes.app.runs.get(run.id).state is State.RUNNING
    nodes.go("a")
    assert (nodes.ended(run).state, nodes.begun, nodes.ended(run).crashes) == (State.SUCCEEDED, 1, 0)


def test_what_the_last_node_leaves_behind_goes_on_with_the_next_that_comes(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    nodes.processes[0].send_signal(signal.SIGTERM)
    assert nodes.processes[0].wait(LONGEST_S) == 0
    nodes.go("a")
    nodes.node()
    ended = nodes.ended(run)
    assert (ended.state, ended.result, nodes.begun, ended.attempt) == (State.SUCCEEDED, "A", 1, 1)


@pytest.mark.parametrize("moment", ["DIE_BEFORE", "DIE_AFTER"])
def test_a_node_that_dies_while_it_gives_a_run_away_costs_no_second_start(nodes: Nodes, moment: str) -> None:
    run = nodes.enqueue("a")
    nodes.node(**{moment: "1"})
    nodes.until(lambda: nodes.processes[0].poll() is not None)
    assert nodes.app.runs.get(run.id).remote == "sending cluster"
    nodes.go("a")
    nodes.node()
    ended = nodes.ended(run)
    assert (ended.state, ended.attempt, ended.crashes, nodes.begun) == (State.SUCCEEDED, 1, 0, 1)


def test_what_a_restarted_scheduler_has_forgotten_is_given_to_it_again_under_its_id(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    nodes.dask.kill()
    nodes.until(lambda: not nodes.app.status().healthy)
    (problem,) = nodes.app.status().problems
    assert problem.startswith("engine cluster: it does not answer: ")
    nodes.dask.start()
    nodes.until(lambda: nodes.begun == 2)
    nodes.go("a")
    ended = nodes.ended(run)
    assert (ended.state, ended.attempt, ended.engine_id) == (State.SUCCEEDED, 1, f"{run.id}.1")
    nodes.until(lambda: nodes.app.status().healthy)


def test_what_may_run_once_at_most_is_lost_with_its_scheduler_and_not_begun_again(nodes: Nodes) -> None:
    run = nodes.enqueue("a", delivery="at_most_once")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    nodes.dask.kill()
    nodes.dask.start()
    ended = nodes.ended(run)
    assert (ended.state, nodes.begun) == (State.LOST, 1)
    assert ended.reason == "its engine knew nothing of it for 2 s, and it may not be run twice"


def test_an_engine_that_is_away_keeps_a_run_waiting_and_ends_none(nodes: Nodes) -> None:
    nodes.dask.kill()
    run = nodes.enqueue("a")
    nodes.go("a")
    nodes.node()
    nodes.until(lambda: any("does not answer" in each for each in nodes.app.status().problems))
    assert nodes.app.runs.get(run.id).state is State.RUNNING
    nodes.dask.start()
    assert (nodes.ended(run).state, nodes.begun) == (State.SUCCEEDED, 1)


def test_a_run_that_is_cancelled_ends_although_its_thread_goes_on(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.is_done_there(run))
    nodes.app.runs.cancel(run.id)
    ended = nodes.ended(run)
    assert (ended.state, ended.reason) == (State.CANCELLED, "cancelled by an operator")
    nodes.go("a")


def test_a_run_that_takes_too_long_ends_and_its_engine_is_asked_to_stop_it(nodes: Nodes) -> None:
    run = nodes.enqueue("a", timeout="3s")
    nodes.node()
    ended = nodes.ended(run)
    assert ended.state is State.TIMED_OUT
    assert ended.error == (f"it took longer than its time-out: its engine has it, and was asked to stop it, {run.id}.1")
    nodes.go("a")


# in this process


def _away_from_home() -> str:
    return "there"


def test_errors_results_and_arguments_of_workers_are_told_as_those_of_nodes(dask: DaskCluster) -> None:
    app = App("memory://")
    app.engine("cluster", DaskEngine(dask.address))
    lock = threading.Lock()

    @app.task(engine="cluster", retries=1, backoff="1s")
    def fails(text: str) -> None:
        raise ValueError(text)

    @app.task(engine="cluster")
    def odd() -> object:
        return {1, 2}

    @app.task(engine="cluster")
    def cannot_travel() -> bool:
        return lock.locked()

    app.remote("posixpath.basename", "cluster")

    with app.running():
        runs = [
            app.enqueue(fails, args={"text": "no"}),
            app.enqueue(odd),
            app.enqueue(cannot_travel),
            app.enqueue("posixpath.basename", args={"p": "/a/b"}),
        ]
        failed, strange, stayed, named = [app.runs.wait(run.id, timeout=LONGEST) for run in runs]
    assert (failed.state, failed.error, failed.attempt) == (State.FAILED, "ValueError: no", 2)
    assert [each.number for each in failed.attempts] == [1, 2]
    assert "its result is no JSON value" in (strange.error or "")
    assert stayed.error == "cannot_travel cannot be sent so: cannot pickle '_thread.lock' object"
    assert (named.state, named.result) == (State.SUCCEEDED, "b")


_Client: Any = Client  # it has no types


def test_the_scheduler_keeps_nothing_of_runs_whose_ends_are_recorded(dask: DaskCluster) -> None:
    app = App("memory://")
    app.engine("cluster", DaskEngine(dask.address))
    app.remote("posixpath.basename", "cluster")
    with app.running(), _Client(dask.address, set_as_default=False) as other:
        runs = [app.enqueue("posixpath.basename", args=args) for args in ({"p": "/a/b"}, {"no": "such"})]
        assert [app.runs.wait(run.id, timeout=LONGEST).state for run in runs] == [State.SUCCEEDED, State.FAILED]
        end = time.monotonic() + LONGEST_S
        while other.list_datasets() or other.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < end, other.list_datasets()
            time.sleep(0.05)


@pytest.mark.parametrize("address", ["localhost:8786", "tcp://", "tcp://host", "http://host:8786", 8786, ""])
def test_an_address_that_is_none_is_told_in_one_line(address: str) -> None:
    with pytest.raises(SettingsError, match="is no address; write tcp://host:8786, or tls://host:8786"):
        DaskEngine(address)
