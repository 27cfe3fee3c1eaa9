"""What the command line prints, and how it ends, seen from outside: every test runs the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

JOBS = """\
timezone = "Europe/Berlin"
[schedules.backup]
cron = "30 2 * * *"
command = ["backup"]
[schedules.ping]
every = "30m"
shell = "ping"
[schedules.resting]
cron = "@hourly"
shell = "x"
enabled = false
"""
CRONTAB = "0 2 * * * /usr/bin/backup\n0 2 * * * backup --full\n@reboot start\n*/30 * * * * poll\n"

BLOCK_NUMPY = """\
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run(*arguments: str, stdin: str = "", columns: int = 100, **environment: str) -> subprocess.CompletedProcess[str]:
    return _run(["-m", "onthedot", *arguments], stdin, columns, environment)


def run_code(code: str) -> subprocess.CompletedProcess[str]:
    return _run(["-c", code], "", 100, {})


def _run(
    arguments: list[str], stdin: str, columns: int, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "NO_COLOR"}}
    settings |= {"COLUMNS": str(columns), "TZ": "UTC", "PYTHONIOENCODING": "utf-8", **environment}
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        env=settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def printed(*arguments: str, columns: int = 100) -> str:
    done = run(*arguments, columns=columns)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def document(*arguments: str) -> Any:
    return json.loads(printed(*arguments, "--json"))


