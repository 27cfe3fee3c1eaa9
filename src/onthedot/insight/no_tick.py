"""Why a moment at which one might expect a tick is none: an exclusion, or the jumps of a wall clock."""

from __future__ import annotations

from dataclasses import replace

from onthedot.moments import iso
from onthedot.triggers.base import Trigger
from onthedot.triggers.calendar_days import CalendarDays
from onthedot.triggers.combine import Exclusion, Union
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Calendar, Excluded, iso_day

_DAY_S = 86_400


def why_no_tick(trigger: Trigger, moment_ms: int) -> str | None:
    """What took the tick away; None where there would be none anyway."""
    match trigger.plain():
        case Union(parts=parts):
            return next(filter(None, (why_no_tick(part, moment_ms) for part in parts)), None)
        case Exclusion(base=base, without=without) if base.ticks_at(moment_ms):
            day = base.zone.label(moment_ms // 1000) // _DAY_S
            return next((_left_out(each, day) for each in without if _takes(each, moment_ms, day)), None)
        case Exclusion(base=base):
            return why_no_tick(base, moment_ms)
        case Cron() as cron:
            return _jumped_over(cron, moment_ms) or _shown_twice(cron, moment_ms)
        case _:
            return None


def _takes(excluded: Trigger | Excluded, moment_ms: int, day: int) -> bool:
    if isinstance(excluded, Trigger):
        return excluded.ticks_at(moment_ms)
    return excluded.span_of(day) is not None


def _left_out(excluded: Trigger | Excluded, day: int) -> str:
    """A day of a calendar with its name, as that was at the time."""
    if isinstance(excluded, Calendar):
        held = excluded.dates
        name = held.name_of(day) if isinstance(held, CalendarDays) else ""
        return f"it is left out: {iso_day(day)} is in calendar {excluded.name}{f': {name}' if name else ''}"
    return f"it is left out by {f'({excluded.describe()})' if isinstance(excluded, Trigger) else excluded.describe()}"


def _jumped_over(cron: Cron, moment_ms: int) -> str | None:
    if cron.effective_gap != "skip" or not replace(cron, gap="shift").ticks_at(moment_ms):
        return None
    return f"the clock of {cron.zone.name} jumped over its time then, and gap='skip' leaves it out"


def _shown_twice(cron: Cron, moment_ms: int) -> str | None:
    if cron.effective_fold == "both" or not replace(cron, fold="both").ticks_at(moment_ms):
        return None
    instants = cron.zone.resolve(cron.zone.label(moment_ms // 1000), "skip", "both")
    other = next((each * 1000 for each in instants if cron.ticks_at(each * 1000)), None)
    when = "" if other is None else f", at {iso(other)}"
    return f"the clock of {cron.zone.name} showed its time twice then, and it runs the {cron.effective_fold} time{when}"
