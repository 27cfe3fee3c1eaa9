"""Triggers of APScheduler 3 as ours: the same moments, or refused with the reason."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
from apscheduler.triggers.combining import AndTrigger, OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from onthedot.apscheduler.conversion import Refusal, trigger_of
from onthedot.apscheduler.pickles import load
from onthedot.moments import floor_ms

NOW = datetime(2026, 4, 1, tzinfo=UTC)
END = NOW + timedelta(days=180)  # no change of the clock of Berlin is in between: there it has rules of its own
BERLIN = ZoneInfo("Europe/Berlin")


def theirs(trigger: Any) -> Iterator[datetime]:
    found, now = None, NOW
    while (found := trigger.get_next_fire_time(found, now)) is not None and found < END:
        if found >= NOW:
            yield found
        now = max(found, NOW) + timedelta(microseconds=1)


@pytest.mark.parametrize(
    "trigger",
    [
        CronTrigger(hour=3, timezone=BERLIN),
        CronTrigger(day="2nd tue", hour=9, timezone=BERLIN),
        CronTrigger(day="last fri,1st mon", timezone=BERLIN),
        CronTrigger(day="last", timezone=BERLIN),
        CronTrigger(day="1,15,last", day_of_week="mon-fri", hour="8-18/2", minute="*/15", timezone=BERLIN),
        CronTrigger(day_of_week="0,2-4/2", timezone=BERLIN),
        CronTrigger(day_of_week="*/3", timezone=BERLIN),
        CronTrigger(day="*/3", day_of_week="mon", hour=1, timezone="UTC"),
        CronTrigger(month="apr-may,6/3", day="5/10", timezone="UTC"),
        CronTrigger(year="2026-2028/2", month=5, timezone="UTC"),
        CronTrigger(year="*/8", month=5, timezone="UTC"),
        CronTrigger(second="*/20", hour="4", timezone="UTC"),
        CronTrigger(day="13", day_of_week="wed,sat", timezone="UTC"),
        CronTrigger(hour=3, timezone=timezone(timedelta(hours=2))),
        CronTrigger(hour=3, timezone="UTC", start_date="2026-05-01", end_date="2026-06-01"),
        CronTrigger.from_crontab("5 4 * * sun", timezone=BERLIN),
        IntervalTrigger(hours=7, start_date=datetime(2026, 1, 1, 3, tzinfo=UTC)),
        IntervalTrigger(
            minutes=90,
            start_date=datetime(2026, 6, 1, 3, 0, 0, 999, tzinfo=BERLIN),
            end_date=datetime(2026, 6, 3, 0, 30, tzinfo=BERLIN),
        ),
        DateTrigger(datetime(2026, 6, 24, 18, tzinfo=BERLIN)),
        OrTrigger([CronTrigger(hour=2, timezone="UTC"), CronTrigger(hour=14, timezone=BERLIN)]),
        CalendarIntervalTrigger(weeks=2, hour=9, start_date="2026-04-06", timezone=BERLIN),
        CalendarIntervalTrigger(months=3, hour=9, start_date="2026-04-05", timezone=BERLIN),
        CalendarIntervalTrigger(years=1, hour=9, start_date="2026-04-05", timezone=BERLIN),
    ],
    ids=repr,
)
def test_it_ticks_when_theirs_does(trigger: Any) -> None:
    ours, jitter = trigger_of(load(pickle.dumps(trigger)), NOW)
    expected = [floor_ms(tick) for tick in theirs(trigger)]
    assert jitter == 0
    assert expected
    assert list(ours.between_ms(floor_ms(NOW), floor_ms(END))) == expected


def test_jitter_is_told_beside_it() -> None:
    assert trigger_of(load(pickle.dumps(CronTrigger(hour=3, jitter=30, timezone="UTC"))), NOW)[1] == 30


class Tides:
    """A trigger of the user's own."""

    def __repr__(self) -> str:
        return "tides"


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [
        (CronTrigger(week=3, timezone="UTC"), "the week of the year"),
        (CronTrigger(day="1st mon", day_of_week="tue", timezone="UTC"), "never meet"),
        (AndTrigger([CronTrigger(hour=2, timezone="UTC")]), "several triggers agree"),
        (CalendarIntervalTrigger(months=1, days=1, start_date="2026-01-05", timezone="UTC"), "every 1 months and 1d"),
        (CalendarIntervalTrigger(months=1, start_date="2026-01-31", timezone="UTC"), "every 1 months from 2026-01-31"),
        (OrTrigger([CronTrigger(hour=2, jitter=5, timezone="UTC")]), "jitter of its own"),
        (CronTrigger(hour=3, timezone=timezone(timedelta(minutes=330))), "no zone of a name"),
        (IntervalTrigger(seconds=0.5, start_date=NOW), "too short"),
        (DateTrigger(datetime(2300, 1, 1, tzinfo=UTC)), "never fire"),
        (Tides(), r"tests\.apscheduler\.test_triggers\.Tides, which is no trigger of APScheduler's own"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_what_cannot_be_said_is_refused_with_the_reason(trigger: Any, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        trigger_of(load(pickle.dumps(trigger)), NOW)
