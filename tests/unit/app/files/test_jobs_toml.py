"""What a jobs.toml means, and what is said about one that cannot be read."""

from __future__ import annotations

import pytest

from onthedot import FileError, every
from onthedot.app.files import Command, Entry, Http, JobFile, NamedTask, Shell, Work
from onthedot.app.files.jobs import SCHEDULE_KEYS, read_jobs

EXAMPLE = """\
# jobs.toml
store = "sqlite:///jobs.db"
timezone = "Europe/Berlin"
[schedules.backup]
cron = "30 2 * * *"
command = ["pg_dump", "-f", "/backup/shop.sql", "shop"]
timeout = "1h"
overlap = "discard"
[schedules.ping]
every = "5m"
http = { method = "POST", url = "https://example.org/ping", expect = [200] }
[schedules.digest-eu]
cron = "0 7 * * *"
task = "send_digest"
args = { audience = "eu" }
"""


def read(text: str, timezone: str | None = None) -> JobFile:
    return read_jobs(text, path="jobs.toml", timezone=timezone)


def schedule(body: str, head: str = "") -> Entry:
    (entry,) = read(f"{head}\n[schedules.a]\n{body}").entries
    return entry


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(FileError) as caught:
        read(text)
    return caught.value.problems


def problem(body: str) -> str:
    """The only problem of a schedule."""
    (found,) = problems(f"[schedules.a]\n{body}")
    return found.removeprefix("[schedules.a] ")


def test_the_example_of_the_documentation_is_read_whole() -> None:
    file = read(EXAMPLE)
    assert (file.path, file.store, file.timezone, file.notes) == (
        "jobs.toml",
        "sqlite:///jobs.db",
        "Europe/Berlin",
        (),
    )
    backup, ping, digest = file.entries
    assert (backup.name, backup.line) == ("backup", 4)
    assert str(backup.trigger) == "cron('30 2 * * *', tz='Europe/Berlin')"
    assert backup.work == Command(("pg_dump", "-f", "/backup/shop.sql", "shop"))
    assert backup.options == {"timeout": "1h", "overlap": "discard"}
    assert str(ping.trigger) == "every('5m', tz='Europe/Berlin')"
    assert ping.work == Http("POST", "https://example.org/ping", {"expect": [200]})
    assert digest.work == NamedTask("send_digest", {"audience": "eu"})
    assert digest.line == 12


@pytest.mark.parametrize(
    ("body", "trigger"),
    [
        ('cron = "0 9 * * *"', "cron('0 9 * * *')"),
        ('cron = "0 9 * * *"\ntz = "Asia/Tokyo"', "cron('0 9 * * *', tz='Asia/Tokyo')"),
        ('cron = "0 9 * * *"\ntimezone = "Asia/Tokyo"', "cron('0 9 * * *', tz='Asia/Tokyo')"),
        ('cron = "CRON_TZ=Asia/Tokyo 0 9 * * *"', "cron('0 9 * * *', tz='Asia/Tokyo')"),
        (
            'cron = "0 9 * * *"\ngap = "skip"\nfold = "last"\ntz = "Asia/Tokyo"',
            "cron('0 9 * * *', tz='Asia/Tokyo', gap='skip', fold='last')",
        ),
        ('cron = "@every 90s"', "every('1m30s')"),
        (
            'every = "90s"\nanchor = 2026-01-01T00:00:05Z\nspread = true',
            "every('1m30s', anchor='1970-01-01T00:00:05Z', spread=True)",
        ),
        (
            'every = "1h"\nstarts_at = 2026-01-01T00:00:00Z\nrepeat_until = "2026-02-01T00:00Z"',
            "every('1h', starts_at='2026-01-01T00:00:00Z', repeat_until='2026-02-01T00:00:00Z')",
        ),
        ("at = 2026-12-24T18:00:00Z", "at('2026-12-24T18:00:00Z')"),
        (
            'at = "2026-12-24 18:00"\ntz = "Europe/Berlin"',
            "at('2026-12-24T17:00:00Z', tz='Europe/Berlin')",
        ),
    ],
)
def test_a_schedule_says_when(body: str, trigger: str) -> None:
    assert str(schedule(f'{body}\nshell = "x"').trigger) == trigger


