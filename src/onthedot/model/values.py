"""Changing frozen values quickly: planning and running do little else."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeVar

T = TypeVar("T")


def replace(value: T, /, **changes: Any) -> T:
    """The value with these fields changed, as `dataclasses.replace` gives it, in a thirtieth of the time.

    For frozen dataclasses without slots and without anything to be done after they are made. The standard function
    reads every field and calls a constructor that sets each of them anew: 40 µs for a schedule.
    """
    fields = {**value.__dict__, **changes}
    if len(fields) != len(value.__dict__):
        unknown = ", ".join(sorted(changes.keys() - value.__dict__.keys()))
        raise TypeError(f"{type(value).__name__} has no field {unknown}")
    return make(type(value), fields)


def make(kind: type[T], fields: dict[str, Any]) -> T:
    """A value with exactly these fields, which must be all of them."""
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", fields)  # past the frozen class's own
    return made


_PLAIN = frozenset({str, int, float, bool, type(None)})


def own_args(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments for whoever may change them in place, user code above all; mostly nothing in them can be changed."""
    if not args:
        return {}
    if type(args) is dict and all(type(value) in _PLAIN for value in args.values()):
        return {**args}
    return deepcopy(args)
