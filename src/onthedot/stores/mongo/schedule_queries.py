"""Schedules as people ask for them: pages by filters and order, counts, what they need, and who is overdue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pymongo.client_session import ClientSession
from pymongo.cursor import Cursor
from pymongo.database import Database

from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.stores.asking import NAMED, folded, page_of, since
from onthedot.stores.counts import Demand, Needed, ScheduleCounts
from onthedot.stores.json_text import word_in_words
from onthedot.stores.mapping import is_frozen
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.candidates import IN_TURN
from onthedot.stores.mongo.mapping import AT_ONCE, BETWEEN, Document
from onthedot.stores.paging import NEVER_MS, place_from

_COMES: Document = {"next_run_ms": {"$gt": -NEVER_MS}}
_NEVER_COMES: Document = {"next_run_ms": None}
_ENABLED: Document = {**schema.KEPT, "enabled": 1, "error": None}
_OF_STATE: dict[Facet, Document] = {
    "parked": schema.PARKED,
    "paused": {**schema.DISABLED, "error": None},
    "ended": {**_ENABLED, **_NEVER_COMES},
    "active": {**_ENABLED, **_COMES},
}
_INDEX_OF_STATE: dict[Facet, str] = {
    "parked": schema.SCHEDULES_PARKED,
    "paused": schema.SCHEDULES_DISABLED,
    "ended": schema.SCHEDULES_NEXT,
}
"""Of those that are few."""
BY_CLOCK: dict[Facet, str] = {"undeclared": schema.SCHEDULES_DECLARED, "leaving_out": schema.SCHEDULES_LEFT_OUT}
"""The clock decides who has these; the index of each."""
_BY_NAME = [("name", 1)]
_BY_NEXT = [("next_run_ms", 1), ("name", 1)]
_NONE: Document = {"$in": []}
_ANY_NAME: Document = {"name": {"$gte": ""}}
"""Says nothing, but with the first field of an index the server also judges the others there, not in documents."""
_FEW = 1000
_NEEDED: list[Document] = [
    {"$match": _OF_STATE["active"]},
    {"$group": {"_id": {"task": "$task", "policy": "$policy"}}},
]
_NAMES_OF_NEEDS: list[Document] = [
    {"$project": {"_id": 0, "name": 1, "task": 1, "policy": 1}},
    {"$sort": {"name": 1}},
    {
        "$group": {
            "_id": {"task": "$task", "policy": "$policy"},
            "count": {"$sum": 1},
            "names": {"$push": "$name"},
        }
    },
    {"$project": {"count": 1, "names": {"$slice": ["$names", NAMED]}}},
]
"""By the whole policy, of which there are few; what of it is a need is seen here, where its text can be read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which schedules: all that is given must hold."""

    names: Sequence[str] | None
    tag: str | None
    task: str | None
    mode: Mode | None
    state: Facet | None
    search: str
    order: Order
    after: str
    limit: int
    now_ms: int = 0
    """By which the clock decides."""
    windows: tuple[str, ...] = ()
    """Of the frozen ones: all that the field `frozen` says where one of its windows lasts."""

    def filters(self) -> list[Document]:
        """All must hold."""
        found = [schema.KEPT if self.state is None else _of_facet(self.state, self)]
        if self.names is not None:
            found.append({"name": {"$in": sorted(set(self.names))}})
        if self.tag is not None:
            found.append({"tags": {"$regex": re.escape(word_in_words(self.tag))}})
        if self.search:
            found.append({"words": _part(self.search)})
        found += [{name: getattr(self, name)} for name in ("task", "mode") if getattr(self, name) is not None]
        return found

    def index(self) -> str:
        """The one that leaves the least to be looked at, whatever the order."""
        if self.names is not None:
            return schema.SCHEDULES_NAME
        if self.mode == "local":
            return schema.SCHEDULES_LOCAL
        if self.state in _INDEX_OF_STATE or self.state in BY_CLOCK:
            return {**_INDEX_OF_STATE, **BY_CLOCK}[self.state]
        if self.state == "frozen":
            return schema.SCHEDULES_FROZEN
        if self.task is not None:
            return schema.SCHEDULES_TASK
        if self.search or self.tag is not None:
            return schema.SCHEDULES_WORDS
        return schema.SCHEDULES_NAME if self.order == "name" else schema.SCHEDULES_NEXT


def _of_facet(facet: Facet, wanted: Wanted) -> Document:
    match facet:
        case "undeclared" | "leaving_out":
            return _by_clock(facet, wanted.now_ms)
        case "frozen":
            return _with_windows(wanted.windows)
        case _:
            return _OF_STATE[facet]


def _by_clock(facet: Facet, now_ms: int) -> Document:
    if facet == "undeclared":
        return {**schema.KEPT, "declared_seen_ms": {"$gt": 0, "$lt": since(now_ms).declared_before_ms}}
    return {**schema.KEPT, "left_out_ms": {"$gt": 0, "$gte": since(now_ms).left_out_from_ms}}


def _with_windows(texts: Sequence[str]) -> Document:
    return {**schema.KEPT, "frozen": {"$in": sorted(texts), **schema.FROZEN["frozen"]}}


def lasting(database: Database[Document], now_ms: int, session: ClientSession | None = None) -> tuple[str, ...]:
    """All that the field `frozen` says where one of its windows lasts; all that one freeze concerns say the same."""
    texts = database[schema.SCHEDULES].distinct("frozen", schema.FROZEN, session=session)
    return tuple(text for text in texts if is_frozen(text, now_ms))


def _part(search: str) -> Document:
    return _NONE if BETWEEN in search else {"$regex": re.escape(folded(search))}


def by_name(database: Database[Document], wanted: Wanted) -> list[Schedule]:
    """A page of them."""
    wanted = _judged(database, None, wanted)
    found = _find(database, None, [{"name": {"$gt": wanted.after}}, *wanted.filters()], wanted.limit)
    return _schedules(found.sort(_BY_NAME).hint(wanted.index()))


def by_next(database: Database[Document], session: ClientSession, wanted: Wanted) -> list[Schedule]:
    """A page of them: where they are few they are all read; else they are met soon enough on the way along the index.

    In a snapshot, or one that moves on meanwhile would stand in two parts of the page.
    """
    wanted = _judged(database, session, wanted)
    filters, index = wanted.filters(), wanted.index()
    if index != schema.SCHEDULES_NEXT:
        few = list(_find(database, session, [_ANY_NAME, *filters], _FEW).hint(index))
        if len(few) < _FEW:
            return page_of(_schedules(few), "next", wanted.after, wanted.limit)
    found: list[Document] = []
    for part in _parts_by_next(wanted.after):
        left = wanted.limit - len(found)
        if left > 0:
            found += _find(database, session, [part, *filters], left).sort(_BY_NEXT).hint(schema.SCHEDULES_NEXT)
    return _schedules(found)


def _judged(database: Database[Document], session: ClientSession | None, wanted: Wanted) -> Wanted:
    """With the windows that last, where these are asked for."""
    if wanted.state != "frozen":
        return wanted
    return replace(wanted, windows=lasting(database, wanted.now_ms, session))


def _find(
    database: Database[Document], session: ClientSession | None, filters: list[Document], limit: int
) -> Cursor[Document]:
    wanted = {"$and": filters}
    return database[schema.SCHEDULES].find(wanted, session=session, batch_size=AT_ONCE).limit(limit)


def _schedules(found: Iterable[Document]) -> list[Schedule]:
    return [documents.schedule_from(each) for each in found]


def _parts_by_next(after: str) -> list[Document]:
    """What comes after that place, in parts that are each one piece of the index, in which no moment comes first."""
    moment, name = place_from(after)
    rest = {"name": {"$gt": name}}
    if moment == NEVER_MS:
        return [{**_NEVER_COMES, **rest}]
    return [{"next_run_ms": moment, **rest}, {"next_run_ms": {"$gt": moment}}, _NEVER_COMES]


def counts(database: Database[Document], most: int, now_ms: int) -> ScheduleCounts:
    """Each from its own index; what is active is nearly everything, and counted without reading it."""
    if most <= 0:
        return ScheduleCounts()

    def count(wanted: Document, index: str) -> int:
        return database[schema.SCHEDULES].count_documents(wanted, limit=most, hint=index)

    few = {state: count(_OF_STATE[state], index) for state, index in _INDEX_OF_STATE.items()}
    few |= {facet: count(_by_clock(facet, now_ms), index) for facet, index in BY_CLOCK.items()}
    if windows := lasting(database, now_ms):
        few["frozen"] = count(_with_windows(windows), schema.SCHEDULES_FROZEN)
    planned = count({**schema.PLANNABLE, **_COMES}, schema.SCHEDULES_DUE)
    local = count({**schema.LOCAL, **_OF_STATE["active"]}, schema.SCHEDULES_LOCAL)
    return ScheduleCounts(**few, active=min(planned + local, most))


def needed(database: Database[Document]) -> list[Needed]:
    """Nearly all are active: to read them as they lie is quicker than to follow an index."""
    grouped = database[schema.SCHEDULES].aggregate(_NEEDED, hint={"$natural": 1}, batchSize=AT_ONCE)
    return list({_needed(each["_id"]) for each in grouped})


def _needed(group: Document) -> Needed:
    policy = documents.policy_or_default(group.get("policy"))
    return Needed(group["task"], policy.group, policy.depends_on)


def demands(database: Database[Document], tasks: Sequence[str]) -> list[Demand]:
    """Each need once, by its first name."""
    found: dict[Needed, tuple[int, list[str]]] = {}
    chosen = {"$match": {**_OF_STATE["active"], "task": {"$in": [*tasks]}}}
    grouped = database[schema.SCHEDULES].aggregate([chosen, *_NAMES_OF_NEEDS], allowDiskUse=True, batchSize=AT_ONCE)
    for each in grouped:
        need = _needed(each["_id"])
        count, names = found.get(need, (0, []))
        found[need] = count + each["count"], sorted([*names, *each["names"]])[:NAMED]
    needed = [Demand(*need, count, tuple(names)) for need, (count, names) in found.items()]
    return sorted(needed, key=lambda each: each.names)


def overdue(database: Database[Document], before_ms: int, limit: int) -> list[Schedule]:
    """Oldest first."""
    found = database[schema.SCHEDULES].find(_overdue(before_ms), batch_size=AT_ONCE).sort(IN_TURN).limit(limit)
    return _schedules(found.hint(schema.SCHEDULES_DUE))


def users(database: Database[Document], use: str, after: str, limit: int) -> list[Schedule]:
    """Those that name this calendar or trigger, a page of them by name."""
    word = {"uses": {"$regex": re.escape(word_in_words(use))}}
    wanted = {"$and": [schema.USING, word, schema.KEPT, {"name": {"$gt": after}}]}
    found = database[schema.SCHEDULES].find(wanted, batch_size=AT_ONCE).hint(schema.SCHEDULES_USES)
    return _schedules(found.sort(_BY_NAME).limit(limit)) if limit > 0 else []


def count_overdue(database: Database[Document], before_ms: int, most: int) -> int:
    """Up to so many."""
    return database[schema.SCHEDULES].count_documents(_overdue(before_ms), limit=most, hint=schema.SCHEDULES_DUE)


def _overdue(before_ms: int) -> Document:
    return {**schema.PLANNABLE, "next_run_ms": {"$lt": before_ms}}
