"""Reservations: who means to work on which documents, so that others pass over them.

MongoDB has no SKIP LOCKED: whoever writes a document that another transaction has written is thrown out, with all that
it did. So a node reserves what it is about to work on, in one write before its transaction, and takes only what nobody
else has reserved: two nodes then share the work without a clash. A reservation lapses after two seconds by the store's
clock, and decides nothing: if it is lost, late or wrong, the transactions clash, and one of them is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pymongo
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError

from onthedot.stores.mongo.mapping import FREE, Document
from onthedot.stores.transaction import TryAgain

LASTS_MS = 2000
_WAIT_S = 1.0
"""How long reserving waits for a document that somebody has written and not yet committed."""
_FAST = {"w": 1}
"""A reservation need not survive a fail-over."""


class Reservations:
    """Those of one transaction, under a name of their own."""

    def __init__(
        self, database: Database[Document], session: ClientSession, now_ms: Callable[[], int], name: str
    ) -> None:
        self._database = database
        self._session = session
        self._now_ms = now_ms
        self._name = name
        self._taken: dict[str, set[str]] = {}
        self.is_kept = False
        """What was reserved stays so: whoever waits for the rest comes again, under the same name."""

    @property
    def free(self) -> Document:
        """What a document must be that nobody else works on."""
        return {"$or": [{"busy_ms": {"$lte": self._now_ms()}}, {"busy_by": self._name}]}

    @property
    def mine(self) -> Document:
        """What a document is that was taken here."""
        return {"busy_by": self._name}

    def is_free(self, document: Document) -> bool:
        """The same, of a document that was read with `busy_ms` and `busy_by`."""
        busy_ms: int = document.get("busy_ms", 0)
        return busy_ms <= self._now_ms() or document.get("busy_by") == self._name

    def has_lapsed(self, document: Document) -> bool:
        """Whether somebody began to work on it and never ended: dead, frozen, or cut off."""
        busy_ms: int = document.get("busy_ms", 0)
        return 0 < busy_ms <= self._now_ms()

    def take(self, collection: str, ids: Collection[str]) -> int:
        """Reserve those that nobody else works on; says how many. Only before the transaction begins, which sees it."""
        if not ids:
            return 0
        self._taken.setdefault(collection, set()).update(ids)
        reserved = {"busy_ms": self._now_ms() + LASTS_MS, "busy_by": self._name}
        try:
            answer = self._update(collection, {"_id": {"$in": list(ids)}, **self.free}, {"$set": reserved})
        except PyMongoError as error:
            if error.timeout:
                raise TryAgain(f"somebody else keeps some of {collection} from being written") from error
            raise
        self._session.advance_operation_time(answer["operationTime"])
        taken: int = answer["n"]
        return taken

    def release(self, written: Collection[str]) -> None:
        """Give back what was not written; best effort, since reservations lapse by themselves."""
        if self.is_kept:
            return
        for collection, ids in self._taken.items():
            left = [each for each in ids if each not in written]
            if not left:
                continue
            try:
                self._update(collection, {"_id": {"$in": left}, **self.mine}, {"$set": FREE})
            except PyMongoError:
                return

    def _update(self, collection: str, matching: Document, change: Document) -> dict[str, Any]:
        """Not the driver's `update_many`: that does not tell the time of the write."""
        update = {"q": matching, "u": change, "multi": True}
        with pymongo.timeout(_WAIT_S):
            return self._database.command({"update": collection, "updates": [update], "writeConcern": _FAST})
