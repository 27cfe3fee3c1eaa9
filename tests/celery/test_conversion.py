"""Celery's schedules and the triggers made of them are due at the same moments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tzlocal
from celery.schedules import crontab, schedule, solar
from celery.utils import time as celery_time
from tests.celery.apps import celery_app

from celery import Celery
from onthedot.celery.conversion import trigger_of, zone_of
from onthedot.errors import TriggerError

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 120


def due_by_celery(given: crontab, zone: str, days: int = DAYS) -> set[datetime]:
    """By the fields alone, which is what Celery's own arithmetic comes down to: all of them must fit."""
    dates = [START.date() + timedelta(days=number) for number in range(-1, days + 1)]
    fitting = [
        day
        for day in dates
        if (day.day in given.day_of_month, day.month in given.month_of_year, day.isoweekday() % 7 in given.day_of_week)
        == (True, True, True)
    ]
    found = {
        datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(zone)).astimezone(UTC)
        for day in fitting
        for hour in given.hour
        for minute in given.minute
    }
    return {moment for moment in found if START <= moment < START + timedelta(days=days)}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (crontab(), "cron('* * * * *', tz='UTC')"),
        (crontab(minute="*/15", hour="3-5"), "cron('*/15 3-5 * * *', tz='UTC')"),
        (crontab(minute=0, hour=[8, 20]), "cron('0 8,20 * * *', tz='UTC')"),
        (crontab(minute=30, hour=7, day_of_week="mon-fri"), "cron('30 7 * * mon-fri', tz='UTC')"),
        (crontab(minute=30, hour=7, day_of_week="sunday"), "cron('30 7 * * sun', tz='UTC')"),
        (crontab(0, 4, day_of_month="1-7,15-21", month_of_year="*/3"), "cron('0 4 1-7,15-21 */3 *', tz='UTC')"),
        (
            crontab(0, 4, day_of_week="mon", day_of_month="1-7"),
            "cron('0 4 1-7 * *', tz='UTC') - cron('0 4 * * sun,tue-sat', tz='UTC')",
        ),
        (crontab(0, "*/6", day_of_week="fri,mon", day_of_month="*/2"), "cron('0 */6 */2 * mon,fri', tz='UTC')"),
        (
            crontab(0, 0, day_of_week="0,6", day_of_month="13"),
            "cron('0 0 13 * *', tz='UTC') - cron('0 0 * * mon-fri', tz='UTC')",
        ),
        (crontab(5, 0, day_of_month=31), "cron('5 0 31 * *', tz='UTC')"),
    ],
)
def test_a_crontab_is_due_when_celery_says_so(given: crontab, text: str) -> None:
    trigger = trigger_of(given, "UTC")
    assert str(trigger) == text
    assert set(trigger.between(START, START + timedelta(days=DAYS))) == due_by_celery(given, "UTC")


def test_a_crontab_goes_by_the_clock_of_its_app() -> None:
    app = Celery("p", broker="memory://")
    app.conf.timezone = "Europe/Berlin"
    given = crontab(minute=10, hour="*/5", app=app)
    trigger = trigger_of(given, zone_of(app))
    assert set(trigger.between(START, START + timedelta(days=80))) == due_by_celery(given, "Europe/Berlin", 80)


@pytest.fixture
def machine_in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Celery, and what tells it the machine's zone, remember that for as long as the process lives."""
    with monkeypatch.context() as here:
        here.setenv("TZ", "Asia/Tokyo")
        _forget_the_machine()
        yield
    _forget_the_machine()


def _forget_the_machine() -> None:
    tzlocal.reload_localzone()
    vars(celery_time.timezone).pop("local", None)


@pytest.mark.usefixtures("machine_in_tokyo")
@pytest.mark.parametrize(
    ("conf", "zone"),
    [
        ({}, "UTC"),
        ({"enable_utc": False}, "Asia/Tokyo"),
        ({"enable_utc": False, "timezone": "America/Lima"}, "America/Lima"),
        ({"timezone": "America/Lima"}, "America/Lima"),
    ],
)
def test_without_a_zone_the_clock_is_that_of_utc_or_of_the_machine(conf: dict[str, Any], zone: str) -> None:
    assert zone_of(celery_app(**conf)) == zone


def test_a_crontab_with_a_clock_of_its_own_goes_by_that() -> None:
    given = crontab(minute=0, hour=8, nowfun=lambda: datetime.now(ZoneInfo("Asia/Tokyo")))
    assert str(trigger_of(given, "UTC")) == "cron('0 8 * * *', tz='Asia/Tokyo')"


@pytest.mark.parametrize("given", [timedelta(minutes=90), schedule(timedelta(minutes=90)), schedule(5400)])
def test_an_interval_is_one(given: Any) -> None:
    assert str(trigger_of(given, "UTC")) == "every('1h30m')"


def test_an_interval_goes_on_in_step_with_its_last_time() -> None:
    last = datetime(2026, 1, 1, 0, 17, tzinfo=UTC)
    trigger = trigger_of(timedelta(hours=1), "UTC", last=last)
    assert trigger.next(last) == datetime(2026, 1, 1, 1, 17, tzinfo=UTC)


class Tides(schedule):  # type: ignore[misc]
    """What users write themselves."""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (solar.__new__(solar), "solar events cannot be converted"),
        (Tides(timedelta(hours=1)), "Tides is a class of your own"),
        (lambda: None, "a lambda is no schedule"),
        (timedelta(milliseconds=100), "the least is 1s"),
        (crontab(nowfun=lambda: datetime(2026, 1, 1)), "its nowfun tells no time zone"),  # noqa: DTZ001
        ("hourly", "'hourly' is no schedule"),
    ],
)
def test_what_has_no_trigger_is_refused_by_its_name(given: Any, told: str) -> None:
    with pytest.raises(TriggerError) as refused:
        trigger_of(given, "UTC")
    assert told in refused.value.line
