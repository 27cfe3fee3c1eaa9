"""Triggers made of others: a union ticks when a part does, an exclusion when its base does and nothing excludes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from onthedot.errors import TriggerError
from onthedot.moments import END_MS, FIRST_MS
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Calendar, Dates, Excluded, dates, refuse_lazy
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays
from onthedot.triggers.named import Named
from onthedot.triggers.pinned import Pin, Use
from onthedot.triggers.zones import Zone

if TYPE_CHECKING:
    from onthedot.triggers.exclusions.expression import Triggers
    from onthedot.triggers.exclusions.finder import Finder

FEW = 4
"""So many ticks of its base an exclusion tries one by one, before it searches."""

Simple = Cron | Every | EveryDays | At


def union(*triggers: Trigger) -> Trigger:
    """Ticks whenever one of them does, once where several do."""
    if not triggers:
        raise TriggerError("a union needs at least one trigger")
    parts: dict[Trigger, None] = {}
    for trigger in triggers:
        parts.update(dict.fromkeys(trigger.parts if isinstance(trigger, Union) else (trigger,)))
    return next(iter(parts)) if len(parts) == 1 else Union(tuple(parts))


def exclude(base: Trigger, without: object) -> Trigger:
    """The base without the ticks of another trigger, or without those on certain local dates of the base's zone."""
    refuse_lazy(without)
    if not isinstance(without, Trigger | Dates | Calendar):
        if isinstance(without, str | bytes) or not hasattr(without, "__iter__"):
            raise TriggerError(
                f"{without!r} cannot be excluded",
                hint='write trigger - dates("2026-12-25"), - calendar("de") or - another trigger',
            )
        without = dates(without)
    match base:
        case Named():
            return base if without in base.without else replace(base, without=(*base.without, without))
        case Union():
            return union(*(exclude(part, without) for part in base.parts))
        case Exclusion():
            return base if without in base.without else replace(base, without=(*base.without, without))
        case Cron() | Every() | EveryDays() | At():
            return Exclusion(base, (without,))
        case _:
            raise TriggerError(f"nothing can be excluded from a {type(base).__name__}")


