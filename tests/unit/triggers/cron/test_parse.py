"""The dialect: what each construct of a cron text means."""

from __future__ import annotations

import pytest

from onthedot import cron, every
from onthedot.errors import TriggerError
from onthedot.moments import from_ms
from onthedot.triggers.cron.fields import ALL_YEARS, Fields, bits
from onthedot.triggers.cron.parse import MACROS
from onthedot.triggers.cron.parse import parse as parse_with_key
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.stable_hash import spread_over

EVERY_MINUTE = tuple(range(60))
EVERY_HOUR = tuple(range(24))
EVERY_DAY = tuple(range(1, 32))
EVERY_MONTH = tuple(range(1, 13))
EVERY_WEEKDAY = tuple(range(7))
SUN, MON, TUE, WED, THU, FRI, SAT = range(7)


def parse(text: str, key: str = "") -> Fields:
    return parse_with_key(text, key)


def made(text: str, tz: str | None = None) -> Cron:
    trigger = cron(text, tz=tz)
    assert isinstance(trigger, Cron)
    return trigger


def days_of(text: str, month: str) -> list[int]:
    """The days of a month (such as "2026-08") on which the text ticks."""
    first = f"{month}-01T00:00Z"
    return sorted({tick.day for tick in made(text).between(first, following(month))})


def following(month: str) -> str:
    year, number = map(int, month.split("-"))
    return f"{year + number // 12}-{number % 12 + 1:02}-01T00:00Z"


# how many fields, and which


def test_five_fields_are_minute_hour_day_month_weekday_and_the_second_is_0() -> None:
    fields = parse("1 2 3 4 5")
    assert (bits(fields.seconds), bits(fields.minutes), bits(fields.hours)) == ((0,), (1,), (2,))
    rule = fields.day_rule
    assert (bits(rule.days), bits(rule.months), bits(rule.weekdays), rule.years) == ((3,), (4,), (5,), ALL_YEARS)


def test_six_fields_have_the_second_first() -> None:
    fields = parse("6 1 2 3 4 5")
    assert (bits(fields.seconds), bits(fields.minutes), bits(fields.hours)) == ((6,), (1,), (2,))
    rule = fields.day_rule
    assert (bits(rule.days), bits(rule.months), bits(rule.weekdays), rule.years) == ((3,), (4,), (5,), ALL_YEARS)


def test_seven_fields_have_the_second_first_and_the_year_last() -> None:
    fields = parse("6 1 2 3 4 5 2026-2028")
    assert (bits(fields.seconds), bits(fields.minutes), bits(fields.hours)) == ((6,), (1,), (2,))
    assert tuple(year + 1970 for year in bits(fields.day_rule.years)) == (2026, 2027, 2028)


def test_blanks_before_after_and_between_fields_do_not_matter() -> None:
    assert parse("  0\t9 *   * 1 ") == parse("0 9 * * 1")
    assert cron("  0\t9 *   * 1 ") == cron("0 9 * * 1")


# plain numbers, in every field alike


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        ("*", EVERY_MINUTE),
        ("0", (0,)),
        ("59", (59,)),
        ("05", (5,)),
        ("5,7,5", (5, 7)),
        ("5-8", (5, 6, 7, 8)),
        ("5-5", (5,)),
        ("*/15", (0, 15, 30, 45)),
        ("*/7", (0, 7, 14, 21, 28, 35, 42, 49, 56)),
        ("*/60", (0,)),
        ("10-20/5", (10, 15, 20)),
        ("10-19/5", (10, 15)),
        ("50/3", (50, 53, 56, 59)),
        ("58-2", (0, 1, 2, 58, 59)),
        ("50-10/5", (0, 5, 10, 50, 55)),
        ("58-6/3", (1, 4, 58)),
        ("1-3,30,*/20", (0, 1, 2, 3, 20, 30, 40)),
    ],
)
def test_minutes_are_read(minute: str, expected: tuple[int, ...]) -> None:
    assert bits(parse(f"{minute} * * * *").minutes) == expected
    assert bits(parse(f"{minute} * * * * *").seconds) == expected


