"""What each search for ticks can do, and searches that are made of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from heapq import merge

from onthedot.moments import END_MS, FIRST_MS
from onthedot.triggers.base import Trigger
from onthedot.triggers.exclusions.expression import Triggers, holds


class Finder(ABC):
    """Finds moments in milliseconds, each at most once; it looks as far as the end of time."""

    @abstractmethod
    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        """The first strictly after the moment; None only if there is none before the end, where it need not look."""

    @abstractmethod
    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        """The last strictly before the moment; None only if there is none after the start, where it need not look."""

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        """All in [start, end), ascending."""
        found = self.next_ms(start_ms - 1)
        while found is not None and found < end_ms:
            yield found
            found = self.next_ms(found)

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        """How many lie in [start, end), or None if that cannot be told without looking at each."""
        return None


class FirstOf(Finder):
    """What any of several finders finds; no two find the same."""

    def __init__(self, parts: Sequence[Finder]) -> None:
        self._parts = parts

    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        return min((ms for part in self._parts if (ms := part.next_ms(after_ms, end_ms)) is not None), default=None)

    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        return max((ms for part in self._parts if (ms := part.prev_ms(before_ms, start_ms)) is not None), default=None)

    def between_ms(self, start_ms: int, end_ms: int) -> Iterator[int]:
        return merge(*(part.between_ms(start_ms, end_ms) for part in self._parts))

    def count_ms(self, start_ms: int, end_ms: int) -> int | None:
        counts = [part.count_ms(start_ms, end_ms) for part in self._parts]
        return None if None in counts else sum(count or 0 for count in counts)


class OneByOne(Finder):
    """All ticks of a trigger that has so few that walking through them is a search: one or two a day."""

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger

    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        return self._trigger.next_before_ms(after_ms, end_ms)

    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        return self._trigger.prev_after_ms(before_ms, start_ms)


class Verified(Finder):
    """What a finder finds and the expression holds too: for one that may find too much."""

    def __init__(self, expression: Triggers, finder: Finder) -> None:
        self._expression = expression
        self._finder = finder

    def next_ms(self, after_ms: int, end_ms: int = END_MS) -> int | None:
        found = self._finder.next_ms(after_ms, end_ms)
        while found is not None and not holds(self._expression, found):
            found = self._finder.next_ms(found, end_ms)
        return found

    def prev_ms(self, before_ms: int, start_ms: int = FIRST_MS - 1) -> int | None:
        found = self._finder.prev_ms(before_ms, start_ms)
        while found is not None and not holds(self._expression, found):
            found = self._finder.prev_ms(found, start_ms)
        return found
