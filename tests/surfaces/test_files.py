"""Files of schedules as an operator meets them: real files, real processes, one line for each mistake."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.patience import LONGEST_S
from tests.surfaces.test_operate import Place, Running, _environment, refusal, well

JOBS = """\
store = "sqlite:///jobs.db"
timezone = "Europe/Berlin"

[schedules.hello]
every = "1s"
shell = "echo hello $WHO"
env = { WHO = "you" }

[schedules.nightly]
cron = "30 2 * * *"
command = ["true"]
"""
CRONTAB = """\
MAILTO=ops@example.org
PATH=/usr/bin:/bin
30 2 * * * echo backup of $(date +\\%F)
CRON_TZ=Asia/Tokyo
0 9 * * mon-fri cat%good morning%
@reboot start-thing
"""

Start = Callable[..., Running]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "jobs.toml").write_text(JOBS, encoding="utf-8")
    (tmp_path / "mine.cron").write_text(CRONTAB, encoding="utf-8")
    return Place(tmp_path)


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    """Starts `onthedot run jobs.toml` in the place; whatever still runs at the end is killed."""
    started: list[Running] = []

    def run(*options: str, **environment: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "onthedot", "run", "jobs.toml", *options],
            cwd=place.folder,
            env=_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write(place: Place, text: str) -> None:
    (place.folder / "jobs.toml").write_text(text, encoding="utf-8")


# run


def test_a_file_is_run_and_taken_anew_when_it_changes(place: Place, start: Start) -> None:
    node = start()
    done = node.wait_for(r"succeeded hello")
    found = re.search(r"run ([0-9a-f]{12})", done)
    assert found is not None
    assert place.document("runs", "logs", found[1])["lines"][0]["text"] == "hello you"
    write(place, JOBS + '[schedules.new]\nevery = "1s"\ncommand = ["echo", "new"]\n')
    assert node.wait_for("loaded").endswith("loaded    jobs.toml: new: new")
    node.wait_for("succeeded new")
    assert [task["name"] for task in place.document("tasks")["tasks"]] == ["hello", "new", "nightly"]
    write(place, "this is not TOML")
    broken = node.wait_for("broken")
    assert re.search(r"jobs.toml: line 1, column \d+: .*; the schedules stay as they were$", broken)
    node.lines.clear()
    node.wait_for("succeeded hello")
    write(place, JOBS.replace("hello $WHO", "changed"))
    assert "no longer in it: new (onthedot sync --prune deletes what is left)" in node.wait_for("loaded")
    assert node.stop() == 0
    assert "pruned:    new" in place.printed("sync", "jobs.toml", "--prune")
    assert [each["name"] for each in place.document("schedules", "list")["schedules"]] == ["hello", "nightly"]


def test_a_node_serves_metrics_and_tells_events_as_json(place: Place, start: Start) -> None:
    port = free_port()
    node = start("--metrics-port", str(port), "--log-format", "json", "-v")
    first = json.loads(node.wait_for('"run_ended"'))["run_id"]
    node.wait_for(rf'"run_ended"(?!.*{first})')  # when the second is told, the first is counted
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONGEST_S) as answer:
        text = answer.read().decode()
    assert re.search(r'^onthedot_runs_total{outcome="succeeded",task="hello"} [1-9]', text, re.MULTILINE)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=LONGEST_S) as answer:
        assert answer.read() == b"ok\n"
    assert node.stop() == 0
    events = [json.loads(line)["event"] for line in node.lines]
    assert {"start", "planned", "run_started", "run_finished", "run_ended", "stop"} <= set(events)


def test_a_port_that_is_taken_is_told_in_one_line(place: Place) -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        line = refusal(place.run_apart("run", "jobs.toml", "--metrics-port", str(port)), 2)
    assert line == (
        f"error: metrics cannot be served on 0.0.0.0:{port}: address already in use; choose another --metrics-port"
    )


@pytest.mark.parametrize(
    ("package", "extra", "options"),
    [("prometheus_client", "metrics", ["--metrics-port", "9"]), ("opentelemetry", "otel", [])],
)
def test_a_missing_package_is_told_with_its_remedy(
    place: Place, monkeypatch: pytest.MonkeyPatch, package: str, extra: str, options: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    tracing = {"ONTHEDOT_TRACING": "on"} if extra == "otel" else {}
    line = refusal(place.run("run", "jobs.toml", *options, **tracing), 2)
    assert line.endswith(f"which is not installed: pip install 'onthedot[{extra}]'")


def test_a_file_may_name_the_app_whose_tasks_it_schedules(place: Place, start: Start) -> None:
    (place.folder / "shop.py").write_text(
        "from onthedot import App\napp = App()\n@app.task\ndef send(to: str) -> str:\n    return to\n", encoding="utf-8"
    )
    write(place, 'store = "sqlite:///jobs.db"\napp = "shop:app"\n[schedules.digest]\nevery = "1s"\ntask = "send"\n')
    assert refusal(place.run_apart("run", "jobs.toml"), 2) == (
        "error: jobs.toml: [schedules.digest] task 'send' needs to; add it to args"
    )
    with (place.folder / "jobs.toml").open("a") as file:
        file.write('args = { to = "eu" }\n')
    node = start()
    node.wait_for("succeeded digest")
    assert node.stop() == 0
    assert place.document("runs", "list", "-n", "1")["runs"][0]["result"] == "eu"


def test_sync_says_when_nobody_has_the_task_of_a_schedule(place: Place) -> None:
    write(place, '[schedules.digest]\nevery = "1m"\ntask = "send"\n')
    place.printed("migrate")
    done = place.run("sync", "jobs.toml")
    assert (done.code, done.stdout) == (0, "created:   digest\n")
    assert done.stderr == "note: digest: no live node has the task 'send' yet\n"


# logs of a run


def test_the_log_of_a_run_is_followed_until_its_end(place: Place, start: Start) -> None:
    write(place, JOBS + '[schedules.slow]\ncron = "0 0 1 1 *"\nshell = "echo one; sleep 2; echo two"\n')
    node = start()
    node.wait_for("started")
    run = place.document("schedules", "trigger", "slow")
    done = place.run("runs", "logs", run["id"], "--follow")
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["one", "two"]
    assert done.stderr == f"run {run['id']} succeeded\n"
    assert node.stop() == 0


# check and import


def test_a_good_file_is_well_and_notes_are_no_errors(place: Place) -> None:
    assert place.printed("check", "jobs.toml") == "jobs.toml is well: 2 schedules\n"
    assert place.printed("check", "mine.cron").splitlines() == [
        "note: mine.cron: line 3: nothing is mailed to ops@example.org: what a command says is kept with its run",
        "note: mine.cron: line 6: @reboot names no moment; run 'start-thing' when the machine starts",
        "mine.cron is well: 2 schedules",
    ]
    assert place.document("check", "mine.cron")["schedules"] == ["echo", "cat"]


def test_every_problem_of_a_file_is_one_line_with_its_place(place: Place) -> None:
    write(
        place,
        'timezone = "Europe/Berln"\n[schedules.a]\ncron = "61 * * * *"\nshell = "true"\novrlap = "discard"\n'
        '[schedules.b]\nevery = "1m"\n[schedules.c]\nevery = "1m"\nhttp = { url = "https://x", expect = ["ok"] }\n'
        '[schedules.d]\nevery = "1m"\ntask = "t"\ncwd = "/"\n',
    )
    done = place.run_apart("check", "jobs.toml")
    assert (done.code, done.stdout) == (2, "")
    assert [line.split(": ")[:3] for line in done.stderr.splitlines()] == [
        ["error", "jobs.toml", "timezone"],
        ["error", "jobs.toml", "[schedules.a] ovrlap"],
        ["error", "jobs.toml", "[schedules.a] cron"],
        ["error", "jobs.toml", "[schedules.b] command, shell, http, mail, task or steps is missing"],
        ["error", "jobs.toml", "[schedules.c] http"],
        ["error", "jobs.toml", "[schedules.d] cwd"],
    ]


def test_an_imported_crontab_does_what_the_crontab_did(place: Place) -> None:
    done = place.run("import", "crontab", "mine.cron", "-o", "new.toml", TZ="America/New_York")
    assert (done.code, done.stdout) == (0, "2 schedules in new.toml\n")
    assert len(done.stderr.splitlines()) == 2
    assert 'timezone = "America/New_York"' in (place.folder / "new.toml").read_text(encoding="utf-8")
    assert place.printed("check", "new.toml") == "new.toml is well: 2 schedules\n"
    place.printed("migrate")
    assert place.printed("sync", "new.toml") == "created:   echo, cat\n"
    assert place.document("schedules", "show", "cat")["trigger"]["tz"] == "Asia/Tokyo"
    assert place.refused("import", "crontab", "mine.cron", "-o", "new.toml").endswith("or add --force")


def test_one_bad_line_of_a_crontab_is_told_and_the_others_are_checked_and_imported(place: Place) -> None:
    (place.folder / "mixed.cron").write_text("0 9 * * * good\n0 25 * * * bad\n*/5 * * * * also\n", encoding="utf-8")
    said = "error: mixed.cron: line 2: hour: 25 is not 0-23 (column 3)\n"
    done = place.run("check", "mixed.cron")
    assert (done.code, done.stderr) == (2, said)
    assert done.stdout == "mixed.cron has 1 line that cannot be read; without it, it is well: 2 schedules\n"
    told = json.loads(place.run("check", "mixed.cron", "--json").stdout)
    assert (told["schedules"], told["problems"]) == (["good", "also"], ["line 2: hour: 25 is not 0-23 (column 3)"])
    done = place.run("import", "crontab", "mixed.cron", "-o", "mixed.toml")
    assert (done.code, done.stdout, done.stderr) == (2, "2 schedules in mixed.toml\n", said)
    assert place.printed("check", "mixed.toml") == "mixed.toml is well: 2 schedules\n"
    written = (place.folder / "mixed.toml").read_text(encoding="utf-8")
    assert written.startswith("# left out: line 2: hour: 25 is not 0-23 (column 3)\n")
    done = place.run("forecast", "mixed.cron", "--hours", "1")
    assert (done.code, done.stderr, "mixed.cron: 2 schedules" in done.stdout) == (2, said, True)


def test_an_export_goes_into_another_store_and_a_dry_run_shows_what_differs(place: Place) -> None:
    place.printed("migrate")
    place.printed("sync", "jobs.toml")
    assert place.printed("export", "-o", "all.json") == "2 schedules in all.json\n"
    assert json.loads(place.printed("export")) == json.loads((place.folder / "all.json").read_text(encoding="utf-8"))
    other = ("--store", "sqlite:///other.db")
    place.printed("migrate", *other)
    assert place.printed("import", "all.json", *other) == "+ hello\n+ nightly\n2 new, 0 changed, 0 as they were\n"
    place.printed("schedules", "update", "hello", "--every", "5s", "--tz", "Europe/Berlin", *other)
    assert place.printed("import", "all.json", "--dry-run", *other) == (
        "~ hello  trigger: every('5s', tz='Europe/Berlin') → every('1s', tz='Europe/Berlin')\n"
        "0 new, 1 changed, 1 as they were; nothing was written\n"
    )
    told = place.document("import", "all.json", *other)
    assert (told["written"], told["changed"][0]["name"]) == (True, "hello")
    assert place.printed("import", "all.json", *other) == "0 new, 0 changed, 2 as they were\n"


# mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "absent.toml"], "absent.toml: no such file or directory"),
        (["run", "mine.cron"], "mine.cron: a crontab is run as a jobs.toml: onthedot import crontab mine.cron -o"),
        (["run", "jobs.toml", "--metrics-port", "70000"], "Invalid value for '--metrics-port'"),
        (["run", "jobs.toml", "--log-format", "xml"], "log_format: 'xml' is not known; there are text and json"),
        (["sync", "absent.toml"], "absent.toml: no such file or directory"),
        (["check", "absent"], "absent: no such file or directory"),
        (["check", "."], ".: is a directory"),
        (["check", "mine.cron", "--tz", "Nowhere"], "no time zone 'Nowhere'"),
        (["import", "crontab"], "import crontab: a file is missing"),
        (["import", "crontab", "absent"], "absent: no such file or directory"),
        (["import", "crontab", "jobs.toml"], "jobs.toml: this is TOML, not a crontab"),
        (["import", "crontab", "mine.cron", "-o", "no/such/folder"], "no/such/folder: no such file or directory"),
        (["import", "cronta", "mine.cron"], "import: 'cronta' is not known; write import crontab FILE, or import FILE"),
        (["import", "jobs.toml"], "jobs.toml is a file of schedules, not an export: onthedot sync jobs.toml takes it"),
        (["import", "mine.cron"], "mine.cron: line 1, column 1: Expecting value; import takes what onthedot export"),
        (["import", "empty.json"], "empty.json: this is no export of schedules; onthedot export makes one"),
        (["import", "empty.json", "-o", "x"], "import: -o goes with import crontab"),
        (["export", "-o", "jobs.toml"], "jobs.toml is there already; name another file, or add --force"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_told_in_one_line(place: Place, arguments: list[str], said: str) -> None:
    (place.folder / "empty.json").write_text("{}", encoding="utf-8")
    well(place.run("migrate"))
    done = place.run(*arguments)
    assert (done.code, done.stdout) == (2, "")
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"error: {said}"), line
    assert [each for each in done.stderr.splitlines() if not each.startswith("note: ")] == [line]
