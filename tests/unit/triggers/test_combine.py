"""Triggers made of others: unions and exclusions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from datetime import UTC, date, datetime
from itertools import pairwise

import holidays
import pytest

from onthedot import Trigger, TriggerError, at, calendar, cron, dates, every
from onthedot.triggers.combine import Exclusion, Union, exclude, union
from onthedot.triggers.every import Every

ALWAYS = ("1970-01-01T00:00Z", "2300-01-01T00:00Z")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(trigger: Trigger, start: str, end: str) -> list[str]:
    """The UTC dates of the ticks, the same in both directions."""
    forward = trigger.between(f"{start}T00:00Z", f"{end}T00:00Z")
    backward, tick = [], trigger.prev(f"{end}T00:00Z")
    while tick is not None and tick >= utc(start):
        backward.append(tick)
        tick = trigger.prev(tick)
    assert forward == backward[::-1]
    return [str(tick.date()) for tick in forward]


DAILY = cron("0 9 * * *")


# unions


def test_a_union_ticks_whenever_a_part_does_once_where_several_do() -> None:
    both = cron("0 9,12 * * *") | cron("0 12,15 * * *")
    assert [tick.hour for tick in both.between("2026-01-01T00:00Z", "2026-01-02T00:00Z")] == [9, 12, 15]
    assert both.next("2026-01-01T11:00Z") == utc("2026-01-01T12:00")
    assert both.next("2026-01-01T12:00Z") == utc("2026-01-01T15:00")
    assert both.prev("2026-01-01T15:00Z") == utc("2026-01-01T12:00")
    assert both.matches("2026-01-01T12:00Z")
    assert not both.matches("2026-01-01T13:00Z")


def test_a_union_goes_on_when_a_part_has_ended() -> None:
    trigger = at("2026-01-01T00:00Z") | at("2026-02-01T00:00Z")
    assert trigger.next("2026-01-01T00:00Z") == utc("2026-02-01")
    assert trigger.prev("2026-02-01T00:00Z") == utc("2026-01-01")
    assert trigger.next("2026-02-01T00:00Z") is None
    assert trigger.prev("2026-01-01T00:00Z") is None


def test_a_union_of_unions_is_flat() -> None:
    a, b, c = cron("0 1 * * *"), cron("0 2 * * *"), every("1h")
    flat = (a | b) | c
    assert isinstance(flat, Union)
    assert flat.parts == (a, b, c)
    assert flat == a | (b | c) == union(a, b, c)


def test_equal_parts_of_a_union_count_once() -> None:
    assert DAILY | DAILY == DAILY
    assert (DAILY | every("1h")) | DAILY == DAILY | every("1h")
    assert cron("0  9 * * *") | cron("0 9 * * *") == DAILY


def test_a_union_hands_key_zone_and_calendars_to_its_parts() -> None:
    trigger = cron("H 3 * * *") | (DAILY - calendar("de")) | every("1h", spread=True)
    assert trigger.with_key("a") == cron("H 3 * * *").with_key("a") | (DAILY - calendar("de")) | every(
        "1h", spread=True
    ).with_key("a")
    assert (DAILY | every("1h")).with_default_zone("Asia/Tokyo") == cron("0 9 * * *", tz="Asia/Tokyo") | every(
        "1h", tz="Asia/Tokyo"
    )
    filled = ((DAILY - calendar("de")) | at("2026-01-01T12:00Z")).with_calendars({"de": dates("2026-01-01")})
    assert days(filled, "2026-01-01", "2026-01-03") == ["2026-01-01", "2026-01-02"]


def test_a_trigger_joined_with_what_is_no_trigger_is_an_error() -> None:
    with pytest.raises(TriggerError, match=r"is no trigger; write trigger \| cron"):
        DAILY | dates("2026-12-25")  # type: ignore[operator]


def test_a_union_is_told_in_english_and_as_the_expression_that_makes_it() -> None:
    trigger = cron("0 9 * * mon-fri") | every("1h")
    assert trigger.describe() == "at 09:00, Monday to Friday, UTC time; or every hour"
    assert str(trigger) == "cron('0 9 * * mon-fri') | every('1h')"


# exclusion of dates


def test_an_excluded_date_excludes_the_ticks_of_that_date() -> None:
    trigger = DAILY - dates("2026-12-25", "2026-12-27")
    assert days(trigger, "2026-12-24", "2026-12-29") == ["2026-12-24", "2026-12-26", "2026-12-28"]
    assert not trigger.matches("2026-12-25T09:00Z")
    assert trigger.matches("2026-12-26T09:00Z")


@pytest.mark.parametrize(
    ("tz", "kept"),
    [
        ("UTC", "2026-12-25T00:00Z 2026-12-26T00:00Z"),
        ("Asia/Tokyo", "2026-12-24T15:00Z 2026-12-25T15:00Z"),
        ("America/New_York", "2026-12-25T05:00Z 2026-12-26T05:00Z"),
        ("Pacific/Kiritimati", "2026-12-24T10:00Z 2026-12-25T10:00Z"),
    ],
)
def test_a_date_is_the_local_one_of_the_zone_of_the_trigger(tz: str, kept: str) -> None:
    start, end = kept.split()
    for hourly in (cron("0 * * * *", tz=tz), every("1h", tz=tz)):
        excluded = hourly - dates("2026-12-25")
        gone = sorted(
            {*hourly.between("2026-12-23T00:00Z", "2026-12-28T00:00Z")}
            - {*excluded.between("2026-12-23T00:00Z", "2026-12-28T00:00Z")}
        )
        assert (len(gone), gone[0]) == (24, datetime.fromisoformat(start))
        assert excluded.next(gone[0]) == datetime.fromisoformat(end)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25)])
def test_a_local_date_may_be_23_or_25_hours_long(day: str, hours: int) -> None:
    hourly = cron("0 * * * *", tz="America/New_York")
    window = ("2026-01-01T00:00Z", "2027-01-01T00:00Z")
    assert len(hourly.between(*window)) - len((hourly - dates(day)).between(*window)) == hours


def test_a_single_moment_too_has_a_local_date() -> None:
    trigger = at("2026-12-25T00:30Z", tz="America/New_York")
    assert (trigger - dates("2026-12-24")).next(ALWAYS[0]) is None
    assert (trigger - dates("2026-12-25")).next(ALWAYS[0]) == utc("2026-12-25T00:30")


@pytest.mark.parametrize(
    "excluded",
    [
        dates("2026-12-24..2027-01-01"),
        dates(("2026-12-24", "2027-01-01")),
        dates((date(2026, 12, 24), date(2027, 1, 1))),
        dates("2026-12-24..2026-12-28", "2026-12-27..2027-01-01"),
        dates("2026-12-24..2026-12-28", "2026-12-29..2027-01-01"),
        dates([f"2026-12-{day}" for day in range(24, 32)], date(2027, 1, 1)),
        dates(dates("2026-12-24..2026-12-31"), "2027-01-01"),
    ],
)
def test_a_range_of_dates_includes_both_its_ends(excluded: object) -> None:
    assert excluded == dates("2026-12-24..2027-01-01")
    assert days(exclude(DAILY, excluded), "2026-12-22", "2027-01-04") == [
        "2026-12-22",
        "2026-12-23",
        "2027-01-02",
        "2027-01-03",
    ]


@pytest.mark.parametrize(
    "excluded",
    [["2026-12-25"], {date(2026, 12, 25)}, {date(2026, 12, 25): "Christmas"}, (day for day in ["2026-12-25"])],
)
def test_any_iterable_of_dates_can_be_excluded(excluded: Iterable[object]) -> None:
    assert exclude(DAILY, excluded) == DAILY - dates("2026-12-25")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (dates, "no dates were given"),
        (lambda: dates([]), "no dates were given"),
        (lambda: dates("25.12.2026"), "is no date"),
        (lambda: dates("2026-02-30"), "is no date"),
        (lambda: dates(5), "is no date"),  # type: ignore[arg-type]
        (lambda: dates("2026-12-27..2026-12-25"), "run backwards"),
        (lambda: dates(datetime(2026, 12, 25, tzinfo=UTC)), "is a moment, not a date"),
        (lambda: exclude(DAILY, "2026-12-25"), "cannot be excluded"),
        (lambda: exclude(DAILY, 5), "cannot be excluded"),
        (lambda: exclude(DAILY, None), "cannot be excluded"),
        (lambda: calendar(""), "a calendar is named by text"),
        (lambda: calendar(5), "a calendar is named by text"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_set_of_dates_is_refused_with_the_remedy(make: object, reason: str) -> None:
    assert callable(make)
    with pytest.raises(TriggerError) as caught:
        make()
    assert reason in caught.value.reason
    assert caught.value.hint


# exclusion of triggers


def test_an_excluded_trigger_excludes_its_ticks() -> None:
    trigger = cron("0 * * * *") - cron("0 0-21 * * *")
    assert [tick.hour for tick in trigger.between("2026-01-01T00:00Z", "2026-01-02T00:00Z")] == [22, 23]
    assert trigger.next("2026-01-01T00:00Z") == utc("2026-01-01T22:00")
    assert trigger.prev("2026-01-02T22:00Z") == utc("2026-01-01T23:00")


def test_ticks_that_fall_between_those_of_the_excluded_trigger_stay() -> None:
    trigger = every("1s") - cron("* * * * *")
    found = trigger.between("2026-01-01T00:00Z", "2026-01-01T00:02Z")
    assert len(found) == 118
    assert all(tick.second for tick in found)


def test_an_excluded_union_excludes_the_ticks_of_its_parts() -> None:
    trigger = DAILY - (cron("0 9 * * sat,sun") | at("2026-01-01T09:00Z"))
    assert days(trigger, "2026-01-01", "2026-01-07") == ["2026-01-02", "2026-01-05", "2026-01-06"]


def test_an_exclusion_from_a_union_is_one_from_each_part_by_its_own_zone() -> None:
    tokyo, newyork = cron("0 9 * * *", tz="Asia/Tokyo"), cron("0 22 * * *", tz="America/New_York")
    trigger = (tokyo | newyork) - dates("2026-12-25")
    assert trigger == (tokyo - dates("2026-12-25")) | (newyork - dates("2026-12-25"))
    assert trigger.between("2026-12-24T12:00Z", "2026-12-27T00:00Z") == [
        utc("2026-12-25T03:00"),  # 22:00 of the 24th in New York; 09:00 of the 25th in Tokyo is gone
        utc("2026-12-26T00:00"),  # 09:00 of the 26th in Tokyo; 22:00 of the 25th in New York is gone
    ]


def test_exclusions_one_after_the_other_add_up() -> None:
    trigger = DAILY - dates("2026-12-25") - cron("0 9 26 12 *") - dates("2026-12-25")
    assert isinstance(trigger, Exclusion)
    assert len(trigger.without) == 2
    assert days(trigger, "2026-12-24", "2026-12-28") == ["2026-12-24", "2026-12-27"]


def test_what_is_excluded_from_an_exclusion_stays() -> None:
    trigger = DAILY - (cron("0 9 * * sat,sun") - dates("2026-12-26"))  # that Saturday is worked
    assert days(trigger, "2026-12-25", "2026-12-29") == ["2026-12-25", "2026-12-26", "2026-12-28"]


def test_a_tick_that_was_moved_to_the_end_of_a_gap_is_excluded_as_the_moment_that_it_is() -> None:
    nightly = cron("30 2 * * *", tz="America/New_York")
    trigger = nightly - at("2026-03-08T07:00Z")
    assert trigger.next("2026-03-08T00:00Z") == utc("2026-03-09T06:30")


def test_an_excluded_tick_at_the_end_of_a_gap_takes_no_others_with_it() -> None:
    """At 03:00 ticks what was jumped over, and only that; the hour that begins there is not excluded."""
    trigger = every("1s") - cron("* * 2 * * *", tz="America/New_York", gap="shift", fold="both")
    assert trigger.next("2026-03-08T06:59:59Z") == utc("2026-03-08T07:00:01")
    assert trigger.prev("2026-03-08T07:30Z") == utc("2026-03-08T07:29:59")


def test_a_tick_at_the_end_of_a_gap_stays_though_its_second_is_not_that_of_the_text() -> None:
    """The base ticks at second 30, but on 8 March also at 03:00:00, which nothing excludes."""
    trigger = cron("30 30 2,5 * * *", tz="America/New_York") - cron("30 * * * * *")
    assert trigger.next("2026-03-08T00:00Z") == utc("2026-03-08T07:00")
    assert trigger.prev("2026-03-09T00:00Z") == utc("2026-03-08T07:00")


# far and endless exclusions


def test_an_exclusion_that_lasts_for_days_is_jumped_over_in_both_directions() -> None:
    trigger = every("1s") - cron("* * * 1-11 * *")
    assert trigger.next("2026-01-01T00:00Z") == utc("2026-01-12")
    assert trigger.prev("2026-01-11T23:00Z") == utc("2025-12-31T23:59:59")


def test_an_exclusion_that_lasts_for_years_is_jumped_over_in_both_directions() -> None:
    trigger = every("1s") - cron("* * * * * * 2000-2025")
    assert trigger.next("2000-01-01T00:00Z") == utc("2026-01-01")
    assert trigger.prev("2025-12-31T00:00Z") == utc("1999-12-31T23:59:59")


def test_excluded_dates_that_last_for_years_are_jumped_over_in_both_directions() -> None:
    trigger = every("1s", tz="Europe/Berlin") - dates("2000-01-01..2025-12-31")
    assert trigger.next("2000-01-01T00:00Z") == utc("2025-12-31T23:00")
    assert trigger.prev("2025-12-31T00:00Z") == utc("1999-12-31T22:59:59")


@pytest.mark.parametrize(
    "window",
    [
        every("1s", starts_at="2026-01-01T00:00Z", repeat_until="2026-01-03T00:00Z"),
        cron("* * * * * *", starts_at="2026-01-01T00:00Z", repeat_until="2026-01-03T00:00Z"),
    ],
    ids=str,
)
def test_a_maintenance_window_of_two_days_ends(window: Trigger) -> None:
    trigger = every("1s") - window
    assert trigger.next("2026-01-01T00:00Z") == utc("2026-01-03T00:00:01")
    assert trigger.prev("2026-01-03T00:00Z") == utc("2025-12-31T23:59:59")


@pytest.mark.parametrize(
    "season",
    [
        cron("* * * 1-3 *", starts_at="2025-01-01T00:00Z"),
        cron("* * * 1-3 *", fold="first"),
        cron("* * * 1-3 *", gap="shift", tz="Atlantic/Reykjavik"),
        every("1m", starts_at="2026-01-01T00:00Z", repeat_until="2026-03-31T23:59Z"),
    ],
    ids=str,
)
def test_an_exclusion_of_three_months_ends(season: Trigger) -> None:
    assert (every("1m") - season).next("2026-01-01T00:00Z") == utc("2026-04-01")


@pytest.mark.parametrize(
    ("trigger", "all_of_it"),
    [
        (every("1s"), cron("* * * * * *")),
        (every("1s"), every("1s")),
        (every("1m"), every("1s")),
        (cron("* * * * *"), cron("* * * * *")),
        (cron("* * * * *", tz="Europe/Berlin"), cron("* * * * *")),
        (cron("*/5 * * * *"), every("5m")),
        (DAILY, DAILY),
        (cron("0 0 29 2 *"), cron("0 0 29 2 *")),
        (every("1s"), dates("1969-01-01..2201-01-01")),
        (cron("* * * * * *", tz="Pacific/Apia"), dates("1969-01-01..2201-01-01")),
        (at("2026-01-01T00:00Z"), every("1h")),
    ],
    ids=str,
)
def test_an_exclusion_that_removes_everything_ends_with_none_in_both_directions(
    trigger: Trigger, all_of_it: object
) -> None:
    nothing = exclude(trigger, all_of_it)
    assert nothing.next("2026-01-01T00:00Z") is None
    assert nothing.prev("2026-01-01T00:00Z") is None
    assert nothing.between("2026-01-01T00:00Z", "2026-01-02T00:00Z") == []


class Counted(Every):
    """An interval that counts how often it is searched."""

    searches = 0

    def next_ms(self, after_ms: int) -> int | None:
        Counted.searches += 1
        return super().next_ms(after_ms)


def test_to_ask_whether_one_moment_is_a_tick_is_no_search_for_the_next_one() -> None:
    nothing = Exclusion(Counted(1000), (every("1s") - dates("2150-01-01"),))
    Counted.searches = 0
    assert not nothing.matches("2026-01-01T00:00Z")
    assert (every("1s") - nothing).next("2026-01-01T00:00Z") == utc("2026-01-01T00:00:01")
    assert Counted.searches < 20


# calendars


def test_a_calendar_without_content_is_an_error_with_the_remedy() -> None:
    trigger = DAILY - calendar("de")
    with pytest.raises(TriggerError, match="calendar 'de' has no content") as caught:
        trigger.next("2026-12-24T00:00Z")
    assert caught.value.hint == 'hand it in: trigger.with_calendars({"de": dates(…)})'


def test_a_calendar_excludes_what_is_handed_in() -> None:
    trigger = (DAILY - calendar("de")).with_calendars(
        {"de": dates("2026-12-25..2026-12-26"), "fr": dates("2026-12-27")}
    )
    assert days(trigger, "2026-12-24", "2026-12-29") == ["2026-12-24", "2026-12-27", "2026-12-28"]


def test_a_calendar_can_be_handed_in_anew() -> None:
    old = (DAILY - calendar("de")).with_calendars({"de": dates("2026-12-25")})
    new = old.with_calendars({"de": dates("2026-12-26")})
    assert days(new, "2026-12-25", "2026-12-27") == ["2026-12-25"]


def test_a_calendar_that_is_not_handed_in_keeps_what_it_has() -> None:
    trigger = (DAILY - calendar("de") - calendar("shop")).with_calendars({"de": dates("2026-12-25")})
    trigger = trigger.with_calendars({"shop": dates("2026-12-26")})
    assert days(trigger, "2026-12-24", "2026-12-28") == ["2026-12-24", "2026-12-27"]


def test_a_calendar_inside_an_excluded_trigger_is_filled_too() -> None:
    trigger = DAILY - (cron("0 9 * * sat,sun") - calendar("worked"))
    assert days(trigger.with_calendars({"worked": dates("2026-12-26")}), "2026-12-25", "2026-12-28") == [
        "2026-12-25",
        "2026-12-26",
    ]


def test_the_content_of_a_calendar_is_no_part_of_the_definition() -> None:
    bare = DAILY - calendar("de")
    filled = bare.with_calendars({"de": dates("2026-12-25")})
    assert bare == filled
    assert hash(bare) == hash(filled)


# the holidays package


def test_a_set_of_holidays_that_grows_while_it_is_asked_is_refused_with_the_remedy() -> None:
    for growing in (holidays.country_holidays("DE"), holidays.country_holidays("DE", years=2026)):
        for make in (lambda each: DAILY - each, dates):
            with pytest.raises(TriggerError, match="grows while it is asked") as caught:
                make(growing)
            assert "expand=False" in (caught.value.hint or "")


def test_a_fixed_set_of_holidays_is_accepted() -> None:
    fixed = holidays.country_holidays("DE", years=2026, expand=False)
    trigger = exclude(DAILY, fixed)
    assert trigger == DAILY - dates(*fixed)
    assert days(trigger, "2026-12-24", "2026-12-28") == ["2026-12-24", "2026-12-27"]


# as values


def test_an_exclusion_hands_key_and_zone_to_its_base_and_to_what_is_excluded() -> None:
    trigger = cron("H 3 * * *") - cron("H 3 * * sun")
    assert trigger.with_key("a") == cron("H 3 * * *").with_key("a") - cron("H 3 * * sun").with_key("a")
    assert trigger.with_default_zone("Asia/Tokyo") == cron("H 3 * * *", tz="Asia/Tokyo") - cron(
        "H 3 * * sun", tz="Asia/Tokyo"
    )


def test_an_exclusion_is_told_in_english_and_as_the_expression_that_makes_it() -> None:
    trigger = DAILY - dates("2026-12-25..2026-12-26") - calendar("de")
    assert str(trigger) == "cron('0 9 * * *') - dates('2026-12-25..2026-12-26') - calendar('de')"
    assert trigger.describe() == (
        "at 09:00 every day, UTC time, except 2026-12-25..2026-12-26 and the dates of calendar de"
    )


@pytest.mark.parametrize(
    "trigger",
    [
        (DAILY - dates("2026-12-25")) | every("1h"),
        DAILY - (every("1h") | every("90m")),
        DAILY - (every("1h") - dates("2026-12-25", "2027-01-01..2027-01-06")),
        (DAILY | at("2026-01-01T00:00Z")) - calendar("de"),
    ],
    ids=str,
)
def test_the_text_of_a_trigger_is_the_expression_that_makes_it(trigger: Trigger) -> None:
    names = {"cron": cron, "every": every, "at": at, "dates": dates, "calendar": calendar}
    assert eval(str(trigger), names) == trigger


@pytest.mark.parametrize(
    "trigger",
    [
        cron("H 9 * * mon-fri", tz="Europe/Berlin", repeat_until="2030-01-01T00:00Z").with_key("a"),
        every("15m", spread=True, tz="Asia/Tokyo").with_key("a"),
        at("2026-12-24T17:00Z"),
        (DAILY - dates("2026-12-25") - calendar("de")).with_calendars({"de": dates("2026-12-26")}) | every("1h"),
    ],
    ids=str,
)
def test_a_trigger_can_be_copied_and_pickled(trigger: Trigger) -> None:
    for again in (pickle.loads(pickle.dumps(trigger)), copy.deepcopy(trigger), copy.copy(trigger)):
        assert again == trigger
        assert hash(again) == hash(trigger)
        assert again.between("2026-12-24T00:00Z", "2026-12-27T00:00Z") == trigger.between(
            "2026-12-24T00:00Z", "2026-12-27T00:00Z"
        )


def test_ticks_ascend_and_are_distinct() -> None:
    trigger = (every("7m") | every("11m") | cron("*/13 * * * *")) - every("77m")
    found = trigger.between("2026-01-01T00:00Z", "2026-01-03T00:00Z")
    assert all(earlier < later for earlier, later in pairwise(found))
