"""Changing frozen values quickly: planning and running do little else."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def replace(value: T, /, **changes: Any) -> T:
    """The value with these fields changed, as `dataclasses.replace` gives it, in a thirtieth of the time.

    For frozen dataclasses without slots and without anything to be done after they are made. The standard function
    reads every field and calls a constructor that sets each of them anew: 40 µs for a schedule.
    """
    fields = value.__dict__
    if not changes.keys() <= fields.keys():
        unknown = ", ".join(sorted(changes.keys() - fields.keys()))
        raise TypeError(f"{type(value).__name__} has no field {unknown}")
    changed = object.__new__(type(value))
    changed.__dict__.update(fields, **changes)
    return changed


def make(kind: type[T], fields: dict[str, Any]) -> T:
    """A value with exactly these fields, which must be all of them."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made