@pytest.mark.parametrize(
    ("body", "trigger"),
    [
        ('cron = "0 9 * * *"', "cron('0 9 * * *', tz='Europe/Berlin')"),
        ('cron = "CRON_TZ=Asia/Tokyo 0 9 * * *"', "cron('0 9 * * *', tz='Asia/Tokyo')"),
        (
            'cron = "0 9 * * *"\nstarts_at = 2026-07-01T00:00:00',
            "cron('0 9 * * *', tz='Europe/Berlin', starts_at='2026-06-30T22:00:00Z')",
        ),
        (
            'cron = "CRON_TZ=Asia/Tokyo 0 9 * * *"\nstarts_at = 2026-07-01T00:00:00',
            "cron('0 9 * * *', tz='Asia/Tokyo', starts_at='2026-06-30T15:00:00Z')",
        ),
        ("at = 2026-12-24T18:00:00", "at('2026-12-24T17:00:00Z', tz='Europe/Berlin')"),
    ],
)
def test_the_zone_of_the_file_counts_where_a_schedule_names_none(body: str, trigger: str) -> None:
    assert str(schedule(f'{body}\nshell = "x"', 'timezone = "Europe/Berlin"').trigger) == trigger


def test_a_zone_handed_in_counts_where_the_file_names_none() -> None:
    text = '[schedules.a]\ncron = "0 9 * * *"\nshell = "x"'
    assert read(text, "Asia/Tokyo").timezone == "Asia/Tokyo"
    assert read(f'timezone = "Europe/Berlin"\n{text}', "Asia/Tokyo").timezone == "Europe/Berlin"


def test_h_is_settled_by_the_name() -> None:
    first, second = read("".join(f'[schedules.{name}]\ncron = "H H * * *"\nshell = "x"\n' for name in "ab")).entries
    assert first.trigger.describe() != second.trigger.describe()


@pytest.mark.parametrize(
    ("body", "work"),
    [
        ('command = ["a", ""]', Command(("a", ""))),
        ('shell = "a | b"', Shell("a | b")),
        ('http = { url = "http://x" }', Http("GET", "http://x")),
        ('http = { method = "put", url = "https://x" }', Http("PUT", "https://x")),
        ('task = "report.daily"', NamedTask("report.daily")),
    ],
)
def test_a_schedule_says_what(body: str, work: Work) -> None:
    assert schedule(f'every = "1m"\n{body}').work == work


def test_a_schedule_that_is_not_enabled_is_read_and_says_so() -> None:
    assert schedule('every = "1m"\nshell = "x"\nenabled = false').enabled is False
    assert schedule('every = "1m"\nshell = "x"').enabled is True


def test_every_beside_at_is_a_time_of_day() -> None:
    for at_text, anchor in (('"09:00"', '"2026-11-20"'), ("09:00:00", "2026-11-20")):
        body = f'every = "2w"\nat = {at_text}\nanchor = {anchor}\ngap = "skip"\ntimezone = "Europe/Berlin"\nshell = "x"'
        (entry,) = read(f"[schedules.a]\n{body}").entries
        assert entry.trigger == every("2w", at="09:00", anchor="2026-11-20", gap="skip", tz="Europe/Berlin")
    assert problem('every = "2w"\nat = "9 am"\nshell = "x"').startswith("every beside at: '9 am' is no time of day")
    assert problem('every = "2h"\nat = "09:00"\nshell = "x"').startswith(
        "every beside at: an interval of 2h has no time"
    )


