"""The commands that work on a store, seen from outside, on a real file."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, Context, at, cron, every
from onthedot.cli import main
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.rules.effects import Effects
from onthedot.rules.plan import Decider
from onthedot.stores.base import Store
from onthedot.stores.engine import Engine

MYAPP = """\
from onthedot import App, Context, cron, every

app = App("sqlite:///jobs.db")
nothing = None

@app.schedule(every("1s"))
def tick(number: int = 1) -> int:
    "Counts."
    return number

@app.schedule(cron("0 3 * * *", tz="Europe/Berlin"), name="nightly")
@app.task
def report(audience: str = "all") -> str:
    return audience

@app.task
def slow(ctx: Context) -> str:
    print("inside", flush=True)
    ctx.sleep("2s")
    return "done"
"""


# helpers


class Done(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclass
class Place:
    """A folder with an app and perhaps a store, and the program run in it."""

    folder: Path
    url: str = "sqlite:///jobs.db"

    @property
    def file(self) -> Path:
        return self.folder / "jobs.db"

    def app(self, **options: Any) -> App:
        return App(f"sqlite:///{self.file}", **options)

    def run(self, *arguments: str, **environment: str) -> Done:
        """The command in this process, which has loaded already what takes most of the time."""
        said, complained = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.StringIO())
            wanted = _environment({"ONTHEDOT_STORE": self.url, **environment})
            for name in os.environ.keys() - wanted.keys():
                patch.delenv(name)
            for name, value in wanted.items():
                patch.setenv(name, value)
            code = main(arguments)
        return Done(code, said.getvalue(), complained.getvalue())

    def run_apart(self, *arguments: str) -> Done:
        """The command as a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "onthedot", *arguments],
            cwd=self.folder,
            env=_environment({"ONTHEDOT_STORE": self.url}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=LONGEST_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def printed(self, *arguments: str) -> str:
        return well(self.run(*arguments))

    def document(self, *arguments: str) -> Any:
        return json.loads(self.printed(*arguments, "--json"))

    def refused(self, *arguments: str, code: int = 2, environment: dict[str, str] | None = None) -> str:
        return refusal(self.run(*arguments, **(environment or {})), code)


def well(done: Done) -> str:
    """What a command printed that must end well."""
    assert (done.code, done.stderr) == (0, "")
    return done.stdout


def refusal(done: Done, code: int) -> str:
    """The one line on stderr of a command that must fail without a stack trace and print nothing else."""
    assert (done.code, done.stdout) == (code, ""), done
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    return line


def _environment(more: dict[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"FORCE_COLOR", "NO_COLOR"} and not name.startswith("ONTHEDOT_")
    }
    return kept | {"COLUMNS": "140", "TZ": "UTC", "PYTHONIOENCODING": "utf-8", **more}


@dataclass
class Running:
    """`onthedot run` as a process of its own; what it says is read as it comes."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    _begun: str = ""
    """The beginning of a line of which the rest has not come yet."""
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    def wait_for(self, pattern: str) -> str:
        """The first line, old or new, that matches; fails after a bounded time."""
        for line in self._arriving():
            if re.search(pattern, line):
                return line
        raise AssertionError(f"no line like {pattern!r} in {self.lines}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(LONGEST_S)
        assert self.process.stderr is not None
        self.lines += (self._begun + self.process.stderr.read()).splitlines()
        return code

    def _arriving(self) -> Iterator[str]:
        yield from list(self.lines)
        assert self.process.stderr is not None
        end = time.monotonic() + LONGEST_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ)
            while selector.select(max(end - time.monotonic(), 0)):
                # Not line by line: a second one that came with the first would wait in a buffer, and nobody see it.
                some = os.read(self.process.stderr.fileno(), 65_536)
                if not some:
                    return
                *whole, self._begun = (self._begun + self._decoder.decode(some)).split("\n")
                self.lines += whole
                yield from whole


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "myapp.py").write_text(MYAPP, encoding="utf-8")
    return Place(tmp_path)


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """The store's file, with two schedules and no node."""
    app = place.app()
    made = app.open_store(create=True)
    app.schedules.put(
        "digest", "send", cron("0 7 * * *", tz="Europe/Berlin"), args={"to": "eu"}, tags=["eu"], unchecked=True
    )
    app.schedules.put("hourly", "count", every("1h"), retries=2, unchecked=True)
    yield made
    made.close()


@pytest.fixture
def node(place: Place) -> Iterator[Running]:
    """A node on the app, with its stderr at hand."""
    started = _start(place)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait()
        assert started.process.stderr is not None
        started.process.stderr.close()


def _start(place: Place, *options: str, **environment: str) -> Running:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "onthedot", "run", "myapp:app", *options],
        cwd=place.folder,
        env=_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    return Running(process)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store whose node has gone: one run succeeded, one failed and one of an hour ago waits."""
    place = Place(tmp_path_factory.mktemp("past"))
    app = place.app()

    @app.task
    def good(ctx: Context, number: int = 1) -> int:
        return number

    @app.task
    def bad() -> None:
        raise ValueError("no luck")

    with app.running():
        app.schedules.put("fine", good, every("1h"))
        app.schedules.put("poor", bad, every("1h"))
        for name in ("fine", "poor"):
            app.runs.wait(app.schedules.trigger(name).id, timeout=LONGEST)
    yield place
    app.open_store().close()


# run


def test_run_fires_a_schedule_says_so_and_ends_well_on_sigterm(place: Place, node: Running) -> None:
    started = node.wait_for(r"started")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ started   node \S+ on sqlite:///jobs.db", started)
    assert re.search(r"succeeded tick \(run [0-9a-f]{12}\) in \d+ ms$", node.wait_for("succeeded"))
    assert node.stop() == 0
    assert re.search(r"Z stopped   node \S+$", node.lines[-1])
    found = place.document("runs", "list", "--schedule", "tick")["runs"]
    assert {run["state"] for run in found} == {"succeeded"}
    assert json.loads(place.run("status", "--json").stdout)["nodes"] == []


def test_run_ends_well_on_an_interrupt_too(node: Running) -> None:
    node.wait_for("started")
    assert node.stop(signal.SIGINT) == 0


def test_a_run_that_was_begun_is_finished_before_the_node_ends(place: Place, node: Running) -> None:
    node.wait_for("started")
    app = place.app()
    run = app.enqueue("slow", unchecked=True)
    end = time.monotonic() + LONGEST_S
    while app.runs.get(run.id).state != "running" and time.monotonic() < end:
        app.runs.wait(run.id, timeout="100ms")
    assert node.stop() == 0
    assert (app.runs.get(run.id).state, app.runs.get(run.id).result) == ("succeeded", "done")
    app.open_store().close()


def test_what_a_live_node_can_do_is_seen_from_outside(place: Place, node: Running) -> None:
    node.wait_for("succeeded tick")
    found = place.document("tasks")["tasks"]
    assert [each["name"] for each in found] == ["report", "slow", "tick"]
    assert found[2]["doc"] == "Counts."
    assert "tick" in place.printed("tasks")
    status = place.document("status")
    assert (status["healthy"], status["problems"], status["schedules"], status["late"]) == (True, [], 2, [])
    assert status["nodes"][0]["expired"] is False
    assert "is healthy" in place.printed("status")


def test_arguments_are_checked_against_what_the_node_published(place: Place, node: Running) -> None:
    node.wait_for("started")
    line = place.refused("schedules", "trigger", "nightly", "--arg", "audince=eu")
    assert line == "error: task 'report' has no parameter 'audince'; it takes: audience"
    run = place.document("schedules", "trigger", "nightly", "--arg", "audience=eu")
    node.wait_for(rf"succeeded nightly \(run {run['id'][-12:]}\)")
    assert place.document("runs", "show", run["id"])["result"] == "eu"


def test_run_takes_its_store_its_name_and_its_workers_from_the_command_line(place: Place) -> None:
    node = _start(
        place, "--store", "sqlite:///other.db", "--name", "left", "--workers", "3", ONTHEDOT_LOG_FORMAT="json"
    )
    started = json.loads(node.wait_for('"start"'))
    assert (started["event"], started["node"]) == ("start", "left")
    found = json.loads(place.run("status", "--store", "sqlite:///other.db", "--json").stdout)
    assert [(each["name"], each["capacity"]) for each in found["nodes"]] == [("left", 3)]
    assert node.stop() == 0
    assert {json.loads(line)["event"] for line in node.lines} >= {"start", "stop"}
    assert not place.file.exists()
    assert node.process.stderr is not None
    node.process.stderr.close()


@pytest.mark.parametrize(
    ("app", "code", "said"),
    [
        ("nope:app", 2, "no module 'nope' in "),
        ("myapp.sub:app", 2, "no module 'myapp.sub' in "),
        ("myapp:ap", 2, "myapp:ap: module myapp has no 'ap'; did you mean app?"),
        ("myapp:nothing", 2, "myapp:nothing is a NoneType, not an App; did you mean app?"),
        ("myapp", 2, "'myapp' names no app; write it as module:attribute, such as myapp:app, or name a jobs.toml"),
        (
            "myapp.py",
            2,
            "myapp.py: write it as module:attribute, such as myapp:app, or name a jobs.toml; did you mean myapp:app?",
        ),
        ("jobs.toml", 2, "jobs.toml: no such file or directory"),
        ("lacks:app", 1, "lacks could not be imported: ModuleNotFoundError: No module named 'absent' (lacks.py:2)"),
        ("divides:app", 1, "divides could not be imported: ZeroDivisionError: division by zero (divides.py:3)"),
        ("unclosed:app", 1, "unclosed could not be imported: SyntaxError: '(' was never closed (unclosed.py:1)"),
        ("exits:app", 1, "exits could not be imported: SystemExit: 3 (exits.py:1)"),
        ("includes:app", 2, "no module 'elsewhere' in "),
    ],
)
def test_an_app_that_cannot_be_loaded_is_told_in_one_line(place: Place, app: str, code: int, said: str) -> None:
    (place.folder / "lacks.py").write_text("import os\nimport absent\n", encoding="utf-8")
    (place.folder / "divides.py").write_text("def f():\n    import json\n    1 / 0\nf()\n", encoding="utf-8")
    (place.folder / "unclosed.py").write_text("x = (\n", encoding="utf-8")
    (place.folder / "exits.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    (place.folder / "includes.py").write_text(
        'from onthedot import App\napp = App("sqlite:///jobs.db", include=["elsewhere"])\n', encoding="utf-8"
    )
    assert refusal(place.run_apart("run", app), code).startswith(f"error: {said}")
    assert not place.file.exists()


# sync and migrate


def test_sync_says_what_it_created_updated_left_and_pruned(place: Place) -> None:
    assert place.printed("migrate") == "sqlite:///jobs.db is up to date\n"
    assert json.loads(well(place.run_apart("sync", "myapp:app", "--json")))["created"] == ["tick", "nightly"]
    assert well(place.run_apart("sync", "myapp:app")) == "unchanged: tick, nightly\n"
    (place.folder / "myapp.py").write_text(
        MYAPP.replace('every("1s")', 'every("2s")').replace('name="nightly"', 'name="daily"'), encoding="utf-8"
    )
    assert json.loads(well(place.run_apart("sync", "myapp:app", "--prune", "--json"))) == {
        "created": ["daily"],
        "updated": ["tick"],
        "unchanged": [],
        "pruned": ["nightly"],
    }
    assert place.document("schedules", "show", "daily")["changes"][0]["surface"] == "cli"


def test_only_run_and_migrate_create_a_store(place: Place) -> None:
    assert refusal(place.run_apart("sync", "myapp:app"), 1).startswith("error: no onthedot store at sqlite:///")
    for command in (["status"], ["schedules", "list"], ["runs", "list"], ["tasks"]):
        assert place.refused(*command, code=1).startswith("error: no onthedot store at sqlite:///")
    assert not place.file.exists()


def test_prune_forgets_all_that_is_old_and_says_what(place: Place) -> None:
    assert place.run("prune", "--store", place.url).code == 1, "it makes no store"
    app = place.app()
    store = app.open_store(create=True)
    for name in "ab":
        app.schedules.put(name, "task", every("1h"), unchecked=True)
    old_ms = store.now_ms() - 40 * 86_400_000
    _end_runs(store, 3, old_ms)
    assert place.run("prune", "--store", place.url) == (0, "forgot 3 runs\n", "")
    assert place.run("prune", "--store", place.url) == (0, "nothing is old enough to be forgotten\n", "")
    _end_runs(store, 2, store.now_ms() - 62_000)
    done = place.run("prune", "--store", place.url, "--history", "1s", "--changes", "1ms", "--json")
    assert (done.code, done.stderr) == (0, "")
    forgotten = json.loads(done.stdout)["forgotten"]
    assert (forgotten["runs"], forgotten["changes"], forgotten["tombstones"]) == (2, 2, 0)
    assert sorted(row.name for row in store.schedules()) == ["a", "b"]
    _end_runs(store, 5, store.now_ms() - 60_000)
    assert place.run("prune", "--store", place.url, "--per-schedule", "1").stdout == "forgot 4 runs\n"
    app.close()


def _end_runs(store: Store, count: int, finished_ms: int) -> None:
    blank = Run("", "task", "enqueue", 1, 1, State.SUCCEEDED, finished_ms=finished_ms, attempt=1)
    assert isinstance(store, Engine)
    with store.begin() as rows:
        rows.end_runs([replace(blank, id=new_id(finished_ms)) for _ in range(count)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--history", "soon"], "error: history: 'soon' "),
        (["--history", "0s"], "error: history: 0s is too short\n"),
        (["--per-schedule", "0"], "error: history_per_schedule: 0 is not a whole number of 1 or more\n"),
        (["--changes", "7"], "error: changes: '7' lacks a unit"),
    ],
)
def test_prune_tells_bad_input_in_one_line(place: Place, options: list[str], said: str) -> None:
    done = place.run("prune", *options)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_prune_tells_what_the_database_will_not_delete(place: Place) -> None:
    app = place.app()
    _end_runs(app.open_store(create=True), 2, 1)
    app.close()
    with closing(sqlite3.connect(place.file)) as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE DELETE ON onthedot_history WHEN OLD.id = (SELECT min(id) FROM onthedot_history)"
            " BEGIN SELECT RAISE(ABORT, 'mine'); END"
        )
    done = place.run("prune", "--store", place.url)
    assert (done.code, done.stdout) == (1, "forgot 1 run\n")
    assert done.stderr.startswith("note: not forgotten: run ")
    assert done.stderr.endswith("mine\n")


def test_migrate_can_show_its_sql_instead(place: Place) -> None:
    assert "CREATE TABLE onthedot_schedules" in place.run_apart("migrate", "--sql").stdout
    assert not place.file.exists()


# schedules


@pytest.mark.usefixtures("store")
class TestSchedules:
    """On a store with two schedules and no node."""

    def test_the_list_names_each_with_its_state_and_trigger(self, place: Place) -> None:
        lines = place.printed("schedules", "list").splitlines()
        assert lines[0].split() == ["name", "state", "next", "run", "trigger", "task"]
        assert re.match(r"digest +active +\d{4}-\d\d-\d\d 07:00 \+0[12]:00 +in .* at 07:00 every day, Europe", lines[2])
        assert len(lines) == 4

    def test_the_list_as_json_can_be_paged_and_chosen_by_tag(self, place: Place) -> None:
        first = place.document("schedules", "list", "-n", "1")
        assert ([each["name"] for each in first["schedules"]], first["cursor"]) == (["digest"], "digest")
        rest = place.document("schedules", "list", "--after", "digest")
        assert ([each["name"] for each in rest["schedules"]], rest["cursor"]) == (["hourly"], None)
        assert [each["name"] for each in place.document("schedules", "list", "--tag", "eu")["schedules"]] == ["digest"]

    def test_show_tells_everything_about_one(self, place: Place) -> None:
        found = place.document("schedules", "show", "digest")
        assert (found["state"], found["task"], found["args"], found["tags"]) == ("active", "send", {"to": "eu"}, ["eu"])
        assert found["trigger"] == {"v": 1, "type": "cron", "text": "0 7 * * *", "tz": "Europe/Berlin"}
        assert (found["policy"]["grace"], found["runs"], found["changes"][0]["what"]) == ("10s", [], "put")
        text = place.printed("schedules", "show", "hourly")
        assert "task:      count\n" in text
        assert "policies:  retries=2\n" in text

    def test_next_shows_local_times(self, place: Place) -> None:
        found = place.document("schedules", "next", "digest", "-n", "3")
        assert (found["timezone"], len(found["moments"])) == ("Europe/Berlin", 3)
        assert all("T07:00:00+0" in each["local"] for each in found["moments"])
        held, *lines = place.printed("schedules", "next", "digest").splitlines()
        assert (len(lines), held) == (5, f"digest: {found['held']}; if it were not so:")
        assert found["held"] == "no node is alive: nothing is planned until one is"

    def test_pause_and_resume_by_name_or_by_tag(self, place: Place) -> None:
        assert place.printed("schedules", "pause", "digest", "--note", "moving") == "digest is paused (moving)\n"
        found = place.document("schedules", "show", "digest")
        assert (found["state"], found["paused_note"], found["changes"][0]["surface"]) == ("paused", "moving", "cli")
        assert "digest: it is paused: its ticks are left out; if it were not so:" in place.printed(
            "schedules", "next", "digest"
        )
        assert place.document("schedules", "resume", "--tag", "eu")["schedules"][0]["state"] == "active"

    def test_pause_says_how_many_runs_it_skipped_and_how_many_are_still_running(
        self, place: Place, store: Store
    ) -> None:
        app = place.app()
        for name in ("a", "b"):
            app.schedules.put(name, "send", at("2026-01-01T00:00Z"), unchecked=True, tags=["now"])
        decide = Decider(lambda: new_id(store.now_ms()))
        node = store.join(Node(new_id(store.now_ms()), "n", tasks=("send",)), [])
        store.plan_due(node.id, 10, 1, decide)  # one worker: one runs, the other waits
        lines = sorted(line[2:] for line in place.printed("schedules", "pause", "--tag", "now").splitlines()[:2])
        assert lines == ["is paused, 1 still running", "is paused, 1 waiting run skipped"]
        app.close()

    def test_trigger_makes_a_run_now_and_leaves_the_next_one_alone(self, place: Place) -> None:
        before = place.document("schedules", "show", "digest")["next_run_at"]
        run = place.document("schedules", "trigger", "digest")
        assert (run["state"], run["cause"], run["args"]) == ("waiting", "manual", {"to": "eu"})
        assert place.document("schedules", "show", "digest")["next_run_at"] == before

    def test_reschedule_reads_a_moment_in_the_zone_of_the_schedule(self, place: Place) -> None:
        found = place.document("schedules", "reschedule", "digest", "2090-07-01 12:00")
        assert found["next_run_at"] == "2090-07-01T10:00:00Z"
        line = place.refused("schedules", "reschedule", "digest", "2020-01-01T00:00Z", code=1)
        assert "is not ahead" in line
        assert "use trigger" in line

    def test_put_notes_a_task_that_no_node_has(self, place: Place) -> None:
        done = place.run(
            *("schedules", "put", "new", "--task", "send", "--every", "15m", "--arg", "n=3", "--arg", "to=us"),
            *("--option", "overlap=discard", "--option", 'tags=["us", "new"]', "--json"),
        )
        found = json.loads(done.stdout)
        assert done.stderr == "note: no live node has a task 'send', so its arguments are not checked\n"
        assert (found["args"], found["tags"], found["given"]) == (
            {"n": 3, "to": "us"},
            ["us", "new"],
            ["overlap", "tags"],
        )
        assert found["trigger"]["interval"] == "15m"

    def test_update_changes_only_what_is_named(self, place: Place) -> None:
        found = place.document("schedules", "update", "hourly", "--cron", "30 4 * * *", "--tz", "Asia/Tokyo")
        assert (found["trigger"]["text"], found["policy"]["retries"], found["revision"]) == ("30 4 * * *", 2, 2)
        found = place.document("schedules", "update", "hourly", "--option", "timeout=5m")
        assert (found["trigger"]["text"], found["policy"]["timeout"]) == ("30 4 * * *", "5m")
        found = place.document("schedules", "update", "hourly", "--option", "timeout=null")
        assert (found["policy"]["timeout"], found["policy"]["retries"]) == (None, 2)

    def test_delete_asks_unless_told_not_to(self, place: Place) -> None:
        assert "--yes" in place.refused("schedules", "delete", "digest")
        assert place.printed("schedules", "delete", "digest", "--yes") == "digest is deleted\n"
        said = place.refused("schedules", "delete", "digest", "--yes", code=1)
        assert re.fullmatch(r"error: No schedule named 'digest': it was deleted by \S+ \(cli\) at \S+Z\.", said)
        assert "digest did not exist at 2090-01-01T06:00:00Z: it was deleted by " in place.printed(
            "explain", "digest", "2090-01-01T06:00Z"
        )
        assert "was deleted by" in place.printed("explain", "digest", "2090-01-01T05:59:59Z")

    def test_a_schedule_whose_trigger_cannot_be_read_is_explained_as_parked(self, place: Place, store: Store) -> None:
        (row,) = store.schedules(names=["hourly"])
        parked = replace(row, trigger={"v": 1, "type": "every", "interval": "oops"}, error="'oops' is no duration")
        store.change(["hourly"], lambda before, now_ms: Effects(schedule=parked), Author("me", "test", "park"))
        assert "the schedule is parked, since it cannot be planned: 'oops'" in place.printed("explain", "hourly")

    def test_a_moment_that_is_not_decided_is_explained_as_such(self, place: Place) -> None:
        found = place.document("explain", "hourly", "2090-01-01T00:00Z")
        assert "is still to come" in found["text"]
        assert "did not exist yet" in place.printed("explain", "hourly")
        assert "was no moment of digest" in place.printed("explain", "digest", "06:59")

    def test_without_a_node_it_is_not_healthy(self, place: Place) -> None:
        done = place.run("status", "--json")
        found = json.loads(done.stdout)
        assert (done.code, done.stderr, found["healthy"]) == (1, "", False)
        assert found["problems"] == ["no node is alive: start one with onthedot run"]
        assert "is not healthy: no node is alive" in place.run("status").stdout

    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            ("schedules show digst", 1, "No schedule named 'digst'. Did you mean digest?"),
            ("schedules pause digst", 1, "No schedule named 'digst'. Did you mean digest?"),
            ("schedules pause", 2, "Invalid value for 'NAME': give a name, or --tag"),
            ("schedules pause digest --tag eu", 2, "Invalid value for 'NAME': give a name, or --tag"),
            (
                "schedules put x --task t",
                2,
                "Invalid value for '--cron' / '--every' / '--at' / '--trigger': one of them is needed",
            ),
            ("schedules put x --task t --every 1m --cron @daily", 2, "Invalid value for '--cron' / '--every'"),
            ("schedules put x --task t --every 1m --at 2090-01-01", 2, "an interval of 1m has no time of day"),
            ("schedules put x --task t --every 1d --at 2090-01-01", 2, "'2090-01-01' is no time of day"),
            ("schedules put x --task t --every 5x", 2, "'5x': no unit 'x'"),
            ("schedules put x --task t --at 2090-01-01", 2, "2090-01-01 00:00:00 has no zone"),
            ("schedules put x --task t --every 1m --gap skip", 2, "Invalid value for '--gap' / '--fold'"),
            ("schedules put x --task t --every 1m --arg n", 2, "Invalid value for '--arg': 'n' is not NAME=VALUE"),
            ("schedules put x --every 1m", 2, "Missing option '--task'"),
            ("schedules update hourly", 2, "Invalid value: nothing is to be changed"),
            ("schedules update hourly --tz UTC", 2, "Invalid value for '--tz': it belongs to a trigger"),
            ("schedules update hourly --option retrys=1", 2, "hourly: no option 'retrys'; did you mean retries?"),
            ("schedules reschedule digest soon", 2, "'soon' is no moment"),
            ("schedules", 2, "Missing command"),
            ("explain digest 25:00", 2, "Invalid value for 'MOMENT': '25:00' is no time of day"),
            ("explain nope", 1, "No schedule named 'nope'."),
            ("runs list --schedule nope", 1, "No schedule named 'nope'."),
            ("runs list --state broken", 2, "no state 'broken'; there are waiting"),
            ("runs show 12345", 2, "Invalid value for 'ID': '12345' is too short"),
            ("runs show 0123456789ab", 1, "No run 0123456789ab"),
        ],
    )
    def test_what_cannot_be_done_is_one_line_with_the_remedy(
        self, place: Place, arguments: str, code: int, said: str
    ) -> None:
        assert place.refused(*arguments.split(), code=code).startswith(f"error: {said}")


# runs


def test_runs_are_listed_newest_first_and_chosen_by_state_and_schedule(past: Place) -> None:
    found = past.document("runs", "list")
    assert [(run["schedule"], run["state"]) for run in found["runs"]] == [("poor", "failed"), ("fine", "succeeded")]
    assert [run["schedule"] for run in past.document("runs", "list", "--state", "failed")["runs"]] == ["poor"]
    assert [run["schedule"] for run in past.document("runs", "list", "--schedule", "fine")["runs"]] == ["fine"]
    first = past.document("runs", "list", "-n", "1")
    rest = past.document("runs", "list", "--before", first["cursor"])
    assert [run["schedule"] for run in rest["runs"]] == ["fine"]
    lines = past.printed("runs", "list").splitlines()
    assert re.match(r"[0-9a-f]{12} +failed +poor .* ValueError: no luck", lines[2])


def test_a_run_can_be_named_by_the_beginning_or_the_end_of_its_id(past: Place) -> None:
    whole = past.document("runs", "list", "--schedule", "fine")["runs"][0]["id"]
    assert past.document("runs", "show", whole[-6:])["id"] == whole
    assert past.document("runs", "show", whole[:26])["id"] == whole
    assert "stands for 2 runs" in past.refused("runs", "show", whole[:6], code=1)


def test_show_tells_the_story_of_a_run(past: Place) -> None:
    whole = past.document("runs", "list", "--schedule", "poor")["runs"][0]["id"]
    text = past.printed("runs", "show", whole)
    assert "state:     failed\n" in text
    assert re.search(r"^story: +Began .*\. It failed after .*: ValueError: no luck\.$", text, re.MULTILINE)
    assert "schedule:  poor (manual)\n" in text
    assert re.search(
        rf"^started: +\S+ \S+Z, attempt 1, node {re.escape(socket.gethostname())}:\d+$", text, re.MULTILINE
    )
    assert text.rstrip().endswith("ValueError: no luck")
    assert past.document("runs", "logs", whole) == {"run": whole, "lines": []}


def test_a_failed_run_is_told_by_status_and_explained(past: Place) -> None:
    found = json.loads(past.run("status", "--json").stdout)
    assert [(each["name"], each["count"], each["last"]["state"]) for each in found["failed"]] == [("poor", 1, "failed")]
    assert re.search(
        r"^failed: poor failed once, at \S+Z: ValueError: no luck \(run [0-9a-f]{12}\)$",
        past.run("status").stdout,
        re.MULTILINE,
    )
    run = past.document("runs", "list", "--schedule", "poor")["runs"][0]
    told = past.document("explain", "poor", run["scheduled_at"])
    assert [each["id"] for each in told["runs"]] == [run["id"]]
    assert "ValueError: no luck" in told["text"]


@pytest.mark.usefixtures("store")
def test_a_waiting_run_can_be_cancelled_and_then_retried(place: Place) -> None:
    run = place.document("schedules", "trigger", "digest")
    line = place.refused("runs", "retry", run["id"], code=1)
    assert line.endswith("only one that ended without success can be retried")
    assert place.document("runs", "cancel", run["id"])["state"] == "cancelled"
    assert place.printed("runs", "retry", run["id"]) == f"run {run['id']} of digest is waiting\n"


def test_a_schedule_that_nobody_can_run_is_told_by_status_with_exit_code_1(place: Place, store: Store) -> None:
    store.join(Node("n-1", "web", tasks=("count",)), [])
    done = place.run("status")
    assert (done.code, done.stderr) == (1, "")
    assert "is not healthy: digest cannot run: no live node has the task send" in done.stdout
    found = json.loads(place.run("status", "--json").stdout)
    assert found["unable"] == [{"schedules": ["digest"], "count": 1, "reason": "no live node has the task send"}]
    told = place.printed("explain", "digest", "2090-01-01T06:00Z")
    assert "is still to come" in told
    assert told.endswith("; but it could not run now: no live node has the task send\n")


def test_nodes_are_listed_by_name_and_with_their_ids_only_where_two_are_equal(place: Place, store: Store) -> None:
    for node_id, name in (("n-1", "web"), ("n-2", "batch")):
        store.join(Node(node_id, name), [])
    assert "n-1" not in place.printed("nodes", "list") + place.run("status").stdout
    store.join(Node("n-3", "web"), [])
    for shown in (place.printed("nodes", "list"), place.run("status").stdout):
        assert "web (n-1)" in shown
        assert "web (n-3)" in shown
        assert "n-2" not in shown
    assert {each["id"] for each in place.document("nodes", "list")["nodes"]} == {"n-1", "n-2", "n-3"}


def test_the_pools_of_nodes_are_listed_that_anything_goes_to(place: Place, store: Store) -> None:
    store.join(Node("n-1", "web", tasks=("send",), pools={"fast": 40, "slow": 20}), [TaskInfo("send", pool="slow")])
    assert "slow 0/20" in place.printed("nodes", "list")
    assert "fast" not in place.printed("nodes", "list")
    (told,) = place.document("nodes", "list")["nodes"]
    assert told["pools"][1] == {"pool": "slow", "size": 20, "running": 0, "is_needed": True}


def test_a_node_that_is_gone_is_forgotten_with_all_of_its_name_and_one_that_lives_is_not(
    place: Place, store: Store
) -> None:
    for node_id in ("n-1", "n-2"):
        store.join(Node(node_id, "web"), [])
    line = place.refused("nodes", "forget", "web", code=1)
    assert "node web is alive: drain it (`onthedot nodes drain web`), and forget it when it has stopped" in line
    for node_id in ("n-1", "n-2"):
        store.leave(node_id)
    assert "node web is forgotten" in place.printed("nodes", "forget", "web")
    assert store.gone_nodes() == []
    assert "forget of node web" in place.printed("changes")
    assert "No node web." in place.refused("nodes", "forget", "web", code=1)


def test_an_expired_node_is_taken_over_by_others_only_where_there_are_any(place: Place, store: Store) -> None:
    store.join(Node("n-1", "web", lease_ms=0), [])
    assert "node web: expired (no other is alive to take its runs over)" in place.run("status").stdout
    store.join(Node("n-2", "batch"), [])
    assert "node web: expired (the others take its runs over)" in place.run("status").stdout


# settings and processes


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "command", ["schedules list", "schedules show digest", "runs list", "tasks", "status", "explain hourly"]
)
def test_a_process_of_its_own_says_the_same_as_the_function(place: Place, command: str) -> None:
    apart, here = place.run_apart(*command.split(), "--json"), place.run(*command.split(), "--json")
    assert (apart.code, apart.stderr, json.loads(apart.stdout).keys()) == (
        here.code,
        here.stderr,
        json.loads(here.stdout).keys(),
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ONTHEDOT_STORE": "nonsense"}, "error: nonsense is no URL of a store"),
        ({"ONTHEDOT_STORE": "sqlit:///x.db"}, "error: no store is called sqlit://"),
        ({"ONTHEDOT_STOER": "x"}, "error: ONTHEDOT_STOER: there is no such setting; did you mean ONTHEDOT_STORE?"),
        ({"ONTHEDOT_LEASE": "5"}, "error: ONTHEDOT_LEASE: '5' lacks a unit"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_misuse(place: Place, environment: dict[str, str], said: str) -> None:
    assert place.refused("status", environment=environment).startswith(said)


def test_the_store_may_stand_in_a_file_of_the_current_folder(place: Place, store: Store) -> None:
    (place.folder / "onthedot.toml").write_text('store = "sqlite:///jobs.db"\n', encoding="utf-8")
    assert len(json.loads(place.run("schedules", "list", "--json", ONTHEDOT_STORE="").stdout)["schedules"]) == 2


def test_a_password_is_never_shown(place: Place) -> None:
    line = place.refused("status", "--store", "postgresql://me:geheim@example.invalid/db", code=1)
    assert "geheim" not in line


def test_json_is_strict_json_whatever_stands_in_the_store(place: Place, store: Store) -> None:
    place.printed("schedules", "trigger", "digest")
    with closing(sqlite3.connect(place.file)) as connection, connection:
        connection.execute("""UPDATE onthedot_schedules SET args = '{"to": Infinity}'""")
        connection.execute("""UPDATE onthedot_runs SET args = '{"to": [NaN, 1e999]}'""")
    (run,) = strict(place.printed("runs", "list", "--json"))["runs"]
    assert run["args"] == {"to": [None, None]}
    for command in (["schedules", "list"], ["schedules", "show", "digest"], ["runs", "show", run["id"]]):
        strict(place.printed(*command, "--json"))
    strict(place.run("status", "--json").stdout)
    done = place.run("export")
    assert [each["args"] for each in strict(done.stdout)["schedules"]] == [{"to": None}, {"to": None}]
    assert done.stderr.splitlines()[0] == "note: digest: a number that JSON does not have is exported as null"


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)
