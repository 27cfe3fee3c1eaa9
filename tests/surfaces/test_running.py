"""A program that runs, seen from outside: what it shows, what it keeps, and how it ends on signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.patience import LONGEST, LONGEST_S
from tests.surfaces.test_operate import Place, Running, _environment

from onthedot import App

EMBEDDED = """\
from onthedot import App

app = App("memory://")

@app.task
def report():
    raise ValueError("no luck")

with app.running():
    app.runs.wait(app.enqueue(report).id, timeout="240s")
"""

MYAPP = """\
import logging, time
from pathlib import Path
from onthedot import App, Context

app = App("sqlite:///jobs.db", retries=0)

@app.task
def talk(ctx: Context) -> None:
    ctx.log.info("said by the run")
    logging.getLogger("elsewhere").warning("careful")
    print("printed by the run")
    print("without an end", end="")

@app.task(pool="process")
def talk_apart(ctx: Context) -> None:
    talk(ctx)

@app.task
def wait(ctx: Context, name: str) -> None:
    ctx.log.warning("inside %s", name)
    while not Path(name).exists():
        ctx.sleep("50ms")

app.command("stubborn", "trap '' TERM; echo $$ > pid; sleep 60", shell=True, kill_after="60s")

if __name__ == "__main__":
    app.run()
