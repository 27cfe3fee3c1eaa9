"""A crontab becomes a jobs.toml that does the same."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.app.files import Command, Entry, Http, JobFile, NamedTask, Shell
from onthedot.app.files.crontab import read_crontab
from onthedot.app.files.from_crontab import from_crontab, shell_line
from onthedot.app.files.jobs import read_jobs
from onthedot.app.files.writing import write_jobs
from onthedot.app.names import name_problem
from onthedot.storable import can_be_kept
from onthedot.triggers import at, cron, every


def converted(text: str, *, system: bool = False, timezone: str = "Europe/Berlin") -> JobFile:
    return from_crontab(read_crontab(text, path="crontab", timezone=timezone, system=system))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("backup", "backup"),
        (r"date +\%F", "date +%F"),
        (r"printf 'a\nb'", r"printf 'a\nb'"),
        ("cat\\", "cat\\"),
        ("cat%one%two", "{\ncat\n} <<'END_OF_INPUT'\none\ntwo\nEND_OF_INPUT"),
        (r"cat%50\%%END_OF_INPUT", "{\ncat\n} <<'END_OF_INPUT_'\n50%\nEND_OF_INPUT\nEND_OF_INPUT_"),
    ],
)
def test_percent_signs_mean_what_they_mean_to_cron(command: str, line: str) -> None:
    assert shell_line(command) == line


def test_the_shell_gets_the_input_that_cron_would_give() -> None:
    line = shell_line(r"sed s/^/-/ | cat # all of it%Hello $HOME,%it's 100\%.")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "-Hello $HOME,\n-it's 100%.\n"


def test_another_shell_is_kept_as_a_command_and_the_environment_beside_it() -> None:
    first, second = converted("PATH=/bin\n0 1 * * * a\nSHELL=/bin/bash\n0 2 * * * b | c\n").entries
    assert first.work == Shell("a", {"PATH": "/bin"})
    assert second.work == Command(("/bin/bash", "-c", "b | c"), {"PATH": "/bin"})


def test_what_cannot_be_kept_is_noted_once_with_its_line() -> None:
    file = converted("MAILTO=ops@x\n0 1 * * * root a\n@reboot root start\n0 2 * * * root b\n", system=True)
    assert file.notes == (
        "line 2: nothing is mailed to ops@x: what a command says is kept with its run",
        "line 2: cron runs it as root; here it runs as the user of the node",
        "line 3: @reboot names no moment; run 'start' when the machine starts",
    )
    assert converted('MAILTO=""\n0 1 * * * a').notes == ()


def test_zones_are_written_only_where_they_differ_from_the_files() -> None:
    text = write_jobs(converted("0 9 * * * a\nCRON_TZ=Asia/Tokyo\n0 9 * * * b\n"))
    assert text == (
        'timezone = "Europe/Berlin"\n\n[schedules.a]\ncron = "0 9 * * *"\nshell = "a"\n\n'
        '[schedules.b]\ncron = "0 9 * * *"\ntimezone = "Asia/Tokyo"\nshell = "b"\n'
    )


TRIGGERS = [
    cron("30 2 * * mon-fri", tz="Asia/Tokyo", gap="skip", fold="both", starts_at="2026-01-01T00:00Z"),
    cron("H H * * *"),
    every("90s", anchor="2026-01-01T00:00:10Z", spread=True, repeat_until="2030-01-01T00:00Z"),
    at("2026-12-24 18:00", tz="Europe/Berlin"),
    every("2w", at="09:00", tz="Europe/Berlin", anchor="2026-01-05"),
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)
NAMES = TEXTS.filter(lambda text: name_problem(text) is None)
KEPT = TEXTS.filter(can_be_kept)
WORKS = st.one_of(
    st.builds(Shell, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2)),
    st.builds(lambda words: Command(tuple(words)), st.lists(TEXTS, min_size=1, max_size=3)),
    st.builds(NamedTask, NAMES, st.dictionaries(KEPT, st.one_of(KEPT, st.booleans(), st.integers(0, 9)), max_size=2)),
    st.just(Http("POST", "https://example.org", {"headers": {"A b": "c"}, "json": {"x": [1, True]}, "expect": [200]})),
)


@given(work=WORKS, trigger=st.sampled_from(TRIGGERS))
def test_what_is_written_reads_back_as_the_same(work: Command | Shell | NamedTask | Http, trigger: object) -> None:
    options = {"overlap": "discard", "retries": 3, "tags": ["a", "b"], "enabled": False}
    entry = Entry('a "name".x', trigger.with_key('a "name".x'), work, options)  # type: ignore[attr-defined]
    text = write_jobs(JobFile("jobs.toml", (entry,), "sqlite:///jobs.db", "shop:app", None))
    (read,) = read_jobs(text, path="jobs.toml").entries
    assert (read.name, read.trigger, read.work, read.options) == (entry.name, entry.trigger, work, options)
