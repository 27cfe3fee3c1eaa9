"""What a crontab means, and what is said about one that cannot be read."""

from __future__ import annotations

import pytest

from onthedot import FileError
from onthedot.app.files import Entry, JobFile, Shell
from onthedot.app.files.crontab import read_crontab


def read(text: str, *, system: bool = False, timezone: str = "UTC") -> JobFile:
    return read_crontab(text, path="crontab", timezone=timezone, system=system)


def only(text: str, *, system: bool = False, timezone: str = "UTC") -> Entry:
    (entry,) = read(text, system=system, timezone=timezone).entries
    return entry


def shell(entry: Entry) -> Shell:
    assert isinstance(entry.work, Shell)
    return entry.work


def problems(text: str, *, system: bool = False) -> tuple[str, ...]:
    with pytest.raises(FileError) as caught:
        read(text, system=system)
    return caught.value.problems


@pytest.mark.parametrize(
    ("line", "when", "command"),
    [
        ("30 2 * * * /usr/bin/backup -x", "cron('30 2 * * *', tz='UTC')", "/usr/bin/backup -x"),
        ("  30\t2 * *   1-5\t backup\t", "cron('30 2 * * 1-5', tz='UTC')", "backup"),
        ("0 9 * jan mon-fri FOO=1 run", "cron('0 9 * jan mon-fri', tz='UTC')", "FOO=1 run"),
        ("@daily backup", "cron('@daily', tz='UTC')", "backup"),
        ("@every 90s poll", "every('1m30s', tz='UTC')", "poll"),
        ("0 0 * * * date +\\%F | mail -s x%body", "cron('0 0 * * *', tz='UTC')", "date +\\%F | mail -s x%body"),
        ("0 0 * * * echo # no comment", "cron('0 0 * * *', tz='UTC')", "echo # no comment"),
    ],
)
def test_a_line_says_when_and_what(line: str, when: str, command: str) -> None:
    entry = only(line)
    assert str(entry.trigger) == when
    assert shell(entry).text == command


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n   # another", "SHELL=/bin/sh\n", "\r\n# dos\r\n"])
def test_comments_blank_lines_and_settings_are_no_entries(text: str) -> None:
    assert read(text).entries == ()


def test_the_last_line_needs_no_newline_and_lines_may_end_as_on_windows() -> None:
    file = read("0 1 * * * a\r\n0 2 * * * b")
    assert [(entry.name, entry.line, shell(entry).text) for entry in file.entries] == [("a", 1, "a"), ("b", 2, "b")]


def test_in_the_system_format_a_user_stands_before_the_command() -> None:
    entry = only("17 * * * * root cd / && run-parts /etc/cron.hourly", system=True)
    assert shell(entry).user == "root"
    assert shell(entry).text == "cd / && run-parts /etc/cron.hourly"
    assert entry.name == "run-parts"


def test_a_macro_in_the_system_format_has_a_user_too() -> None:
    assert shell(only("@daily www-data clean", system=True)).user == "www-data"


def test_a_command_gets_the_settings_above_it_but_not_those_below() -> None:
    first, second = read("PATH = /bin\n0 1 * * * a\nMAILTO=\"ops\"\n'LANG'=C\n0 2 * * * b").entries
    assert shell(first).environment == {"PATH": "/bin"}
    assert shell(second).environment == {"PATH": "/bin", "MAILTO": "ops", "LANG": "C"}


def test_cron_tz_sets_the_zone_of_the_lines_that_follow() -> None:
    file = read(
        "0 9 * * * a\nCRON_TZ=Asia/Tokyo\n0 9 * * * b\nCRON_TZ=\n0 9 * * * c",
        timezone="Europe/Berlin",
    )
    assert [str(entry.trigger) for entry in file.entries] == [
        "cron('0 9 * * *', tz='Europe/Berlin')",
        "cron('0 9 * * *', tz='Asia/Tokyo')",
        "cron('0 9 * * *', tz='Europe/Berlin')",
    ]
    assert all("CRON_TZ" not in shell(entry).environment for entry in file.entries)


def test_tz_sets_the_zone_too_where_cron_tz_does_not_and_is_noted() -> None:
    file = read("TZ=Asia/Tokyo\n0 9 * * * a\nCRON_TZ=Europe/Berlin\n0 9 * * * b")
    assert [entry.trigger.describe().split(", ")[1] for entry in file.entries] == [
        "Asia/Tokyo time",
        "Europe/Berlin time",
    ]
    assert len(file.notes) == 1
    assert file.notes[0].startswith("line 1: TZ is taken as the zone")


def test_reboot_is_noted_and_is_no_error() -> None:
    file = read("@reboot start-me\n@daily backup")
    assert [entry.name for entry in file.entries] == ["backup"]
    assert file.notes == ("line 1: @reboot names no moment; run 'start-me' when the machine starts",)


