"""One moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from onthedot import OnthedotError, TriggerError, at
from onthedot.moments import END_MS


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def only_tick(moment: datetime | str, tz: str | tzinfo | None = None) -> datetime:
    (tick,) = at(moment, tz=tz).between("1970-01-01T00:00Z", "2300-01-01T00:00Z")
    return tick


@pytest.mark.parametrize(
    ("moment", "tz"),
    [
        ("2026-12-24T17:00Z", None),
        ("2026-12-24T18:00+01:00", None),
        ("2026-12-24 18:00", "Europe/Berlin"),
        ("2026-12-24 18:00", ZoneInfo("Europe/Berlin")),
        ("2026-12-24T17:00Z", "Europe/Berlin"),
        (datetime(2026, 12, 24, 17, tzinfo=UTC), None),
        (datetime.fromisoformat("2026-12-24 18:00"), "Europe/Berlin"),
        (datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin")), None),
        (datetime(2026, 12, 24, 19, tzinfo=timezone(timedelta(hours=2))), None),
        (" 2026-12-24T17:00Z ", None),
    ],
)
def test_a_moment_may_be_written_in_many_ways(moment: datetime | str, tz: str | tzinfo | None) -> None:
    assert only_tick(moment, tz) == utc("2026-12-24T17:00")


def test_it_ticks_once() -> None:
    trigger, moment = at("2026-12-24T17:00Z"), utc("2026-12-24T17:00")
    assert trigger.next("2026-12-24T16:59:59.999Z") == moment
    assert trigger.next(moment) is None
    assert trigger.prev("2026-12-24T17:00:00.001Z") == moment
    assert trigger.prev(moment) is None
    assert trigger.matches(moment)
    assert not trigger.matches("2026-12-24T17:00:00.001Z")


def test_a_moment_is_rounded_up_to_a_whole_millisecond_so_that_it_is_never_early() -> None:
    assert only_tick("2026-12-24T17:00:00.000001Z") == utc("2026-12-24T17:00:00.001")
    assert only_tick("2026-12-24 18:00:00.000001", "Europe/Berlin") == utc("2026-12-24T17:00:00.001")
    assert only_tick("2026-12-24T17:00:00.001Z") == utc("2026-12-24T17:00:00.001")
    assert only_tick("2026-12-24T17:59:59.999999Z") == utc("2026-12-24T18:00")


def test_a_time_in_a_gap_means_the_end_of_the_gap() -> None:
    assert only_tick("2026-03-29 02:30", "Europe/Berlin") == utc("2026-03-29T01:00")
    assert only_tick("2026-03-29 02:59:59", "Europe/Berlin") == utc("2026-03-29T01:00")


def test_a_time_in_a_gap_means_the_very_end_of_the_gap_whatever_its_fraction_of_a_second() -> None:
    assert only_tick("2026-03-29 02:30:00.250", "Europe/Berlin") == utc("2026-03-29T01:00")


def test_a_time_in_a_fold_means_the_first_of_both_unless_its_fold_says_the_second() -> None:
    naive = datetime.fromisoformat("2026-10-25 02:30")
    assert only_tick(naive, "Europe/Berlin") == utc("2026-10-25T00:30")
    assert only_tick(naive.replace(fold=1), "Europe/Berlin") == utc("2026-10-25T01:30")
    assert only_tick("2026-10-25 02:30", "Europe/Berlin") == utc("2026-10-25T00:30")


def test_an_aware_time_in_a_fold_is_kept() -> None:
    berlin = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    assert only_tick(berlin) == utc("2026-10-25T00:30")
    assert only_tick(berlin.replace(fold=1)) == utc("2026-10-25T01:30")


def test_a_naive_moment_without_a_zone_is_refused_with_the_remedy() -> None:
    with pytest.raises(TriggerError, match="2026-12-24 18:00:00 has no zone") as caught:
        at("2026-12-24 18:00")
    assert caught.value.hint == 'write at("2026-12-24 18:00:00", tz="Europe/Berlin") or add an offset'


@pytest.mark.parametrize("moment", ["", "tomorrow", "2026-13-01T00:00Z", "2026-02-30T00:00Z", "24.12.2026", 5, None])
def test_what_is_no_moment_is_refused(moment: str) -> None:
    with pytest.raises(OnthedotError):
        at(moment)


@pytest.mark.parametrize(
    "moment",
    [
        "1969-12-31T23:59:59.999Z",
        "2200-01-01T00:00Z",
        "2199-12-31T23:59:59.9999Z",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59.999999Z",  # what people write for "never"
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_a_moment_outside_the_time_line_is_refused(moment: str) -> None:
    with pytest.raises(TriggerError, match="can never fire"):
        at(moment)


def test_the_first_and_the_last_moment_of_the_time_line_are_accepted() -> None:
    assert at("1970-01-01T00:00Z").at_ms == 0
    assert at("2199-12-31T23:59:59.999Z").at_ms == END_MS - 1


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(TriggerError, match="no time zone 'Europe/Berln'"):
        at("2026-12-24 18:00", tz="Europe/Berln")


def test_moments_that_are_equal_with_the_same_zone_make_equal_triggers() -> None:
    assert at("2026-12-24T17:00Z") == at("2026-12-24T18:00+01:00")
    assert hash(at("2026-12-24T17:00Z")) == hash(at("2026-12-24T18:00+01:00"))
    assert at("2026-12-24T17:00Z") != at("2026-12-24T17:00Z", tz="Asia/Tokyo")


def test_it_is_told_in_english_and_as_the_call_that_makes_it() -> None:
    trigger = at("2026-12-24 18:00", tz="Europe/Berlin")
    assert trigger.describe() == "once, at 2026-12-24T17:00:00Z"
    assert str(trigger) == "at('2026-12-24T17:00:00Z', tz='Europe/Berlin')"
    assert at("2026-12-24T17:00:00Z", tz="Europe/Berlin") == trigger


def test_a_key_changes_nothing_and_a_default_zone_is_taken_where_none_was_named() -> None:
    trigger = at("2026-12-24T17:00Z")
    assert trigger.with_key("a") is trigger
    assert trigger.with_default_zone("Asia/Tokyo") == at("2026-12-24T17:00Z", tz="Asia/Tokyo")
