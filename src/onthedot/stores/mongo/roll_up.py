"""Counting ends into hours: read without a transaction, kept in a short one."""

from __future__ import annotations

from collections.abc import Sequence

from pymongo import InsertOne, UpdateOne
from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.hour import Hour
from onthedot.rules.counting import End
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.prune import Read, Transact
from onthedot.stores.roll_up import STEP, Flows, Known

_ENDS = {"_id": "ends"}
_FIELDS = (
    "kept_by",
    "step",
    "state",
    "due_ms",
    "started_ms",
    "finished_ms",
    "error",
    "reason",
    "parent_id",
    "schedule_id",
)


class MongoRolling:
    """Of one store."""

    def __init__(self, read: Read, transact: Transact, flows: Flows) -> None:
        self.flows = flows
        self._read = read
        self._transact = transact

    def rolled_through(self) -> int:
        found = self._read(lambda database: database[schema.ROLLED].find_one(_ENDS))
        return 0 if found is None else int(found["through_ms"])

    def ends(self, after_ms: int, last_ms: int, most: int) -> list[End]:
        within = {"finished_ms": {"$gt": after_ms, "$lte": last_ms}}
        shown = {"_id": 0, **dict.fromkeys(_FIELDS, 1)}

        def read(database: Database[Document]) -> list[End]:
            found = database[schema.HISTORY].find(within, shown, batch_size=AT_ONCE).sort("finished_ms", 1).limit(most)
            return [_end_of(each) for each in found]

        return self._read(read)

    def hours_at(self, hour_ms: int, places: Sequence[tuple[str, str]]) -> list[Known]:
        of, steps = (sorted(set(each)) for each in zip(*places, strict=True))
        wanted = {"kept_by": {"$in": of}, "step": {"$in": steps}, "hour_ms": hour_ms}

        def read(database: Database[Document]) -> list[Known]:
            found = database[schema.HOURS].find(wanted, batch_size=AT_ONCE)
            return [(documents.hour_from(each), each["_id"]) for each in found]

        return self._read(read)

    def keep(self, before_ms: int, through_ms: int, new: Sequence[Hour], changed: Sequence[Known]) -> bool:
        def write(database: Database[Document], session: ClientSession) -> bool:
            # Who else has read the same ends clashes with us in this document, and then finds it moved.
            if not _is_moved(database, session, before_ms, through_ms):
                return False
            inserts = [InsertOne(documents.hour_document(each)) for each in new]
            updates = [UpdateOne({"_id": key}, {"$set": documents.hour_document(each)}) for each, key in changed]
            if inserts or updates:
                database[schema.HOURS].bulk_write([*inserts, *updates], ordered=False, session=session)
            return True

        return self._transact(write)

    def hours(self, of: str, step: str, first_ms: int, last_ms: int) -> list[Hour]:
        """See `Store.hours`."""
        wanted = {"kept_by": of, "step": step, "hour_ms": {"$gte": first_ms, "$lte": last_ms}}

        def read(database: Database[Document]) -> list[Hour]:
            found = database[schema.HOURS].find(wanted, batch_size=AT_ONCE).sort("hour_ms", 1)
            return [documents.hour_from(each) for each in found]

        return self._read(read)


def _is_moved(database: Database[Document], session: ClientSession, before_ms: int, through_ms: int) -> bool:
    rolled = database[schema.ROLLED]
    moved = {"$set": {"through_ms": through_ms}}
    if rolled.update_one({**_ENDS, "through_ms": before_ms}, moved, session=session).matched_count:
        return True
    if before_ms or rolled.find_one(_ENDS, session=session) is not None:
        return False
    rolled.insert_one({**_ENDS, "through_ms": through_ms}, session=session)
    return True


def _end_of(document: Document) -> End:
    error = document.get("error") or document.get("reason")
    of, step, state, due_ms, started_ms, finished_ms = (document.get(name) for name in _FIELDS[:6])
    if not step or document.get("schedule_id"):  # what was filled in counts as any run of its schedule
        return of, "", state, due_ms, started_ms, finished_ms, error
    return f"{STEP}{document.get('parent_id')}", step, state, due_ms, started_ms, finished_ms, error
