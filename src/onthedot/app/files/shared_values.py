"""The tables of jobs.toml that schedules share: [calendars.NAME] and [triggers.NAME]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from onthedot.app.calendar_sources import holidays_of, ics
from onthedot.app.files.entry import SharedValue
from onthedot.app.files.trigger_keys import TRIGGER_KEYS, ZONE_KEYS, read_trigger
from onthedot.app.names import name_problem
from onthedot.app.remedies import did_you_mean, exactly_one
from onthedot.errors import ExtraMissing, OnthedotError, TriggerError
from onthedot.triggers.base import Trigger
from onthedot.triggers.calendar_days import CalendarDays, calendar_days
from onthedot.triggers.codec import encode, without_pins
from onthedot.triggers.pinned import Pin, Pinned, Use, ValueKind, digest_of, remember

Table = dict[str, Any]
_SOURCES = ("dates", "ics", "holidays")
CALENDAR_KEYS = (*_SOURCES, "tz")
_HOLIDAY_KEYS = ("country", "years", "subdiv", "language")


def read_shared(
    document: Table, zone: str | None, *, folder: Path | None, problems: list[str]
) -> tuple[SharedValue, ...]:
    """All of them; what is wrong is told. Files are looked for in the folder; without one they are refused."""
    found: list[SharedValue] = []
    for name, table in _tables(document, "calendar", problems):
        days = _told(problems, f"[calendars.{name}]", lambda table=table: _calendar(table, folder))  # type: ignore[misc]
        if days is not None:
            found.append(SharedValue("calendar", name, days, days.content()))
    for name, table in _tables(document, "trigger", problems):
        trigger = _trigger(name, table, zone, problems)
        if trigger is not None:
            found.append(SharedValue("trigger", name, trigger, without_pins(encode(trigger))))
    return tuple(found)


def files_named(document: Table, folder: Path | None) -> tuple[Path, ...]:
    """The files that calendars are read from."""
    tables = document.get("calendars", {})
    found = [each.get("ics") for each in tables.values() if isinstance(each, dict)] if isinstance(tables, dict) else []
    return () if folder is None else tuple(folder / each for each in found if isinstance(each, str))


def pins_of(shared: tuple[SharedValue, ...]) -> dict[Use, Pin]:
    """What these say is known here, so that the file can be judged and forecast without a store: as revision 0."""
    pins: dict[Use, Pin] = {}
    for each in shared:  # calendars come first
        content = each.said
        if isinstance(each.content, Trigger):
            content = {"trigger": encode(each.content.with_pins(pins))}
        pin = Pin(0, digest_of(content))
        remember(Pinned(each.use, pin), content)
        pins[each.use] = pin
    return pins


def _tables(document: Table, kind: ValueKind, problems: list[str]) -> list[tuple[str, Table]]:
    given = document.get(f"{kind}s", {})
    if not isinstance(given, dict):
        problems.append(f"{kind}s: write each as a table, [{kind}s.NAME]")
        return []
    found: list[tuple[str, Table]] = []
    for name, table in given.items():
        problem = name_problem(name)
        if not isinstance(table, dict):
            problem = f"{table!r} is no table; write [{kind}s.{name}] and below it what it holds"
        if problem is not None:
            problems.append(f"[{kind}s.{name}] {problem}")
        else:
            found.append((name, table))
    return found


def _told(problems: list[str], place: str, read: Callable[[], CalendarDays]) -> CalendarDays | None:
    try:
        return read()
    except TriggerError as error:
        problems.append(f"{place} {error.line}")
    except (ExtraMissing, OnthedotError) as error:
        problems.append(f"{place} {' '.join(str(error).split())}")
    return None


def _calendar(table: Table, folder: Path | None) -> CalendarDays:
    for key in table:
        if key not in CALENDAR_KEYS:
            raise TriggerError(f"{key}: unknown key; {did_you_mean(key, CALENDAR_KEYS)}")
    kinds = [key for key in _SOURCES if key in table]
    if len(kinds) != 1:
        raise TriggerError(exactly_one(kinds, _SOURCES))
    kind, value = kinds[0], table[kinds[0]]
    if "tz" in table and (kind != "ics" or not isinstance(table["tz"], str)):
        raise TriggerError("tz: the name of a zone, and only beside ics")
    if kind == "ics":
        return _ics(value, table.get("tz"), folder)
    if kind == "holidays":
        return _holidays(value)
    if not isinstance(value, list | dict):
        raise TriggerError(f"dates: {value!r} is no list of dates")
    return calendar_days(value)


def _ics(value: object, tz: str | None, folder: Path | None) -> CalendarDays:
    if not isinstance(value, str):
        raise TriggerError(f"ics: {value!r} is no path of a file")
    if folder is None:
        raise TriggerError("ics: a file can only be read where jobs.toml is one itself")
    return ics(folder / value, tz=tz)


def _holidays(value: object) -> CalendarDays:
    if not isinstance(value, Mapping) or "country" not in value or "years" not in value:
        raise TriggerError('holidays: write { country = "DE", years = [2026, 2027] }')
    for key in value:
        if key not in _HOLIDAY_KEYS:
            raise TriggerError(f"holidays: {key}: unknown key; {did_you_mean(str(key), _HOLIDAY_KEYS)}")
    years = value["years"]
    if not isinstance(years, int | list):
        raise TriggerError(f"holidays: years: {years!r} is no list of years")
    return holidays_of(value["country"], years, subdiv=value.get("subdiv"), language=value.get("language"))


def _trigger(name: str, table: Table, zone: str | None, problems: list[str]) -> Trigger | None:
    known = (*TRIGGER_KEYS, *ZONE_KEYS)
    found = [f"{key}: unknown key; {did_you_mean(key, known)}" for key in table if key not in known]
    if "trigger" in table:
        found.append("trigger: a named trigger is made of no other; write out what that one says")
    trigger = read_trigger(table, zone, found)
    problems += [f"[triggers.{name}] {' '.join(problem.split())}" for problem in found]
    return None if found else trigger
