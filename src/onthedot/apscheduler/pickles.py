"""Reads pickles of APScheduler without importing or calling anything that they name.

A pickle is a program: it may name any function and have it called. Here every name stands for an inert object that only
remembers what it was given, but for plain values of the standard library and for time zones, which are made by name.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from onthedot.storable import beginning, brief, shown

MOST_BYTES = 1_000_000
"""A larger one is not read: no job needs it."""
_PLACES = ("PUT", "BINPUT", "LONG_BINPUT")
"""What writes to a numbered place of the reader's memory."""


class Unreadable(Exception):
    """A pickle that cannot be read, and why."""


class Inert:
    """An object that was not made: what it is of, and what it was given."""

    path = ""
    """Where its class is: "apscheduler.triggers.cron.CronTrigger"."""

    def __new__(cls, *args: Any, **named: Any) -> Inert:
        made = super().__new__(cls)
        made.args = args
        made.state = {}
        return made

    def __init__(self, *args: Any, **named: Any) -> None:
        self.args: tuple[Any, ...]
        self.state: dict[str, Any]

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)  # with slots it is a pair
        for part in parts:
            if isinstance(part, dict):
                self.state.update(part)

    def __setitem__(self, key: Any, value: Any) -> None:
        """An item of a dict of some class of its own: not kept."""

    def append(self, value: Any) -> None:
        """An item of a list of some class of its own: not kept."""

    extend = append

    def __repr__(self) -> str:
        return f"a {self.path}"


def inert(path: str) -> type[Inert]:
    """A class of inert objects."""
    return type("Inert", (Inert,), {"path": path})


def load(data: bytes) -> Any:
    """What the pickle says; `Unreadable` where it says nothing that can be understood."""
    if len(data) > MOST_BYTES:
        raise Unreadable(f"it has {len(data):,} bytes, and {MOST_BYTES:,} are read at most")
    try:
        _check_places(data)
        return _Reader(io.BytesIO(data)).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"its pickle cannot be read: {beginning(shown(error), 200)}") from None


def _check_places(data: bytes) -> None:
    """Python's reader makes room for every place below the one that is named: five bytes could ask for gigabytes."""
    for opcode, number, _ in pickletools.genops(data):
        if opcode.name in _PLACES and number is not None and number > len(data):
            raise Unreadable(f"it asks for {number:,} places of memory")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        return _KNOWN.get(path) or inert(path)


class _Maker:
    """Stands for a function: onto a plain one a pickle could write attributes."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *args: Any) -> Any:
        return self._make(*args)

    def __setstate__(self, state: Any) -> None:
        raise Unreadable("it writes on what makes its values")


def _attribute(target: Any, name: Any) -> Any:
    """What `getattr` in a pickle gives: zones are pickled by a method of their class."""
    if target is _ZONE:
        return _KNOWN["zoneinfo.ZoneInfo._unpickle"]
    if isinstance(name, str) and isinstance(target, type) and issubclass(target, Inert):
        return inert(f"{target.path}.{name}")
    raise Unreadable(f"it asks for {brief(name)} of {brief(target)}")


def _zone(name: Any, *_: Any) -> ZoneInfo:
    if not isinstance(name, str):
        raise Unreadable(f"{brief(name)} is no time zone")
    return ZoneInfo(name)


def _fixed_offset(minutes: int) -> timezone:
    return timezone(timedelta(minutes=minutes))


def _utc(*_: Any) -> timezone:
    return UTC


_ZONE = inert("zoneinfo.ZoneInfo")
_KNOWN: dict[str, Callable[..., Any]] = {
    **{f"datetime.{kind.__name__}": kind for kind in (datetime, date, time, timedelta, timezone)},
    "decimal.Decimal": Decimal,
    "uuid.UUID": UUID,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "builtins.getattr": _Maker(_attribute),
    "zoneinfo.ZoneInfo": _ZONE,
    "backports.zoneinfo.ZoneInfo": _ZONE,
    "zoneinfo.ZoneInfo._unpickle": _Maker(_zone),
    "pytz._p": _Maker(_zone),
    "pytz._UTC": _Maker(_utc),
    "pytz._FixedOffset": _Maker(_fixed_offset),
    "dateutil.tz.tz.tzutc": _Maker(_utc),
}
