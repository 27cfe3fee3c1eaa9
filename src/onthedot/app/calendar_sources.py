"""Where the days of a calendar come from: a list, an .ics file, or the holidays of a country."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import Any

from onthedot.app.remedies import did_you_mean
from onthedot.errors import ExtraMissing, TriggerError
from onthedot.moments import END_MS, from_ms
from onthedot.triggers.calendar_days import CalendarDays, days_named
from onthedot.triggers.zones import get_zone

YEARS = 3
"""So many years after this one an .ics file is worked out: its rules may go on for ever."""
_YEARS_BEFORE = 1
"""And so many before it: what is filled in of the past leaves out the same days."""
_MOST_BYTES = 5_000_000
_MOST_RULES = 1000
_MOST_A_DAY = 24
_OFTENER_THAN_DAYS = ("SECONDLY", "MINUTELY", "HOURLY")
_LAST_YEAR = from_ms(END_MS - 1).year


def ics(source: str | bytes | PathLike[str], *, tz: str | None = None, today: date | None = None) -> CalendarDays:
    """The days of an .ics file, or of its text: all that an event touches, with its name.

    Rules are worked out for the year before this one, this one and the three after it, however long they go on. An
    event with times counts for the days that it touches on the clock of `tz`; if left out, of the file's or its own
    zone.
    """
    place, text = _read(source)
    this_year = (today or _today()).year
    first, end = date(this_year - _YEARS_BEFORE, 1, 1), date(this_year + YEARS + 1, 1, 1)
    zone = None if tz is None else get_zone(tz).name
    events = _events(place, text, first, end)
    named = [(_span(place, event, first, end, zone), str(event.get("SUMMARY", ""))) for event in events]
    days = sorted((span, name) for span, name in named if span is not None)
    if not days:
        raise TriggerError(f"{place}: no event of it lies in {first.year} to {end.year - 1}")
    return days_named([(span, name) for span, name in days], source="ics", until=end - timedelta(days=1))


def holidays_of(
    country: str, years: Iterable[int] | int, *, subdiv: str | None = None, language: str | None = None
) -> CalendarDays:
    """The holidays of a country in these years, as the `holidays` package knows them: `holidays_of("DE", [2026])`.

    `subdiv` is a state or region of it ("BY"), `language` that of the names ("en_US").
    """
    try:
        import holidays
    except ImportError:
        raise ExtraMissing("holidays_of", "holidays", "holidays") from None
    wanted = sorted({years} if isinstance(years, int) else set(years))
    if not wanted:
        raise TriggerError("holidays_of: name the years", hint="years=range(2026, 2030)")
    for year in wanted:
        if isinstance(year, bool) or not isinstance(year, int) or not 1970 <= year <= _LAST_YEAR:
            raise TriggerError(f"holidays_of: {year!r} is no year from 1970 to {_LAST_YEAR}")
    known = holidays.list_supported_countries()
    if country not in known:
        raise TriggerError(f"holidays_of: no country {country!r}", hint=did_you_mean(str(country), known))
    if subdiv is not None and subdiv not in known[country]:
        remedy = did_you_mean(subdiv, known[country]) if known[country] else "leave it out"
        raise TriggerError(f"holidays_of: {country} has no subdivision {subdiv!r}", hint=remedy)
    found = holidays.country_holidays(country, subdiv=subdiv, years=wanted, language=language, expand=False)
    without = [year for year in wanted if not any(day.year == year for day in found)]
    if without:
        raise TriggerError(f"holidays_of: no holidays of {country} are known in {', '.join(map(str, without))}")
    return days_named([*found.items()], source="holidays", until=date(wanted[-1], 12, 31))


def _today() -> date:
    """By the clock of this machine: which years are worked out is no matter of seconds."""
    from onthedot.clock import SystemClock

    return from_ms(SystemClock().now_ms()).date()


def _read(source: str | bytes | PathLike[str]) -> tuple[str, bytes]:
    """What to call it in errors, and its text."""
    if isinstance(source, bytes):
        return "the .ics text", source
    if isinstance(source, str) and ("\n" in source or "BEGIN:" in source.upper()):
        return "the .ics text", source.encode()
    if not isinstance(source, str | PathLike):
        raise TriggerError(f"ics: {source!r} is neither the path of a file nor its text")
    path = Path(source)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TriggerError(f"{path}: it is larger than {_MOST_BYTES // 1_000_000} MB")
        return str(path), path.read_bytes()
    except OSError as error:
        raise TriggerError(f"{path}: {error.strerror or error}") from None


def _events(place: str, text: bytes, first: date, end: date) -> list[Any]:
    """Every event between these days, each repetition of its own; not those that were called off."""
    try:
        import icalendar
        import recurring_ical_events  # type: ignore[import-untyped]
    except ImportError:
        raise ExtraMissing("ics", "icalendar and recurring-ical-events", "ics") from None
    if len(text) > _MOST_BYTES:
        raise TriggerError(f"{place}: it is larger than {_MOST_BYTES // 1_000_000} MB")
    if b"BEGIN:VCALENDAR" not in text.upper():
        raise TriggerError(f"{place}: this is no .ics file; one begins with BEGIN:VCALENDAR")
    try:
        calendar = icalendar.Calendar.from_ical(text)
        _check_rules(place, calendar)
        found = recurring_ical_events.of(calendar).between(first, end)
    except TriggerError:
        raise
    except Exception as error:  # whatever their parsers raise
        reason = " ".join(str(error).split())[:200]
        raise TriggerError(f"{place}: this .ics file cannot be read: {reason or type(error).__name__}") from None
    return [event for event in found if str(event.get("STATUS", "")).upper() != "CANCELLED"]


def _check_rules(place: str, calendar: Any) -> None:
    """A calendar knows days: a rule that is finer would be worked out millions of times."""
    rules = 0
    for event in calendar.walk("VEVENT"):
        given = event.get("RRULE")
        for rule in given if isinstance(given, list) else [given] if given else []:
            rules += 1
            name = event.get("SUMMARY", "an event")
            oftener = next((each for each in rule.get("FREQ", []) if str(each).upper() in _OFTENER_THAN_DAYS), None)
            a_day = 1
            for part in ("BYHOUR", "BYMINUTE", "BYSECOND"):
                a_day *= max(len(rule.get(part, [])), 1)
            if oftener is not None or a_day > _MOST_A_DAY:
                often = f"FREQ={oftener}" if oftener is not None else f"{a_day:,} times a day"
                raise TriggerError(f"{place}: {name} repeats too often ({often}); a calendar knows days: FREQ=DAILY")
    if rules > _MOST_RULES:
        raise TriggerError(f"{place}: it has {rules:,} events that repeat; the most is {_MOST_RULES:,}")


def _span(place: str, event: Any, first: date, end: date, zone: str | None) -> str | None:
    """The days that an event touches, as `dates` reads them; None where they are not in these years."""
    start, stop = _edges(place, event)
    start_day, last_day = _days(start, stop, zone)
    start_day, last_day = max(start_day, first), min(last_day, end - timedelta(days=1))
    return f"{start_day}..{last_day}" if start_day <= last_day else None


def _edges(place: str, event: Any) -> tuple[date, date]:
    start = event.get("DTSTART")
    if start is None:
        raise TriggerError(f"{place}: {event.get('SUMMARY', 'an event')} has no DTSTART")
    if event.get("DTEND") is not None:
        return start.dt, event["DTEND"].dt
    if event.get("DURATION") is not None:
        return start.dt, start.dt + event["DURATION"].dt
    return start.dt, start.dt if isinstance(start.dt, datetime) else start.dt + timedelta(days=1)


def _days(start: date, stop: date, zone: str | None) -> tuple[date, date]:
    """The first and the last day; the end itself is no part of it."""
    if not isinstance(start, datetime) or not isinstance(stop, datetime):
        first = start.date() if isinstance(start, datetime) else start
        last = (stop.date() if isinstance(stop, datetime) else stop) - timedelta(days=1)
        return first, max(first, last)
    if zone is not None and start.tzinfo is not None and stop.tzinfo is not None:
        start, stop = _on_the_clock(start, zone), _on_the_clock(stop, zone)
    last = (stop - timedelta(microseconds=1)).date() if stop > start else stop.date()
    return start.date(), max(start.date(), last)


def _on_the_clock(moment: datetime, zone: str) -> datetime:
    """What the clock of the zone shows then."""
    second = int(moment.timestamp())
    return datetime(1970, 1, 1) + timedelta(seconds=get_zone(zone).label(second))  # noqa: DTZ001 - a wall clock's time
