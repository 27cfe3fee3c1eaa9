"""The `At` trigger: one moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from onthedot.errors import TriggerError
from onthedot.moments import END_MS, FIRST_MS, iso, read_moment
from onthedot.triggers.base import Trigger
from onthedot.triggers.bounds import to_instant_ms
from onthedot.triggers.zones import Zone, get_zone, zone_name


def at(moment: datetime | str, *, tz: str | tzinfo | None = None) -> At:
    """One tick, at the moment (rounded up to a whole millisecond).

    A naive moment needs `tz` and is a time on that zone's wall clock: in a gap it means the gap's end, in a fold the
    first occurrence, or the second if its `fold` is 1.
    """
    name = None if tz is None else zone_name(tz)
    when = read_moment(moment)
    if when.tzinfo is None and name is None:
        raise TriggerError(
            f"{when.isoformat(sep=' ')} has no zone",
            hint=f'write at("{when.isoformat(sep=" ")}", tz="Europe/Berlin") or add an offset',
        )
    return At(to_instant_ms(when, name, round_up=True), name)


@dataclass(frozen=True, slots=True)
class At(Trigger):
    """Made by `at()`."""

    at_ms: int
    tz: str | None = None
    zone: Zone = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", get_zone("UTC" if self.tz is None else self.tz))
        if not FIRST_MS <= self.at_ms < END_MS:
            raise TriggerError("this moment can never fire", hint="ticks lie between 1970 and 2199")

    def next_ms(self, after_ms: int) -> int | None:
        return self.at_ms if self.at_ms > after_ms else None

    def prev_ms(self, before_ms: int) -> int | None:
        return self.at_ms if self.at_ms < before_ms else None

    def with_default_zone(self, tz: str) -> At:
        return replace(self, tz=tz) if self.tz is None else self

    def describe(self) -> str:
        return f"once, at {iso(self.at_ms)}"

    def __str__(self) -> str:
        return f"at({iso(self.at_ms)!r}{f', tz={self.tz!r}' if self.tz else ''})"
