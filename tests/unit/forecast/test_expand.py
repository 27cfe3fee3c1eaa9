"""A forecast holds exactly the ticks that its triggers have, whatever the zone and the kind of trigger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from onthedot import ForecastTooLarge, Trigger, TriggerError, at, calendar, cron, dates, every
from onthedot.forecast import expand, forecast, stream
from onthedot.triggers.zones import Fold


def expected(triggers: Mapping[str, Trigger], start: str, end: str) -> list[tuple[datetime, str]]:
    return sorted((tick, name) for name, trigger in triggers.items() for tick in trigger.between(start, end))


def check(triggers: Mapping[str, Trigger], start: str, end: str) -> None:
    index = forecast(triggers, start, end)
    index._check()
    assert [tuple(run) for run in index.query(start, end)] == expected(triggers, start, end)
    assert len(index) == len(index.query(start, end))


MIXED: dict[str, Trigger] = {
    "minutely": cron("* * * * *"),
    "nightly": cron("30 2 * * *", tz="Europe/Berlin"),
    "nightly, skipped": cron("30 2 * * *", tz="Europe/Berlin", gap="skip", fold="both"),
    "nightly, last": cron("30 2 * * *", tz="Europe/Berlin", fold="last"),
    "half past and three": cron("0,30 2,3 * * *", tz="Europe/Berlin"),
    "five minutes": cron("*/5 * * * *", tz="Europe/Berlin"),
    "lord howe": cron("45 1 * * *", tz="Australia/Lord_Howe"),
    "kathmandu": cron("0 9-17 * * mon-fri", tz="Asia/Kathmandu"),
    "seconds": cron("*/20 */7 2 * * *", tz="America/New_York"),
    "bounded": cron("*/10 * * * *", starts_at="2026-03-29T00:15Z", repeat_until="2026-03-29T03:00Z"),
    "every": every("7m", anchor="2026-01-01T00:00:30Z"),
    "half seconds": every(timedelta(seconds=1800, milliseconds=500)),
    "once": at("2026-03-29T01:00:00.250Z"),
    "elsewhere": at("2020-01-01T00:00Z"),
    "union": cron("0 * * * *") | every("45m"),
    "exclusion": cron("*/15 * * * *", tz="Europe/Berlin") - dates("2026-03-29") - cron("30 * * * *"),
    "last day": cron("15 4 L * *"),
    "monrovia": cron("0 * * * *", tz="Africa/Monrovia"),
}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-28T12:00Z", "2026-03-30T12:00Z"),  # Berlin springs forward
        ("2026-10-24T12:00Z", "2026-10-26T12:00Z"),  # and falls back
        ("2026-04-04T10:00Z", "2026-04-05T10:00Z"),  # Lord Howe, by half an hour
        ("2026-10-25T00:30Z", "2026-10-25T02:00Z"),  # from inside a fold
        ("2026-10-25T01:30Z", "2026-10-25T02:00Z"),  # from inside its second half
        ("2026-03-29T01:00Z", "2026-03-29T01:01Z"),  # the instant of a gap alone
        ("2026-03-29T00:59:30Z", "2026-03-29T01:00Z"),  # just before it
        ("2026-11-15T08:17:31.5Z", "2026-11-15T09:44:12Z"),  # no whole minutes
        ("1972-01-06T00:00Z", "1972-01-09T00:00Z"),  # Monrovia leaves an offset of 44 minutes and 30 seconds
        ("2026-12-30T00:00Z", "2027-01-02T06:00Z"),
    ],
)
def test_a_forecast_holds_the_ticks_of_its_triggers_and_no_others(start: str, end: str) -> None:
    check(MIXED, start, end)


@pytest.mark.parametrize("name", MIXED)
def test_each_kind_of_trigger_is_forecast_rightly_by_itself(name: str) -> None:
    check({name: MIXED[name]}, "2026-03-28T20:00Z", "2026-03-29T20:00Z")


TEN_ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
    "America/St_Johns", "Pacific/Chatham", "Africa/Casablanca", "Pacific/Apia",
)  # fmt: skip


def refuse(*_: object) -> None:
    raise AssertionError("nothing needs to be sorted or merged here")


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-02-10T08:30Z", "2026-02-11T19:00Z"),
        ("2026-03-06T00:00Z", "2026-04-08T00:00Z"),  # all of them jump that have summer time
        ("2011-12-28T00:00Z", "2012-01-02T00:00Z"),  # Apia leaves out a day
    ],
)
def test_schedules_in_ten_zones_come_out_in_order_without_sorting(
    start: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expand, "in_order", refuse)
    monkeypatch.setattr(expand, "merged", refuse)
    texts = ("30 2 * * *", "0,20 0 * * *", "45 23 * * mon-fri", "*/30 */6 * * *")
    folds: tuple[Fold | None, ...] = (None, "last", "both", "first")
    triggers = {
        f"{tz} {text}": cron(text, tz=tz, fold=fold)
        for tz in TEN_ZONES
        for text, fold in zip(texts, folds, strict=True)
    }
    check(triggers, start, end)


def test_what_is_not_at_second_0_is_merged_in() -> None:
    """Equal moments of both kinds too, in the order of names."""
    triggers = {f"{letter}{n}": make for n in range(3) for letter, make in KINDS.items()}
    check(triggers, "2026-03-28T23:00Z", "2026-03-29T02:30Z")


KINDS: dict[str, Trigger] = {
    "a": cron("*/5 * * * *"),
    "b": every("5m"),
    "c": cron("0,30 */5 * * * *"),
    "d": every("1h"),
}


def test_a_long_window_repeats_the_days_that_are_alike() -> None:
    triggers = {
        f"n{i}": cron(f"{i} {i % 24} {'*' if i % 3 else '1'} * {'*' if i % 5 else 'mon-fri'}") for i in range(60)
    }
    check(triggers, "2026-11-15T11:30Z", "2027-02-03T07:10Z")


def test_an_empty_window_and_no_triggers_give_an_empty_index() -> None:
    check(MIXED, "2026-03-29T01:00Z", "2026-03-29T01:00Z")
    check({}, "2026-03-29T01:00Z", "2026-03-30T01:00Z")


def test_the_pieces_of_a_stream_together_are_the_forecast() -> None:
    start, end = "2026-03-28T12:07Z", "2026-03-30T12:00Z"
    pieces = [tuple(run) for index in stream(MIXED, start, end) for run in index.query(start, end)]
    assert pieces == expected(MIXED, start, end)


def test_a_stream_can_go_in_steps_of_ones_own() -> None:
    indexes = list(stream({"a": cron("* * * * *")}, "2026-01-01T00:00Z", "2026-01-01T01:00Z", step="25m"))
    assert [len(index) for index in indexes] == [25, 25, 10]


@pytest.mark.parametrize(
    "trigger",
    [
        cron("* * * * * *"),
        cron("* * * * *"),
        every("1s"),
        cron("*/2 * * * * *") | every("1s"),
        every("1s") - dates("2026-01-01"),
    ],
    ids=str,
)
def test_a_window_too_large_to_hold_is_refused_with_the_remedy(trigger: Trigger) -> None:
    with pytest.raises(ForecastTooLarge, match=r"more than 10,000,000 runs.*stream\(\)"):
        forecast({f"n{i}": trigger for i in range(4)}, "2026-01-01T00:00Z", "2036-01-01T00:00Z")


def test_the_runs_of_all_triggers_together_are_counted() -> None:
    triggers: dict[str, Trigger] = {f"n{i}": every("1m", anchor=f"2026-01-01T00:00:{i:02}Z") for i in range(10)}
    with pytest.raises(ForecastTooLarge, match="more than 599 runs"):
        forecast(triggers, "2026-01-01T00:00Z", "2026-01-01T01:00Z", max_runs=599)
    assert len(forecast(triggers, "2026-01-01T00:00Z", "2026-01-01T01:00Z", max_runs=600)) == 600


def test_a_daily_trigger_without_the_ticks_of_a_dense_one_needs_no_room_for_the_dense_one() -> None:
    weekday = cron("0 12 * * *") - cron("* * * * * sat,sun")
    check({"a": weekday}, "2026-01-01T00:00Z", "2027-01-01T00:00Z")


def test_a_calendar_without_content_is_named_with_its_schedule() -> None:
    with pytest.raises(TriggerError, match="holiday-job: calendar 'de' has no content"):
        forecast({"holiday-job": cron("0 9 * * *") - calendar("de")}, "2026-01-01T00:00Z", "2026-01-08T00:00Z")
