"""Runs of real Celery workers, by Redis and by files: nodes that die, brokers that are away, what is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery.exceptions import NotRegistered, WorkerLostError
from tests.cluster.cluster import Cluster
from tests.patience import LONGEST, LONGEST_S
from tests.servers import redis as servers

from celery import Celery
from onthedot import App
from onthedot.celery import CeleryEngine
from onthedot.engines import Failed
from onthedot.errors import SettingsError
from onthedot.model.run import Run
from onthedot.model.states import State

SHOP = """
import os, time
from pathlib import Path
from celery import Celery
from onthedot.celery import Once

folder = Path(__file__).parent
app = Celery("shop", broker=os.environ["BROKER"], backend=os.environ.get("BACKEND"))
app.conf.update(
    onthedot_store=f"sqlite:///{folder / 'jobs.db'}",
    broker_connection_timeout=1,
    broker_connection_retry_on_startup=True,
    redis_socket_connect_timeout=1,
    worker_prefetch_multiplier=1,  # what waits, waits in the queue: a pool of threads revokes nothing that it has taken
    task_acks_late=True,
    result_backend_transport_options={"retry_policy": {"timeout": 1.0, "max_retries": 1}},
    broker_transport_options=({
        "data_folder_in": str(folder / "queue"), "data_folder_out": str(folder / "queue"),
        "processed_folder": str(folder / "done"),
    } if os.environ["BROKER"].startswith("filesystem") else {}),
)

@app.task(name="shop.work", base=Once)
def work(text):
    with (folder / "notes").open("a") as notes:
        notes.write(f"begun {text}\\n")
    while not (folder / f"go-{text}").exists():
        time.sleep(0.05)
    if text == "bad":
        raise ValueError("no good")
    return text.upper()
"""

NODES = """
from shop import app as shop, work
from onthedot.celery import CeleryEngine
from onthedot.execution.engines import away

away.UNKNOWN_MS = 2000  # a minute is long for a test

class Dying(CeleryEngine):
    def submit(self, engine_id, call):
        done = super().submit(engine_id, call)
        if "DIE_AFTER" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

