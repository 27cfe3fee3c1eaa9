"""The coming ticks of a schedule, each with what a jump of its wall clock does to it, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from onthedot.app.clock_notes import note_of, zone_of
from onthedot.moments import from_ms
from onthedot.triggers.base import Trigger

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class NextTick:
    """One of them."""

    at_ms: int
    local: datetime
    """On the wall clock of its trigger."""
    moved: bool = False
    """Whether a jump of that clock moved or doubled it."""
    note: str = ""


def next_ticks(trigger: Trigger, ticks: Iterable[int]) -> list[NextTick]:
    """In order; a note also where the clock stands otherwise against UTC from here on."""
    zone = ZoneInfo(zone_of(trigger).name)
    found: list[NextTick] = []
    usual: datetime | None = None
    for tick in ticks:
        local = from_ms(tick).astimezone(zone)
        note = _jump(trigger, tick, local)
        shift = "" if note or usual is None else _shift(usual, local)
        found.append(NextTick(tick, local, bool(note), note or shift))
        usual = usual if note else local
    return found


def _jump(trigger: Trigger, tick: int, local: datetime) -> str:
    match note_of(trigger, tick):
        case "moved by a gap":
            before, after = _gap(tick, local)
            return (
                f"Its time does not exist then: the clock jumps from {before:%H:%M} to {after:%H:%M}. "
                f"gap=shift runs it once, at {local:%H:%M}."
            )
        case "first of two":
            return f"The clock shows {local:%H:%M} twice then: this is the first time."
        case "second of two":
            return f"The clock shows {local:%H:%M} twice then: this is the second time."
        case _:
            return ""


def _gap(tick: int, local: datetime) -> tuple[datetime, datetime]:
    """What the clock shows where it jumps, on either side."""
    low, high = tick // 1000 - _DAY_S, tick // 1000
    zone = local.tzinfo
    start = from_ms(low * 1000).astimezone(zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if from_ms(middle * 1000).astimezone(zone).utcoffset() == start:
            low = middle
        else:
            high = middle
    after = from_ms(high * 1000).astimezone(zone)
    return after - ((after.utcoffset() or timedelta()) - (start or timedelta())), after


def _shift(before: datetime, after: datetime) -> str:
    was, now = before.utcoffset() or timedelta(), after.utcoffset() or timedelta()
    if was == now or before.timetz().replace(tzinfo=None) != after.timetz().replace(tzinfo=None):
        return ""
    minutes = int(abs(now - was).total_seconds() // 60)
    how_long = "an hour" if minutes == 60 else f"{minutes} minutes"
    season = "summer time" if after.dst() else "standard time"
    return f"From here on {how_long} {'earlier' if now > was else 'later'} in UTC: {season}."
