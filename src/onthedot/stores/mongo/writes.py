"""What a transaction writes: kept until it is read again or the transaction ends, then sent many at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymongo import UpdateMany, UpdateOne
from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.stores.mongo.mapping import Document

_MOST = 1000
"""So many are sent at once: a transaction that is silent for too long may be taken for a dead one's."""

_ANEW_FROM = 8
"""Where so many documents change that were read whole, they are written anew: removed, and put back as they are now.

In a transaction, MongoDB before version 7 reads the collection's entry in its catalog for each index of each document
that changes; for one that is removed only for the unique indexes, for a new one not at all. So it takes a third of the
server's time; but one command more, which does not pay for a few."""

_TOUCH = {"$inc": {"touched": 1}}
"""In every change: one that sets what is there already would be no write, and clash with nobody."""


@dataclass(slots=True)
class _Pending:
    """Of one collection, by id: each document at most once."""

    deleted: dict[str, None] = field(default_factory=dict)
    changed: dict[Any, Document] = field(default_factory=dict)
    whole: dict[Any, Document] = field(default_factory=dict)
    """Those of them that may be written anew, as they were read."""
    inserted: dict[Any, Document] = field(default_factory=dict)

    def knows(self, document_id: Any) -> bool:
        return document_id in self.changed or document_id in self.inserted or document_id in self.deleted

    def write_anew(self) -> None:
        """Remove those that were read whole, and put them back with what changes; what is null in them is left out."""
        for each, whole in self.whole.items():
            fields = {**whole, **self.changed.pop(each)}
            self.deleted[each] = None
            self.inserted[each] = {name: value for name, value in fields.items() if value is not None}


class Writes:
    """A write conflict shows when they are sent, which is before the commit: the transaction then leaves nothing."""

    def __init__(self, database: Database[Document], session: ClientSession) -> None:
        self._database = database
        self._session = session
        self._pending: dict[str, _Pending] = {}
        self._count = 0
        self.made = False
        """Anything was written, or will be."""

    def insert(self, collection: str, document: Document, document_id: Any = None) -> None:
        """A new document; one that is there already is a clash."""
        self._of(collection, document_id).inserted[document_id or id(document)] = document

    def change(self, collection: str, document_id: str, fields: Document, whole: Document | None = None) -> None:
        """Set fields of a document that is there; `whole` as the snapshot has it, if it may be written anew."""
        pending = self._of(collection, document_id)
        pending.changed[document_id] = fields
        if whole is not None:
            pending.whole[document_id] = whole

    def delete(self, collection: str, document_id: str) -> None:
        """Remove a document."""
        self._of(collection, document_id, size=0).deleted[document_id] = None

    def touch(self, collection: str, ids: Collection[str]) -> None:
        """Write documents without changing them, so that whoever else writes them clashes with us."""
        if ids:
            self._database[collection].update_many({"_id": {"$in": sorted(ids)}}, _TOUCH, session=self._session)

    def send(self, collection: str) -> None:
        """All that is pending for this collection."""
        pending = self._pending.pop(collection, None)
        if pending is None:
            return
        target = self._database[collection]
        if len(pending.whole) >= _ANEW_FROM:
            pending.write_anew()
        # In this order: who ends frees its slot before another takes it.
        if pending.deleted:
            target.delete_many({"_id": {"$in": list(pending.deleted)}}, session=self._session)
        if pending.changed:
            target.bulk_write(_updates(pending.changed), session=self._session)
        if pending.inserted:
            target.insert_many(pending.inserted.values(), session=self._session)

    def send_all(self) -> None:
        """All that is pending."""
        for collection in list(self._pending):
            self.send(collection)
        self._count = 0

    def _of(self, collection: str, document_id: Any, size: int = 1) -> _Pending:
        self.made = True
        self._count += size
        if self._count > _MOST:
            self.send_all()
        pending = self._pending.setdefault(collection, _Pending())
        if document_id is not None and pending.knows(document_id):
            self.send(collection)
            pending = self._pending.setdefault(collection, _Pending())
        return pending


def _updates(changed: Mapping[Any, Document]) -> list[UpdateOne | UpdateMany]:
    """One for all that become alike, as runs that begin together do."""
    alike: dict[str, list[Any]] = {}
    for each, fields in changed.items():
        alike.setdefault(repr(fields), []).append(each)
    return [_update(ids, {"$set": changed[ids[0]], **_TOUCH}) for ids in alike.values()]


def _update(ids: list[Any], change: Document) -> UpdateOne | UpdateMany:
    if len(ids) == 1:
        return UpdateOne({"_id": ids[0]}, change)
    return UpdateMany({"_id": {"$in": ids}}, change)
