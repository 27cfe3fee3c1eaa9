"""What a transaction reads: in its snapshot, or from outside as long as that has not been taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.cursor import Cursor
from pymongo.database import Database

from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.schema import META
from onthedot.stores.mongo.writes import Writes

Part = tuple[str, Sequence[Document]]
"""A collection, and the stages that find something in it."""


class StoreTime:
    """The store's time, the same throughout one transaction: asked for, or told with something else that was read."""

    def __init__(self, read_clock: Callable[[], int] | None, ask: Callable[[], int]) -> None:
        self._read = read_clock or ask
        self._may_be_told = read_clock is None
        self._now_ms: int | None = None

    def __call__(self) -> int:
        if self._now_ms is None:
            self._now_ms = self._read()
        return self._now_ms

    def note(self, moment: datetime) -> None:
        """What the server says; it counts unless the time is known already."""
        if self._now_ms is None and self._may_be_told:
            self._now_ms = ms_of(moment)


def ms_of(moment: datetime) -> int:
    """As the driver gives it."""
    return int(moment.timestamp() * 1000 + 0.5)


class Reads:
    """Of one transaction, which sees what it has written itself."""

    def __init__(self, database: Database[Document], session: ClientSession, writes: Writes, now_ms: StoreTime) -> None:
        self._database = database
        self._session = session
        self._writes = writes
        self._now_ms = now_ms
        self._begun = False

    @property
    def begun(self) -> bool:
        """Whether the snapshot has been taken, or something is to be written: what is reserved now comes too late."""
        return self._begun or self._writes.made

    def find(self, collection: str, wanted: Document, fields: Document | None = None) -> Cursor[Document]:
        """In the snapshot: what is written because of it clashes with whoever has changed that since."""
        if not self._begun:
            self._now_ms()  # read before the snapshot: nothing in it is from the future
            self._begun = True
        self._writes.send(collection)
        return self._database[collection].find(wanted, fields, session=self._session, batch_size=AT_ONCE)

    def together(self, parts: Mapping[str, Part]) -> Document:
        """In the snapshot, several things in one round trip, and the time: all in one document, so little of each.

        A transaction may join collections, but not unite them; so they are joined with a document that is always there.
        """
        stages: list[Document] = [{"$match": {"_id": "schema"}}, {"$project": {"now": "$$NOW"}}]
        for name, (collection, pipeline) in parts.items():
            self._writes.send(collection)
            stages.append({"$lookup": {"from": collection, "pipeline": pipeline, "as": name}})
        self._begun = True
        (answer,) = self._database[META].aggregate(stages, session=self._session)
        self._now_ms.note(answer["now"])
        return answer

    def look(self, collection: str, wanted: Document, fields: Document | None = None) -> Cursor[Document]:
        """Without a lock: from outside while nothing has been locked, so that what is found can still be reserved."""
        if self.begun:
            return self.find(collection, wanted, fields)
        return self._database[collection].find(wanted, fields, batch_size=AT_ONCE)

    def distinct(self, collection: str, field: str, wanted: Document) -> list[Any]:
        """A look at the values of a field, each once."""
        return self._database[collection].distinct(field, wanted, session=self._looking(collection))

    def aggregate(self, collection: str, stages: Sequence[Document], index: str) -> Iterable[Document]:
        """A look that begins with this index."""
        session = self._looking(collection)
        return self._database[collection].aggregate(stages, session=session, hint=index, batchSize=AT_ONCE)

    def _looking(self, collection: str) -> ClientSession | None:
        if not self.begun:
            return None
        self._writes.send(collection)
        return self._session