@pytest.mark.parametrize(
    ("hour", "expected"),
    [
        ("*", EVERY_HOUR),
        ("23", (23,)),
        ("9-17", tuple(range(9, 18))),
        ("22-2", (0, 1, 2, 22, 23)),
        ("22-2/2", (0, 2, 22)),
        ("23-5/3", (2, 5, 23)),
        ("*/6", (0, 6, 12, 18)),
        ("18/2", (18, 20, 22)),
    ],
)
def test_hours_are_read(hour: str, expected: tuple[int, ...]) -> None:
    assert bits(parse(f"0 {hour} * * *").hours) == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("*", EVERY_DAY),
        ("?", EVERY_DAY),
        ("31", (31,)),
        ("*/10", (1, 11, 21, 31)),
        ("28-2", (1, 2, 28, 29, 30, 31)),
        ("1,15", (1, 15)),
    ],
)
def test_days_of_the_month_are_read(day: str, expected: tuple[int, ...]) -> None:
    assert bits(parse(f"0 0 {day} * *").day_rule.days) == expected


@pytest.mark.parametrize(
    ("month", "expected"),
    [
        ("*", EVERY_MONTH),
        ("jan", (1,)),
        ("DEC", (12,)),
        ("September", (9,)),
        ("nov-feb", (1, 2, 11, 12)),
        ("jan-dec/3", (1, 4, 7, 10)),
        ("*/3", (1, 4, 7, 10)),
        ("oct-mar/2", (2, 10, 12)),
        ("5,jul", (5, 7)),
    ],
)
def test_months_are_read(month: str, expected: tuple[int, ...]) -> None:
    assert bits(parse(f"0 0 1 {month} *").day_rule.months) == expected


@pytest.mark.parametrize(
    ("weekday", "expected"),
    [
        ("*", EVERY_WEEKDAY),
        ("?", EVERY_WEEKDAY),
        ("0", (SUN,)),
        ("7", (SUN,)),
        ("0,7", (SUN,)),
        ("sun", (SUN,)),
        ("Monday", (MON,)),
        ("mon-fri", (MON, TUE, WED, THU, FRI)),
        ("MON-FRI/2", (MON, WED, FRI)),
        ("fri-mon", (SUN, MON, FRI, SAT)),
        ("5-1", (SUN, MON, FRI, SAT)),
        ("fri-sun", (SUN, FRI, SAT)),
        ("5-7", (SUN, FRI, SAT)),
        ("7-1", (SUN, MON)),
        ("7-2/2", (SUN, TUE)),
        ("sat-sun", (SUN, SAT)),
        ("0-7", EVERY_WEEKDAY),
        ("1-7", EVERY_WEEKDAY),
        ("fri-tue/2", (SUN, TUE, FRI)),
        ("*/2", (SUN, TUE, THU, SAT)),
        ("2/2", (TUE, THU, SAT)),
        ("mon,3,fri", (MON, WED, FRI)),
    ],
)
def test_weekdays_are_read_with_0_and_7_as_sunday(weekday: str, expected: tuple[int, ...]) -> None:
    assert bits(parse(f"0 0 * * {weekday}").day_rule.weekdays) == expected


@pytest.mark.parametrize(
    ("year", "expected"),
    [
        ("2026", (2026,)),
        ("2026,2030", (2026, 2030)),
        ("2026-2028", (2026, 2027, 2028)),
        ("2190/4", (2190, 2194, 2198)),
        ("1970-1980/5", (1970, 1975, 1980)),
        ("2199", (2199,)),
    ],
)
def test_years_are_read(year: str, expected: tuple[int, ...]) -> None:
    assert tuple(number + 1970 for number in bits(parse(f"0 0 0 1 1 * {year}").day_rule.years)) == expected


# the days that letters name


