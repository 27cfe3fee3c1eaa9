"""Cutting off transactions whose process has died or been stopped.

MongoDB keeps an open transaction for 60 s, also if its client is gone, and whatever it has written cannot be written by
others meanwhile. Other databases have a time-out for that; here, whoever is kept out looks for transactions of this
store that do nothing, and ends them.
"""

from __future__ import annotations

from threading import Lock

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from onthedot.clock import Clock
from onthedot.stores.mongo.mapping import Document

IDLE_MS = 2000
_TWICE_MS = 200
"""A transaction is ended only if it was seen twice, so far apart, and did nothing in between."""

_Seen = tuple[int, int]
"""How long it had worked, and when it was seen first."""


class AbandonedTransactions:
    """Remembers which transactions were seen idle."""

    def __init__(self, app_name: str, clock: Clock) -> None:
        self._app_name = app_name
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[tuple[bytes, int], _Seen] = {}

    def look(self, client: MongoClient[Document]) -> int:
        """End those that have been idle for two seconds; says how many. Where we may not, they end after 60 s."""
        if not self._lock.acquire(blocking=False):
            return 0  # another thread is looking
        try:
            idle = self._idle(client)
            now_ms = self._clock.monotonic_ms()
            seen = {key: self._seen.get(key, (worked, now_ms)) for key, worked in idle.items()}
            self._seen = {key: each if each[0] == idle[key] else (idle[key], now_ms) for key, each in seen.items()}
            dead = [key for key, (_, first_ms) in self._seen.items() if now_ms - first_ms >= _TWICE_MS]
            for key in dead:
                del self._seen[key]
            if dead:
                client.admin.command({"killSessions": [{"id": session} for session, _ in dead]})
            return len(dead)
        except PyMongoError:
            return 0  # a remedy, not a need: without the right to do it, MongoDB's own 60 s hold
        finally:
            self._lock.release()

    def _idle(self, client: MongoClient[Document]) -> dict[tuple[bytes, int], int]:
        """Session and transaction, and for how long it has worked; only of this store, by its connection's name."""
        found = client.admin.aggregate(
            [
                {"$currentOp": {"allUsers": False, "idleSessions": True}},
                {
                    "$match": {
                        "type": "idleSession",
                        "appName": self._app_name,
                        "transaction.timeInactiveMicros": {"$gte": IDLE_MS * 1000},
                    }
                },
            ]
        )
        return {
            (each["lsid"]["id"], each["transaction"]["parameters"]["txnNumber"]): each["transaction"][
                "timeActiveMicros"
            ]
            for each in found
        }
