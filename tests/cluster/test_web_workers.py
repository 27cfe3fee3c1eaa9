"""Web servers with several processes: each tick is one run, and a worker that is killed takes nothing with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.patience import LONGEST_S
from tests.servers.base import free_port

from onthedot import App

IN_FLASK = """
import os
from flask import Flask, current_app
from onthedot import every
from onthedot.flask import Onthedot

site = Flask(__name__)
site.config["ONTHEDOT_STORE"] = os.environ["STORE"]
jobs = Onthedot(site)

@jobs.schedule(every("1s"), misfire="catch_up")
def tick():
    return current_app.name
"""
IN_FASTAPI = """
import os
from fastapi import FastAPI
from onthedot import every
from onthedot.fastapi import Onthedot

jobs = Onthedot(os.environ["STORE"])
api = FastAPI(lifespan=jobs.lifespan)

@jobs.schedule(every("1s"), misfire="catch_up")
async def tick():
    return "site_of_fastapi"
"""
IN_WORKERS = """
def post_worker_init(worker):
    from site_of_flask import jobs
    jobs.start()
"""
GUNICORN = ["gunicorn", "--preload", "-w", "2", "-b", "127.0.0.1:0"]
SERVERS = {
    "gunicorn, started in its workers": [*GUNICORN, "-c", "in_workers.py", "site_of_flask:site"],
    "uvicorn": ["uvicorn", "site_of_fastapi:api", "--workers", "2", "--port", "PORT"],
}


class Server:
    """A process that serves, and the store of its nodes."""

    def __init__(self, process: subprocess.Popen[bytes], app: App, said: Path) -> None:
        self.process, self.app, self._said = process, app, said

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for it, as long as the server lives."""
        end = time.monotonic() + LONGEST_S
        while not is_so():
            assert self.process.poll() is None, self._said.read_text()
            assert time.monotonic() < end, self._said.read_text()
            time.sleep(0.1)

    def pids(self) -> set[int]:
        """Of the processes that have a node."""
        return {int(node.name.rpartition(":")[2]) for node in self.app.nodes.list()}

    def until_ticks_after(self, known: int) -> None:
        """Two runs more have ended well."""
        self.until(lambda: self.ended() > known + 1)

    def ended(self) -> int:
        """How many runs have ended well."""
        return sum(run.state == "succeeded" for run in self.app.runs.list(limit=1000))

    def end(self) -> None:
        """By SIGTERM, and well."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LONGEST_S) in (0, -signal.SIGTERM), self._said.read_text()


@contextmanager
def serving(folder: Path, command: list[str]) -> Iterator[Server]:
    """The command, in a folder with the sites; a store that is there already."""
    (folder / "site_of_flask.py").write_text(IN_FLASK)
    (folder / "site_of_fastapi.py").write_text(IN_FASTAPI)
    (folder / "started.py").write_text("from site_of_flask import jobs, site\njobs.start()\n")
    (folder / "in_workers.py").write_text(IN_WORKERS)  # gunicorn.conf.py would be read by all of them
    url = f"sqlite:///{folder}/jobs.db"
    app = App(url)
    app.open_store(create=True)
    environment = {**os.environ, "STORE": url, "PYTHONPATH": str(folder), "HOME": str(folder)}
    words = [str(free_port()) if word == "PORT" else word for word in command]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=folder, env=environment, stdout=said, stderr=said
        )
    try:
        yield Server(process, app, folder / "said")
    finally:
        process.kill()
        process.wait()
        app.close()


def check_ticks(app: App) -> None:
    """Each second has one run, and the runs were inside the site."""
    runs = list(app.runs.list(limit=1000))
    ticks = sorted(run.scheduled_ms for run in runs)
    assert ticks == list(range(ticks[0], ticks[-1] + 1, 1000)), "a tick was lost, or was run twice"
    assert {run.result for run in runs if run.state == "succeeded"} <= {"site_of_flask", "site_of_fastapi"}


@pytest.mark.parametrize("name", SERVERS)
def test_each_tick_is_one_run_whichever_worker_is_killed(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, SERVERS[name]) as server:
        server.until(lambda: len(server.pids()) == 2 and server.ended() > 1)
        before = server.pids()
        assert server.process.pid not in before
        os.kill(min(before), signal.SIGKILL)
        server.until(lambda: bool(server.pids() - before))  # the server has begun another worker
        server.until_ticks_after(server.ended())
        server.end()
        check_ticks(server.app)


def test_a_node_that_was_started_before_the_fork_stays_with_the_parent(tmp_path: Path) -> None:
    with serving(tmp_path, [*GUNICORN, "started:site"]) as server:
        server.until_ticks_after(0)
        assert server.pids() == {server.process.pid}
        server.end()
        check_ticks(server.app)
        assert not server.app.nodes.list()  # it was drained


def test_under_the_reloader_only_the_process_that_serves_has_a_node(tmp_path: Path) -> None:
    command = ["flask", "--app", "started", "run", "--debug", "--port", "PORT"]
    with serving(tmp_path, command) as server:
        server.until_ticks_after(0)
        (pid,) = server.pids()
        assert pid != server.process.pid
        os.kill(pid, signal.SIGTERM)


def test_commands_of_flask_start_no_node(tmp_path: Path) -> None:
    with serving(tmp_path, ["flask", "--app", "started", "routes"]) as server:
        assert server.process.wait(LONGEST_S) == 0
        assert not server.app.schedules.list()
