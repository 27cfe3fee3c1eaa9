"""What every trigger can do. A trigger is a pure value: it knows no clock, no store and no schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from onthedot.errors import TriggerError
from onthedot.moments import ceil_ms, floor_ms, from_ms

if TYPE_CHECKING:
    from onthedot.triggers.dates import Dates, Excluded
    from onthedot.triggers.pinned import Pin, Use


_MOST_COUNTED = 10_000


class Trigger(ABC):
    """When to run. Two triggers are equal when they were defined alike; a trigger can be a key in a dict.

    Datetimes outside, whole milliseconds since 1970 inside (`next_ms`, `prev_ms`, `between_ms`). Ticks lie between
    1970-01-01T00:00Z and the end of 2199.
    """

    __slots__ = ()

    @abstractmethod
    def next_ms(self, after_ms: int) -> int | None:
        """The first tick strictly after the moment, or None."""

    @abstractmethod
    def prev_ms(self, before_ms: int) -> int | None:
        """The last tick strictly before the moment, or None."""

    @abstractmethod
    def describe(self) -> str:
        """What it does, in English."""

    def next(self, after: datetime | str) -> datetime | None:
        """The first tick strictly after the moment, as aware UTC; None when there is none."""
        tick = self.next_ms(floor_ms(after))
        return None if tick is None else from_ms(tick)

    def prev(self, before: datetime | str) -> datetime | None:
        """The last tick strictly before the moment, as aware UTC; None when there is none."""
        tick = self.prev_ms(ceil_ms(before))
        return None if tick is None else from_ms(tick)

    def between(self, start: datetime | str, end: datetime | str) -> list[datetime]:
        """All ticks in [start, end), ascending, as aware UTC."""
        return [from_ms(tick) for tick in self.between_ms(ceil_ms(start), ceil_ms(end))]

    def matches(self, moment: datetime | str) -> bool:
        """Whether the moment is a tick, to the millisecond."""
        ms = floor_ms(moment)
        return ms == ceil_ms(moment) and self.ticks_at(ms)

    def next_before_ms(self, after_ms: int, end_ms: int) -> int | None:
        """The first tick strictly after the moment, if it is before the end; there is no search beyond that."""
        tick = self.next_ms(after_ms)
        return tick if tick is not None and tick < end_ms else None

    def prev_after_ms(self, before_ms: int, start_ms: int) -> int | None:
        """The last tick strictly before the moment, if it is after the start; there is no search beyond that."""
        tick = self.prev_ms(before_ms)
        return tick if tick is not None and tick > start_ms else None

    def ticks_at(self, ms: int) -> bool:
        """Whether the millisecond is a tick. Never a long search, also where the next tick is far or there is none."""
        return self.next_ms(ms - 1) == ms

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        """All ticks in [start, end), ascending."""
        tick = self.next_ms(start_ms - 1)
        while tick is not None and tick < end_ms:
            yield tick
            tick = self.next_ms(tick)

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        """How many ticks lie in [start, end), if that can be told without walking through more than 10,000 of them."""
        count = sum(1 for _ in islice(self.between_ms(start_ms, end_ms), _MOST_COUNTED + 1))
        return count if count <= _MOST_COUNTED else None

    def with_key(self, key: str) -> Trigger:
        """The same trigger with `H` and `spread` settled by this key; itself where nothing depends on a key."""
        return self

    def with_default_zone(self, tz: str) -> Trigger:
        """The same trigger with this zone wherever none was named."""
        return self

    def with_calendars(self, calendars: Mapping[str, Dates]) -> Trigger:
        """The same trigger with the content of named calendars handed in."""
        return self

    def with_pins(self, pins: Mapping[Use, Pin]) -> Trigger:
        """The same trigger going by these revisions of the calendars and named triggers in it."""
        return self

    def plain(self) -> Trigger:
        """The same ticks without named triggers: cron texts, intervals, moments, unions and exclusions of these."""
        return self

    @property
    def end_ms(self) -> int | None:
        """After this moment there is no tick; None where no end was set."""
        return None

    def __or__(self, other: Trigger) -> Trigger:
        from onthedot.triggers.combine import union

        if not isinstance(other, Trigger):
            raise TriggerError(f"{other!r} is no trigger", hint="write trigger | cron(…), | every(…) or | at(…)")

        return union(self, other)

    def __sub__(self, other: Trigger | Excluded) -> Trigger:
        from onthedot.triggers.combine import exclude

        return exclude(self, other)
