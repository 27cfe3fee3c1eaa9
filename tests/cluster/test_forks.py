"""A process that has started a node forks: the parent goes on as if nothing had happened, and the child begins anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import LONGEST_S

PROGRAM = """
import os, sys, threading
from onthedot import App

url = sys.argv[1]
app = App(url)
errors = []
app.on("error")(errors.append)
app.on("lease_lost")(errors.append)

@app.task
def here():
    return os.getpid()

@app.task(pool="process")
def apart():
    return os.getpid()

def result_of(task):
    run = app.runs.wait(app.enqueue(task).id, timeout="1m")
    assert run.state == "succeeded", run
    return run.result

def ends(child):
    assert os.waitpid(child, 0)[1] == 0
    assert app.runner is not None and app.runner.is_healthy

def write_all_the_time():
    while not over.is_set():
        app.enqueue("nobody has it", unchecked=True, delay="1h")

if __name__ == "__main__":
    app.start()
    process = result_of(apart)
    over = threading.Event()
    writing = threading.Thread(target=write_all_the_time, daemon=True)
    writing.start()  # so that forks happen in the middle of something

    for _ in range(5):
        if (child := os.fork()) == 0:
            sys.exit(0)  # all that it inherited is thrown away, as at the end of every program
        ends(child)

    if (child := os.fork()) == 0:
        assert app.runner is None, "the node is the parent's"
        assert app.stop() is True, "there is nothing to stop"
        app.enqueue(here)
        sys.exit(0)
    ends(child)

    if (child := os.fork()) == 0:
        app.task(name="only the child has it")(here.function)
        app.start()
        assert app.runner is not None and app.runner.is_healthy
        assert len(app.nodes.list()) == 2
        assert result_of("only the child has it") == os.getpid()
        assert app.stop()
        app.close()
        sys.exit(0)
    ends(child)

    over.set()
    writing.join()
    assert result_of(here) == os.getpid()
    assert result_of(apart) == process, "the children have ended a process that was the parent's"
    assert len(app.nodes.list()) == 1
    assert app.stop()
    assert errors == [], errors
    app.close()
"""


def _passes(folder: Path, url: str) -> None:
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    quiet = ["-W", "error", "-W", "ignore:.*fork:DeprecationWarning", "-W", "ignore:unclosed:ResourceWarning"]
    done = subprocess.run(
        [sys.executable, *quiet, str(program), url], capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_on_sqlite(tmp_path: Path) -> None:
    _passes(tmp_path, f"sqlite:///{tmp_path}/jobs.db")


@pytest.mark.parametrize("server", ["postgresql_15_url", "mongodb_url", "redis_url"])
def test_on_a_server(tmp_path: Path, server: str, request: pytest.FixtureRequest) -> None:
    _passes(tmp_path, request.getfixturevalue(server))


@pytest.mark.slow
def test_on_mariadb(tmp_path: Path, mariadb_url: str) -> None:
    _passes(tmp_path, mariadb_url)
