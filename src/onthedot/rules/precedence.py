"""Which runs come first where not all that are due can start: old ones, and important ones as if they were older.

A level of priority is worth a minute of waiting. So a run of low priority is late, and never starved: whatever waits
long enough comes before anything that falls due then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from onthedot.model.run import Run

T = TypeVar("T")

LEVEL_MS = 60_000
"""How much older one level of priority makes a run. It never makes it due earlier."""

Turn: TypeAlias = tuple[int, str]
"""Precedence and id: the least is next."""


def precedence_ms(due_ms: int, priority: int) -> int:
    """As if it had been due at this moment; the least comes first."""
    return due_ms - priority * LEVEL_MS


def turn_of(run: Run) -> Turn:
    """The run's place among those that are due."""
    return precedence_ms(run.due_ms, run.policy.priority), run.id


def foremost(
    found: Iterable[T],
    turn: Callable[[T], Turn],
    limit: int,
    levels: Iterable[tuple[int, int]] = (),
    of_level: Callable[[int], Iterable[T]] = lambda priority: (),
) -> list[T]:
    """Those of least precedence, in turn: of what was found, and of each level its oldest.

    A level is its priority and the moment of its oldest; one that can add nothing is not asked for. `found` must hold
    the oldest of every level that is not among them.
    """
    chosen = {turn(each): each for each in found}
    heads = sorted((precedence_ms(due_ms, priority), priority) for priority, due_ms in levels)
    for earliest_ms, priority in heads:
        first = sorted(chosen)[:limit]
        if len(first) == limit and earliest_ms > first[-1][0]:
            break
        chosen |= {turn(each): each for each in of_level(priority)}
    return [chosen[each] for each in sorted(chosen)[:limit]]
