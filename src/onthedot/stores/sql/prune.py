"""Forgetting what is old: searched without a lock, then removed in one short transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from onthedot.stores.base import Retention
from onthedot.stores.sql import statements
from onthedot.stores.sql.transaction import in_chunks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Old:
    runs: list[str]
    keys: list[str]
    decisions: list[str]
    nodes: list[str]


def prune(
    read: Callable[[Callable[[Connection], _Old]], _Old],
    write: Callable[[], AbstractContextManager[Connection]],
    now_ms: int,
    keep: Retention,
    limit: int,
) -> int:
    """Up to `limit` in all; nodes that have long been gone are not counted."""
    old = read(lambda connection: _find(connection, now_ms, keep, limit))
    if not (old.runs or old.keys or old.decisions or old.nodes):
        return 0
    with write() as connection:
        return _remove(connection, old, now_ms)


def _find(connection: Connection, now_ms: int, keep: Retention, limit: int) -> _Old:
    before_ms = now_ms - keep.history_ms
    runs = dict.fromkeys(_ids(connection, statements.OLD_HISTORY, before_ms=before_ms, most=limit))
    if len(runs) < limit:
        for kept_by in _ids(connection, statements.TOO_MANY, keep=keep.per_schedule, most=limit):
            beyond = _ids(connection, statements.BEYOND, kept_by=kept_by, keep=keep.per_schedule, most=limit)
            runs.update(dict.fromkeys(beyond))
            if len(runs) >= limit:
                break
    chosen = list(runs)[:limit]
    keys = _ids(connection, statements.OLD_KEYS, now_ms=now_ms, most=limit - len(chosen))
    oldest = connection.execute(statements.OLDEST_DECISIONS, {"most": limit - len(chosen) - len(keys)})
    decisions = [decision_id for decision_id, decided_ms in oldest if decided_ms <= before_ms]
    return _Old(chosen, keys, decisions, _ids(connection, statements.GONE_NODES, before_ms=before_ms))


def _remove(connection: Connection, old: _Old, now_ms: int) -> int:
    # An operator may have revived a run since, and somebody have taken an expired key anew.
    runs = [(row[0],) for row in in_chunks(connection, statements.STILL_ENDED, old.runs)]
    held = {row[0]: row[2] for row in in_chunks(connection, statements.LOCK_KEYS, old.keys)}
    keys = [(key,) for key, expires_ms in held.items() if expires_ms is not None and expires_ms <= now_ms]
    statements.DELETE_ENDED.run(connection, runs)
    statements.DELETE_LOGS.run(connection, runs)
    statements.DELETE_KEYS.run(connection, keys)
    statements.DELETE_DECISIONS.run(connection, [(decision_id,) for decision_id in old.decisions])
    statements.DELETE_NODES.run(connection, [(node_id,) for node_id in old.nodes])
    statements.DELETE_TASKS.run(connection, [(node_id,) for node_id in old.nodes])
    return len(runs) + len(keys) + len(old.decisions)


def _ids(connection: Connection, statement: Any, **parameters: Any) -> list[Any]:
    return list(connection.execute(statement, parameters).scalars())
