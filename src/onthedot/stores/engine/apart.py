"""A batch that the store refuses is split until the culprit stands alone; the rest stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from onthedot.errors import Clash, NodeDead, SchemaError, StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")


def is_of_the_store(error: Exception) -> bool:
    """Whether nothing at all can be written now, together or one by one; a lost connection is no item's fault."""
    away = isinstance(error, StoreUnavailable) and not isinstance(error, Clash)
    return away or isinstance(error, (SchemaError, NodeDead, OSError))


def in_parts(
    items: Sequence[T], act: Callable[[Sequence[T]], R], on_culprit: Callable[[T, Exception], R | None]
) -> list[R]:
    """What `act` gave for the items, all at once if the store takes them so; else in halves, down to single ones."""
    try:
        return [act(items)]
    except Exception as error:
        if is_of_the_store(error) or not items:
            raise
        if len(items) == 1:
            made = on_culprit(items[0], error)
            return [] if made is None else [made]
    middle = len(items) // 2
    return in_parts(items[:middle], act, on_culprit) + in_parts(items[middle:], act, on_culprit)
