"""Commands that make a run and wait for its end, and those that help to begin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.test_demo import Terminal, terminal_needed
from tests.surfaces.test_operate import Place, refusal

from onthedot import App, Context, cron
from onthedot.cli.living.facts import Facts
from onthedot.cli.living.view import Looks
from onthedot.cli.living.watching import act, in_window, read_facts
from onthedot.web.serving import Place as Address
from onthedot.web.serving import WebServer


def _jobs(app: App) -> None:
    @app.task
    def greet(ctx: Context, who: str, times: int = 1) -> int:
        for number in range(times):
            ctx.log.info("hello %s %s", who, number)
        return times

    @app.task
    def fail() -> None:
        raise ValueError("no luck")

    app.schedule(cron("0 3 1 1 *"), name="nightly", args={"who": "nobody"})(greet)


@pytest.fixture(params=["file", "http"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    place = Place(tmp_path)
    app = place.app()
    _jobs(app)
    with app.running():
        if request.param == "file":
            yield place
            return
        server = WebServer(app, Address(port=0))
        with server.beside():
            place.url = server.address
            yield place


def test_enqueue_waits_shows_what_the_run_says_and_ends_as_the_run_does(place: Place) -> None:
    done = place.run("enqueue", "greet", "who=Ada", "times=2", "--wait")
    assert (done.code, [line.split("  ", 1)[1].split()[1:] for line in done.stdout.splitlines()]) == (
        0,
        [["hello", "Ada", "0"], ["hello", "Ada", "1"]],
    )
    assert done.stderr.endswith(" succeeded\n")
    failed = place.run("enqueue", "fail", "--wait")
    assert (failed.code, failed.stderr.rstrip().endswith("failed: ValueError: no luck")) == (1, True)
    told = place.run("enqueue", "greet", "who=Ada", "times=3", "--wait", "--json")
    assert (told.code, json.loads(told.stdout)["args"], json.loads(told.stdout)["result"]) == (
        0,
        {"who": "Ada", "times": 3},
        3,
    )


def test_trigger_waits_too_and_runs_are_listed_by_task_and_age(place: Place) -> None:
    done = place.run("schedules", "trigger", "nightly", "--wait")
    assert (done.code, "hello nobody 0" in done.stdout, done.stderr.endswith(" succeeded\n")) == (0, True, True)
    assert [run["task"] for run in place.document("runs", "list", "--task", "greet", "--since", "1h")["runs"]] == [
        "greet"
    ]
    assert place.document("runs", "list", "--task", "fail", "--since", "1h")["runs"] == []


def test_enqueue_without_waiting_makes_one_run_for_a_key(place: Place) -> None:
    first, again = (
        place.document("enqueue", "greet", "who=Ada", "--key", "k", "--delay", "1h")["id"] for _ in range(2)
    )
    assert first == again
    assert "greet" in refusal(place.run("enqueue", "greet", "whom=Ada"), 2)


def test_the_view_of_a_store_reads_it_and_its_keys_steer(place: Place) -> None:
    app = App(place.url if place.url.startswith("http") else f"sqlite:///{place.file}")
    facts = read_facts(app)
    assert ([each.name for each in facts.schedules], len(facts.nodes)) == (["nightly"], 1)
    assert "nightly" in act(app, facts, Looks(), "e").said
    assert act(app, facts, Looks(), "p").said == "paused nightly"
    assert act(app, read_facts(app), Looks(), "p").said == "resumed nightly"
    assert act(app, facts, Looks(), "t").said.startswith("triggered nightly: run ")
    app.close()


def test_of_many_schedules_those_around_the_chosen_one_are_shown(tmp_path: Path) -> None:
    app = Place(tmp_path).app()
    app.open_store(create=True)
    for number in range(30):
        app.schedules.put(f"job-{number:02}", "x", cron("0 3 * * *"), unchecked=True)
    facts = read_facts(app)
    shown, looks = in_window(facts, Looks(chosen=20), 10)
    assert (len(shown.schedules), shown.hidden) == (10, 20)
    assert shown.schedules[looks.chosen] == facts.schedules[20]
    assert in_window(Facts(0), Looks(), 10)[0].schedules == ()
    app.close()


@terminal_needed
def test_top_fills_a_terminal_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    place = Place(tmp_path)
    app = place.app()
    app.open_store(create=True)
    app.schedules.put("nightly", "report", cron("0 3 * * *"), unchecked=True)
    app.close()
    terminal = Terminal(tmp_path)
    try:
        terminal.start(f"{sys.executable} -m onthedot top --store sqlite:///{place.file}")
        terminal.until(lambda screen: "▶ nightly" in screen and "no node is alive" in screen)
        terminal.press("e")
        terminal.until(lambda screen: "nightly did not exist yet" in screen)
        terminal.press("q")
        assert "-icanon" not in terminal.until(lambda screen: "ended with 0" in screen and "icanon" in screen)
    finally:
        terminal.close()


def test_init_writes_files_that_run_as_they_are_and_none_that_is_there(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert "onthedot run jobs:app runs it" in place.printed("init")
    assert "onthedot run jobs.toml runs it" in place.printed("init", "jobs.toml")
    assert "is there already" in place.refused("init")
    assert place.printed("check", "jobs.toml") == "jobs.toml is well: 1 schedule\n"
    place.printed("migrate")
    assert place.printed("sync", "jobs.toml") == "created:   nightly\n"
    assert "ExecStart=/srv/jobs/.venv/bin/onthedot run jobs:app" in place.printed("init", "--systemd")
    assert "onthedot run jobs.toml --drain 30s" in place.printed("init", "jobs.toml", "--compose")


def test_a_shell_completes_commands_and_the_names_of_schedules(tmp_path: Path) -> None:
    place = Place(tmp_path)
    app = place.app()
    app.open_store(create=True)
    app.schedules.put("nightly", "report", cron("0 3 * * *"), unchecked=True)
    app.close()
    assert _completed("onthedot ru", place) == ["plain,run", "plain,runs"]
    assert _completed("onthedot schedules pause ni", place) == ["plain,nightly"]
    assert _completed("onthedot schedules pause x", place) == [""]
    for shell in ("bash", "zsh", "fish"):
        assert "_ONTHEDOT_COMPLETE" in place.printed("completion", shell)


def _completed(words: str, place: Place) -> list[str]:
    settings = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_ONTHEDOT_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "onthedot"],
        env={**os.environ, **settings, "ONTHEDOT_STORE": f"sqlite:///{place.file}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
