"""Schedules of other schedulers of Celery's, read from where they really keep them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import ANY
from zoneinfo import ZoneInfo

import pytest
import redis
from celery.schedules import crontab, schedule
from redbeat import RedBeatSchedulerEntry
from tests.celery.apps import celery_app
from tests.celery.project import PROJECT

from onthedot import App
from onthedot.app.moving.report import Report
from onthedot.celery.imports.django_celery_beat import read_database
from onthedot.celery.imports.redbeat import read_redis
from onthedot.celery.messages import unpacked
from onthedot.cli import main
from onthedot.errors import SettingsError, TriggerError
from onthedot.moments import from_ms

DJANGO = """
import os, sys
from datetime import datetime, timezone
from functools import partial
import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    INSTALLED_APPS=["django_celery_beat"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}},
    USE_TZ=True, SECRET_KEY="for a test", DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
call_command("migrate", verbosity=0)
from django_celery_beat.models import *

utc, add = partial(datetime, tzinfo=timezone.utc), PeriodicTask.objects.create
interval = IntervalSchedule.objects.create(every=30, period="minutes")
cron = CrontabSchedule.objects.create(
    minute="0", hour="4", day_of_week="mon", day_of_month="1-7", timezone="Asia/Tokyo"
)
clocked = ClockedSchedule.objects.create(clocked_time=utc(2040, 1, 1))
solar = SolarSchedule.objects.create(event="sunset", latitude=1, longitude=2)
add(name="half hourly", task="t.a", interval=interval, args="[1]", kwargs='{"b": 2}', queue="low", exchange="e",
    routing_key="r", priority=3, headers='{"x": "y"}', expire_seconds=60, last_run_at=utc(2026, 1, 1, 0, 17))
add(name="bounded", task="t.b", crontab=cron, start_time=utc(2027, 1, 1), expires=utc(2028, 1, 1))
add(name="once", task="t.c", clocked=clocked, one_off=True)
add(name="off", task="t.d", interval=interval)
add(name="sunny", task="t.e", solar=solar)
PeriodicTask.objects.filter(name="off").update(args="oops")
add(name="off too", task="t.d", interval=interval, enabled=False)
if len(sys.argv) > 1:
    from onthedot.cli import main
    sys.exit(main(sys.argv[1:]))