"""
COMMAND = [sys.executable, "-u", "-m", "onthedot", "run", "myapp:app"]
PROGRAM = [sys.executable, "-u", "myapp.py"]

Start = Callable[..., Running]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "myapp.py").write_text(MYAPP, encoding="utf-8")
    return Place(tmp_path)


@pytest.fixture
def app(place: Place) -> Iterator[App]:
    """For asking and enqueueing, on a store that is there."""
    app = place.app()
    app.open_store(create=True)
    yield app
    app.close()


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    """Starts a program in the place; whatever still runs at the end is killed."""
    started: list[Running] = []

    def run(*words: str, **environment: str) -> Running:
        with (place.folder / "stdout").open("w") as stdout:
            process = subprocess.Popen(
                words,
                cwd=place.folder,
                env=_environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        started.append(Running(process))
        return started[-1]

    yield run
    for node in started:
        if node.process.poll() is None:
            node.process.kill()
        node.process.wait()
        assert node.process.stderr is not None
        node.process.stderr.close()


def enqueue(app: App, task: str, **args: str) -> str:
    return app.enqueue(task, args=args, unchecked=True).id


def kept(app: App, run_id: str) -> list[tuple[str, str]]:
    assert app.runs.wait(run_id, timeout=LONGEST).state == "succeeded"
    return [(line.level, line.text) for line in app.runs.logs(run_id)]


# what it shows, and keeps


def test_a_failing_task_in_a_small_program_is_seen_without_configuring_anything(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EMBEDDED],
        cwd=tmp_path,
        env=_environment({}),
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_S * 2,
    )
    first, *traceback = done.stderr.splitlines()
    assert re.fullmatch(r"failed report \(run [0-9a-f]{12}\) in \d+ ms: ValueError: no luck", first)
    assert (traceback[0], traceback[-1]) == ("Traceback (most recent call last):", "ValueError: no luck")
    assert done.stdout == ""


SAID = [
    ("INFO", "said by the run"),
    ("WARNING", "careful"),
    ("STDOUT", "printed by the run"),
    ("STDOUT", "without an end"),
]


@pytest.mark.parametrize("task", ["talk", "talk_apart"])
def test_what_a_task_says_and_prints_is_shown_and_kept_under_onthedot_run(
    place: Place, app: App, start: Start, task: str
) -> None:
    node = start(*COMMAND)
    run_id = enqueue(app, task)
    whose = re.escape(f"{task} (run {run_id[-12:]})")
    node.wait_for(rf"Z INFO      {whose}: said by the run$")
    node.wait_for(rf"Z WARNING   {whose}: careful$")
    assert kept(app, run_id) == SAID
    assert node.stop() == 0
    assert (place.folder / "stdout").read_text() == "printed by the run\nwithout an end"


def test_as_json_what_a_task_says_is_a_document_between_the_events(app: App, start: Start) -> None:
    node = start(*COMMAND, "--log-format", "json")
    run_id = enqueue(app, "talk")
    said = json.loads(node.wait_for("said by the run"))
    assert said.pop("at").endswith("Z")
    assert said == {
        "event": "log",
        "level": "INFO",
        "logger": "onthedot.task.talk",
        "text": "said by the run",
        "run_id": run_id,
        "task": "talk",
        "schedule": None,
    }


def test_a_module_that_configures_logging_itself_is_left_alone(place: Place, app: App, start: Start) -> None:
    own = 'import logging\nlogging.basicConfig(level="INFO", format="MINE %(name)s %(message)s")\n'
    (place.folder / "myapp.py").write_text(own + MYAPP, encoding="utf-8")
    node = start(*COMMAND)
    enqueue(app, "talk")
    node.wait_for(r"^MINE onthedot\.task\.talk said by the run$")
    node.wait_for(r"succeeded talk")
    assert node.stop() == 0
    assert [line for line in node.lines if "said by the run" in line] == ["MINE onthedot.task.talk said by the run"]


def test_embedded_a_print_is_left_alone_and_warnings_are_on_the_console(place: Place, app: App, start: Start) -> None:
    node = start(*PROGRAM)
    assert kept(app, enqueue(app, "talk")) == SAID[:2]
    node.wait_for("^careful$")
    assert node.stop() == 0
    assert (place.folder / "stdout").read_text() == "printed by the run\nwithout an end"


# how it ends

STARTS = pytest.mark.parametrize("words", [COMMAND, PROGRAM], ids=["onthedot run", "app.run()"])


@STARTS
def test_the_first_interrupt_says_for_what_it_waits_and_again_when_that_changes(
    place: Place, app: App, start: Start, words: list[str]
) -> None:
    node = start(*words)
    runs = [enqueue(app, "wait", name=name) for name in ("one", "two")]
    node.wait_for("inside one")
    node.wait_for("inside two")
    node.process.send_signal(signal.SIGINT)
    node.wait_for(r"2 runs left: wait, wait, the oldest for \d+ s")
    (place.folder / "one").touch()
    node.wait_for(r"1 run left: wait, \d+ s")
    (place.folder / "two").touch()
    assert node.process.wait(LONGEST_S) == 0
    assert [app.runs.get(run_id).state for run_id in runs] == ["succeeded"] * 2


@STARTS
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_second_hands_back_what_runs(app: App, start: Start, words: list[str], first: signal.Signals) -> None:
    node = start(*words)
    run_id = enqueue(app, "wait", name="never")
    node.wait_for("inside never")
    node.process.send_signal(first)
    node.wait_for(r"1 run left: wait, \d+ s")
    node.process.send_signal(signal.SIGINT)
    node.wait_for(r"handed back +1 run: wait")
    assert node.process.wait(LONGEST_S) == 0
    left = app.runs.get(run_id)
    assert (left.state, left.owner, left.attempt) == ("waiting", None, 1)


def test_another_sigterm_is_no_second_interrupt(place: Place, app: App, start: Start) -> None:
    node = start(*COMMAND)
    run_id = enqueue(app, "wait", name="one")
    node.wait_for("inside one")
    for _ in range(4):
        node.process.send_signal(signal.SIGTERM)
    node.wait_for(r"1 run left: wait, \d+ s")
    node.process.send_signal(signal.SIGTERM)
    (place.folder / "one").touch()
    assert node.process.wait(LONGEST_S) == 0
    assert app.runs.get(run_id).state == "succeeded"


@STARTS
def test_the_third_ends_at_once(place: Place, app: App, start: Start, words: list[str]) -> None:
    node = start(*words)
    run_id = enqueue(app, "stubborn")
    pid = place.folder / "pid"
    try:
        while not (pid.exists() and pid.read_text().strip()):
            assert not app.runs.wait(run_id, timeout="50ms").is_final
        node.process.send_signal(signal.SIGINT)
        node.wait_for(r"1 run left: stubborn, \d+ s")
        node.process.send_signal(signal.SIGINT)
        node.wait_for("handed back")  # and now it waits for the command, which does not heed SIGTERM
        node.process.send_signal(signal.SIGINT)
        node.wait_for("^ended at once: ")
        assert node.process.wait(LONGEST_S) == 130
    finally:
        with suppress(FileNotFoundError, ValueError, ProcessLookupError):
            os.killpg(int(pid.read_text()), signal.SIGKILL)


# what must not start


@pytest.mark.parametrize("call", ["app.run()", "app.start()"])
def test_a_module_that_starts_its_app_when_it_is_imported_is_refused_in_one_line(tmp_path: Path, call: str) -> None:
    (tmp_path / "eager.py").write_text(f'from onthedot import App\napp = App("memory://")\n\n{call}\n')
    done = Place(tmp_path).run_apart("run", "eager:app")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: eager.py:4: {call} was reached while onthedot imports the module, and onthedot starts the app itself:"
        ' put it under `if __name__ == "__main__":`\n'
    )
