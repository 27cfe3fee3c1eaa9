"""Work for processes of their own: it must stand at the top of a module."""

from __future__ import annotations


def crunch() -> int:
    """A tenth of a second of a processor, about."""
    return sum(number * number for number in range(300_000))
