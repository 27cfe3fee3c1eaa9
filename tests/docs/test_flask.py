"""The commands of the guide to Flask, typed as it says."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.docs.pages import ROOT, write_files
from tests.docs.processes import environment, run, started
from tests.patience import LONGEST_S

from onthedot import App

JOBS = ("flask", "--app", "shop", "jobs")


def test_the_command_line_works_on_the_store_and_with_the_tasks_of_the_site(tmp_path: Path) -> None:
    write_files(ROOT / "docs" / "guides" / "flask.md", tmp_path)
    run(tmp_path, *JOBS, "migrate")
    assert "tidy" in run(tmp_path, *JOBS, "sync")
    assert "tidy" in run(tmp_path, *JOBS, "schedules", "list")
    app = App(f"sqlite:///{tmp_path / 'jobs.db'}")
    asked = app.enqueue("send_invoice", args={"order": 7}, unchecked=True)
    with started(tmp_path, *JOBS, "run", "--name", "of-the-site"):
        ended = app.runs.wait(asked.id, timeout=f"{LONGEST_S}s")
        assert ended.result == "invoice of order 7 from shop"
        end = time.monotonic() + LONGEST_S
        while [node.name for node in app.nodes.list()] != ["of-the-site"]:
            assert time.monotonic() < end
            time.sleep(0.05)
    app.close()


def test_a_store_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    write_files(ROOT / "docs" / "guides" / "flask.md", tmp_path)
    done = subprocess.run([*JOBS, "sync"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: no onthedot store at sqlite:///")
    assert line.endswith(": run `flask jobs migrate` or start a node")
