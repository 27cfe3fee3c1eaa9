"""A cron text in English: right, short, and different for what is different."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest

from onthedot import cron
from onthedot.triggers.cron.days import month_mask
from onthedot.triggers.cron.describe import describe_fields
from onthedot.triggers.cron.fields import Fields
from onthedot.triggers.cron.parse import parse

ENGLISH = [
    # by the clock
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("*/30 * * * *", "every 30 minutes"),
    ("0,30 * * * *", "every 30 minutes"),
    ("*/7 * * * *", "every 7th minute"),
    ("5/15 * * * *", "every 15 minutes from minute 5"),
    ("1-59/2 * * * *", "every 2 minutes from minute 1"),
    ("@hourly", "every hour"),
    ("30 * * * *", "every hour at minute 30"),
    ("0 */2 * * *", "every 2 hours"),
    ("15 */2 * * *", "every 2 hours at minute 15"),
    ("0 1/2 * * *", "every 2 hours from hour 1"),
    ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
    ("30 9-17 * * *", "every hour from 09:30 to 17:30"),
    ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55"),
    ("0,30 9-17 * * *", "every 30 minutes from 09:00 to 17:30"),
    ("* 9 * * *", "every minute from 09:00 to 09:59"),
    # at certain times
    ("@daily", "at 00:00 every day"),
    ("30 2 * * *", "at 02:30 every day"),
    ("0 9,17 * * *", "at 09:00 and 17:00 every day"),
    ("0 */5 * * *", "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day"),
    ("*/15 9 * * *", "at 09:00, 09:15, 09:30 and 09:45 every day"),
    ("5,10,20 1,3,5 * * *", "at minutes 5, 10 and 20 of hours 1, 3 and 5 every day"),
    ("10-20 9 * * *", "at minutes 10 to 20 of hour 9 every day"),
    # with seconds
    ("* * * * * *", "every second"),
    ("*/10 * * * * *", "every 10 seconds"),
    ("0 * * * * *", "every minute"),
    ("30 * * * * *", "every minute, at second 30"),
    ("30 */5 * * * *", "every 5 minutes, at second 30"),
    ("5 30 2 * * *", "at 02:30:05 every day"),
    ("1,2 30 9 * * *", "at 09:30:01 and 09:30:02 every day"),
    ("* * 2 * * *", "every second of hour 2"),
    # by the weekday
    ("0 9 * * mon-fri", "at 09:00, Monday to Friday"),
    ("0 9 * * 1-6", "at 09:00, Monday to Saturday"),
    ("0 9 * * fri-mon", "at 09:00, Friday to Monday"),
    ("*/5 9-17 * * mon-fri", "every 5 minutes from 09:00 to 17:55, Monday to Friday"),
    ("0 9 * * sat,sun", "at 09:00, on Saturday and Sunday"),
    ("0 9 * * 5L", "at 09:00, on the last Friday of the month"),
    ("0 9 * * 7#1", "at 09:00, on the first Sunday of the month"),
    ("0 9 * * 5#2", "at 09:00, on the second Friday of the month"),
    ("0 12 * * tue#5", "at 12:00, on the fifth Tuesday of the month"),
    # by the day of the month
    ("0 9 L * *", "at 09:00, on the last day of the month"),
    ("0 9 L-1 * *", "at 09:00, on the day before the last day of the month"),
    ("0 9 L-3 * *", "at 09:00, on the 3rd day before the last day of the month"),
    ("0 9 LW * *", "at 09:00, on the last workday of the month"),
    ("0 9 */2 * *", "at 09:00, on every 2nd day of the month from day 1"),
    ("0 9 5/10 * *", "at 09:00, on every 10th day of the month from day 5"),
    ("0 9 1,L * *", "at 09:00, on day 1 and the last day of the month"),
    ("0 9 10-20 * *", "at 09:00, on days 10 to 20"),
    # by the month and year
    ("0 9 * 1 *", "at 09:00, in January"),
    ("0 9 L 2 *", "at 09:00, on the last day of the month, in February"),
    ("0 9 L */3 *", "at 09:00, on the last day of the month, in January, April, July and October"),
    ("0 0 9 * * * 2026", "at 09:00, in 2026"),
    ("0 0 9 * * mon-fri 2026,2028", "at 09:00, Monday to Friday, in 2026 and 2028"),
]


@pytest.mark.parametrize(("text", "english"), ENGLISH)
def test_a_text_is_told_in_english(text: str, english: str) -> None:
    assert cron(text).describe() == f"{english}, UTC time"


def test_zone_rule_and_bounds_are_told_too() -> None:
    berlin = cron(
        "30 2 * * *", tz="Europe/Berlin", gap="skip", fold="both", starts_at="2026-01-01", repeat_until="2026-12-31"
    )
    assert berlin.describe() == (
        "at 02:30 every day, Europe/Berlin time, gap=skip and fold=both, "
        "from 2025-12-31T23:00:00Z, until 2026-12-31T22:59:59.999Z"
    )


# what is different is told differently

CLOCKS = list(
    product(
        ("0", "7", "30", "*", "*/5", "*/7", "5/15", "0,1", "10-20", "59", "1-59/2"),
        ("0", "1", "9", "*", "*/2", "1/2", "*/5", "9-17", "22-2", "1,3,5", "0-22", "8-20/2"),
        ("0", "30", "*", "*/10", "15,45", "0-9"),
    )
)
DAYS = list(
    product(
        ("*", "1", "1,15", "1-7", "1-31", "*/2", "2/2", "L", "L-1", "L-2", "LW", "15W", "1W,15W", "1,L", "10,20,30"),
        ("*", "mon", "mon-fri", "0-6", "fri-mon", "sat,sun", "5L", "5#2", "5#1,5#3", "mon,5L", "*/2", "mon-wed,fri"),
        ("*", "1", "1-3", "nov-feb", "*/3"),
    )
)


def meaning(fields: Fields) -> object:
    """What a text does, whatever way it is written in: its times of the day, and its days in some years."""
    days = tuple(month_mask(fields.day_rule, year, month) for year in (2026, 2027, 2028) for month in range(1, 13))
    return fields.seconds, fields.minutes, fields.hours, days


def told_alike(texts: list[str]) -> list[list[str]]:
    """Groups of texts that mean different things and are told in the same words."""
    groups: defaultdict[str, dict[object, str]] = defaultdict(dict)
    for text in texts:
        fields = parse(text, "")
        groups[describe_fields(fields)].setdefault(meaning(fields), text)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def test_different_times_of_the_day_are_told_in_different_words() -> None:
    assert told_alike([f"{second} {minute} {hour} * * *" for minute, hour, second in CLOCKS]) == []


def test_different_days_are_told_in_different_words() -> None:
    assert told_alike([f"0 9 {day} {month} {weekday}" for day, weekday, month in DAYS]) == []


def test_days_that_must_match_both_are_not_told_in_the_words_of_a_list() -> None:
    """ "on day 1 and on Monday" is two days to everyone who reads it."""
    either = cron("0 9 1 * mon").describe()
    both = cron("0 9 */2 * mon").describe()
    assert " or on " in either
    assert " and on Monday" not in both


def test_a_description_stays_short_enough_to_be_read() -> None:
    texts = [row[0] for row in ENGLISH] + ["0 0 9 * * * */2", "0 0 9 1 1 * 1971/2"]
    assert [text for text in texts if len(cron(text).describe()) > 200] == []
