"""What is left of what: leaves, joined by "either" and "minus". Each search puts its own kind of leaves in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Dates
from onthedot.triggers.every import Every
from onthedot.triggers.zones import Zone

DAY = 86_400

L = TypeVar("L")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Just(Generic[L]):
    """What is in one leaf."""

    leaf: L


@dataclass(frozen=True, slots=True)
class Either(Generic[L]):
    """What is in one of the parts; without parts, nothing."""

    parts: tuple[Expression[L], ...] = ()


@dataclass(frozen=True, slots=True)
class Minus(Generic[L]):
    """What is in the base, and not in the other."""

    base: Expression[L]
    without: Expression[L]


Expression: TypeAlias = Just[L] | Either[L] | Minus[L]


@dataclass(frozen=True, slots=True)
class OnDates:
    """Every moment that has one of the dates in the zone."""

    zone: Zone
    dates: Dates

    def ticks_at(self, ms: int) -> bool:
        """Whether the moment is one of them."""
        return self.dates.span_of(self.zone.label(ms // 1000) // DAY) is not None

    def spans(self) -> tuple[tuple[int, int], ...]:
        """When they are, as [first, end) in milliseconds, ascending; a clock set back at midnight parts a date."""
        spans: list[tuple[int, int]] = []
        for first, end in sorted(span for dates in self.dates.ranges for span in self._spans(*dates)):
            joins = spans and first <= spans[-1][1]
            spans.append((spans.pop()[0] if joins else first, end))
        return tuple((first * 1000, end * 1000) for first, end in spans)

    def _spans(self, first_date: int, last_date: int) -> Iterator[tuple[int, int]]:
        first, end = first_date * DAY, (last_date + 1) * DAY
        for segment in range(self.zone.segment(first - DAY), self.zone.segment(end + DAY) + 1):
            bounds, offset = self.zone.bounds(segment), self.zone.offsets[segment]
            if max(bounds[0], first - offset) < min(bounds[1], end - offset):
                yield max(bounds[0], first - offset), min(bounds[1], end - offset)


@dataclass(frozen=True, slots=True)
class Other:
    """A kind of trigger that is not known here: it can only be asked about one moment after the other."""

    trigger: Trigger

    def ticks_at(self, ms: int) -> bool:
        """Whether it ticks at that moment."""
        return self.trigger.ticks_at(ms)


Leaf = Cron | Every | At | OnDates | Other
Triggers: TypeAlias = Expression[Leaf]


def holds(expression: Triggers, ms: int) -> bool:
    """Whether the moment is in what the expression leaves."""

    def ticks(leaf: Leaf) -> int:
        return int(leaf.ticks_at(ms))

    return bool(value_of(expression, ticks))


def value_of(expression: Expression[L], value: Callable[[L], int]) -> int:
    """The set that the expression leaves, as a bit mask, from those of its leaves."""
    match expression:
        case Either(parts=parts):
            found = 0
            for part in parts:
                found |= value_of(part, value)
            return found
        case Minus(base=base, without=without):
            found = value_of(base, value)
            return found and found ^ (found & value_of(without, value))
        case Just(leaf=leaf):
            return value(leaf)


def replaced(
    expression: Expression[L], change: Callable[[L, bool], Expression[M]], *, most: bool = True
) -> Expression[M]:
    """The expression with other leaves.

    `change` is told whether more in the leaf means more in the whole (True) or less (False): so it can put a set that
    is larger, or smaller, than the leaf in its place, and the whole can only grow.
    """
    match expression:
        case Either(parts=parts):
            return Either(tuple(replaced(part, change, most=most) for part in parts))
        case Minus(base=base, without=without):
            return Minus(replaced(base, change, most=most), replaced(without, change, most=not most))
        case Just(leaf=leaf):
            return change(leaf, most)


def leaves_of(expression: Expression[L]) -> Iterator[L]:
    """All leaves, also those that are taken away."""
    match expression:
        case Either(parts=parts):
            for part in parts:
                yield from leaves_of(part)
        case Minus(base=base, without=without):
            yield from leaves_of(base)
            yield from leaves_of(without)
        case Just(leaf=leaf):
            yield leaf
