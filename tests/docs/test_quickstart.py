"""Every command of the quickstart does what the page says."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, commands_of, write_files
from tests.docs.processes import run, started
from tests.patience import LONGEST_S

from onthedot import App

PAGE = ROOT / "docs" / "quickstart.md"
STORE = "sqlite:///jobs.db"
RUN = "onthedot run jobs:app"


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(folder: Path) -> int:
    path = folder / "jobs.db"
    if not path.exists():
        return 0
    app = App(f"sqlite:///{path}")
    try:
        app.open_store(create=True)
        return len(app.nodes.list())
    finally:
        app.close()


def test_the_commands_work_in_the_order_of_the_page(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    commands = [command for command in commands_of(PAGE) if not command.startswith(RUN)]
    assert commands[0] == "onthedot nodes list"
    with started(tmp_path, *shlex.split(RUN)) as first, started(tmp_path, *shlex.split(RUN)):
        eventually(lambda: alive(tmp_path) == 2)
        said: dict[str, str] = {}
        for command in commands:
            words = shlex.split(command)
            if words[-1] == "RUN":
                words[-1] = said["onthedot schedules trigger hello"].split()[1].rsplit("-", 1)[-1]
                eventually(lambda: "succeeded" in run(tmp_path, "onthedot", "runs", "list", ONTHEDOT_STORE=STORE))
            said[command] = run(tmp_path, *words, ONTHEDOT_STORE=STORE)
            if command == "onthedot status":
                first.kill()
    assert "lunch" in said["onthedot schedules pause hello --note lunch"]
    assert "this is the tick of" in said["onthedot runs logs RUN"]


def test_a_store_that_the_command_names_counts_more_than_the_code(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write_files(PAGE, tmp_path)
    (command,) = [command for command in commands_of(PAGE) if command.startswith(f"{RUN} ")]
    url = request.getfixturevalue("postgresql_15")
    with started(tmp_path, *shlex.split(command.replace("postgresql://localhost/jobs", url))):
        eventually(lambda: b"started" in (tmp_path / "said.log").read_bytes())
        assert "hello" in run(tmp_path, "onthedot", "schedules", "list", ONTHEDOT_STORE=url)
    assert not (tmp_path / "jobs.db").exists()
