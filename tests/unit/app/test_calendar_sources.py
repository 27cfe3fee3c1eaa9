"""Where the days of a calendar come from, and what is refused in one line."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from onthedot import TriggerError, holidays_of, ics
from onthedot.errors import ExtraMissing
from onthedot.triggers.dates import iso_day

TODAY = date(2026, 11, 16)


def file_of(*events: str) -> str:
    body = "\n".join(f"BEGIN:VEVENT\nUID:{number}\n{each}\nEND:VEVENT" for number, each in enumerate(events))
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//EN\n{body}\nEND:VCALENDAR\n"


def days(*events: str, tz: str | None = None) -> list[tuple[str, str]]:
    return ics(file_of(*events), tz=tz, today=TODAY).entries()


def test_a_whole_day_is_that_day_and_the_end_is_no_part_of_it() -> None:
    assert days("SUMMARY:X\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227") == [
        ("2026-12-24..2026-12-26", "X")
    ]
    assert days("SUMMARY:X\nDTSTART;VALUE=DATE:20261224") == [("2026-12-24", "X")]
    assert days("SUMMARY:X\nDTSTART;VALUE=DATE:20261224\nDURATION:P2D") == [("2026-12-24..2026-12-25", "X")]


@pytest.mark.parametrize(
    ("start", "end", "tz", "expected"),
    [
        ("20261217T230000Z", "20261218T000000Z", None, "2026-12-17"),
        ("20261217T230000Z", "20261218T000100Z", None, "2026-12-17..2026-12-18"),
        ("20261217T230000Z", "20261218T020000Z", "Europe/Berlin", "2026-12-18"),
        ("20261217T230000Z", "20261218T020000Z", "America/New_York", "2026-12-17"),
        ("20261217T120000", "20261217T120000", "Europe/Berlin", "2026-12-17"),
    ],
)
def test_an_event_with_times_counts_for_the_days_that_it_touches_on_the_clock(
    start: str, end: str, tz: str | None, expected: str
) -> None:
    assert days(f"SUMMARY:X\nDTSTART:{start}\nDTEND:{end}", tz=tz) == [(expected, "X")]


def test_an_event_of_a_zone_counts_by_its_own_clock() -> None:
    zone = "DTSTART;TZID=Asia/Tokyo:20261218T080000\nDTEND;TZID=Asia/Tokyo:20261218T090000"
    assert days(f"SUMMARY:X\n{zone}") == [("2026-12-18", "X")]
    assert days(f"SUMMARY:X\n{zone}", tz="UTC") == [("2026-12-17", "X")]


def test_endless_rules_go_to_the_end_of_the_third_year_after_this_and_exceptions_count() -> None:
    found = ics(
        file_of("SUMMARY:New Year\nDTSTART;VALUE=DATE:20000101\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20280101"),
        today=TODAY,
    )
    assert [day for day, _ in found.entries()] == ["2025-01-01", "2026-01-01", "2027-01-01", "2029-01-01"]
    assert (found.until and iso_day(found.until), found.source) == ("2029-12-31", "ics")


def test_what_was_called_off_does_not_count_and_what_lies_outside_is_cut() -> None:
    gone = "SUMMARY:Gone\nSTATUS:CANCELLED\nDTSTART;VALUE=DATE:20261224"
    long = "SUMMARY:Long\nDTSTART;VALUE=DATE:20200101\nDTEND;VALUE=DATE:20260103"
    assert days(gone, long) == [("2025-01-01..2026-01-02", "Long")]


def test_the_year_before_is_worked_out_too_for_what_is_filled_in() -> None:
    found = days("SUMMARY:Eve\nDTSTART;VALUE=DATE:20201231\nRRULE:FREQ=YEARLY")
    assert [day for day, _ in found] == [f"{year}-12-31" for year in range(2025, 2030)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\nworld", "the .ics text: this is no .ics file; one begins with BEGIN:VCALENDAR"),
        (
            file_of("SUMMARY:Tick\nDTSTART:20260101T000000Z\nRRULE:FREQ=SECONDLY"),
            "the .ics text: Tick repeats too often (FREQ=SECONDLY); a calendar knows days: FREQ=DAILY",
        ),
        (
            file_of(
                "SUMMARY:Tick\nDTSTART:20260101T000000Z\nRRULE:FREQ=DAILY;BYHOUR=0,1,2;BYMINUTE="
                + ",".join(map(str, range(60)))
            ),
            "the .ics text: Tick repeats too often (180 times a day); a calendar knows days: FREQ=DAILY",
        ),
        (file_of("SUMMARY:Old\nDTSTART;VALUE=DATE:19990101"), "the .ics text: no event of it lies in 2025 to 2029"),
        (
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:nonsense\nEND:VEVENT\n",
            "the .ics text: this .ics file cannot be read",
        ),
    ],
)
def test_what_is_no_calendar_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(TriggerError) as caught:
        ics(text, today=TODAY)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TriggerError, match=r"gone\.ics: No such file or directory"):
        ics(tmp_path / "gone.ics")


def test_holidays_have_their_names_and_the_last_of_their_years() -> None:
    found = holidays_of("DE", [2026, 2027], language="en_US")
    assert ("2026-12-25", "Christmas Day") in found.entries()
    assert found.until is not None
    assert iso_day(found.until) == "2027-12-31"
    assert len(holidays_of("DE", 2026, subdiv="BY").entries()) > len(holidays_of("DE", 2026).entries())


@pytest.mark.parametrize(
    ("country", "years", "subdiv", "said"),
    [
        ("XX", [2026], None, "holidays_of: no country 'XX'"),
        ("DE", [], None, "holidays_of: name the years"),
        ("DE", [1700], None, "holidays_of: 1700 is no year from 1970 to 2199"),
        ("DE", [2026], "ZZ", "holidays_of: DE has no subdivision 'ZZ'"),
    ],
)
def test_what_is_no_holiday_is_refused_in_one_line(
    country: str, years: list[int], subdiv: str | None, said: str
) -> None:
    with pytest.raises(TriggerError) as caught:
        holidays_of(country, years, subdiv=subdiv)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (
            "icalendar",
            "ics needs icalendar and recurring-ical-events, which is not installed: pip install 'onthedot[ics]'",
        ),
        ("holidays", "holidays_of needs holidays, which is not installed: pip install 'onthedot[holidays]'"),
    ],
)
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, package: str, said: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExtraMissing) as caught:
        ics(file_of("DTSTART;VALUE=DATE:20261224")) if package == "icalendar" else holidays_of("DE", 2026)
    assert str(caught.value) == said