def refused(*arguments: str, code: int = 2) -> list[str]:
    """The lines on stderr of a command that must fail without a stack trace and print nothing else."""
    done = run(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    path = tmp_path / "jobs.toml"
    path.write_text(JOBS, encoding="utf-8")
    return str(path)


@pytest.fixture
def crontab(tmp_path: Path) -> str:
    path = tmp_path / "crontab"
    path.write_text(CRONTAB, encoding="utf-8")
    return str(path)


# next


def test_next_shows_local_time_with_weekday_and_offset_utc_and_the_distance() -> None:
    lines = printed(
        "next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00Z", "-n", "2"
    ).splitlines()
    assert lines[0] == "at 02:30 every day, Europe/Berlin time"
    assert lines[2].split() == ["Europe/Berlin", "UTC"]
    assert lines[4].split("  ")[0] == "Sun 2026-03-29 03:00 +02:00"
    assert "2026-03-29 01:00Z" in lines[4]
    assert "13h later" in lines[4]
    assert "moved by a gap" in lines[4]
    assert lines[5].split() == ["Mon", "2026-03-30", "02:30", "+02:00", "2026-03-30", "00:30Z", "1d", "12h", "later"]


def test_next_counts_from_now_unless_told_otherwise() -> None:
    lines = printed("next", "* * * * * *", "-n", "1").splitlines()
    assert lines[-1].split()[-2] == "in"
    assert lines[-1].split()[-1] in {"0s", "1s"}


def test_next_takes_a_naive_moment_in_the_zone_beside_it() -> None:
    found = document("next", "0 9 * * *", "--tz", "Asia/Tokyo", "--after", "2026-01-01 09:00", "-n", "1")
    assert found["after"] == "2026-01-01T00:00:00Z"
    assert found["ticks"][0]["at"] == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize("text", ["@every 90s", "every 90s", "EVERY 1m30s"])
def test_next_reads_intervals_too(text: str) -> None:
    found = document("next", text, "--after", "2026-01-01T00:00Z", "-n", "2")
    assert [tick["at"] for tick in found["ticks"]] == ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"]


def test_next_as_json_is_one_document_with_iso_moments() -> None:
    found = document("next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00Z", "-n", "1")
    assert found == {
        "text": "30 2 * * *",
        "description": "at 02:30 every day, Europe/Berlin time",
        "timezone": "Europe/Berlin",
        "gap": "shift",
        "fold": "first",
        "trigger": {"v": 1, "type": "cron", "text": "30 2 * * *", "tz": "Europe/Berlin"},
        "after": "2026-03-28T12:00:00Z",
        "ticks": [{"at": "2026-03-29T01:00:00Z", "local": "2026-03-29T03:00:00+02:00", "in_seconds": 46800.0}],
    }


@pytest.mark.parametrize(
    ("options", "moments"),
    [
        (["--gap", "skip"], ["2026-03-30T00:30:00Z"]),
        (["--gap", "shift"], ["2026-03-29T01:00:00Z"]),
    ],
)
def test_next_honours_the_gap_rule(options: list[str], moments: list[str]) -> None:
    found = document("next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00Z", "-n", "1", *options)
    assert [tick["at"] for tick in found["ticks"]] == moments


def test_next_tells_the_two_ticks_of_a_fold_apart() -> None:
    lines = printed(
        "next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-10-24T12:00Z", "-n", "2", "--fold", "both"
    ).splitlines()
    assert "02:30 +02:00" in lines[4]
    assert lines[4].rstrip().endswith("first of two")
    assert "02:30 +01:00" in lines[5]
    assert lines[5].rstrip().endswith("second of two")


def test_next_settles_h_by_the_key() -> None:
    one, same, other = (
        document("next", "H H * * *", "--key", key, "--after", "2026-01-01T00:00Z")["ticks"] for key in ("a", "a", "b")
    )
    assert one == same != other


def test_next_says_when_there_is_no_further_tick() -> None:
    assert "no tick up to the end of 2199" in printed("next", "0 0 1 1 *", "--after", "2199-06-01T00:00Z")


# describe


def test_describe_says_what_a_trigger_does_and_what_jumps_of_the_clock_do_to_it() -> None:
    assert printed("describe", "30 2 * * mon-fri", "--tz", "Europe/Berlin").splitlines() == [
        "at 02:30, Monday to Friday, Europe/Berlin time",
        "  where the clock jumps over its time: fires at the moment of the jump",
        "  where the clock shows its time twice: fires the first time",
    ]
    assert printed("describe", "every 15m") == "every 15 minutes\n"


def test_describe_as_json_carries_the_trigger_as_it_is_stored() -> None:
    found = document("describe", "every 15m")
    assert found["trigger"] == {"v": 1, "type": "every", "interval": "15m"}
    assert found["description"] == "every 15 minutes"


# forecast


def test_forecast_shows_a_map_then_the_busiest_minutes_then_the_schedules(jobs: str) -> None:
    text = printed("forecast", jobs, "--start", "2026-11-16T00:00", "--hours", "4", columns=80)
    lines = text.splitlines()
    assert lines[0] == f"{jobs}: 3 schedules, 9 runs"
    assert lines[1] == "Mon 2026-11-16 00:00 to Mon 2026-11-16 04:00, Europe/Berlin time"
    assert lines[4].startswith(f"Mon 00:00 {'▁' + '·' * 29}{'▁' + '·' * 29}")
    assert lines[6].startswith(f"    02:00 {'▁' + '·' * 29}{'█' + '·' * 29}")
    assert [line.split()[-1] for line in lines[4:8]] == ["2", "2", "3", "2"]
    assert text.index("busiest minutes") < text.index("Mon 2026-11-16 02:30      2   backup, ping") < text.index("next")
    assert "resting    not enabled" in text


@pytest.mark.parametrize("columns", [60, 140])
def test_forecast_fits_the_terminal(crontab: str, columns: int) -> None:
    lines = run("forecast", crontab, columns=columns).stdout.splitlines()
    assert max(len(line) for line in lines if "▁" in line) <= columns


def test_forecast_shows_days_where_hours_would_be_too_many(jobs: str) -> None:
    lines = printed("forecast", jobs, "--start", "2026-10-20T00:00", "--hours", "240", columns=80).splitlines()
    assert [line[:10] for line in lines[4:14]] == [
        *("Tue 20 Oct", "Wed 21 Oct", "Thu 22 Oct", "Fri 23 Oct", "Sat 24 Oct", "Sun 25 Oct"),
        *("Mon 26 Oct", "Tue 27 Oct", "Wed 28 Oct", "Thu 29 Oct"),
    ]
    assert [line.split()[-1] for line in lines[4:14]] == ["49"] * 5 + ["51"] + ["49"] * 3 + ["47"]


def test_forecast_as_json_is_one_document(jobs: str) -> None:
    found = document("forecast", jobs, "--start", "2026-11-16T00:00Z", "--hours", "2")
    assert (found["file"], found["timezone"], found["runs"]) == (jobs, "Europe/Berlin", 5)
    assert (found["start"], found["end"]) == ("2026-11-16T00:00:00Z", "2026-11-16T02:00:00Z")
    assert found["hours"] == [{"at": "2026-11-16T00:00:00Z", "runs": 2}, {"at": "2026-11-16T01:00:00Z", "runs": 3}]
    assert found["busiest"][0] == {"at": "2026-11-16T01:30:00Z", "runs": 2, "schedules": ["backup", "ping"]}
    assert found["schedules"][0] == {
        "name": "backup",
        "line": 2,
        "description": "at 02:30 every day, Europe/Berlin time",
        "enabled": True,
        "next": "2026-11-16T01:30:00Z",
        "runs": 1,
    }
    assert [(each["name"], each["runs"], each["next"]) for each in found["schedules"][2:]] == [("resting", 0, None)]


def test_forecast_reads_a_crontab_and_notes_what_names_no_moment(crontab: str) -> None:
    done = run("forecast", crontab, "--start", "2026-11-16T00:00Z", "--hours", "3")
    assert done.returncode == 0
    assert done.stderr == f"note: {crontab}: line 3: @reboot names no moment; run 'start' when the machine starts\n"
    assert "3 schedules, 8 runs" in done.stdout
    assert "backup, backup-2, poll" in done.stdout


HERD = "".join(f"0 0 * * * job-{number}\n" for number in range(130)) + "5 * * * * other\n"


def test_forecast_and_check_name_the_minute_in_which_hundreds_begin_and_what_spreads_them(tmp_path: Path) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_text(HERD, encoding="utf-8")
    says = "130 schedules begin at 00:00 every day, UTC time: write `H H * * *` to spread them"
    done = run("forecast", str(crontab), "--start", "2026-11-16T00:00Z", "--hours", "3")
    assert (done.returncode, done.stderr) == (0, f"note: {crontab}: {says}\n")
    assert document("forecast", str(crontab))["notes"] == [says]
    assert printed("check", str(crontab)).splitlines()[0] == f"note: {crontab}: {says}"
    assert document("check", str(crontab))["notes"] == [says]


def test_check_notes_what_will_not_run_again(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.toml"
    jobs.write_text('[schedules.old]\ncron = "0 0 9 1 1 * 2020"\nshell = "x"\n', encoding="utf-8")
    assert printed("check", str(jobs)).splitlines() == [
        f"note: {jobs}: line 1: old will not run again; its last tick was 2020-01-01T09:00:00Z",
        f"{jobs} is well: 1 schedule",
    ]


def test_forecast_reads_a_crontab_from_stdin_in_the_system_format_and_a_zone_if_told() -> None:
    done = run(
        *("forecast", "-", "--system", "--tz", "Asia/Tokyo", "--start", "2026-11-16", "--hours", "3", "--json"),
        stdin="0 2 * * * root backup\n",
    )
    found = json.loads(done.stdout)
    assert (found["file"], found["timezone"]) == ("stdin", "Asia/Tokyo")
    assert [(each["name"], each["next"]) for each in found["schedules"]] == [("backup", "2026-11-15T17:00:00Z")]


def test_forecast_of_an_empty_file_says_that_nothing_is_in_it() -> None:
    done = run("forecast", "-", stdin="# nothing\n")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "stdin: 0 schedules, 0 runs")


def test_forecast_without_numpy_names_the_extra_in_one_line(jobs: str) -> None:
    done = run_code(f"{BLOCK_NUMPY}from onthedot.cli import main\nsys.exit(main(['forecast', {jobs!r}]))")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert "onthedot[forecast]" in done.stderr


# demo


def test_the_demo_ends_well_when_piped_and_shows_gap_fold_and_forecast() -> None:
    text = printed("demo", "--tour", columns=80)
    assert "\x1b" not in text
    assert '"shift"   03:00 +02:00' in text
    assert '"skip"    no tick' in text
    assert "runs a minute" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_demo_without_numpy_goes_on_and_names_the_extra() -> None:
    done = run_code(f"{BLOCK_NUMPY}from onthedot.cli import main\nsys.exit(main(['demo', '--tour']))")
    assert (done.returncode, done.stderr) == (0, "")
    assert "onthedot[forecast]" in done.stdout


def test_colours_are_used_only_where_they_are_wanted() -> None:
    assert "\x1b[" in run("demo", "--tour", FORCE_COLOR="1").stdout
    assert "\x1b[" not in run("demo", "--tour").stdout


def test_a_terminal_without_unicode_gets_plain_letters() -> None:
    done = run("demo", "--tour", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


# how it ends


def test_the_version_is_told() -> None:
    assert printed("--version") == "onthedot 0.1.0.dev0\n"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["next", "--help"], ["forecast", "-h"]])
