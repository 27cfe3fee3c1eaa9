"""The foremost of runs that stand in levels of priority, each level oldest first in its index."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onthedot.rules.precedence import LEVEL_MS, Turn, foremost, precedence_ms
from onthedot.stores.mongo.mapping import Document

Oldest = Callable[[int, int, int], Iterable[Document]]
"""Of a priority, due until a moment, at most so many: the oldest."""


def foremost_of(levels: Iterable[int], oldest: Oldest, now_ms: int, most: int) -> list[Document]:
    """Those of least precedence that are due, in turn; a level is asked only for what would be among them."""
    found: list[Document] = []
    if most <= 0:
        return found
    for priority in sorted(levels, reverse=True):
        until_ms = now_ms
        if len(found) >= most:
            last_ms, _ = turn_of(found[-1])
            until_ms = min(now_ms, last_ms + priority * LEVEL_MS)
        found = foremost([*found, *oldest(priority, until_ms, most)], turn_of, most)
    return found


def turn_of(run: Document) -> Turn:
    """The place of a run's document among those that are due."""
    return precedence_ms(run["due_ms"], run["priority"]), run["_id"]
