"""When a recurring document is due again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from onthedot.documents import Job
from onthedot.documents.intervals import check, next_due
from onthedot.errors import MomentError, TriggerError

DUE = datetime(2026, 11, 15, 10, 7, 30, tzinfo=UTC)


def job(interval: Any, **values: Any) -> Job:
    moments = {"sleep_until": DUE, "locked_at": DUE, "locked_until": DUE + timedelta(minutes=10)}
    return Job("id", "token", **{**moments, **values}, interval=interval)


def following(interval: Any, ended_after: timedelta, rest: timedelta = timedelta(), **values: Any) -> datetime | None:
    made = job(interval, **values)
    trigger = check(made)
    assert trigger is not None
    return next_due(trigger, made, DUE + ended_after, rest // timedelta(milliseconds=1))


@pytest.mark.parametrize("interval", [None, ""])
def test_without_an_interval_there_is_no_trigger(interval: Any) -> None:
    assert check(job(interval)) is None


@pytest.mark.parametrize("interval", ["15m", timedelta(minutes=15), "@every 15m"])
def test_a_duration_counts_from_the_documents_own_moment(interval: Any) -> None:
    assert following(interval, timedelta(seconds=3)) == DUE + timedelta(minutes=15)


def test_ticks_that_passed_are_not_made_up_for_and_the_lattice_stays() -> None:
    assert following("15m", timedelta(days=100, minutes=1)) == DUE + timedelta(days=100, minutes=15)


def test_a_cron_text_goes_by_the_wall_clock_of_its_zone() -> None:
    expected = datetime(2026, 11, 16, 2, 30, tzinfo=UTC)
    assert following("CRON_TZ=Europe/Berlin 30 3 * * *", timedelta(seconds=1)) == expected


def test_a_tick_at_the_very_end_of_the_work_has_passed() -> None:
    assert following("15m", timedelta(minutes=15)) == DUE + timedelta(minutes=30)


def test_ticks_within_the_rest_are_passed_over() -> None:
    assert following("15m", timedelta(minutes=1), timedelta(minutes=14)) == DUE + timedelta(minutes=15)
    assert following("15m", timedelta(minutes=1), timedelta(minutes=14, milliseconds=1)) == DUE + timedelta(minutes=30)


def test_the_last_tick_may_lie_on_repeat_until_and_none_after_it() -> None:
    end = DUE + timedelta(minutes=15)
    assert following("15m", timedelta(0), repeat_until=end) == end
    assert following("15m", timedelta(0), repeat_until=end - timedelta(milliseconds=1)) is None


def test_a_moment_without_a_zone_is_in_utc() -> None:
    end = (DUE + timedelta(minutes=15)).replace(tzinfo=None)
    assert following("15m", timedelta(0), repeat_until=end) == DUE + timedelta(minutes=15)


def test_h_spreads_documents_by_their_id() -> None:
    minutes = set()
    for number in range(20):
        made = Job(number, "token", DUE, DUE, DUE, interval="H * * * *")
        trigger = check(made)
        assert trigger is not None
        tick = next_due(trigger, made, DUE, 0)
        assert tick is not None
        minutes.add(tick.minute)
    assert len(minutes) > 5


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ("every full moon", "'every full moon' is neither a cron text nor a duration; write it like"),
        ("15", "'15' is neither a cron text nor a duration"),
        (90, "an interval is a cron text or a duration, not 90"),
        ("0 0 31 2 *", "can never fire"),
        ("61 * * * *", "61"),
        ("10ms", "too short"),
    ],
)
def test_an_interval_that_cannot_be_honoured_is_refused_in_one_line(interval: Any, said: str) -> None:
    with pytest.raises(TriggerError) as refused:
        check(job(interval))
    assert said in refused.value.line


def test_a_repeat_until_that_is_no_moment_is_refused() -> None:
    with pytest.raises(MomentError, match="a moment is a date with a time, not 7"):
        check(job("15m", repeat_until=7))
