"""What runs wait for other than their moment: who waits for something, and what is waited for at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from onthedot.rules.precedence import foremost
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.candidates import OLDEST
from onthedot.stores.mongo.levels import foremost_of, turn_of
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.mongo.reads import Reads

_FEW = 16
_FIRST_OF_EACH: list[Document] = [
    {"$sort": {"waits_for": 1, "priority": 1, "due_ms": 1}},
    {"$group": {"_id": "$waits_for", "due_ms": {"$first": "$due_ms"}}},
    {"$sort": {"_id": 1}},
]
"""The server goes from one to the next along the index, however many wait for the same."""


def waiting_for(reads: Reads, what: str, now_ms: int, most: int) -> list[Document]:
    """The foremost of those whose moment has come, in turn; where only a few wait, they are all that is asked for."""
    due = {"waits_for": what, "due_ms": {"$lte": now_ms}}
    found = list(reads.look(schema.RUNS, due).limit(most + _FEW).hint(schema.RUNS_AWAITED))
    if len(found) < most + _FEW:
        return foremost(found, turn_of, most)
    levels = reads.distinct(schema.RUNS, "priority", {"waits_for": what})

    def oldest(priority: int, until_ms: int, most: int) -> Iterator[Document]:
        due = {"waits_for": what, "priority": priority, "due_ms": {"$lte": until_ms}}
        found = reads.look(schema.RUNS, due).sort(OLDEST)
        yield from found.limit(most).hint(schema.RUNS_AWAITED)

    return foremost_of(levels, oldest, now_ms, most)


def awaited(reads: Reads, now_ms: int, limit: int, after: str) -> list[str]:
    """What runs wait for whose moment has come: each once, ascending, later than `after`."""
    return list(islice(_awaited(reads, now_ms, limit, after), limit))


def _awaited(reads: Reads, now_ms: int, limit: int, after: str) -> Iterator[str]:
    while True:
        later: list[Document] = [{"$match": {"waits_for": {"$gt": after}}}, *_FIRST_OF_EACH, {"$limit": limit}]
        page = list(reads.aggregate(schema.RUNS, later, schema.RUNS_AWAITED))
        # Of other levels of priority than the first, some may be due although that one's are not.
        maybe = [each["_id"] for each in page if each["due_ms"] > now_ms]
        due = {"waits_for": {"$in": maybe}, "due_ms": {"$lte": now_ms}}
        also = set(reads.distinct(schema.RUNS, "waits_for", due)) if maybe else set()
        yield from (each["_id"] for each in page if each["due_ms"] <= now_ms or each["_id"] in also)
        if len(page) < limit:
            return
        after = page[-1]["_id"]