def test_help_is_no_failure(arguments: list[str]) -> None:
    assert "Usage: onthedot" in printed(*arguments)


def test_without_a_command_the_help_is_shown_as_misuse() -> None:
    done = run()
    assert done.returncode == 2
    assert "forecast" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["next", "0 9 * * *", "--tz", "Berlin"], "error: no time zone 'Berlin'; did you mean Europe/Berlin?"),
        (["next", "every -5m"], "error: a duration cannot be negative: '-5m'"),
        (["next", "every 5m", "--gap", "skip"], "error: an interval follows real time"),
        (["next", "0 9 * * *", "--fold", "x"], "error: fold='x' is not known; write one of first, last, both"),
        (["next", "0 9 * * *", "--after", "tomorrow"], "error: 'tomorrow' is no moment; write it like"),
        (["next", "0 9 * * *", "--after", "2026-01-01"], "error: 2026-01-01 00:00:00 has no zone; add one"),
        (["next", "0 9 * * *", "-n", "0"], "error: Invalid value for '-n' / '--count': "),
        (["next", "0 9 * * *", "-n", "x"], "error: Invalid value for '-n' / '--count': "),
        (["next"], "error: Missing argument 'TEXT' (see onthedot next --help)"),
        (["next", "0", "9", "*", "*", "*"], "error: Got unexpected extra argument"),
        (
            ["next", "0 9 * * *", "--foo"],
            "error: No such option: --foo; did you mean --fold? (see onthedot next --help)",
        ),
        (["next", "0 9 * * *", "--quiet"], "error: No such option: --quiet (see onthedot next --help)"),
        (["nxt"], "error: No such command 'nxt'; did you mean next? (see onthedot --help)"),
        (["runs", "lst"], "error: No such command 'lst'; did you mean list? (see onthedot runs --help)"),
        (["runs"], "error: Missing command: list, show, cancel, retry, logs (see onthedot runs --help)"),
        (["forecast", "/nowhere"], "error: /nowhere: no such file or directory"),
        (["forecast", "/"], "error: /: is a directory"),
        (["forecast", "x", "--tz", "Mars"], "error: no time zone 'Mars'; zones are named like"),
        (["forecast", "/dev/null", "--start", "9999-12-31T23:59Z"], "error: nothing is to come at 9999-12-31T23:59Z"),
        (["forecast", "/dev/null", "--start", "1969-12-31T23:59Z"], "error: nothing is to come at 1969-12-31T23:59Z"),
        (["forecast", "x", "--hours", "0"], "error: Invalid value for '--hours': "),
    ],
)
def test_misuse_is_one_line_with_the_remedy_and_code_2(arguments: list[str], said: str) -> None:
    (line,) = refused(*arguments)
    assert line.startswith(said)


