"""Questions come from outside: what no store could keep is asked as the nearest that it could."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from onthedot.storable import beginning

P = ParamSpec("P")
T = TypeVar("T")
MOST_BYTES = 4096
"""Longer than any name, task, tag or id: what is cut there still finds nothing."""
_FURTHEST = 1 << 62


def answerable(ask: Callable[P, T]) -> Callable[P, T]:
    """So that no database refuses it: texts without characters that some cannot keep, numbers of 64 bits."""

    @wraps(ask)
    def asked(*given: P.args, **named: P.kwargs) -> T:
        first, *others = given  # the store itself
        return ask(first, *map(_nearest, others), **{name: _nearest(value) for name, value in named.items()})  # type: ignore[arg-type]

    return asked


def _nearest(value: Any) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return beginning(value, MOST_BYTES)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_FURTHEST, min(value, _FURTHEST))
    return [_nearest(each) for each in value] if isinstance(value, list | tuple | set | frozenset) else value