def test_every_policy_is_kept_as_written() -> None:
    policies: dict[str, object] = {
        "misfire": "catch_up",
        "grace": "10s",
        "catch_up_window": "1d",
        "max_catch_up": 100,
        "overlap": "concurrent",
        "max_waiting": 0,
        "max_concurrent_runs": 3,
        "limit": "db:5",
        "group": "gpu",
        "route": "broadcast",
        "pool": "process",
        "retries": 3,
        "crash_retries": 0,
        "backoff": "10s",
        "timeout": "10m",
        "delivery": "at_most_once",
        "depends_on": "b",
        "within": "1h",
        "tags": ["eu", "x"],
        "mode": "local",
        "priority": -5,
        "jitter": "30s",
        "max_runs": 1,
        "auto_remove": True,
        "enabled": False,
        "then": ["notify"],
        "on_failure": ["page"],
    }

    def toml(value: object) -> str:
        return repr(value).lower() if isinstance(value, bool) else repr(value)

    body = "\n".join(f"{name} = {toml(value)}" for name, value in policies.items())
    assert schedule(f'every = "1m"\nshell = "x"\n{body}').options == policies
    assert set(policies) < set(SCHEDULE_KEYS)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'cron = "0 0 * * 8"\nshell = "x"',
            "cron: day of week: 8 is not 0-7 or sun-sat (column 9); Sunday is 0 or 7, Monday 1, Saturday 6",
        ),
        ('cron = 5\nshell = "x"', 'cron: 5 is no cron text; write "0 9 * * mon-fri"'),
        ('cron = "0 9 * * *"\ntz = "Berlin"\nshell = "x"', "tz: no time zone 'Berlin'; did you mean Europe/Berlin?"),
        (
            'cron = "0 9 * * *"\ntimezone = 2\nshell = "x"',
            'timezone: 2 is no time zone; write "Europe/Berlin"',
        ),
        (
            'cron = "0 9 * * *"\ntz = "UTC"\ntimezone = "UTC"\nshell = "x"',
            "timezone and tz are the same; name one of them",
        ),
        ('cron = "0 9 * * *"\ngap = "jump"\nshell = "x"', "cron: gap='jump' is not known; write one of shift, skip"),
        ('cron = "0 9 * * *"\nspread = true\nshell = "x"', "spread: it goes with every, not with cron"),
        ('every = "1m"\nfold = \'last\'\nshell = "x"', "fold: it goes with cron and every beside at, not with every"),
        (
            'at = 2026-12-24T18:00:00Z\nstarts_at = 1\nshell = "x"',
            "starts_at: it goes with cron and every, not with at",
        ),
        ('every = "0s"\nshell = "x"', "every: an interval of 0s is too short; the least is 1s"),
        ('every = 90\nshell = "x"', 'every: 90 is no interval; write it like "90s" or "15m"'),
        ('every = "1m"\nspread = 1\nshell = "x"', "spread: 1 is neither true nor false"),
        (
            'every = "1m"\nrepeat_until = 2026-12-24\nshell = "x"',
            "repeat_until: 2026-12-24 is no moment; write a date and a time, such as 2026-12-24T18:00:00Z",
        ),
        ('at = 7\nshell = "x"', "at: 7 is no moment; write it like 2026-12-24T18:00:00Z"),
        (
            'at = 2026-12-24T18:00:00\nshell = "x"',
            'at: 2026-12-24 18:00:00 has no zone; write at("2026-12-24 18:00:00", tz="Europe/Berlin") or add an offset',
        ),
        ('shell = "x"', "cron, every, at or trigger is missing"),
        ('cron = "* * * * *"\nevery = "1m"\nshell = "x"', "cron and every: only one of them can stand here"),
        ('every = "1m"', "command, shell, http, mail, task or steps is missing"),
        ('every = "1m"\nshell = "x"\ntask = "y"', "shell and task: only one of them can stand here"),
        (
            'every = "1m"\ncommand = "pg_dump shop"',
            'command: write its words as a list, ["pg_dump", "shop"]; a line for the shell is shell = \'pg_dump shop\'',
        ),
        ('every = "1m"\ncommand = []', 'command: [] is no list of words; write ["pg_dump", "shop"]'),
        ('every = "1m"\nshell = ""', "shell: '' is no line for the shell"),
        ('every = "1m"\ntask = 1', "task: 1 is no task's name"),
        (
            'every = "1m"\ntask = "a"\nargs = [1]',
            'task: args map parameter names to values: write { audience = "eu" }, not [1]',
        ),
        ('every = "1m"\nshell = "a"\nargs = {}', "args: they go with task, not with shell"),
        ('every = "1m"\nhttp = "https://x"', 'http: write { method = "POST", url = "https://…" }'),
        ('every = "1m"\nhttp = { ulr = "https://x" }', "http: ulr: unknown key; did you mean url?"),
        ('every = "1m"\nhttp = { url = "x" }', "http: url: it begins with https:// or http://, unlike 'x'"),
        ('every = "1m"\nshell = "x"\noverlpa = "discard"', "overlpa: unknown key; did you mean overlap?"),
        ('every = "1m"\nshell = "x"\noverlap = "discrad"', "overlap: 'discrad' is not known; did you mean discard?"),
        (
            'every = "1m"\nshell = "x"\nmode = "zzz"',
            "mode: 'zzz' is not known; there are durable and local",
        ),
        (
            'every = "1m"\nshell = "x"\ntimeout = 90',
            'timeout: \'90\' lacks a unit; write it like "90s", "15m", "2h30m" or "1d"',
        ),
        ('every = "1m"\nshell = "x"\ngrace = "-1s"', "grace: a duration cannot be negative: '-1s'"),
        ('every = "1m"\nshell = "x"\nretries = true', "retries: True is not a whole number"),
        ('every = "1m"\nshell = "x"\nmax_runs = 0', "max_runs: 0 is less than 1"),
        ('every = "1m"\nshell = "x"\nenabled = "no"', "enabled: 'no' is neither true nor false"),
        ('every = "1m"\nshell = "x"\ntags = ["a", 1]', "tags: 1 is not text"),
    ],
)
def test_a_problem_is_one_line_with_its_key_and_the_remedy(body: str, said: str) -> None:
    assert problem(body) == said


