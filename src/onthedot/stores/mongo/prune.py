"""Forgetting what is old: searched without a transaction, then removed in short ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.transaction import gates_of
from onthedot.stores.prune import BATCH, Groups, Surplus, Walk, is_needed
from onthedot.stores.retention import Pruned

T = TypeVar("T")
Row = tuple[Any, int]
"""The id of a document, and the moment by which it is old: so it was found, and so it must still be."""

_PAGE = 100
_GONE = {"state": {"$in": ["stopped", "dead"]}}


@dataclass(frozen=True, slots=True)
class Aging:
    """What of a collection is old by a moment of its own."""

    collection: str
    moment: str
    also: Document = field(default_factory=dict)


# Steps go with their flow: few are left that are older than it.
ENDED = Aging(schema.HISTORY, "finished_ms", {"$or": [{"step": None}, {"schedule_id": {"$gt": ""}}]})
SEEN = Aging(schema.GRAPHS, "seen_ms")
DECIDED = Aging(schema.DECISIONS, "decided_ms")
# Keys of ticks (t:…) go only with their schedule: they are what keeps a backfill from running twice.
EXPIRED = Aging(schema.KEYS, "expires_ms", {"_id": {"$not": {"$regex": "^t:"}}})
CHANGED = Aging(schema.CHANGES, "at_ms")
REVISED = Aging(schema.REVISIONS, "made_ms")
TOMBSTONES = Aging(schema.SCHEDULES, "updated_ms", {"deleted": 1})
GONE = Aging(schema.NODES, "renewed_ms", _GONE)
COUNTED = Aging(schema.HOURS, "hour_ms")


@dataclass(frozen=True, slots=True)
class Crowd:
    """Groups of a collection, and the order in which each of them grows."""

    aging: Aging
    group: str
    order: str


ENDED_CROWD = Crowd(ENDED, "kept_by", "_id")
DECIDED_CROWD = Crowd(DECIDED, "schedule_id", "_id")


class Read(Protocol):
    """Do something that only reads; once more while the primary changes."""

    def __call__(self, work: Callable[[Database[Document]], T], /) -> T: ...


class Transact(Protocol):
    """Do something in a transaction; once more after a clash."""

    def __call__(self, work: Callable[[Database[Document], ClientSession], T], /) -> T: ...


class MongoForgetting:
    """Of one store; it remembers how far it has come round."""

    def __init__(self, read: Read, transact: Transact) -> None:
        self._read = read
        self._transact = transact
        self._runs, self._decisions = Surplus(), Surplus()
        self._revisions = Walk(0)
        self._graphs = Walk("")

    # runs

    def old_runs(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(ENDED, before_ms, most)

    def surplus_runs(self, keep: int, most: int, *, thorough: bool, before_ms: int) -> list[Row]:
        def may_go(row: Row) -> bool:
            return (row[1] or 0) <= before_ms

        return self._runs.find(self._groups(ENDED_CROWD), keep, most, thorough=thorough, may_go=may_go)

    def forget_runs(self, items: Sequence[Row]) -> Pruned:
        """Their logs go first, so many lines at once; runs that have more of them wait for the next time."""

        def remove(database: Database[Document], session: ClientSession) -> Pruned:
            runs = _still(database, session, ENDED, items)
            logs = database[schema.LOGS]
            of_runs = {"run_id": {"$in": runs}}
            lines = [each["_id"] for each in logs.find(of_runs, {"_id": 1}, session=session).limit(BATCH)]
            _delete(database, session, schema.LOGS, lines)
            full = len(lines) >= BATCH
            if full:
                wait = set(logs.distinct("run_id", of_runs, session=session))
                runs = [run_id for run_id in runs if run_id not in wait]
            are_flows = {"_id": {"$in": runs}, **schema.FLOW}
            flows = list(database[schema.HISTORY].find(are_flows, {"_id": 1}, session=session))
            if flows:
                database[schema.FORGOTTEN].insert_many(flows, session=session)
            _delete(database, session, schema.HISTORY, runs)
            return Pruned(runs=len(runs), logs=len(lines), more=full or bool(flows))

        return self._transact(remove)

    # flows

    def steps_left(self, most: int) -> list[Row]:
        flows = self._forgotten()
        if not flows:
            return []
        steps = {"parent_id": {"$in": flows}, **schema.STEP, "schedule_id": None}
        return _rows(ENDED, self._find(schema.HISTORY, steps, ("_id", "finished_ms"), most=most))

    def _forgotten(self) -> list[str]:
        return [each["_id"] for each in self._find(schema.FORGOTTEN, {}, ("_id",), most=BATCH)]

    def bare_flows(self, most: int) -> list[str]:
        flows = self._forgotten()
        steps = (self._distinct(name, "parent_id", flows) for name in (schema.RUNS, schema.HISTORY))
        return sorted(set(flows).difference(*steps))[:most]

    def forget_flows(self, items: Sequence[str]) -> Pruned:
        self._transact(lambda database, session: _delete(database, session, schema.FORGOTTEN, items))
        return Pruned()

    def unused_graphs(self, before_ms: int, most: int, *, thorough: bool) -> list[Row]:
        return self._graphs.find(lambda after: self._unused(after, before_ms), most, thorough=thorough)

    def _unused(self, after: str, before_ms: int) -> tuple[list[Row], str | None]:
        page = self._find(schema.GRAPHS, {"_id": {"$gt": after}}, ("_id", "name", "seen_ms"), [("_id", 1)], _PAGE)
        old = [each for each in page if each["seen_ms"] <= before_ms and not self._is_used(each)]
        return _rows(SEEN, old), page[-1]["_id"] if len(page) == _PAGE else None

    def _is_used(self, graph: Document) -> bool:
        if self._has_runs(graph["_id"]):
            return True
        named = {"$regex": graph["_id"]}
        schedules = [each["_id"] for each in self._find(schema.SCHEDULES, {"task": f"@{graph['name']}"}, ("_id",))]
        where: list[tuple[str, Document]] = [
            (schema.SCHEDULES, {"_id": {"$in": schedules}, "definition": named}),
            (schema.REVISIONS, {"schedule_id": {"$in": schedules}, "body": named}),
            (schema.GRAPHS, {"_id": {"$ne": graph["_id"]}, "content": named}),
        ]
        return any(self._find(collection, matching, ("_id",), most=1) for collection, matching in where)

    def _has_runs(self, graph: str) -> bool:
        """Live ones or ended. Seen at one moment: one that ends, or is retried, between two looks is in neither."""

        def look(database: Database[Document], session: ClientSession) -> bool:
            places = (database[name] for name in (schema.RUNS, schema.HISTORY))
            return any(place.find_one({"graph": graph}, {"_id": 1}, session=session) for place in places)

        return self._transact(look)

    def forget_graphs(self, items: Sequence[Row]) -> Pruned:
        return Pruned(graphs=self._forget(SEEN, items))

    # decisions

    def old_decisions(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(DECIDED, before_ms, most)

    def surplus_decisions(self, keep: int, most: int, *, thorough: bool) -> list[Row]:
        return self._decisions.find(self._groups(DECIDED_CROWD), keep, most, thorough=thorough)

    def forget_decisions(self, items: Sequence[Row]) -> Pruned:
        return Pruned(decisions=self._forget(DECIDED, items))

    # keys, and the audit

    def expired_keys(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(EXPIRED, before_ms, most)

    def forget_keys(self, items: Sequence[Row]) -> Pruned:
        return Pruned(keys=self._forget(EXPIRED, items))

    def old_changes(self, before_ms: int, most: int) -> list[Row]:
        """By their number, which begins with their moment."""
        old = {"seq": {"$lt": before_ms + 1 << 20}}
        return _rows(CHANGED, self._find(schema.CHANGES, old, ("_id", "at_ms"), [("seq", 1)], most))

    def surplus_changes(self, keep: int, most: int) -> list[Row]:
        surplus = self._read(lambda database: database[schema.CHANGES].estimated_document_count()) - keep
        if surplus <= keep // 10:
            return []
        return _rows(CHANGED, self._find(schema.CHANGES, {}, ("_id", "at_ms"), [("seq", 1)], min(most, surplus)))

    def forget_changes(self, items: Sequence[Row]) -> Pruned:
        return Pruned(changes=self._forget(CHANGED, items))

    # schedules: what they were, and what is left of them

    def replaced_revisions(self, before_ms: int, most: int, *, thorough: bool) -> list[Row]:
        return self._revisions.find(lambda after: self._replaced(after, before_ms), most, thorough=thorough)

    def _replaced(self, after: int, before_ms: int) -> tuple[list[Row], int | None]:
        """A page of definitions: those that were replaced so long ago, and that nothing needs any more."""
        fields = ("_id", "seq", "made_ms", "schedule_id", "revision")
        page = self._find(schema.REVISIONS, {"seq": {"$gt": after}}, fields, [("seq", 1)], _PAGE)
        old = [each for each in page if each["made_ms"] <= before_ms]
        ended = len(page) < _PAGE or len(old) < len(page)
        ends = self._ends(old, before_ms)
        oldest = {schedule_id: self._oldest_of(schedule_id) for schedule_id, _ in ends}
        items = [
            (each["_id"], each["made_ms"])
            for each in old
            if (end_ms := ends.get((each["schedule_id"], each["revision"]))) is not None
            and not is_needed(each["revision"], end_ms, *oldest[each["schedule_id"]])
        ]
        return items, None if ended else page[-1]["seq"]

    def _ends(self, revisions: Sequence[Document], before_ms: int) -> dict[tuple[str, int], int]:
        """When each was replaced, if it was by then."""
        following = [{"schedule_id": each["schedule_id"], "revision": each["revision"] + 1} for each in revisions]
        if not following:
            return {}
        found = self._find(schema.REVISIONS, {"$or": following}, ("schedule_id", "revision", "made_ms"))
        return {
            (each["schedule_id"], each["revision"] - 1): each["made_ms"]
            for each in found
            if each["made_ms"] <= before_ms
        }

    def _oldest_of(self, schedule_id: str) -> tuple[int | None, int | None]:
        """The revision of a schedule's oldest run, live or ended, and the first moment of its oldest decision."""
        of_schedule = {"schedule_id": schedule_id}
        runs = self._find(schema.RUNS, of_schedule, ("revision",))
        for schedule in self._find(schema.SCHEDULES, {"_id": schedule_id}, ("name",)):
            runs += self._find(schema.HISTORY, {"kept_by": schedule["name"]}, ("revision",), [("_id", 1)], 1)
        decisions = self._find(schema.DECISIONS, of_schedule, ("first_ms",), [("_id", 1)], 1)
        revisions = [run["revision"] for run in runs if run.get("revision") is not None]
        return min(revisions, default=None), decisions[0]["first_ms"] if decisions else None

    def forget_revisions(self, items: Sequence[Row]) -> Pruned:
        return Pruned(revisions=self._forget(REVISED, items))

    def bare_tombstones(self, before_ms: int, most: int) -> list[Row]:
        old = {"deleted": 1, "updated_ms": {"$lte": before_ms}, "settled_ms": {"$lte": before_ms}}
        found = self._find(schema.SCHEDULES, old, ("_id", "name", "updated_ms"), [("updated_ms", 1)], most)
        ids, names = [each["_id"] for each in found], [each["name"] for each in found]
        with_something = {
            *self._distinct(schema.RUNS, "schedule_id", ids),
            *self._distinct(schema.DECISIONS, "schedule_id", ids),
        }
        with_history = self._distinct(schema.HISTORY, "kept_by", names)
        bare = [each for each in found if each["_id"] not in with_something and each["name"] not in with_history]
        return _rows(TOMBSTONES, bare)

    def forget_tombstones(self, items: Sequence[Row]) -> Pruned:
        """The keys of their ticks go first, so many at once; tombstones that have more of them wait."""

        def remove(database: Database[Document], session: ClientSession) -> Pruned:
            tombstones = _still(database, session, TOMBSTONES, items)
            keys: list[str] = []
            bare = 0
            for schedule_id in tombstones:
                span = {"_id": {"$gte": f"t:{schedule_id}:", "$lt": f"t:{schedule_id};"}}
                found = database[schema.KEYS].find(span, {"_id": 1}, session=session).limit(BATCH - len(keys))
                keys += [each["_id"] for each in found]
                if len(keys) >= BATCH:
                    break
                bare += 1
            gone = tombstones[:bare]
            _delete(database, session, schema.KEYS, keys)
            of_schedules = {"schedule_id": {"$in": gone}}
            revisions = database[schema.REVISIONS].delete_many(of_schedules, session=session).deleted_count
            _delete(database, session, schema.SCHEDULES, gone)
            return Pruned(tombstones=bare, keys=len(keys), revisions=revisions, more=bare < len(tombstones))

        return self._transact(remove)

    # nodes

    def gone_nodes(self, before_ms: int, most: int) -> list[Row]:
        old = {**_GONE, "renewed_ms": {"$lte": before_ms}}
        found = _rows(GONE, self._find(schema.NODES, old, ("_id", "renewed_ms"), most=most))
        owners = self._distinct(schema.RUNS, "owner", [node_id for node_id, _ in found])
        return [row for row in found if row[0] not in owners]

    def forget_nodes(self, items: Sequence[Row]) -> Pruned:
        def remove(database: Database[Document], session: ClientSession) -> Pruned:
            nodes = _still(database, session, GONE, items)
            for collection, ids in (
                (schema.NODES, nodes),
                (schema.TASKS, nodes),
                (schema.GATES, list(gates_of(nodes))),
            ):
                _delete(database, session, collection, ids)
            return Pruned(nodes=len(nodes))

        return self._transact(remove)

    # statistics

    def old_hours(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(COUNTED, before_ms, most)

    def forget_hours(self, items: Sequence[Row]) -> Pruned:
        return Pruned(hours=self._forget(COUNTED, items))

    # of any collection

    def _oldest(self, aging: Aging, before_ms: int, most: int) -> list[Row]:
        old = {aging.moment: {"$gt": 0, "$lte": before_ms}, **aging.also}
        return _rows(aging, self._find(aging.collection, old, ("_id", aging.moment), [(aging.moment, 1)], most))

    def _groups(self, crowd: Crowd) -> Groups[Row]:
        collection, group = crowd.aging.collection, crowd.group

        def newest(most: int) -> Iterable[str]:
            found = self._find(collection, {}, (group,), [(crowd.aging.moment, -1)], most)
            return (each[group] for each in found)

        def following(after: str) -> str | None:
            found = self._find(collection, {group: {"$gt": after}}, (group,), [(group, 1)], 1)
            return found[0][group] if found else None

        def beyond(which: str, keep: int, most: int) -> list[Row]:
            # By the index alone: the documents that are kept are not read.
            order = [(crowd.order, -1)]
            found = self._find(collection, {group: which}, (group, crowd.order), order, most, skip=keep)
            places = [each[crowd.order] for each in found]
            chosen = {group: which, crowd.order: {"$in": places}}
            return _rows(crowd.aging, self._find(collection, chosen, ("_id", crowd.aging.moment))) if places else []

        return Groups(newest, following, beyond)

    def _find(
        self,
        collection: str,
        matching: Document,
        fields: Iterable[str],
        order: Sequence[tuple[str, int]] = (),
        most: int = 0,
        *,
        skip: int = 0,
    ) -> list[Document]:
        """`most` 0 is none."""
        shown = {"_id": 0, **dict.fromkeys(fields, 1)}

        def read(database: Database[Document]) -> list[Document]:
            found = database[collection].find(matching, shown, batch_size=AT_ONCE).skip(skip).limit(most)
            return list(found.sort(list(order)) if order else found)

        return self._read(read)

    def _distinct(self, collection: str, name: str, values: Sequence[str]) -> set[str]:
        """Which of the values there are."""
        if not values:
            return set()
        return set(self._read(lambda database: database[collection].distinct(name, {name: {"$in": list(values)}})))

    def _forget(self, aging: Aging, items: Sequence[Row]) -> int:
        def remove(database: Database[Document], session: ClientSession) -> int:
            still = _still(database, session, aging, items)
            _delete(database, session, aging.collection, still)
            return len(still)

        return self._transact(remove)


def _rows(aging: Aging, documents: Iterable[Document]) -> list[Row]:
    return [(each["_id"], each[aging.moment]) for each in documents]


def _still(database: Database[Document], session: ClientSession, aging: Aging, items: Sequence[Row]) -> list[Any]:
    """The ids of those that are still as they were found; whoever changes them now clashes with us."""
    found = dict(items)
    shown = {"_id": 1, aging.moment: 1}
    there = database[aging.collection].find({"_id": {"$in": list(found)}}, shown, batch_size=AT_ONCE, session=session)
    return [each["_id"] for each in there.sort("_id") if each[aging.moment] == found[each["_id"]]]


def _delete(database: Database[Document], session: ClientSession, collection: str, ids: Sequence[Any]) -> None:
    if ids:
        database[collection].delete_many({"_id": {"$in": list(ids)}}, session=session)
