"""Schedules of other schedulers of Celery's, read from where they really keep them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from celery.schedules import crontab, schedule
from redbeat import RedBeatSchedulerEntry
from tests.celery.apps import celery_app
from tests.celery.project import PROJECT

from onthedot import App
from onthedot.celery.imports.django_celery_beat import read_database
from onthedot.celery.imports.redbeat import read_redis
from onthedot.cli import main
from onthedot.errors import SettingsError
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
    travel = {"queue": "low", "exchange": "e", "routing_key": "r", "priority": 3, "expires": 60, "headers": {"x": "y"}}
    assert half.args == {"task": "t.a", "args": [1], "kwargs": {"b": 2}, "options": travel}
    bounds = "starts_at='2027-01-01T00:00:00Z', repeat_until='2028-01-01T00:00:00Z'"
    assert str(moves["bounded"].trigger).startswith(f"cron('0 4 1-7 * *', tz='Asia/Tokyo', {bounds}) - cron(")
    assert str(moves["once"].trigger).startswith("at('2040-01-01T00:00:00Z'")
    assert moves["once"].options["max_runs"] == 1
    assert moves["off too"].paused == "it was disabled in django-celery-beat"
    assert {str(each) for each in report.refused} == {
        "off: args: 'oops' is no JSON",
        "sunny: solar events cannot be converted; leave this one to a beat of its own",
    }


def test_inside_django_its_own_connection_is_used(tmp_path: Path) -> None:
    said = django_site(tmp_path, "import", "django-celery-beat", "--store", f"sqlite:///{tmp_path / 'jobs.db'}")
    assert "4 new, 0 changed, 0 as they were" in said
    with closing(App(f"sqlite:///{tmp_path / 'jobs.db'}")) as app:
        off, half = app.schedules.get("off too"), app.schedules.get("half hourly")
        assert (off.enabled, off.paused_note) == (False, "it was disabled in django-celery-beat")
        assert (half.policy.retries, half.policy.overlap) == (20, "concurrent")
        assert half.next_run_ms == half.settled_ms + 30 * 60_000, "it does not go on where it was"


def test_a_database_without_these_tables_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the tables of django-celery-beat cannot be read: no such table"):
        read_database(f"sqlite:///{tmp_path / 'empty.db'}")
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


def test_an_app_is_written_as_a_program_that_declares_the_same(folder: Path) -> None:
    assert main(["import", "celery", "moved_shop", "-o", "shop_jobs.py"]) == 0
    assert main(["migrate", "--store", "sqlite:///shop.db"]) == 0
    assert main(["sync", "shop_jobs:app"]) == 0
    with closing(App(f"sqlite:///{folder / 'shop.db'}")) as app:
        two = app.schedules.get("two")
        options = {"headers": {"mine": "yes"}}
        assert two.args == {"task": "proj.note", "args": ["two"], "options": options}
        assert (two.task, two.policy.retries, two.origin) == ("celery", 20, "code")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["import", "celery"], "import celery: name the app as celery -A does"),
        (["import", "celery", "nowhere:app"], "nowhere:app: no Celery app was found there: No module named 'nowhere'"),
        (["import", "celery", "moved_shop:note"], "not a Celery app; write it like proj.celery:app"),
        (["import", "redbeat"], "import redbeat: name its Redis"),
        (["import", "django-celery-beat"], "import django-celery-beat: name the URL of its database"),
        (["import", "celry", "x"], "did you mean celery?"),
    ],
)
def test_a_slip_is_told_in_one_line(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert told in said
    assert "\n" not in said