def test_all_problems_of_a_file_are_told_at_once() -> None:
    text = (
        'stroe = "x"\ntimezone = "Berlin"\n'
        '[schedules.a]\ncron = "0 25 * * *"\ncommand = []\nretrys = 1\n[schedules.b]\nshell = "x"\n'
    )
    with pytest.raises(FileError) as caught:
        read(text)
    assert str(caught.value).splitlines() == [
        "jobs.toml: stroe: unknown key; did you mean store?",
        "jobs.toml: timezone: no time zone 'Berlin'; did you mean Europe/Berlin?",
        "jobs.toml: [schedules.a] retrys: unknown key; did you mean retries?",
        "jobs.toml: [schedules.a] cron: hour: 25 is not 0-23 (column 3)",
        'jobs.toml: [schedules.a] command: [] is no list of words; write ["pg_dump", "shop"]',
        "jobs.toml: [schedules.b] cron, every, at or trigger is missing",
    ]
    assert caught.value.path == "jobs.toml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[schedules.a\n", "line 1, column 13: Expected ']' at the end of a table declaration"),
        ("store = 5", "store: 5 is not text"),
        ("schedules = 5", "schedules: write each as a table, [schedules.NAME]"),
        ("[schedules]\na = 5", '[schedules.a] 5 is no table; write [schedules.a] and below it cron = "…" and the like'),
    ],
)
def test_what_is_wrong_with_the_file_itself_is_told(text: str, said: str) -> None:
    assert problems(text) == (said,)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('""', "a name is missing"),
        ('"a/b"', "'/' cannot stand in a name; write 'a-b'"),
        (f'"{"x" * 201}"', "the name has 201 characters; the most is 200"),
        ('"a\\u0007b"', "the name 'a\\x07b' has characters that cannot be seen; remove them"),
        ('"e\\u0301"', "is not in Unicode form NFC"),
    ],
)
def test_a_name_that_stores_could_not_keep_is_refused(name: str, said: str) -> None:
    (found,) = problems(f'[schedules.{name}]\nevery = "1m"\nshell = "x"')
    assert said in found
    assert found.isprintable()


@pytest.mark.parametrize("name", ["ä", f"{'x' * 200}", "digest eu", "日報", "a.b:c@d"])
def test_any_other_name_is_taken_as_it_is(name: str) -> None:
    (entry,) = read(f'[schedules."{name}"]\nevery = "1m"\nshell = "x"').entries
    assert (entry.name, entry.line) == (name, 1)
