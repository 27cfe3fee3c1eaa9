"""A cron text in English."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onthedot.triggers.cron.fields import (
    ALL_DAYS_OF_MONTH,
    ALL_DAYS_OF_WEEK,
    ALL_HOURS,
    ALL_MINUTES,
    ALL_MONTHS,
    ALL_SECONDS,
    ALL_YEARS,
    FIRST_YEAR,
    MONTHS,
    WEEKDAYS,
    DayRule,
    Fields,
    bits,
)

_MOST_TIMES = 6
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def describe_fields(fields: Fields) -> str:
    """ "every 5 minutes from 09:00 to 17:55, Monday to Friday"."""
    days = _days(fields.day_rule)
    clock = _clock(fields)
    if not days:
        return f"{clock} every day" if clock.startswith("at ") and "every" not in clock else clock
    return f"{clock}, {days}"


# the time of day


def _clock(fields: Fields) -> str:
    hours, minutes, seconds = bits(fields.hours), bits(fields.minutes), bits(fields.seconds)
    if len(hours) * len(minutes) * len(seconds) <= _MOST_TIMES:
        return f"at {_and([_time(h, m, s) for h in hours for m in minutes for s in seconds])}"
    if len(seconds) > 1:
        return _seconds(fields)
    at_second = f", at second {seconds[0]}" if seconds[0] else ""
    if len(minutes) == 1:
        return _hourly(fields.hours, minutes[0]) + at_second
    pace = _pace(fields.minutes, ALL_MINUTES, "minute")
    if pace is None:
        return f"at {_numbers('minute', minutes)} of {_hours(fields.hours)}{at_second}"
    if fields.hours == ALL_HOURS:
        return pace + at_second
    if _is_run(hours):
        return f"{pace} from {_time(hours[0], minutes[0])} to {_time(hours[-1], minutes[-1])}{at_second}"
    return f"{pace} of {_hours(fields.hours)}{at_second}"


def _seconds(fields: Fields) -> str:
    pace = _pace(fields.seconds, ALL_SECONDS, "second") or f"at {_numbers('second', bits(fields.seconds))}"
    minutes = "" if fields.minutes == ALL_MINUTES else f" of {_numbers('minute', bits(fields.minutes))}"
    hours = "" if fields.hours == ALL_HOURS else f" of {_hours(fields.hours)}"
    if pace.startswith("at ") and not minutes:
        minutes = " of every minute"
    return pace + minutes + hours


def _hourly(hours_mask: int, minute: int) -> str:
    hours = bits(hours_mask)
    past = f" at minute {minute}" if minute else ""
    pace = _pace(hours_mask, ALL_HOURS, "hour")
    if pace:
        return pace + past
    if _is_run(hours):
        return f"every hour from {_time(hours[0], minute)} to {_time(hours[-1], minute)}"
    return f"at minute {minute} of {_hours(hours_mask)}"


def _pace(mask: int, everything: int, unit: str) -> str | None:
    """ "every minute", "every 5 minutes", "every 7th minute" (where the hour does not divide evenly), or None."""
    if mask == everything:
        return f"every {unit}"
    count, values = everything.bit_length(), bits(mask)
    step = values[1] - values[0] if len(values) > 1 else 0
    if step < 2 or values != tuple(range(values[0], count, step)) or values[0] >= step:
        return None
    offset = f" from {unit} {values[0]}" if values[0] else ""
    return f"every {step} {unit}s{offset}" if count % step == 0 else f"every {_nth(step)} {unit}{offset}"


def _hours(mask: int) -> str:
    return _pace(mask, ALL_HOURS, "hour") or _numbers("hour", bits(mask))


def _time(hour: int, minute: int, second: int = 0) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


# the day


def _days(rule: DayRule) -> str:
    any_day, any_weekday = rule.days == ALL_DAYS_OF_MONTH, rule.weekdays == ALL_DAYS_OF_WEEK
    if not rule.both and (any_day or any_weekday):
        any_day = any_weekday = True  # one of them is enough, and one of them always matches
    parts = [
        _joined(
            None if any_day else f"on {_and(_month_days(rule))}", None if any_weekday else _weekdays(rule), rule.both
        )
    ]
    if rule.months != ALL_MONTHS:
        parts.append(f"in {_runs(bits(rule.months), _month_name, wrap=12)}")
    if rule.years != ALL_YEARS:
        parts.append(f"in {_years([year + FIRST_YEAR for year in bits(rule.years)])}")
    return ", ".join(part for part in parts if part)


def _years(years: list[int]) -> str:
    step = years[1] - years[0] if len(years) > 3 else 0
    if step > 1 and years == list(range(years[0], years[-1] + 1, step)):
        return f"every {_nth(step)} year from {years[0]} to {years[-1]}"
    return _runs(years, str)


def _joined(by_day: str | None, by_weekday: str | None, both: bool) -> str:
    if by_day and by_weekday:
        return f"{by_day}, but only {by_weekday}" if both else f"{by_day} or {by_weekday}"
    return by_day or by_weekday or ""


def _month_days(rule: DayRule) -> list[str]:
    texts = []
    values = bits(rule.days)
    step = values[1] - values[0] if len(values) > 1 else 0
    if step > 1 and len(values) > 2 and values == tuple(range(values[0], 32, step)) and values[0] <= step:
        texts.append(f"every {_nth(step)} day of the month from day {values[0]}")
    elif values:
        texts.append(_numbers("day", values))
    texts += [_from_last(before) for before in bits(rule.from_last)]
    texts += [f"the workday nearest to day {day}" for day in bits(rule.nearest)]
    texts += ["the last workday of the month"] if rule.last_workday else []
    return texts


def _from_last(before: int) -> str:
    last = "the last day of the month"
    return last if before == 0 else f"the day before {last}" if before == 1 else f"the {_nth(before)} day before {last}"


def _weekdays(rule: DayRule) -> str:
    texts = []
    if rule.weekdays:
        names = _runs(
            tuple(sorted((day - 1) % 7 for day in bits(rule.weekdays))),
            lambda day: _weekday_name((day + 1) % 7),
            wrap=7,
        )
        texts.append(names if " to " in names and "," not in names and " and " not in names else f"on {names}")
    texts += [f"on the last {_weekday_name(day)} of the month" for day in bits(rule.last_weekdays)]
    texts += [f"on the {_ORDINALS[bit % 5]} {_weekday_name(bit // 5)} of the month" for bit in bits(rule.nth_weekdays)]
    return _and(texts)


def _weekday_name(day: int) -> str:
    return WEEKDAYS[day].title()


def _month_name(month: int) -> str:
    return MONTHS[month - 1].title()


# words


def _numbers(unit: str, values: Sequence[int]) -> str:
    """ "minute 5", "minutes 5 and 20", "days 1 to 7"."""
    return f"{unit} {values[0]}" if len(values) == 1 else f"{unit}s {_runs(values, str)}"


def _runs(values: Sequence[int], name: Callable[[int], str], wrap: int | None = None) -> str:
    """Names of the values, with "a to b" for three or more in a row, also around the end of the week or year."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    if wrap and len(runs) > 1 and (runs[-1][-1] + 1 - runs[0][0]) % wrap == 0:
        runs = [[*runs[-1], *runs[0]], *runs[1:-1]]
    texts = []
    for run in runs:
        texts += [f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else [name(value) for value in run]
    return _and(texts)


def _is_run(values: Sequence[int]) -> bool:
    return values[-1] - values[0] == len(values) - 1


def _and(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _nth(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