@pytest.mark.parametrize(
    ("day", "month", "expected"),
    [
        ("L", "2026-02", [28]),
        ("L", "2028-02", [29]),
        ("L", "2026-08", [31]),
        ("L-3", "2026-02", [25]),
        ("L-3", "2026-08", [28]),
        ("L-30", "2026-08", [1]),
        ("L-30", "2026-09", []),
        ("LW", "2026-01", [30]),  # the 31st is a Saturday
        ("LW", "2026-05", [29]),  # the 31st is a Sunday
        ("LW", "2026-08", [31]),  # a Monday
        ("15W", "2026-08", [14]),  # the 15th is a Saturday
        ("15W", "2026-11", [16]),  # a Sunday
        ("15W", "2026-10", [15]),  # a Thursday
        ("1W", "2026-08", [3]),  # Saturday the 1st: never back into July
        ("1W", "2026-11", [2]),  # Sunday the 1st
        ("31W", "2026-05", [29]),  # Sunday the 31st: never on into June
        ("31W", "2026-01", [30]),  # Saturday the 31st
        ("31W", "2026-09", []),  # no 31st
        ("1,L", "2026-09", [1, 30]),
        ("1W,15W,LW", "2026-08", [3, 14, 31]),
        ("L-1,L", "2026-09", [29, 30]),
        ("l,lw", "2026-05", [29, 31]),
        ("10-12,L", "2026-09", [10, 11, 12, 30]),
    ],
)
def test_letters_name_days_of_the_month(day: str, month: str, expected: list[int]) -> None:
    assert days_of(f"0 0 {day} * *", month) == expected
    assert days_of(f"0 0 {day} * ?", month) == expected


@pytest.mark.parametrize(
    ("weekday", "month", "expected"),
    [
        ("5L", "2026-08", [28]),
        ("friL", "2026-08", [28]),
        ("FRIDAYL", "2026-08", [28]),
        ("0L", "2026-08", [30]),
        ("7L", "2026-08", [30]),
        ("1L", "2026-08", [31]),
        ("5#2", "2026-08", [14]),
        ("fri#2", "2026-08", [14]),
        ("0#1", "2026-08", [2]),
        ("7#1", "2026-08", [2]),
        ("1#5", "2026-08", [31]),
        ("1#5", "2026-09", []),
        ("mon#1,mon#3", "2026-08", [3, 17]),
        ("5L,5#1", "2026-08", [7, 28]),
        ("tue,5L", "2026-08", [4, 11, 18, 25, 28]),
    ],
)
def test_letters_name_weekdays_of_the_month(weekday: str, month: str, expected: list[int]) -> None:
    assert days_of(f"0 0 * * {weekday}", month) == expected
    assert days_of(f"0 0 ? * {weekday}", month) == expected


# day of month with day of week: Vixie's rule


@pytest.mark.parametrize(
    ("text", "month", "expected"),
    [
        ("0 0 13 * 5", "2026-11", [6, 13, 20, 27]),  # neither begins with *: one is enough
        ("0 0 1,15 * mon", "2026-11", [1, 2, 9, 15, 16, 23, 30]),
        ("0 0 */10 * 0", "2026-11", [1]),  # one begins with *: both must match
        ("0 0 1-7 * */7", "2026-11", [1]),
        ("0 0 * * 5", "2026-11", [6, 13, 20, 27]),
        ("0 0 13 * *", "2026-11", [13]),
        ("0 0 13 * ?", "2026-11", [13]),
        ("0 0 ? * 5", "2026-11", [6, 13, 20, 27]),
        ("0 0 L * 5", "2026-11", [6, 13, 20, 27, 30]),
        ("0 0 1W * 5L", "2026-11", [2, 27]),
        ("0 0 1-31 * 1", "2026-11", list(range(1, 31))),  # all days, but no *: one is enough
        ("0 0 1,*/15 * 1", "2026-11", [1, 2, 9, 16, 23, 30]),  # a * that is not at the beginning does not count
    ],
)
def test_days_and_weekdays_must_both_match_only_if_one_begins_with_a_star(
    text: str, month: str, expected: list[int]
) -> None:
    assert days_of(text, month) == expected


# H


def test_h_is_one_number_of_the_field_settled_by_the_key() -> None:
    for key in map(str, range(300)):
        fields = parse("H H H H H", key)
        rule = fields.day_rule
        masks = (fields.minutes, fields.hours, rule.days, rule.months, rule.weekdays)
        assert [len(bits(mask)) for mask in masks] == [1, 1, 1, 1, 1]
        assert bits(rule.days)[0] <= 28  # every month has it
        assert fields.hashed


