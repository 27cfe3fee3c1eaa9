"""Triggers made of others: a union ticks when a part does, an exclusion when its base does and nothing excludes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onthedot.errors import TriggerError
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Calendar, Dates, Excluded, dates, refuse_lazy
from onthedot.triggers.every import Every

MOST_STEPS = 100_000
"""How many spans of excluded ticks a search passes before it gives up and answers None."""

Simple = Cron | Every | At


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
        case Union():
            return union(*(exclude(part, without) for part in base.parts))
        case Exclusion():
            return base if without in base.without else replace(base, without=(*base.without, without))
        case Cron() | Every() | At():
            return Exclusion(base, (without,))
        case _:
            raise TriggerError(f"nothing can be excluded from a {type(base).__name__}")


@dataclass(frozen=True, slots=True)
class Union(Trigger):
    """Made by `a | b`. O(parts) per call."""

    parts: tuple[Trigger, ...]

    def next_ms(self, after_ms: int) -> int | None:
        return min((tick for part in self.parts if (tick := part.next_ms(after_ms)) is not None), default=None)

    def prev_ms(self, before_ms: int) -> int | None:
        return max((tick for part in self.parts if (tick := part.prev_ms(before_ms)) is not None), default=None)

    def ticks_at(self, ms: int) -> bool:
        return any(part.ticks_at(ms) for part in self.parts)

    def covered(self, tick_ms: int, step_ms: int) -> tuple[int, int]:
        spans = [part.covered(tick_ms, step_ms) for part in self.parts if part.ticks_at(tick_ms)]
        return min(first for first, _ in spans), max(end for _, end in spans)

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

    def describe(self) -> str:
        return "; or ".join(part.describe() for part in self.parts)

    def __str__(self) -> str:
        return " | ".join(f"({part})" if isinstance(part, Exclusion) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Exclusion(Trigger):
    """Made by `a - b`. A search jumps over excluded spans; after 100,000 of them in a row it answers None."""

    base: Simple
    without: tuple[Trigger | Excluded, ...]

    def next_ms(self, after_ms: int) -> int | None:
        tick = self.base.next_ms(after_ms)
        for _ in range(MOST_STEPS):
            if tick is None or (span := self._excluded(tick)) is None:
                return tick
            tick = self.base.next_ms(span[1] - 1)
        return None

    def prev_ms(self, before_ms: int) -> int | None:
        tick = self.base.prev_ms(before_ms)
        for _ in range(MOST_STEPS):
            if tick is None or (span := self._excluded(tick)) is None:
                return tick
            tick = self.base.prev_ms(span[0])
        return None

    def ticks_at(self, ms: int) -> bool:
        return self.base.ticks_at(ms) and self._excluded(ms) is None

    def _excluded(self, tick_ms: int) -> tuple[int, int] | None:
        """A span around the tick in which every tick of the base is excluded, or None if this one stands."""
        for item in self.without:
            if isinstance(item, Trigger):
                if item.ticks_at(tick_ms):
                    return item.covered(tick_ms, self.base.step_ms)
            elif span := self._excluded_dates(item, tick_ms):
                return span
        return None

    def _excluded_dates(self, item: Excluded, tick_ms: int) -> tuple[int, int] | None:
        zone = self.base.zone
        segment = zone.segment(tick_ms // 1000)
        offset = zone.offsets[segment]
        days = item.span_of((tick_ms // 1000 + offset) // 86_400)
        if days is None:
            return None
        first, end = zone.bounds(segment)
        return max(first, days[0] * 86_400 - offset) * 1000, min(end, (days[1] + 1) * 86_400 - offset) * 1000

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


def _filled(item: Trigger | Excluded, calendars: Mapping[str, Dates]) -> Trigger | Excluded:
    match item:
        case Calendar():
            return item.filled(calendars)
        case Trigger():
            return item.with_calendars(calendars)
        case Dates():
            return item
