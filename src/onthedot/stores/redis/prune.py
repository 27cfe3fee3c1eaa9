"""Forgetting what is old: searched freely, then removed in a transaction that compares it with what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onthedot.stores.base import Retention
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.transaction import RedisTransaction

_GONE_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class _Old:
    runs: list[str]
    keys: list[str]
    nodes: list[str]


def prune(
    server: Server,
    transact: Callable[[Callable[[RedisTransaction], int]], int],
    now_ms: int,
    keep: Retention,
    limit: int,
) -> int:
    """Up to `limit` in all; nodes that have long been gone are not counted."""
    before_ms = now_ms - keep.history_ms
    old = _find(server, now_ms, keep, limit)
    forgotten = 0
    if old.runs or old.keys or old.nodes:
        forgotten = transact(lambda rows: _remove(rows, old))
    if forgotten < limit:
        forgotten += int(server.write_script("prune_decisions", [before_ms, limit - forgotten]))
    return forgotten


def _find(server: Server, now_ms: int, keep: Retention, limit: int) -> _Old:
    before_ms = now_ms - keep.history_ms
    runs = dict.fromkeys(_until(server, "finished", before_ms, limit))
    server.ask("ZREMRANGEBYSCORE", "kept", "-inf", 0)
    for group in server.ask("ZRANGEBYSCORE", "kept", f"({keep.per_schedule}", "+inf", "LIMIT", 0, limit):
        if len(runs) >= limit:
            break
        beyond = server.ask("ZREVRANGEBYLEX", f"ended:{group}", "+", "-", "LIMIT", keep.per_schedule, limit)
        runs.update(dict.fromkeys(beyond))
    chosen = list(runs)[:limit]
    keys = _until(server, "expiring", now_ms, limit - len(chosen))
    return _Old(chosen, keys, _until(server, "gone", before_ms, _GONE_AT_ONCE))


def _until(server: Server, index: str, moment_ms: int, most: int) -> list[str]:
    """The first members up to a moment."""
    return list(server.ask("ZRANGEBYSCORE", index, "-inf", moment_ms, "LIMIT", 0, most)) if most > 0 else []


def _remove(rows: RedisTransaction, old: _Old) -> int:
    # An operator may have revived a run since, and somebody have taken an expired key anew.
    forgotten = rows.forget_runs(old.runs) + rows.forget_keys(old.keys)
    rows.forget_nodes(old.nodes)
    return forgotten
