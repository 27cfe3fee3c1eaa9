"""A trigger as it is typed: on the command line, or in a field of a form."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import cast

from onthedot.errors import TriggerError
from onthedot.triggers import Trigger, calendar, cron, dates, every, named
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Calendar, Dates
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays
from onthedot.triggers.zones import Fold, Gap

_EXCEPT = re.compile(r"\s+except\s+", re.IGNORECASE)
_NAMED = re.compile(r"\s*(?:trigger|named)\s+(\S.*?)\s*", re.IGNORECASE)
_CALENDAR = re.compile(r"\s*calendar\s+(\S.*?)\s*", re.IGNORECASE)
_INTERVAL = re.compile(r"\s*every\s+(.*?)(?:\s+at\s+(\S+))?\s*", re.IGNORECASE)


def read_trigger(
    text: str, *, tz: str | None = None, gap: str | None = None, fold: str | None = None, key: str | None = None
) -> Cron | Every | EveryDays:
    """A cron text, "@every 90s", "every 15m", or "every 2w at 09:00" on the wall clock."""
    trigger = _read(text, tz, gap, fold)
    return trigger if key is None else trigger.with_key(key)


def read_whole_trigger(text: str, *, tz: str | None = None, gap: str | None = None, fold: str | None = None) -> Trigger:
    """The same, or a named one ("trigger hourly"), and what it leaves out: "@daily except calendar de, 2026-12-24"."""
    first, *rest = _EXCEPT.split(text)
    name = _NAMED.fullmatch(first)
    if name is not None and (tz or gap or fold):
        raise TriggerError("a named trigger has its own zone, gap and fold", hint="leave them out")
    trigger: Trigger = named(name[1]) if name is not None else read_trigger(first, tz=tz, gap=gap, fold=fold)
    for item in (item for part in rest for item in read_exceptions(part)):
        trigger = trigger - item
    return trigger


def read_exceptions(given: object) -> list[Dates | Calendar]:
    """What is left out: "calendar de", "2026-12-24", "2026-12-24..2027-01-01"; one or several, also in one text."""
    items = given if isinstance(given, list | tuple) else [given]
    found: list[Dates | Calendar] = []
    for item in items:
        if not isinstance(item, str | date) or isinstance(item, datetime):
            raise TriggerError(f"{item!r} cannot be left out", hint='write "calendar de" or "2026-12-24"')
        for part in str(item).split(","):
            name = _CALENDAR.fullmatch(part)
            found.append(calendar(name[1]) if name is not None else dates(part.strip()))
    return found


def _read(text: str, tz: str | None, gap: str | None, fold: str | None) -> Cron | Every | EveryDays:
    interval = _INTERVAL.fullmatch(text)
    if interval is None:
        return cron(text, tz=tz, gap=cast(Gap | None, gap), fold=cast(Fold | None, fold))  # cron refuses other words
    span, time = interval.groups()
    if time is not None:
        return every(span, at=time, tz=tz, gap=cast(Gap | None, gap), fold=cast(Fold | None, fold))
    if gap or fold:
        raise TriggerError(
            "an interval follows real time: gap and fold have no meaning for it",
            hint='with a time of day it follows the wall clock: "every 1d at 09:00"',
        )
    return every(span, tz=tz)
