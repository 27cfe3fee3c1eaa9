"""In whose name something is done: that of this process, unless a surface says for whom it acts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from onthedot.model.change import Author

_acting: ContextVar[tuple[str, str] | None] = ContextVar("onthedot_acting", default=None)


@contextmanager
def acting_as(who: str, surface: str) -> Iterator[None]:
    """Inside, in this thread or task and those that it begins, every change is kept under this name."""
    before = _acting.get()
    _acting.set((who, surface))
    try:
        yield
    finally:
        _acting.set(before)


def author(what: str) -> Author | None:
    """Who acts here; None where nobody said so."""
    acting = _acting.get()
    return None if acting is None else Author(*acting, what)
