"""One `Onthedot` and several Flask apps of a process, as factories and their tests have them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask, current_app

from onthedot.errors import SchemaError, SettingsError
from onthedot.flask import Onthedot


@pytest.fixture
def jobs() -> Iterator[Onthedot]:
    made = Onthedot()

    @made.task
    def where() -> str:
        return current_app.name

    with closing(made):
        yield made


def flask_app(name: str, folder: Path) -> Flask:
    made = Flask(name)
    made.config["ONTHEDOT_STORE"] = f"sqlite:///{folder}/{name}.db"
    return made


def test_each_app_of_a_factory_has_the_store_that_it_names(jobs: Onthedot, tmp_path: Path) -> None:
    for name in ("one", "two"):
        jobs.init_app(flask_app(name, tmp_path))
        jobs.open_store(create=True)
        run = jobs.enqueue("where")
        assert [each.id for each in jobs.runs.list()] == [run.id], "it is still on the store of the app before"
        with jobs.running(log=False):
            assert jobs.runs.wait(run.id).result == name


def test_a_node_that_runs_is_not_taken_to_another_store(jobs: Onthedot, tmp_path: Path) -> None:
    jobs.init_app(flask_app("one", tmp_path))
    with jobs.running(log=False), pytest.raises(SettingsError, match=r"a node runs on sqlite:.*one\.db; stop\(\) it"):
        jobs.init_app(flask_app("two", tmp_path))


def test_a_request_names_the_command_that_makes_the_store(jobs: Onthedot, tmp_path: Path) -> None:
    jobs.init_app(flask_app("one", tmp_path))
    with pytest.raises(SchemaError, match=r"no onthedot store at .*: run `flask jobs migrate` or start a node"):
        jobs.enqueue("where")


def test_commands_are_named_so_that_they_can_be_typed(jobs: Onthedot, tmp_path: Path) -> None:
    site = flask_app("one", tmp_path)
    jobs.init_app(site)
    typed = site.test_cli_runner().invoke
    assert typed(args=["jobs", "status"]).exit_code == 1
    assert typed(args=["jobs", "migrate"]).exit_code == 0
    for words, said in (
        ("nodes list", "no nodes: start one with `flask jobs run`\n"),
        ("calendars list", "no calendars: flask jobs calendars put NAME makes one\n"),
        ("doctor", "start one with `flask jobs run`\n"),
    ):
        assert said in typed(args=["jobs", *words.split()]).output, words
    assert "ONTHEDOT_STORE" not in os.environ, "the next program of this process would find it"