app.engine("workers", Dying(shop))
app.task(engine="workers", name="work")(work)
app.remote("shop.work", "workers")
"""


class Nodes(Cluster):
    """Nodes on one SQLite file, which give their runs to workers."""

    def __init__(self, folder: Path, broker: str, backend: str | None) -> None:
        super().__init__(folder, f"sqlite:///{folder / 'jobs.db'}", NODES)
        (folder / "shop.py").write_text(SHOP, encoding="utf-8")
        self.environment = {"BROKER": broker, **({} if backend is None else {"BACKEND": backend})}

    def node(self, **more: str) -> None:
        self.start(**self.environment, **more)

    def worker(self) -> subprocess.Popen[bytes]:
        with (self.folder / "worker.log").open("ab") as said:
            command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "-P", "threads", "-c", "2", "-l", "INFO"]
            where = {**os.environ, **self.environment}
            process = subprocess.Popen(command, cwd=self.folder, env=where, stdout=said, stderr=said)
        self.processes.append(process)
        return process

    def enqueue(self, text: str, task: str = "work", **options: str) -> Run:
        return self.app.enqueue(task, args={"text": text}, unchecked=True, **options)

    def go(self, text: str) -> None:
        (self.folder / f"go-{text}").touch()

    def now(self, run: Run) -> Run:
        return self.app.runs.get(run.id)

    def ended(self, run: Run) -> Run:
        return self.app.runs.wait(run.id, timeout=LONGEST)

    @property
    def begun(self) -> int:
        return len(self.notes())


@pytest.fixture
def nodes(tmp_path: Path, redis_server: str) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path, redis_server, redis_server)
    yield nodes
    nodes.close()


def test_when_its_node_is_killed_another_fetches_the_result_of_the_one_start(nodes: Nodes) -> None:
    run, bad = nodes.enqueue("a"), nodes.enqueue("bad", "shop.work")
    nodes.worker()
    nodes.node()
    nodes.until(lambda: nodes.begun == 2 and all(nodes.now(each).remote == "at workers" for each in (run, bad)))
    nodes.processes[1].kill()
    nodes.node()
    nodes.until(lambda: nodes.now(run).claim_no > 1)
    nodes.go("a")
    nodes.go("bad")
    ended = nodes.ended(run)
    assert (ended.state, ended.result, ended.attempt, ended.crashes) == (State.SUCCEEDED, "A", 1, 0)
    failed = nodes.ended(bad)
    assert (failed.state, (failed.error or "").splitlines()[-1]) == (State.FAILED, "ValueError: no good")
    assert nodes.begun == 2


def test_what_a_node_sent_before_it_died_is_known_by_its_id_and_begins_once(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node(DIE_AFTER="1")
    nodes.until(lambda: nodes.processes[0].poll() is not None)
    assert nodes.now(run).remote == "sending workers"
    nodes.node()
    nodes.until(lambda: nodes.now(run).remote == "at workers")  # unknown for too long: sent again
    nodes.worker()
    nodes.until(lambda: nodes.begun == 1)
    nodes.go("a")
    ended = nodes.ended(run)
    assert (ended.state, ended.result, ended.attempt, nodes.begun) == (State.SUCCEEDED, "A", 1, 1)


def test_what_waits_in_the_queue_is_not_sent_again_and_can_be_revoked(nodes: Nodes) -> None:
    first, second, third = (nodes.enqueue(text) for text in ("a", "b", "c"))
    nodes.worker()
    nodes.node()
    nodes.until(lambda: nodes.begun == 2)  # as many as the worker has threads
    nodes.until(lambda: nodes.now(third).remote == "at workers")
    waits = next(run for run in (first, second, third) if run.args["text"] not in {words[1] for words in nodes.notes()})
    nodes.app.runs.cancel(waits.id)
    nodes.until(lambda: "flagged as revoked" in (nodes.folder / "worker.log").read_text())
    for text in ("a", "b", "c"):
        nodes.go(text)
    assert nodes.ended(waits).state is State.CANCELLED
    others = [nodes.ended(run) for run in (first, second, third) if run.id != waits.id]
    assert ([run.state for run in others], nodes.begun) == ([State.SUCCEEDED] * 2, 2)


def test_a_broker_that_is_away_keeps_runs_waiting_and_loses_none(tmp_path: Path) -> None:
    with servers.running() as broker:
        nodes = Nodes(tmp_path, broker.url, broker.url)
        try:
            broker.stop()
            run = nodes.enqueue("a")
            nodes.node()
            nodes.until(lambda: any("cannot be reached" in each for each in nodes.app.status().problems))
            assert nodes.now(run).state is State.RUNNING
            broker.start()
            nodes.worker()
            nodes.go("a")
            assert (nodes.ended(run).state, nodes.begun) == (State.SUCCEEDED, 1)
        finally:
            nodes.close()


@pytest.mark.parametrize("keeps", [True, False])
def test_by_files_too_and_where_no_result_is_kept_what_was_sent_has_succeeded(tmp_path: Path, keeps: bool) -> None:
    for name in ("queue", "done", "results"):
        (tmp_path / name).mkdir()
    nodes = Nodes(tmp_path, "filesystem://", f"file://{tmp_path / 'results'}" if keeps else None)
    try:
        run = nodes.enqueue("a")
        nodes.node()
        if keeps:
            nodes.worker()
            nodes.go("a")
        ended = nodes.ended(run)
        assert ended.state is State.SUCCEEDED
        assert ended.result == ("A" if keeps else {"task_id": f"{run.id}.1"})
    finally:
        nodes.close()


def test_a_node_that_stops_waits_for_no_worker(nodes: Nodes) -> None:
    run = nodes.enqueue("a")
    nodes.node()
    nodes.until(lambda: nodes.now(run).remote == "at workers")
    nodes.processes[0].send_signal(signal.SIGTERM)
    assert nodes.processes[0].wait(LONGEST_S) == 0
    nodes.worker()
    nodes.go("a")
    nodes.node()
    assert (nodes.ended(run).state, nodes.begun) == (State.SUCCEEDED, 1)


# what is refused


def test_arguments_that_cannot_be_sent_fail_the_run_in_one_line(redis_server: str) -> None:
    shop = Celery("shop", broker=redis_server, set_as_current=False)

    def two(one: int, other: int) -> None: ...

    shop.task(name="shop.two")(two)

    app = App("memory://")
    app.engine("workers", CeleryEngine(shop))
    app.remote("shop.two", "workers", retries=5)
    with app.running():
        ended = app.runs.wait(app.enqueue("shop.two", args={"one": 1}).id, timeout=LONGEST)
    assert (ended.state, ended.attempt) == (State.FAILED, 1)
    assert (ended.error or "").startswith("shop.two cannot be sent so: ")
    assert "other" in (ended.error or "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotRegistered("eng.nope"), "NotRegistered: the worker that took it has no task 'eng.nope'; import its module"),
        (WorkerLostError("Worker exited prematurely"), "WorkerLostError: Worker exited prematurely"),
    ],
)
def test_a_failure_that_has_no_traceback_is_told_with_its_class(error: Exception, said: str) -> None:
    shop = Celery("shop", broker="memory://", backend="cache+memory://", set_as_current=False)
    shop.backend.mark_as_failure("an id", error)
    (status,) = CeleryEngine(shop).poll(["an id"]).values()
    assert isinstance(status, Failed)
    assert status.error.startswith(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("shop", "'shop' is no Celery app; give it, or name it as module:attribute"),
        ("no_such_module_here:app", "cannot be imported: No module named 'no_such_module_here'"),
        ("json:dumps", "'json:dumps' is no Celery app, but <function dumps"),
        (7, "7 is no Celery app"),
    ],
)
def test_what_is_no_celery_app_is_told_in_one_line(given: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        CeleryEngine(given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("backend", "said"),
    [("rpc://", "answers only the process that sent"), ("nosuch://here", "write it like redis://host:6379/1")],
)
def test_a_result_backend_that_nobody_else_can_ask_is_refused(backend: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CeleryEngine(Celery("shop", broker="memory://", backend=backend, set_as_current=False))


@pytest.mark.parametrize("broker", ["amqq://localhost", "redis://:secret@localhost:99999/0", "redis://[::1"])
def test_a_broker_that_nobody_knows_is_refused_in_one_line(broker: str) -> None:
    with pytest.raises(SettingsError) as caught:
        CeleryEngine(Celery("shop", broker=broker, set_as_current=False))
    assert str(caught.value).startswith("broker_url ")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_follows_from_the_run_cannot_be_said_beside_it() -> None:
    with pytest.raises(SettingsError, match="task_id: it follows from the run; leave it out"):
        CeleryEngine(Celery("shop", broker="memory://", set_as_current=False), task_id="mine")