def test_a_users_crontab_that_looks_like_the_systems_is_noted() -> None:
    assert read("0 1 * * * root backup").notes == (
        "line 1: 'root' is read as the command; is this the system's format?",
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/backup -x", "backup"),
        ("backup.sh", "backup.sh"),
        ("cd /srv/app && ./run.sh > /dev/null", "run.sh"),
        ("cd /srv/app; A=1 B=2 ./run", "run"),
        ("( cd / ; x )", "x"),
        ("python3 -u /opt/report.py --all", "report.py"),
        ("/bin/bash /opt/sync.sh", "sync.sh"),
        ("python3", "python3"),
        ('"/opt/my job"', "my"),
        ("./bäckup", "bäckup"),
        ("[ -x /usr/bin/x ]", "command"),
        ("/", "command"),
    ],
)
def test_a_line_is_named_after_the_program_it_starts(command: str, name: str) -> None:
    assert only(f"0 1 * * * {command}").name == name


def test_names_are_unique_even_where_a_number_is_taken() -> None:
    commands = ["backup", "backup", "backup-2", "backup"]
    names = [entry.name for entry in read("\n".join(f"0 1 * * * {command}" for command in commands)).entries]
    assert names == ["backup", "backup-2", "backup-2-2", "backup-3"]


def test_a_name_is_never_too_long() -> None:
    names = [entry.name for entry in read(f"0 1 * * * {'x' * 500}\n0 2 * * * {'x' * 500}").entries]
    assert len(set(names)) == 2
    assert all(len(name) <= 200 for name in names)


def test_h_is_settled_by_the_name() -> None:
    first, second = read("H H * * * a\nH H * * * b").entries
    assert first.trigger.describe() != second.trigger.describe()


def test_all_problems_are_told_at_once_with_their_lines_and_columns() -> None:
    assert problems("0 25 * * * a\n\n  # ok\n0 0 * * 8  b\n1 2 3\n* * * * *\nCRON_TZ=Mars\n@dayly c") == (
        "line 1: hour: 25 is not 0-23 (column 3)",
        "line 4: day of week: 8 is not 0-7 or sun-sat (column 9); Sunday is 0 or 7, Monday 1, Saturday 6",
        (
            "line 5: 5 fields (minute hour day month weekday) and a command are wanted; "
            "a comment begins with #, a setting is NAME=value"
        ),
        "line 6: a command is missing behind the fields",
        "line 7: CRON_TZ: no time zone 'Mars'; zones are named like Europe/Berlin or America/New_York",
        "line 8: @dayly is not known (column 1); did you mean @daily?",
    )


def test_the_system_format_needs_user_and_command() -> None:
    assert problems("0 1 * * *\n0 1 * * * root", system=True) == (
        "line 1: a user and a command are missing behind the fields",
        "line 2: a command is missing behind the user 'root'",
    )


def test_a_zone_before_the_fields_on_one_line_is_refused_with_the_remedy() -> None:
    assert problems("CRON_TZ=Europe/Berlin 0 9 * * * a") == (
        "line 1: CRON_TZ stands on a line of its own; move the fields and the command below it",
    )


# one bad line


def refused(file: JobFile) -> list[str]:
    return [str(each) for each in file.refused]


def test_one_bad_line_refuses_that_line_only_with_its_number_and_column() -> None:
    file = read("0 9 * * * good\n0 25 * * * bad\n*/5 * * * * also\n")
    assert [(entry.name, entry.line) for entry in file.entries] == [("good", 1), ("also", 3)]
    assert refused(file) == ["line 2: hour: 25 is not 0-23 (column 3)"]
    assert file.problems == ("crontab: line 2: hour: 25 is not 0-23 (column 3)",)


def test_the_lines_below_a_refused_one_keep_their_names() -> None:
    file = read("0 25 * * * backup\n0 9 * * * backup\n")
    assert [entry.name for entry in file.entries] == ["backup-2"]
    assert [each.name for each in file.refused] == ["backup"]


def test_lines_below_a_zone_that_cannot_be_read_are_refused_until_another_is_set() -> None:
    file = read("0 1 * * * a\nCRON_TZ=Mars\n0 2 * * * b\nCRON_TZ=Asia/Tokyo\n0 3 * * * c\n")
    assert [str(entry.trigger) for entry in file.entries] == [
        "cron('0 1 * * *', tz='UTC')",
        "cron('0 3 * * *', tz='Asia/Tokyo')",
    ]
    assert refused(file) == [
        "line 2: CRON_TZ: no time zone 'Mars'; zones are named like Europe/Berlin or America/New_York",
        "line 3: its zone cannot be told; mend CRON_TZ in line 2",
    ]