def test_the_numbers_of_many_keys_are_spread_over_the_whole_field() -> None:
    fields = [parse("H H H H H", str(key)) for key in range(1500)]
    assert {bits(each.minutes)[0] for each in fields} == set(EVERY_MINUTE)
    assert {bits(each.hours)[0] for each in fields} == set(EVERY_HOUR)
    assert {bits(each.day_rule.days)[0] for each in fields} == set(range(1, 29))
    assert {bits(each.day_rule.months)[0] for each in fields} == set(EVERY_MONTH)
    assert {bits(each.day_rule.weekdays)[0] for each in fields} == set(EVERY_WEEKDAY)


def test_h_in_two_fields_gives_independent_numbers() -> None:
    pairs = {
        (bits(each.seconds)[0], bits(each.minutes)[0]) for each in (parse("H H * * * *", str(k)) for k in range(500))
    }
    assert len(pairs) > 400


def test_h_with_a_step_begins_at_a_number_below_the_step() -> None:
    for key in map(str, range(100)):
        minutes = bits(parse("H/15 * * * *", key).minutes)
        assert minutes == tuple(range(minutes[0], 60, 15))
        assert minutes[0] < 15


def test_h_with_a_range_stays_inside_it() -> None:
    minutes = {bits(parse("H(0-29) * * * *", str(key)).minutes) for key in range(500)}
    assert minutes == {(minute,) for minute in range(30)}


def test_h_with_a_range_and_a_step_walks_inside_the_range() -> None:
    for key in map(str, range(100)):
        minutes = bits(parse("H(0-29)/10 * * * *", key).minutes)
        assert minutes == tuple(range(minutes[0], 30, 10))
        assert minutes[0] < 10


def test_h_beside_other_numbers_in_a_list_adds_to_them() -> None:
    assert set(bits(parse("0,H(30-59) * * * *", "a").minutes)) > {0}


@pytest.mark.parametrize(
    ("key", "purpose", "number"),
    [
        ("digest-eu", "minute", 188_315),
        ("digest-eu", "spread", 948_288),
        ("", "minute", 154_759),
        ("", "spread", 522_837),
        ("Grüße", "minute", 31_887),
        ("Grüße", "spread", 800_273),
    ],
)
def test_the_same_key_gives_the_same_number_on_every_machine_for_ever(key: str, purpose: str, number: int) -> None:
    """A golden table: a change here moves the schedules of every user."""
    assert spread_over(key, purpose, 1_000_000) == number


def test_with_key_settles_h_and_leaves_a_text_without_h_alone() -> None:
    hashed, plain = made("H 3 * * *"), made("0 3 * * *")
    assert hashed.with_key("a") != hashed.with_key("b")
    assert hashed.with_key("a") == hashed.with_key("a")
    assert hashed.with_key("a").fields == parse("H 3 * * *", "a")
    assert plain.with_key("a") is plain


# macros, intervals and zones


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_macros_mean_what_cron_says(macro: str, text: str) -> None:
    assert parse(macro) == parse(text)
    assert parse(f"  {macro} ") == parse(text)


