"""Engines in a jobs.toml: which they are, what they know, and what is said to mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onthedot import App
from onthedot.dask import DaskEngine
from onthedot.errors import FileError

JOBS = """
[engines.cluster]
dask = "tcp://127.0.0.1:8786"
tasks = ["warehouse.jobs.crunch"]
options = { priority = 5 }

[schedules.monthly]
cron = "0 3 1 * *"
task = "warehouse.jobs.crunch"
args = { month = "2026-10" }
timeout = "2h"
"""


def _loaded(folder: Path, text: str) -> App:
    (folder / "jobs.toml").write_text(text, encoding="utf-8")
    app = App("memory://")
    app.load_file(folder / "jobs.toml")
    return app


def test_a_file_says_which_engines_there_are_and_which_tasks_they_know(tmp_path: Path) -> None:
    app = _loaded(tmp_path, JOBS)
    assert app.engines["cluster"] == DaskEngine("tcp://127.0.0.1:8786", priority=5)
    task = app.tasks.lookup("warehouse.jobs.crunch")
    assert task is not None
    assert (task.engine, task.info().pool, task.info().doc) == (
        "cluster",
        "remote",
        "warehouse.jobs.crunch, which its engine knows",
    )
    app.sync()
    assert app.schedules.get("monthly").policy.timeout_ms == 7_200_000


def test_a_file_may_change_beside_its_engines_and_not_in_them(tmp_path: Path) -> None:
    app = _loaded(tmp_path, JOBS)
    (file,) = app._files
    file.path.write_text(JOBS.replace("2h", "3h"), encoding="utf-8")
    file.load()
    file.path.write_text(JOBS.replace("8786", "8787"), encoding="utf-8")
    with pytest.raises(FileError, match="engines: a node has those that it began with; start it again"):
        file.load()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("engines = 3", "engines: write each as a table, [engines.NAME]"),
        ("[engines]\na = 3", "engines: write each as a table, [engines.NAME]"),
        ("[engines.a]\n", "[engines.a] dask or celery is missing"),
        ('[engines.a]\ndask = "tcp://h:1"\ncelery = "a:b"', "dask and celery: only one of them can stand here"),
        ("[engines.a]\ndask = 7", '[engines.a] dask: 7 is not text; write dask = "tcp://scheduler:8786"'),
        ('[engines.a]\ndask = "host"', "[engines.a] DaskEngine: 'host' is no address; write tcp://host:8786"),
        ('[engines.a]\ncelery = "shop"', "[engines.a] CeleryEngine: 'shop' is no Celery app"),
        ('[engines.a]\ndask = "tcp://h:1"\ntask = []', "[engines.a] task: unknown key; did you mean tasks?"),
        ('[engines.a]\ndask = "tcp://h:1"\ntasks = "x"', "[engines.a] tasks: 'x' is no list of names"),
        ('[engines.a]\ndask = "tcp://h:1"\ntasks = ["a/b"]', "[engines.a] tasks: "),
        ('[engines.a]\ndask = "tcp://h:1"\noptions = 3', "[engines.a] options: 3 is no table"),
        ('[engines.a]\ndask = "tcp://h:1"\noptions = { key = "x" }', "[engines.a] DaskEngine: key: it follows from"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FileError) as caught:
        _loaded(tmp_path, text)
    assert said in str(caught.value)
