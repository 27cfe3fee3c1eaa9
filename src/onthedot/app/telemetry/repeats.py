"""What repeats is told once a minute, with how often it was left out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

EVERY_MS = 60_000
MOST_CAUSES = 100
"""How many causes are told apart at once; all others are one."""

T = TypeVar("T")


class Told(NamedTuple, Generic[T]):
    """One item, and how many like it were left out since the one before."""

    item: T
    left_out: int = 0


@dataclass(slots=True)
class _Cause(Generic[T]):
    until_ms: int
    count: int = 0
    """How many came since it was told."""
    last: T | None = None


class Repeats(Generic[T]):
    """Decides what is told. Time comes in as monotonic milliseconds; not thread-safe."""

    def __init__(self) -> None:
        self._causes: dict[Hashable, _Cause[T]] = {}

    def note(self, cause: Hashable, item: T, now_ms: int) -> list[Told[T]]:
        """What is to be told now that this has come: what was held back until now, and it itself if it is new."""
        told = self.over(now_ms)
        if cause not in self._causes and len(self._causes) >= MOST_CAUSES:
            cause = None
        known = self._causes.get(cause)
        if known is None:
            self._causes[cause] = _Cause(now_ms + EVERY_MS)
            return [*told, Told(item)]
        known.count, known.last = known.count + 1, item
        return told

    def over(self, now_ms: int) -> list[Told[T]]:
        """What is to be told now that so much time has passed: the latest of each cause whose minute is over."""
        told: list[Told[T]] = []
        for cause, known in list(self._causes.items()):  # in the order of their minutes
            if known.until_ms > now_ms:
                break
            del self._causes[cause]
            if known.last is not None:
                told.append(Told(known.last, known.count - 1))
                self._causes[cause] = _Cause(now_ms + EVERY_MS)
        return told

    def rest(self) -> list[Told[T]]:
        """All that is held back, since nobody will ask again."""
        told = [Told(known.last, known.count - 1) for known in self._causes.values() if known.last is not None]
        self._causes.clear()
        return told