def test_every_macro_is_in_the_table_above() -> None:
    assert set(MACROS) == {"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}


@pytest.mark.parametrize("text", ["@every 90s", "@every 1m30s", "  @every  90s ", "@Every 1.5m"])
def test_at_every_is_an_interval(text: str) -> None:
    assert cron(text) == every("90s")


def test_at_every_keeps_zone_and_bounds() -> None:
    trigger = cron("CRON_TZ=Asia/Tokyo @every 1h", starts_at="2026-01-01T00:00Z", repeat_until="2026-02-01T00:00Z")
    assert trigger == every("1h", tz="Asia/Tokyo", starts_at="2026-01-01T00:00Z", repeat_until="2026-02-01T00:00Z")


@pytest.mark.parametrize("prefix", ["CRON_TZ=Asia/Tokyo", "TZ=Asia/Tokyo", "  CRON_TZ=Asia/Tokyo  "])
def test_a_zone_may_stand_before_the_fields(prefix: str) -> None:
    assert cron(f"{prefix} 0 9 * * *") == cron("0 9 * * *", tz="Asia/Tokyo")
    assert cron(f"{prefix} @daily") == cron("@daily", tz="Asia/Tokyo")


def test_the_same_zone_may_stand_in_both_places() -> None:
    assert cron("CRON_TZ=Asia/Tokyo 0 9 * * *", tz="Asia/Tokyo") == cron("0 9 * * *", tz="Asia/Tokyo")


# fixed times, and triggers as values


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("30 2 * * *", True),
        ("0 0,12 1-5 * mon", True),
        ("H H * * *", True),
        ("H/15 2 * * *", True),
        ("0-59 2 * * *", True),
        ("5,*/10 2 * * *", True),  # it does not begin with a star
        ("@daily", True),
        ("@hourly", False),
        ("*/5 2 * * *", False),
        ("0 * * * *", False),
        ("30 */2 * * *", False),
        ("0 30 2 * * *", True),
        ("* 30 2 * * *", False),
        ("*/30 30 2 * * *", False),
    ],
)
def test_a_text_is_at_fixed_times_if_neither_second_nor_minute_nor_hour_begins_with_a_star(
    text: str, fixed: bool
) -> None:
    assert parse(text).fixed is fixed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0 9 * * MON-FRI", "0 9 * * mon-fri"),
        ("0  9 * * 1", "0 9 * * 1"),
        ("h h * * *", "H H * * *"),
        ("0 0 lw * *", "0 0 LW * *"),
        ("0 0 l-3 * *", "0 0 L-3 * *"),
        ("0 0 15w * *", "0 0 15W * *"),
        ("0 0 * * FRIl", "0 0 * * friL"),
        ("0 0 1 JANUARY *", "0 0 1 january *"),
        ("@DAILY", "@daily"),
    ],
)
def test_texts_that_differ_in_case_and_blanks_only_are_equal(one: str, other: str) -> None:
    assert cron(one) == cron(other)
    assert hash(cron(one)) == hash(cron(other))
    assert str(cron(one)) == str(cron(other))


def test_triggers_defined_alike_are_equal_and_others_are_not() -> None:
    assert cron("0 9 * * *", tz="Asia/Tokyo", gap="skip") == cron("0 9 * * *", tz="Asia/Tokyo", gap="skip")
    assert len({cron("0 9 * * *"), cron("0 9 * * *"), cron("0 9 * * *", tz="UTC"), cron("1 9 * * *")}) == 3


@pytest.mark.parametrize(
    "trigger",
    [
        cron("0 9 * * mon-fri"),
        cron("H 9 * * friL", tz="Asia/Tokyo", gap="skip", fold="both"),
        cron("@daily", starts_at="2026-01-01T00:00Z", repeat_until="2026-02-01T00:00:00.5Z"),
        every("90s", anchor="2026-01-01T00:00:30Z", spread=True, tz="Asia/Tokyo"),
    ],
)
def test_the_text_of_a_trigger_is_the_call_that_makes_it(trigger: object) -> None:
    assert eval(str(trigger), {"cron": cron, "every": every}) == trigger


# bounds


def test_both_bounds_are_inclusive() -> None:
    hourly = cron("@hourly", starts_at="2026-01-01T05:00Z", repeat_until="2026-01-01T07:00Z")
    ticks = hourly.between("2025-01-01T00:00Z", "2027-01-01T00:00Z")
    assert [tick.hour for tick in ticks] == [5, 6, 7]
    assert hourly.prev("2026-01-01T05:00Z") is None
    assert hourly.next("2026-01-01T07:00Z") is None
    assert hourly.next("1970-01-01T00:00Z") == ticks[0]
    assert hourly.prev("2199-01-01T00:00Z") == ticks[-1]


def test_bounds_between_two_ticks_cut_to_the_ticks_inside() -> None:
    hourly = cron("@hourly", starts_at="2026-01-01T04:00:00.001Z", repeat_until="2026-01-01T06:59:59.999Z")
    assert [tick.hour for tick in hourly.between("2025-01-01T00:00Z", "2027-01-01T00:00Z")] == [5, 6]


