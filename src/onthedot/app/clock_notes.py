"""Where a tick stands on the wall clock of its trigger, and what jumps of that clock did to it."""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.errors import TriggerError
from onthedot.triggers import Trigger
from onthedot.triggers.at import At
from onthedot.triggers.combine import Exclusion, Union
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays
from onthedot.triggers.zones import Zone, get_zone


def zone_of(trigger: Trigger | None) -> Zone:
    """The zone whose wall clock a trigger is read by; that of its first part where it has several, UTC without one."""
    try:
        plain = None if trigger is None else trigger.plain()
    except TriggerError:  # what it names is not known here
        plain = None
    match plain:
        case Cron() | Every() | EveryDays() | At():
            return plain.zone
        case Exclusion():
            return plain.base.zone
        case Union():
            return zone_of(plain.parts[0])
        case _:
            return get_zone("UTC")


def clock_note(trigger: Cron | Every | EveryDays, tick_ms: int) -> str:
    """What a jump of the wall clock did to this tick, if it did anything."""
    zone, second = trigger.zone, tick_ms // 1000
    if not isinstance(trigger, Every) and not _shows_its_time(trigger, zone.label(second)):
        return "moved by a gap"
    twice = zone.resolve(zone.label(second), "skip", "both")
    if len(twice) < 2:
        return ""
    return "first of two" if second == twice[0] else "second of two"


def note_of(trigger: Trigger, tick_ms: int) -> str:
    """The same of any trigger: of one with several parts by those that make this tick, and by the clock that it is
    read by; nothing where one of them has its usual time then."""
    zone = zone_of(trigger)
    notes = {clock_note(each, tick_ms) for each in _making(trigger, tick_ms) if each.zone is zone}
    return notes.pop() if len(notes) == 1 else ""


def _making(trigger: Trigger, tick_ms: int) -> Iterator[Cron | Every | EveryDays]:
    match trigger.plain():
        case Union(parts=parts):
            for part in parts:
                yield from _making(part, tick_ms)
        case Exclusion(base=base):
            yield from _making(base, tick_ms)
        case Cron() | Every() | EveryDays() as simple if simple.ticks_at(tick_ms):
            yield simple
        case _:
            return


def _shows_its_time(trigger: Cron | EveryDays, label: int) -> bool:
    if isinstance(trigger, EveryDays):
        return label % 86_400 == trigger.second
    fields = trigger.fields
    hour, minute, second = label // 3600 % 24, label // 60 % 60, label % 60
    return bool(fields.hours >> hour & fields.minutes >> minute & fields.seconds >> second & 1)
