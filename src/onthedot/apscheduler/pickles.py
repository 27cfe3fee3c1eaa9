"""Reads pickles of APScheduler without importing or calling anything that they name.

A pickle is a program: it may name any function and have it called. Here every name stands for an inert object that only
remembers what it was given, but for plain values of the standard library and for time zones, which are made by name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

MOST_BYTES = 1_000_000
"""A larger one is not read: no job needs it."""


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
        return _Reader(io.BytesIO(data)).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"its pickle cannot be read: {error}") from None


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        return _KNOWN.get(path) or inert(path)


def _attribute(target: Any, name: str) -> Any:
    """What `getattr` in a pickle gives: zones are pickled by a method of their class."""
    if target is _ZONE:
        return _zone
    if isinstance(target, type) and issubclass(target, Inert):
        return inert(f"{target.path}.{name}")
    raise Unreadable(f"it asks for {name!r} of {target!r}")


def _zone(name: str, *_: Any) -> ZoneInfo:
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
    "builtins.getattr": _attribute,
    "zoneinfo.ZoneInfo": _ZONE,
    "backports.zoneinfo.ZoneInfo": _ZONE,
    "zoneinfo.ZoneInfo._unpickle": _zone,
    "pytz._p": _zone,
    "pytz._UTC": _utc,
    "pytz._FixedOffset": _fixed_offset,
    "dateutil.tz.tz.tzutc": _utc,
}
