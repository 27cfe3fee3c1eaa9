"""Forgetting what is old: searched without a transaction, then removed in a short one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.stores.base import Retention
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.mongo.transaction import gates_of


@dataclass(frozen=True, slots=True)
class Old:
    """What was found, by id."""

    runs: list[str]
    keys: list[str]
    decisions: list[Any]
    nodes: list[str]

    def __bool__(self) -> bool:
        return bool(self.runs or self.keys or self.decisions or self.nodes)


def find(database: Database[Document], now_ms: int, keep: Retention, limit: int) -> Old:
    """Up to `limit` in all; nodes that have long been gone are not counted."""
    before_ms = now_ms - keep.history_ms
    runs = _old_runs(database, before_ms, keep, limit)
    # Keys of ticks (t:…) go only with their schedule: they are what keeps a backfill from running twice.
    expired = {"expires_ms": {"$gt": 0, "$lte": now_ms}, "_id": {"$not": {"$regex": "^t:"}}}
    keys = _oldest(database, schema.KEYS, expired, "expires_ms", limit - len(runs))
    left = limit - len(runs) - len(keys)
    decided = {"decided_ms": {"$lte": before_ms}}
    decisions = _oldest(database, schema.DECISIONS, decided, "decided_ms", left)
    gone = {"state": {"$nin": ["alive", "draining"]}, "renewed_ms": {"$lte": before_ms}}
    nodes = _oldest(database, schema.NODES, gone, "renewed_ms", limit)
    owners = set(database[schema.RUNS].distinct("owner", {"owner": {"$in": nodes}})) if nodes else set()
    return Old(runs, keys, decisions, [each for each in nodes if each not in owners])


def _old_runs(database: Database[Document], before_ms: int, keep: Retention, limit: int) -> list[str]:
    old = dict.fromkeys(_oldest(database, schema.HISTORY, {"finished_ms": {"$lte": before_ms}}, "finished_ms", limit))
    if len(old) < limit:
        history = database[schema.HISTORY]
        counted: list[Document] = [
            {"$group": {"_id": "$kept_by", "count": {"$sum": 1}}},
            {"$match": {"count": {"$gt": keep.per_schedule}}},
            {"$limit": limit},
        ]
        for each in history.aggregate(counted, hint="schedule"):
            beyond = history.find({"kept_by": each["_id"]}, {"_id": 1}).sort("_id", -1).skip(keep.per_schedule)
            old.update(dict.fromkeys(_ids(beyond.limit(limit))))
            if len(old) >= limit:
                break
    return list(old)[:limit]


def remove(database: Database[Document], session: ClientSession, old: Old, now_ms: int) -> int:
    """In the transaction of the session: what an operator has revived since, or somebody has taken anew, stays."""
    runs = _ids(database[schema.HISTORY].find({"_id": {"$in": old.runs}}, {"_id": 1}, session=session))
    expired = {"_id": {"$in": old.keys}, "expires_ms": {"$gt": 0, "$lte": now_ms}}
    removed: list[tuple[str, Document]] = [
        (schema.HISTORY, {"_id": {"$in": runs}}),
        (schema.KEYS, expired),
        (schema.DECISIONS, {"_id": {"$in": old.decisions}}),
    ]
    counts = [database[name].delete_many(which, session=session).deleted_count for name, which in removed]
    also: list[tuple[str, Document]] = [
        (schema.LOGS, {"run_id": {"$in": runs}}),
        (schema.NODES, {"_id": {"$in": old.nodes}}),
        (schema.TASKS, {"_id": {"$in": old.nodes}}),
        (schema.GATES, {"_id": {"$in": list(gates_of(old.nodes))}}),
    ]
    for name, which in also:
        database[name].delete_many(which, session=session)
    return sum(counts)


def _oldest(database: Database[Document], collection: str, matching: Document, by: str, most: int) -> list[Any]:
    if most <= 0:
        return []
    return _ids(database[collection].find(matching, {"_id": 1}).sort(by).limit(most))


def _ids(found: Iterable[Document]) -> list[Any]:
    return [each["_id"] for each in found]