@dataclass(frozen=True, slots=True)
class Union(Trigger):
    """Made by `a | b`. O(parts) per call."""

    parts: tuple[Trigger, ...]

    def next_ms(self, after_ms: int) -> int | None:
        return self.next_before_ms(after_ms, END_MS)

    def next_before_ms(self, after_ms: int, end_ms: int) -> int | None:
        found = None
        for part in sorted(self.parts, key=_may_search):  # so that a search need not go beyond what others have found
            tick = part.next_before_ms(after_ms, end_ms if found is None else found)
            found = found if tick is None else tick
        return found

    def prev_ms(self, before_ms: int) -> int | None:
        return self.prev_after_ms(before_ms, FIRST_MS - 1)

    def prev_after_ms(self, before_ms: int, start_ms: int) -> int | None:
        found = None
        for part in sorted(self.parts, key=_may_search):
            tick = part.prev_after_ms(before_ms, start_ms if found is None else found)
            found = found if tick is None else tick
        return found

    def ticks_at(self, ms: int) -> bool:
        return any(part.ticks_at(ms) for part in self.parts)

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        last = None
        for tick in merge(*(part.between_ms(start_ms, end_ms) for part in self.parts)):
            if tick != last:
                yield tick
            last = tick

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        from onthedot.triggers.exclusions.search import count_ms

        count = count_ms(_expression(self), start_ms, end_ms)
        return Trigger.count_ms(self, start_ms, end_ms) if count is None else count

    @property
    def end_ms(self) -> int | None:
        ends = [end for part in self.parts if (end := part.end_ms) is not None]
        return max(ends) if len(ends) == len(self.parts) else None

    def with_key(self, key: str) -> Trigger:
        return union(*(part.with_key(key) for part in self.parts))

    def with_default_zone(self, tz: str) -> Trigger:
        return union(*(part.with_default_zone(tz) for part in self.parts))

    def with_calendars(self, calendars: Mapping[str, Dates]) -> Trigger:
        return union(*(part.with_calendars(calendars) for part in self.parts))

    def with_pins(self, pins: Mapping[Use, Pin]) -> Trigger:
        return union(*(part.with_pins(pins) for part in self.parts))

    def plain(self) -> Trigger:
        return union(*(part.plain() for part in self.parts))

    def describe(self) -> str:
        return "; or ".join(part.describe() for part in self.parts)

    def __str__(self) -> str:
        return " | ".join(f"({part})" if isinstance(part, Exclusion) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Exclusion(Trigger):
    """Made by `a - b`. Every answer is exact up to the end of time: None means that nothing is left.

    A few ticks are tried one by one. Beyond them `exclusions.search` looks, day by day on bit masks.
    """

    base: Simple
    without: tuple[Trigger | Excluded, ...]

    def next_ms(self, after_ms: int) -> int | None:
        return self.next_before_ms(after_ms, END_MS)

    def next_before_ms(self, after_ms: int, end_ms: int) -> int | None:
        tick = self.base.next_before_ms(after_ms, end_ms)
        for _ in range(FEW):
            if tick is None or not self._excludes(tick):
                return tick
            tick = self.base.next_before_ms(tick, end_ms)
        return None if tick is None else self._search().next_ms(tick - 1, end_ms)

    def prev_ms(self, before_ms: int) -> int | None:
        return self.prev_after_ms(before_ms, FIRST_MS - 1)

    def prev_after_ms(self, before_ms: int, start_ms: int) -> int | None:
        tick = self.base.prev_after_ms(before_ms, start_ms)
        for _ in range(FEW):
            if tick is None or not self._excludes(tick):
                return tick
            tick = self.base.prev_after_ms(tick, start_ms)
        return None if tick is None else self._search().prev_ms(tick + 1, start_ms)

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        if _ticks_a_day(self.base) > FEW:
            return self._search().between_ms(start_ms, end_ms)
        return Trigger.between_ms(self, start_ms, end_ms)

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        count = None if isinstance(self.base, At) else self._search().count_ms(start_ms, end_ms)
        return Trigger.count_ms(self, start_ms, end_ms) if count is None else count

    def ticks_at(self, ms: int) -> bool:
        return self.base.ticks_at(ms) and not self._excludes(ms)

    def _excludes(self, tick_ms: int) -> bool:
        date = self.base.zone.label(tick_ms // 1000) // 86_400
        return any(
            item.ticks_at(tick_ms) if isinstance(item, Trigger) else item.span_of(date) is not None
            for item in self.without
        )

    def _search(self) -> Finder:
        from onthedot.triggers.exclusions.search import search_of

        assert not isinstance(self.base, At)
        return search_of(self.base, _taken(self.without, self.base.zone))

    @property
    def end_ms(self) -> int | None:
        return self.base.end_ms

    def with_key(self, key: str) -> Exclusion:
        without = tuple(item.with_key(key) if isinstance(item, Trigger) else item for item in self.without)
        base = self.base if isinstance(self.base, At) else self.base.with_key(key)
        return Exclusion(base, without)

    def with_default_zone(self, tz: str) -> Exclusion:
        without = tuple(item.with_default_zone(tz) if isinstance(item, Trigger) else item for item in self.without)
        return Exclusion(self.base.with_default_zone(tz), without)

    def with_calendars(self, calendars: Mapping[str, Dates]) -> Exclusion:
        return Exclusion(self.base, tuple(_filled(item, calendars) for item in self.without))

    def with_pins(self, pins: Mapping[Use, Pin]) -> Exclusion:
        return Exclusion(self.base, tuple(item.with_pins(pins) for item in self.without))

    def plain(self) -> Exclusion:
        if not any(isinstance(item, Trigger) for item in self.without):
            return self
        return Exclusion(self.base, tuple(item.plain() if isinstance(item, Trigger) else item for item in self.without))

    def describe(self) -> str:
        items = (f"({item.describe()})" if isinstance(item, Trigger) else item.describe() for item in self.without)
        return f"{self.base.describe()}, except {' and '.join(items)}"

    def __str__(self) -> str:
        return " - ".join(
            [
                str(self.base),
                *(f"({item})" if isinstance(item, Union | Exclusion) else str(item) for item in self.without),
            ]
        )


def _may_search(part: Trigger) -> bool:
    return isinstance(part, Exclusion)


def _ticks_a_day(base: Simple) -> int:
    """How many ticks a day has that has any."""
    match base:
        case Cron(fields=fields):
            return fields.hours.bit_count() * fields.minutes.bit_count() * fields.seconds.bit_count()
        case Every(interval_ms=interval_ms):
            return 86_400_000 // interval_ms
        case EveryDays(effective_fold=fold):
            return 2 if fold == "both" else 1
        case At():
            return 1


def uses_of(item: Trigger | Excluded) -> list[Use]:
    """The calendars and triggers that it names, also inside what it excludes."""
    match item:
        case Calendar():
            return [item.use]
        case Named(without=without):
            return [item.use, *(use for each in without for use in uses_of(each))]
        case Union(parts=parts):
            return [use for part in parts for use in uses_of(part)]
        case Exclusion(without=without):
            return [use for each in without for use in uses_of(each)]
        case _:
            return []


def _taken(items: tuple[Trigger | Excluded, ...], zone: Zone) -> Triggers:
    """What is excluded as one expression; dates are those of the zone."""
    from onthedot.triggers.exclusions.expression import Either, Just, OnDates

    return Either(
        tuple(_expression(item) if isinstance(item, Trigger) else Just(OnDates(zone, item.dates)) for item in items)
    )


def _expression(trigger: Trigger) -> Triggers:
    from onthedot.triggers.exclusions.expression import Either, Just, Minus, Other

    match trigger.plain():
        case Union(parts=parts):
            return Either(tuple(map(_expression, parts)))
        case Exclusion(base=base, without=without):
            return Minus(_expression(base), _taken(without, base.zone))
        case Cron() | Every() | At() as simple:
            return Just(simple)
        case other:
            return Just(Other(other))


def _filled(item: Trigger | Excluded, calendars: Mapping[str, Dates]) -> Trigger | Excluded:
    match item:
        case Calendar():
            return item.filled(calendars)
        case Trigger():
            return item.with_calendars(calendars)
        case Dates():
            return item