def test_a_bound_may_be_the_very_end_of_a_gap() -> None:
    end = "2026-03-08T07:00Z"
    for bounds in ({"starts_at": end}, {"repeat_until": end}, {"starts_at": end, "repeat_until": end}):
        nightly = cron("30 2 * * *", tz="America/New_York", **bounds)  # type: ignore[arg-type]
        assert nightly.matches(end)
        assert str(nightly.prev("2026-03-08T12:00Z")) == "2026-03-08 07:00:00+00:00"


def test_naive_bounds_are_times_on_the_wall_clock_of_the_zone() -> None:
    tokyo = cron("@hourly", tz="Asia/Tokyo", starts_at="2026-01-01 09:00", repeat_until="2026-01-01 11:00")
    assert [tick.hour for tick in tokyo.between("2025-01-01T00:00Z", "2027-01-01T00:00Z")] == [0, 1, 2]


def test_a_date_as_the_end_means_all_of_that_day() -> None:
    tokyo = cron("@hourly", tz="Asia/Tokyo", starts_at="2026-01-01", repeat_until="2026-01-02")
    found = tokyo.between("2025-01-01T00:00Z", "2027-01-01T00:00Z")
    assert len(found) == 48
    assert (str(found[0]), str(found[-1])) == ("2025-12-31 15:00:00+00:00", "2026-01-02 14:00:00+00:00")


# the ends of time


def test_ticks_lie_between_1970_and_the_end_of_2199() -> None:
    minutely = cron("* * * * *")
    assert minutely.next("1950-01-01T00:00Z") == from_ms(0)
    assert minutely.prev("1970-01-01T00:00Z") is None
    assert str(minutely.prev("2300-01-01T00:00Z")) == "2199-12-31 23:59:00+00:00"
    assert minutely.next("2199-12-31T23:59Z") is None
    assert minutely.between("2199-12-31T23:58Z", "2300-01-01T00:00Z")[-1] == minutely.prev("2300-01-01T00:00Z")


def test_29_february_is_found_across_1900_like_years() -> None:
    leap = cron("0 0 29 2 *")
    assert str(leap.next("2096-03-01T00:00Z")) == "2104-02-29 00:00:00+00:00"
    assert str(leap.prev("2104-02-29T00:00Z")) == "2096-02-29 00:00:00+00:00"


def test_next_is_strictly_after_and_prev_strictly_before() -> None:
    daily = cron("0 9 * * *")
    nine = "2026-11-15T09:00Z"
    assert str(daily.next(nine)) == "2026-11-16 09:00:00+00:00"
    assert str(daily.prev(nine)) == "2026-11-14 09:00:00+00:00"
    assert str(daily.next("2026-11-15T08:59:59.999999Z")) == "2026-11-15 09:00:00+00:00"
    assert str(daily.prev("2026-11-15T09:00:00.000001Z")) == "2026-11-15 09:00:00+00:00"


def test_between_includes_its_start_and_not_its_end() -> None:
    ticks = cron("@hourly").between("2026-11-15T09:00Z", "2026-11-15T11:00Z")
    assert [tick.hour for tick in ticks] == [9, 10]
    assert cron("@hourly").between("2026-11-15T11:00Z", "2026-11-15T09:00Z") == []


def test_a_moment_matches_to_the_millisecond() -> None:
    daily = cron("0 9 * * *", tz="Asia/Tokyo")
    assert daily.matches("2026-11-15T00:00Z")
    assert daily.matches("2026-11-15T09:00+09:00")
    assert not daily.matches("2026-11-15T00:00:00.001Z")
    assert not daily.matches("2026-11-15T00:00:00.000001Z")
    assert not daily.matches("2026-11-15T09:00Z")


def test_a_text_of_any_length_is_not_read_and_not_kept() -> None:
    longest = " ".join(",".join(map(str, numbers)) for numbers in (range(60), range(24), range(1, 32), range(1, 13)))
    assert parse_with_key(f"{longest} *", "x").minutes == (1 << 60) - 1
    with pytest.raises(TriggerError, match="2,000 characters at most"):
        parse_with_key("1," * 1000 + "1 * * * *", "x")