"""


def django_site(folder: Path, *words: str) -> str:
    (folder / "site_of_django.py").write_text(DJANGO, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "site_of_django.py", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_tables_of_django_celery_beat_are_read_as_they_are(tmp_path: Path) -> None:
    assert django_site(tmp_path) == ""
    report = read_database(f"sqlite:///{tmp_path / 'site.db'}")
    moves = {move.name: move for move in report.moves}
    half = moves["half hourly"]
    assert half.trigger.next("2026-01-01T00:17Z") == datetime(2026, 1, 1, 0, 47, tzinfo=UTC)
    assert half.last_ms is not None
    assert from_ms(half.last_ms) == datetime(2026, 1, 1, 0, 17, tzinfo=UTC)
    headers = {"x": "y", "periodic_task_name": "half hourly"}  # its beat adds the name
    travel = {"queue": "low", "exchange": "e", "routing_key": "r", "priority": 3, "expires": 60, "headers": headers}
    assert half.args == {"task": "t.a", "args": [1], "kwargs": {"b": 2}, "options": travel}
    bounds = "starts_at='2027-01-01T00:00:00Z', repeat_until='2028-01-01T00:00:00Z'"
    assert str(moves["bounded"].trigger).startswith(f"cron('0 4 1-7 * *', tz='Asia/Tokyo', {bounds}) - cron(")
    assert str(moves["once"].trigger).startswith("at('2040-01-01T00:00:00Z'")
    assert moves["once"].options["max_runs"] == 1
    moment = {"__type__": "datetime", "__value__": "2028-01-01T00:00:00+00:00"}
    assert moves["bounded"].args["options"]["expires"] == moment, "its beat sends it so, too"
    assert moves["off too"].paused == "it was disabled in django-celery-beat"
    assert {str(each) for each in report.refused} == {
        "off: args: 'oops' is no JSON",
        "sunny: solar events cannot be converted; leave this one to a beat of its own",
    }


@pytest.mark.parametrize(("more", "next_run"), [("", "2025-12-31T15:47Z"), ("UTC", "2026-01-01T00:47Z")])
def test_moments_of_a_site_without_time_zones_are_those_that_its_beat_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, next_run: str
) -> None:
    site = DJANGO.replace("USE_TZ=True", 'USE_TZ=False, TIME_ZONE="Asia/Tokyo"').replace("timezone.utc", "None")
    if more:
        site = site.replace("USE_TZ=False", "USE_TZ=False, DJANGO_CELERY_BEAT_TZ_AWARE=False")
    monkeypatch.setattr(sys.modules[__name__], "DJANGO", site)
    said = django_site(tmp_path, "import", "django-celery-beat", "--store", f"sqlite:///{tmp_path / 'jobs.db'}")
    assert "note: USE_TZ is False: start_time, expires and clocked_time are taken as UTC" in said
    with closing(App(f"sqlite:///{tmp_path / 'jobs.db'}")) as app:
        assert app.schedules.get("half hourly").next_run_at == datetime.fromisoformat(next_run)


def odd_rows(folder: Path) -> Report:
    """A site whose tables hold what no form lets in, changed by hand."""
    django_site(folder)
    connection = sqlite3.connect(folder / "site.db")
    with closing(connection), connection:
        changed = "UPDATE django_celery_beat_periodictask SET {} WHERE name = 'half hourly'"
        new = "INSERT INTO django_celery_beat_periodictask SELECT * FROM copied"
        connection.execute("CREATE TABLE copied AS SELECT * FROM django_celery_beat_periodictask WHERE id = 1")
        for number, (name, change) in enumerate(ODD.items()):
            connection.execute(f"UPDATE copied SET id = {100 + number}, name = '{name}'")
            connection.execute(new)
            connection.execute(changed.replace("half hourly", name).format(change))
        for row in ("'*/0','9','*','*','*',77,'UTC'", "'0','9','*','*','*',78,'Mars/X'"):
            connection.execute(
                "INSERT INTO django_celery_beat_crontabschedule"
                f" (minute, hour, day_of_week, day_of_month, month_of_year, id, timezone) VALUES ({row})"
            )
        for row in ("79, 999999999999, 'days'", "80, 5, 'moons'"):
            connection.execute(f"INSERT INTO django_celery_beat_intervalschedule (id, every, period) VALUES ({row})")
    return read_database(f"sqlite:///{folder / 'site.db'}")


ODD = {
    "no such interval": "interval_id = 12345",
    "no schedule": "interval_id = NULL",
    "a step of nothing": "interval_id = NULL, crontab_id = 77",
    "another planet": "interval_id = NULL, crontab_id = 78",
    "too long": "interval_id = 79",
    "no unit": "interval_id = 80",
    "no moment": "start_time = 'soon'",
    "no list": "args = '{}'",
    "no task": "task = ''",
    "done once": "one_off = 1, total_run_count = 1",
    "never run": "last_run_at = NULL, date_changed = '2026-01-01 00:00:00'",
    "begins later": "last_run_at = NULL, start_time = '2040-01-01 00:05:00'",
}


def test_a_row_that_no_form_lets_in_leaves_the_others(tmp_path: Path) -> None:
    report = odd_rows(tmp_path)
    moves = {move.name: move for move in report.moves}
    assert {"half hourly", "bounded", "once", "off too"} <= set(moves)
    assert {each.name: each.reason for each in report.refused if each.name in ODD} == {
        "no such interval": "its interval 12345 is not in the table django_celery_beat_intervalschedule",
        "no schedule": "it has no schedule",
        "a step of nothing": "slice step cannot be zero",
        "another planet": ANY,
        "too long": ANY,
        "no unit": ANY,
        "no moment": "Invalid isoformat string: 'soon'",
        "no list": "args: '{}' is no JSON list",
        "no task": ": task: '' is no name of a task",
    }
    assert moves["done once"].paused is not None
    never = moves["never run"]
    assert never.last_ms == int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000), "what was due since is lost"
    later = datetime(2040, 1, 1, 0, 5, tzinfo=UTC)
    assert moves["begins later"].trigger.next(later) == later + timedelta(minutes=30)
    assert moves["begins later"].last_ms is None


def test_inside_django_its_own_connection_is_used(tmp_path: Path) -> None:
    said = django_site(tmp_path, "import", "django-celery-beat", "--store", f"sqlite:///{tmp_path / 'jobs.db'}")
    assert "4 new, 0 changed, 0 as they were" in said
    with closing(App(f"sqlite:///{tmp_path / 'jobs.db'}")) as app:
        off, half = app.schedules.get("off too"), app.schedules.get("half hourly")
        assert (off.enabled, off.paused_note) == (False, "it was disabled in django-celery-beat")
        assert (half.policy.retries, half.policy.overlap) == (20, "concurrent")
        assert half.next_run_ms == half.settled_ms + 30 * 60_000, "it does not go on where it was"


def test_a_database_without_these_tables_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(SettingsError, match="the tables of django-celery-beat cannot be read: no such table"):
        read_database(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(SettingsError, match="there is no file"):
        read_database(f"sqlite:///{tmp_path / 'nowhere.db'}")
    assert not (tmp_path / "nowhere.db").exists()
    (tmp_path / "text.db").write_text("no database " * 200, encoding="utf-8")
    with pytest.raises(SettingsError, match="file is not a database"):
        read_database(f"sqlite:///{tmp_path / 'text.db'}")
    with pytest.raises(SettingsError, match="is no SQL database"):
        read_database("redis://localhost")


@pytest.mark.filterwarnings("ignore")
def test_the_hashes_of_redbeat_are_read_as_they_are(redis_server: str) -> None:
    prefix = f"test-{os.getpid()}:"
    app = celery_app(redis_server, redbeat_redis_url=redis_server, redbeat_key_prefix=prefix)
    last = datetime(2026, 1, 1, 0, 17, tzinfo=UTC)
    options = {"queue": "low"}
    first = RedBeatSchedulerEntry(
        "a", "t.a", schedule(timedelta(minutes=30)), args=[1], kwargs={"b": 2}, options=options, app=app
    )
    first.last_run_at = last
    first.save()
    RedBeatSchedulerEntry("b", "t.b", crontab(minute="*/5", hour=3), enabled=False, app=app).save()
    with closing(redis.Redis.from_url(redis_server)) as client:
        client.hset(f"{prefix}c", "definition", '{"name": "c", "task": "t", "schedule": {"__type__": "rrule"}}')
    report = read_redis(redis_server, prefix=prefix, zone="Asia/Tokyo")
    a, b = report.moves
    assert a.args == {"task": "t.a", "args": [1], "kwargs": {"b": 2}, "options": options}
    assert (a.trigger.next(last), a.last_ms) == (last + timedelta(minutes=30), int(last.timestamp() * 1000))
    assert (str(b.trigger), b.paused) == ("cron('*/5 3 * * *', tz='Asia/Tokyo')", "it was disabled in redbeat")
    assert [str(each) for each in report.refused] == [
        "c: schedule: a rrule cannot be converted; write it as crontab or interval"
    ]


BROKEN = {
    "binary": b"\xff\xfe",
    "no object": b"[1, 2]",
    "empty": b"",
    "no task": b'{"name": "x", "schedule": {"__type__": "interval", "every": 60}}',
    "no schedule": b'{"name": "x", "task": "t", "schedule": "hourly"}',
    "nonsense": b'{"name": "x", "task": "t", "schedule": {"__type__": "crontab", "minute": "often"}}',
    "step": b'{"name": "x", "task": "t", "schedule": {"__type__": "crontab", "minute": "*/"}}',
    "for ever": b'{"name": "x", "task": "t", "schedule": {"__type__": "interval", "every": 1e300}}',
    "zone": b'{"name": "x", "task": "t", "args": [{"__type__": "datetime", "year": 1, "timezone": "Mars/X"}]}',
    "again": b'{"name": "a", "task": "t", "schedule": {"__type__": "interval", "every": 60}}',
}


@pytest.mark.filterwarnings("ignore")
def test_a_hash_that_redbeat_could_not_read_leaves_the_others(redis_server: str) -> None:
    prefix = f"odd[{os.getpid()}]*:"
    app = celery_app(redis_server, redbeat_redis_url=redis_server, redbeat_key_prefix=prefix)
    moment = datetime(2026, 1, 1, 0, 17, tzinfo=ZoneInfo("Asia/Tokyo"))
    RedBeatSchedulerEntry("a", "t.a", schedule(timedelta(minutes=30)), args=[moment, {"x": [moment]}], app=app).save()
    with closing(redis.Redis.from_url(redis_server)) as client:
        for name, definition in BROKEN.items():
            client.hset(f"{prefix}{name}", "definition", definition)
        client.hset(f"{prefix}meta", mapping={"definition": BROKEN["again"].replace(b'"a"', b'"m"'), "meta": b"[]"})
        client.set(f"{prefix}no hash", "x")
    report = read_redis(redis_server, prefix=prefix)
    (a,) = report.moves
    assert unpacked(a.args["args"]) == [moment, {"x": [moment]}], "its moments are no moments any more"
    assert {each.name for each in report.refused} == {*BROKEN, "meta"}
    reasons = {each.name: each.reason for each in report.refused}
    assert reasons["no task"] == "'task' is missing"
    assert reasons["again"] == "another one is named 'a' too"
    assert reasons["meta"] == "its meta is no JSON object: []"


def test_what_is_wrong_with_the_call_is_told_at_once(redis_server: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read: .*flavour"):
        read_redis(f"{redis_server}?flavour=sweet")
    with pytest.raises(TriggerError, match="Mars/X"):
        read_redis(redis_server, zone="Mars/X")


def test_a_redis_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(SettingsError, match="redis://localhost:1/0 cannot be read: "):
        read_redis("redis://localhost:1/0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "moved_shop.py").write_text(PROJECT.replace("jobs.db", "shop.db"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROKER", "memory://")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("moved_shop", None)
    return tmp_path


def test_an_app_is_moved_in_one_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "celery", "moved_shop", "--dry-run"]) == 0
    assert "3 new, 0 changed, 0 as they were; nothing was written" in capsys.readouterr().out
    assert not (folder / "shop.db").exists()
    assert main(["import", "celery", "moved_shop:app"]) == 0
    assert "+ one  proj.note, every('1s')" in capsys.readouterr().out
    assert main(["import", "celery", "moved_shop:app"]) == 0
    assert "0 new, 0 changed, 3 as they were" in capsys.readouterr().out


def test_nights_on_which_celery_has_another_rule_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "moved_shop.py").read_text(encoding="utf-8")
    entries = "timezone='Europe/Berlin', beat_schedule={'nightly': {'task': 't', 'schedule': crontab('30', '2')},"
    (folder / "moved_shop.py").write_text(text.replace("beat_schedule={", entries), encoding="utf-8")
    assert main(["import", "celery", "moved_shop", "--dry-run"]) == 0
    told = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()[1:]]  # there is no store yet
    assert [each.partition(": ")[0] for each in told] == ["nightly", "minutely"], told
    assert all("when the clocks change it may run at another time than before: 20" in each for each in told)


def test_an_app_is_written_as_a_program_that_declares_the_same(folder: Path) -> None:
    assert main(["import", "celery", "moved_shop", "-o", "shop_jobs.py"]) == 0
    assert main(["migrate", "--store", "sqlite:///shop.db"]) == 0
    assert main(["sync", "shop_jobs:app"]) == 0
    with closing(App(f"sqlite:///{folder / 'shop.db'}")) as app:
        two = app.schedules.get("two")
        options = {"headers": {"mine": "yes"}}
        assert two.args == {"task": "proj.note", "args": ["two"], "options": options}
        assert (two.task, two.policy.retries, two.origin) == ("celery", 20, "code")


def test_an_app_whose_zone_is_none_is_told_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "moved_shop.py").read_text(encoding="utf-8")
    (folder / "moved_shop.py").write_text(text.replace("result_expires=None", "timezone='Berln'"), encoding="utf-8")
    assert main(["import", "celery", "moved_shop"]) == 2
    said = capsys.readouterr().err.strip()
    assert "timezone: no time zone 'Berln'" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["import", "celery"], "import celery: name the app as celery -A does"),
        (["import", "celery", "nowhere:app"], "nowhere:app: no Celery app was found there: No module named 'nowhere'"),
        (["import", "celery", "moved_shop:apq"], "no Celery app was found there: moved_shop has no 'apq'"),
        (["import", "celery", "moved_shop:note"], "not a Celery app; write it like proj.celery:app"),
        (["import", "redbeat"], "import redbeat: name its Redis"),
        (["import", "django-celery-beat"], "import django-celery-beat: name the URL of its database"),
        (["import", "celry", "x"], "did you mean celery?"),
        (["import", "celery", "moved_shop", "--tz", "UTC"], "--tz goes with a crontab and redbeat"),
        (["import", "celery", "moved_shop", "--user"], "--system and --user go with a crontab"),
        (["import", "celery", "moved_shop", "--force"], "--force goes with -o"),
        (["import", "celery", "moved_shop", "-o", "x.py", "--json"], "--json goes with what is written to a store"),
        (["import", "redbeat", "redis://localhost:1/0?prefix="], "prefix= is empty"),
    ],
)
def test_a_slip_is_told_in_one_line(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert told in said
    assert "\n" not in said
