"""The steps of flows among the live runs and in history, and the graphs of flows.

A step that has ended stays among the live runs until its flow is told. There its node is under another name, `had_by`,
so that whoever asks for what nodes run does not find it; and the field `untold` is the id of its flow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.graph import Graph
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores import mapping
from onthedot.stores.kept_graphs import Graphs, is_long_ago
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.mongo.reads import Reads
from onthedot.stores.mongo.writes import Writes
from onthedot.stores.transaction import LEFT_OUT, StepRow, TryAgain

_WITHOUT = dict.fromkeys(LEFT_OUT, 0)
_FINAL = {"state": {"$nin": [State.WAITING.value, State.RUNNING.value]}}
_RESULT = dict.fromkeys(("item", "state", "result", "created_ms"), 1)


def steps_of(reads: Reads, flow_ids: Collection[str]) -> list[StepRow]:
    """By id, in the snapshot: whoever tells a flow writes it, and clashes with who does the same."""
    if not flow_ids:
        return []
    wanted = {"parent_id": {"$in": sorted(flow_ids), **schema.HAS_PARENT["parent_id"]}, **schema.STEP}
    found = map(documents.step_from, reads.find(schema.RUNS, wanted, _WITHOUT).hint(schema.RUNS_PARENT))
    return sorted((step for step in found if step is not None), key=lambda step: step.id)


def tell(reads: Reads, writes: Writes, ids: Sequence[str]) -> None:
    """Move ended steps to history, as they are."""
    if not ids:
        return
    found = list(reads.find(schema.RUNS, {"_id": {"$in": sorted(ids)}}))
    if len(found) < len(ids):
        raise TryAgain("a step has been told already")
    for each in found:
        writes.delete(schema.RUNS, each["_id"])
        writes.insert(schema.HISTORY, documents.told_document(each), each["_id"])


def untold(reads: Reads, limit: int, after: str) -> list[str]:
    """Along the index, from one flow to the next."""
    stages: list[Document] = [
        {"$match": {"untold": {"$gt": after}}},
        {"$sort": {"untold": 1}},
        {"$group": {"_id": "$untold"}},
        {"$sort": {"_id": 1}},
        {"$limit": limit},
    ]
    return [each["_id"] for each in reads.aggregate(schema.RUNS, stages, schema.RUNS_UNTOLD)] if limit > 0 else []


def past_until(reads: Reads, now_ms: int, limit: int) -> list[Run]:
    """The oldest first."""
    if limit <= 0:
        return []
    found = reads.look(schema.RUNS, {"bounded_ms": {"$gt": 0, "$lte": now_ms}})
    in_turn = found.sort([("bounded_ms", 1), ("_id", 1)]).limit(limit).hint(schema.RUNS_BOUNDED)
    return [documents.run_from(each) for each in in_turn]


def graphs_of(reads: Reads, known: Graphs, hashes: Collection[str]) -> dict[str, Graph]:
    """Each is read once by a process."""
    unknown = sorted(each for each in hashes if each not in known)
    if unknown:
        for each in reads.look(schema.GRAPHS, {"_id": {"$in": unknown}}):
            known.add(each["_id"], Graph.from_text(each["content"]))
    return known.among(hashes)


def save_graphs(reads: Reads, writes: Writes, graphs: Sequence[Graph], now_ms: int) -> None:
    """Those that are kept are written only to be kept for longer."""
    given = {graph.hash: graph for graph in graphs}
    kept = {each["_id"]: each["seen_ms"] for each in reads.find(schema.GRAPHS, {"_id": {"$in": sorted(given)}})}
    for graph_hash, graph in given.items():
        if graph_hash not in kept:
            document = {"_id": graph_hash, "name": graph.name, "content": graph.text, "seen_ms": now_ms}
            writes.insert(schema.GRAPHS, document, graph_hash)
        elif is_long_ago(kept[graph_hash], now_ms):
            writes.change(schema.GRAPHS, graph_hash, {"seen_ms": now_ms})


def results(
    database: Database[Document], session: ClientSession, flow_id: str, step: str, *, first: int, limit: int
) -> list[tuple[int, State, Any]]:
    """What runs of a step returned, by item; one that is not mapped has none, and is the first."""
    if limit <= 0:
        return []
    of_step: Document = {"parent_id": {"$eq": flow_id, "$gt": ""}, "step": {"$eq": step, "$gt": ""}}
    items: list[Document] = [{"item": {"$gte": first}}] + ([{"item": None}] if first <= 0 else [])
    order = [("item", 1), ("created_ms", -1)]
    rows: list[Document] = []
    for collection, also in ((schema.RUNS, _FINAL), (schema.HISTORY, {})):
        for item in items:
            wanted = {**of_step, **item, **also}
            rows += database[collection].find(wanted, _RESULT, session=session).sort(order).limit(limit)
    last: dict[int, Document] = {}
    for each in sorted(rows, key=lambda each: each["created_ms"]):
        last[each.get("item") or 0] = each
    return [
        (item, *mapping.result_from(last[item]["state"], last[item].get("result"))) for item in sorted(last)[:limit]
    ]
