"""The keys of a schedule in jobs.toml that say when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from onthedot.app.remedies import exactly_one
from onthedot.app.trigger_text import read_exceptions
from onthedot.errors import MomentError, OnthedotError, TriggerError
from onthedot.triggers import Trigger, at, cron, every, named
from onthedot.triggers.zones import get_zone

Table = dict[str, Any]

ZONE_KEYS = ("timezone", "tz")
_BOUNDS = ("starts_at", "repeat_until")
_KINDS = ("cron", "every", "at", "trigger")
_EVERY_AT = "every beside at"
_OPTIONS = {
    "cron": ("gap", "fold", *_BOUNDS),
    "every": ("anchor", "spread", *_BOUNDS),
    _EVERY_AT: ("anchor", "gap", "fold", *_BOUNDS),
    "at": (),
    "trigger": (),
}
_BESIDE = ("gap", "fold", *_BOUNDS, "anchor", "spread")
EXCEPT = "except"
TRIGGER_KEYS = (*_KINDS, *_BESIDE, EXCEPT)


def read_zone(value: object) -> tuple[str | None, str | None]:
    """The name of a zone, and what is wrong with it; a wrong one counts as UTC, so that the rest is still checked."""
    if value is None:
        return None, None
    if not isinstance(value, str):
        return "UTC", f'{value!r} is no time zone; write "Europe/Berlin"'
    try:
        get_zone(value)
    except TriggerError as error:
        return "UTC", error.line
    return value, None


def read_trigger(table: Table, file_zone: str | None, problems: list[str]) -> Trigger | None:
    """The trigger of a schedule, in the file's zone where it names none; or None, and the problems are told."""
    kinds = [key for key in _KINDS if key in table]
    if kinds == ["every", "at"]:  # a time of day, every so many days
        kinds = [_EVERY_AT]
    if len(kinds) != 1:
        problems.append(exactly_one(kinds, _KINDS))
        return None
    kind = kinds[0]
    zone = _own_zone(table, problems)
    options = _options(table, kind, problems)
    try:
        trigger = _MAKERS[kind](table[kind.split()[0]], zone, file_zone, options)
    except TriggerError as error:
        problems.append(f"{kind}: {error.line}")
    except OnthedotError as error:
        problems.append(f"{kind}: {error}")
    else:
        return _without(trigger.with_default_zone(file_zone) if file_zone else trigger, table, problems)
    return None


def _without(trigger: Trigger, table: Table, problems: list[str]) -> Trigger:
    """What it leaves out: "calendar de", "2026-12-24", or a list of such."""
    try:
        for item in read_exceptions(table.get(EXCEPT, [])):
            trigger = trigger - item
    except TriggerError as error:
        problems.append(f"{EXCEPT}: {error.line}")
    return trigger


def _own_zone(table: Table, problems: list[str]) -> str | None:
    named = [key for key in ZONE_KEYS if key in table]
    if len(named) == 2:
        problems.append("timezone and tz are the same; name one of them")
    if not named:
        return None
    zone, problem = read_zone(table[named[0]])
    if problem:
        problems.append(f"{named[0]}: {problem}")
    return zone


def _options(table: Table, kind: str, problems: list[str]) -> Table:
    """What stands beside the trigger and belongs to it."""
    options: Table = {"at": table["at"]} if kind == _EVERY_AT else {}
    for key in _BESIDE:
        if key not in table:
            continue
        if key not in _OPTIONS[kind]:
            problems.append(f"{key}: it goes with {_goes_with(key)}, not with {kind}")
        elif problem := _wrong_type(key, table[key]):
            problems.append(f"{key}: {problem}")
        else:
            options[key] = table[key]
    return options


def _goes_with(key: str) -> str:
    kinds = [kind for kind in _OPTIONS if key in _OPTIONS[kind]]
    return " and ".join(kind for kind in kinds if kind != _EVERY_AT or "every" not in kinds)


def _wrong_type(key: str, value: object) -> str | None:
    if key == "spread":
        return None if isinstance(value, bool) else f"{value!r} is neither true nor false"
    if key in {"gap", "fold"}:
        return None if isinstance(value, str) else f"{value!r} is not text"
    if key == "anchor" and isinstance(value, date):  # of a time of day; `every` says where it cannot be one
        return None
    try:
        _moment(value)
    except MomentError as error:
        return str(error)
    return None


def _moment(value: object) -> str | datetime:
    """Text, or a TOML date with a time."""
    if isinstance(value, str | datetime):
        return value
    if isinstance(value, date | time):
        raise MomentError(f"{value} is no moment; write a date and a time, such as 2026-12-24T18:00:00Z")
    raise MomentError(f"{value!r} is no moment; write it like 2026-12-24T18:00:00Z")


def _cron(text: object, zone: str | None, file_zone: str | None, options: Table) -> Trigger:
    if not isinstance(text, str):
        raise TriggerError(f'{text!r} is no cron text; write "0 9 * * mon-fri"')
    plain = cron(text, tz=zone)
    return cron(text, tz=plain.tz or file_zone, **options)  # so that starts_at without an offset has a zone beside it


def _every(interval: object, zone: str | None, file_zone: str | None, options: Table) -> Trigger:
    if not isinstance(interval, str):
        raise TriggerError(f'{interval!r} is no interval; write it like "90s" or "15m"')
    return every(interval, tz=zone or file_zone, **options)


def _named(name: object, zone: str | None, file_zone: str | None, options: Table) -> Trigger:
    if not isinstance(name, str):
        raise TriggerError(f'{name!r} is no name of a trigger; write [triggers.hourly] and here "hourly"')
    if zone is not None:
        raise TriggerError("a named trigger has its own zone; leave timezone out here")
    return named(name)


def _at(moment: object, zone: str | None, file_zone: str | None, options: Table) -> Trigger:
    return at(_moment(moment), tz=zone or file_zone)


_MAKERS: dict[str, Callable[[object, str | None, str | None, Table], Trigger]] = {
    "cron": _cron,
    "every": _every,
    _EVERY_AT: _every,
    "at": _at,
    "trigger": _named,
}