def test_a_wrong_cron_text_is_shown_with_a_caret_below_the_place() -> None:
    assert refused("next", "0 25 * * *") == [
        "error: hour: 25 is not 0-23 (column 3)",
        "  0 25 * * *",
        "    ^",
    ]


def test_all_problems_of_a_file_are_shown_each_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text('[schedules.a]\ncron = "0 25 * * *"\nshell = "x"\nretrys = 1\n', encoding="utf-8")
    assert refused("forecast", str(path)) == [
        f"error: {path}: [schedules.a] retrys: unknown key; did you mean retries?",
        f"error: {path}: [schedules.a] cron: hour: 25 is not 0-23 (column 3)",
    ]


def test_a_forecast_that_is_too_large_is_refused_with_the_remedy() -> None:
    lines = "\n".join(f"@every 1s job{number}" for number in range(120))
    done = run("forecast", "-", stdin=lines)
    assert done.returncode == 2
    assert done.stderr.startswith("error: more than 10,000,000 runs in this window; shorten it")
    assert "Traceback" not in done.stderr


def test_texts_from_outside_cannot_command_the_terminal() -> None:
    done = run("next", "0 9 \x1b[31m * *")
    assert (done.returncode, "\x1b" in done.stderr) == (2, False)


def test_an_interrupt_ends_quietly_with_130() -> None:
    done = run_code(
        "import sys\nfrom onthedot.cli import main, triggers\n"
        "class Interrupted:\n    def now_ms(self): raise KeyboardInterrupt\n"
        "triggers.SystemClock = Interrupted\n"
        "sys.exit(main(['next', '* * * * *']))"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_went_away_is_no_error_to_speak_of(options: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "onthedot", "next", "* * * * *", "-n", "2000", *options],
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "onthedot", "describe", "* * * * *"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"error: [Errno 28] No space left on device\n"
