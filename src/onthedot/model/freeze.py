"""A freeze: a window of time in which no tick of certain schedules becomes a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from onthedot.moments import from_ms
from onthedot.patterns import matches

FreezeState = Literal["coming", "active", "over"]
WALK_AGAIN_MS = 60_000
"""A put that had begun before the freeze was written does not know it, and may end after the first walk."""


class Window(NamedTuple):
    """What a schedule keeps of a freeze: the moments in [start, end)."""

    freeze: str
    start_ms: int
    end_ms: int

    def covers(self, ms: int) -> bool:
        """Whether the moment lies in it."""
        return self.start_ms <= ms < self.end_ms


@dataclass(frozen=True)  # no slots: see values.replace
class Freeze:
    """One row, by name: which schedules are frozen, and when. Written into each of them, a few at a time."""

    name: str
    start_ms: int
    end_ms: int
    tag: str | None = None
    """Only schedules with this tag."""
    pattern: str | None = None
    """Only schedules of such a name."""
    by: str = ""
    created_ms: int = 0
    revision: int = 1
    """+1 with every put of the name: who writes it into schedules sees that it is another by now."""
    through: str = ""
    """How far the walk through the schedules has come, by name."""
    walks: int = 0
    """How often it was walked through all of them: twice, see `WALK_AGAIN_MS`."""
    walked_ms: int = 0
    """When it was last."""
    thawed: bool = False
    """It ends, and goes when no schedule has it any more."""

    @property
    def start_at(self) -> datetime:
        """Its first moment."""
        return from_ms(self.start_ms)

    @property
    def end_at(self) -> datetime:
        """The first moment after it."""
        return from_ms(self.end_ms)

    def state(self, now_ms: int) -> FreezeState:
        """Where its window lies."""
        if now_ms < self.start_ms:
            return "coming"
        return "active" if now_ms < self.end_ms and not self.thawed else "over"

    def concerns(self, name: str, tags: Iterable[str]) -> bool:
        """Whether it means this schedule."""
        if self.thawed or (self.tag is not None and self.tag not in tags):
            return False
        return self.pattern is None or matches(self.pattern, name)

    def is_to_walk(self, now_ms: int) -> bool:
        """Whether schedules are to be looked through for it now."""
        if self.through or self.walks == 0:
            return True
        return self.walks == 1 and now_ms >= self.walked_ms + WALK_AGAIN_MS

    @property
    def window(self) -> Window:
        """What each schedule that it concerns keeps."""
        return Window(self.name, self.start_ms, self.end_ms)
