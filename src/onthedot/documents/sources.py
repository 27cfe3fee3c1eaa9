"""From what the user has, a collection or a table, to a JobStore. Only the driver that is needed is imported."""

from __future__ import annotations

import sys
from typing import Any

from onthedot.clock import Clock
from onthedot.documents.jobs import Fields
from onthedot.documents.store import JobStore
from onthedot.errors import SettingsError

_METHODS = ("lock_due", "lock_again", "renew", "update", "remove")


def open_source(source: Any, engine: Any, fields: Fields, condition: Any, clock: Clock) -> JobStore:
    """The store over a pymongo collection, a SQLAlchemy table or mapped class, or the user's own JobStore."""
    table: Any = getattr(source, "__table__", source) if isinstance(source, type) else source
    if _is_a(source, "pymongo.synchronous.collection", "Collection"):
        _refuse(engine, "engine", "a collection knows its database")
        from onthedot.documents.mongodb import MongoJobStore

        return MongoJobStore(source, fields, condition)
    if _is_a(table, "sqlalchemy", "Table"):
        from onthedot.documents.sql import SqlJobStore

        return SqlJobStore(table, engine, fields, condition, clock)
    if _is_async(source):
        raise SettingsError(
            f"{type(source).__name__} is for asyncio; pass the collection of a MongoClient (handlers may be async)"
        )
    missing = [name for name in _METHODS if not callable(getattr(source, name, None))]
    if len(missing) == len(_METHODS):
        raise SettingsError(f"Documents works a pymongo Collection, a SQLAlchemy Table or a JobStore, not {source!r}")
    if missing:
        raise SettingsError(f"{type(source).__name__} is no JobStore yet: it has no {', '.join(missing)}")
    _refuse(engine, "engine", "a JobStore knows its database")
    _refuse(condition, "condition", "a JobStore chooses its documents itself")
    _refuse(None if fields == Fields() else fields, "names of fields", "a JobStore knows its own")
    store: JobStore = source
    return store


def _is_a(source: Any, module: str, name: str) -> bool:
    """Whether it is of that class, without importing it: who has an instance has imported it."""
    return module in sys.modules and isinstance(source, getattr(sys.modules[module], name))


def _is_async(source: Any) -> bool:
    kind = type(source)
    return kind.__module__.startswith(("pymongo.asynchronous", "motor."))


def _refuse(value: Any, what: str, why: str) -> None:
    if value is not None:
        raise SettingsError(f"{what} cannot be given here: {why}")
