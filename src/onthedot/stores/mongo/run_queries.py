"""Runs as people ask for them, live and ended: pages by filters, counts, what nodes run, what became of ticks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.run import Run
from onthedot.model.states import LIVE, State
from onthedot.stores.answers import Ticks
from onthedot.stores.counts import LATE_MS, Load, RunCounts
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.run_filter import RunFilter

_BEGAN_LATE: Document = {"$expr": {"$gt": [{"$subtract": ["$started_ms", "$due_ms"]}, LATE_MS]}}
_RUNS_AS_FLOW: Document = {**schema.FLOW, "state": State.RUNNING.value}
_IS_STEP: Document = {**schema.HAS_PARENT, **schema.STEP}
_MARK = dict.fromkeys(documents.MARK, 1)


def page(database: Database[Document], session: ClientSession, wanted: RunFilter) -> list[Run]:
    """Live and ended ones, newest first by id; one snapshot, or a run that just ends would be in neither."""
    found: list[Run] = []
    if wanted.limit <= 0:  # which the server would take for no limit
        return found
    # Steps that have ended stay among the live ones until their flow is told.
    found += _found(database, session, schema.RUNS, _live_filter(wanted), wanted.limit)
    if wanted.state is None or wanted.state not in LIVE:
        found += _found(database, session, schema.HISTORY, _ended_filter(wanted), wanted.limit)
    return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]


def _found(
    database: Database[Document], session: ClientSession, collection: str, matching: Document, limit: int
) -> list[Run]:
    found = database[collection].find(matching, session=session, batch_size=AT_ONCE).sort("_id", -1).limit(limit)
    return [documents.run_from(each) for each in found]


def _live_filter(wanted: RunFilter) -> Document:
    """Which live runs."""
    matching = _both(wanted)
    if wanted.schedule is not None:
        matching["schedule"] = wanted.schedule
    if wanted.node is not None:
        del matching["owner"]
        matching["$or"] = [{"owner": wanted.node}, {**schema.UNTOLD, "had_by": wanted.node}]
    if wanted.state is not None and wanted.state not in LIVE:
        matching |= schema.UNTOLD  # says nothing new, but names the partial index
    return {**matching, **_BEGAN_LATE} if wanted.late else matching


def _ended_filter(wanted: RunFilter) -> Document:
    """Which of history."""
    matching = _both(wanted)
    if wanted.schedule is not None:
        matching["kept_by"] = wanted.schedule
    if wanted.state not in (None, State.SUCCEEDED):
        matching |= schema.WENT_WRONG  # says nothing new, but names the partial index
    return {**matching, **schema.LATE} if wanted.late else matching


def _both(wanted: RunFilter) -> Document:
    """What live and ended ones have in common."""
    state = None if wanted.state is None else wanted.state.value
    given = {"_id": _ids(wanted) or None, "task": wanted.task, "owner": wanted.node, "state": state}
    of_parent = {} if wanted.parent is None else {"parent_id": {"$eq": wanted.parent, **schema.HAS_PARENT["parent_id"]}}
    asked = {name: value for name, value in given.items() if value is not None} | of_parent
    steps: list[Document] = [] if wanted.step is None else [{"step": wanted.step}]
    steps += [] if wanted.steps else [{"step": None}]
    return asked | ({"$and": steps} if steps else {})


def _ids(wanted: RunFilter) -> Document:
    ids: Document = {"$gte": wanted.first} if wanted.first else {}
    if wanted.ids is not None:
        ids["$in"] = sorted(wanted.ids)
    if wanted.end is not None:
        ids["$lt"] = wanted.end
    return ids


def counts(database: Database[Document], session: ClientSession, most: int) -> RunCounts:
    """Without reading them: those that wait for their moment, and those that wait for something else, are in one index
    each. But steps are read, and all where these are among so many that counting stopped. In a snapshot, as one is
    taken from the other.
    """
    if most <= 0:
        return RunCounts()

    def count(wanted: Document, index: str) -> int:
        return database[schema.RUNS].count_documents(wanted, session=session, limit=most, hint=index)

    def live(narrowed: Document) -> list[int]:
        """How many wait, and how many run."""
        ready, blocked = {**schema.READY, **narrowed}, {**schema.BLOCKED, **narrowed}
        owned, flows = {**schema.OWNED, **narrowed}, {**_RUNS_AS_FLOW, **narrowed}
        waiting = count(ready, schema.RUNS_MOMENTS) + count(blocked, schema.RUNS_AWAITED)
        return [waiting, count(owned, schema.RUNS_OWNER) + count(flows, schema.RUNS_GRAPH)]

    found = live({})
    steps = [count({**_IS_STEP, "state": state.value}, schema.RUNS_PARENT) for state in (State.WAITING, State.RUNNING)]
    alone = [each - of_steps for each, of_steps in zip(found, steps, strict=True)]
    if any(steps) and max(found) >= most:
        alone = live({"step": None})
    return RunCounts(*(min(each, most) for each in (*alone, *steps)))


def load(database: Database[Document]) -> list[Load]:
    """By the whole policy, of which there are few; the pool is seen here, where its text can be read."""
    alike = {"owner": "$owner", "task": "$task", "policy": "$policy"}
    counted = {"$group": {"_id": alike, "runs": {"$sum": 1}}}
    found = database[schema.RUNS].aggregate([{"$match": schema.OWNED}, counted], hint=schema.RUNS_OWNER)
    running: Counter[tuple[str, str, str | None]] = Counter()
    for each in found:
        of = each["_id"]
        policy = documents.policy_or_default(of.get("policy"))
        running[of["owner"], f"{of.get('task', '')}", policy.pool] += each["runs"]
    return [Load(*of, count) for of, count in running.items()]


def ticks(
    database: Database[Document],
    session: ClientSession,
    schedule_ids: Sequence[str],
    *,
    first_ms: int,
    last_ms: int,
    each: int,
) -> Ticks:
    """In one round trip: a document that is always there is joined with what there is of each schedule."""
    if each <= 0:
        return Ticks()
    within = {"scheduled_ms": {"$gte": first_ms, "$lte": last_ms}}
    runs: list[Document] = [
        {"$match": within},
        {"$sort": {"scheduled_ms": -1, "_id": -1}},
        {"$limit": each},
        {"$project": _MARK},
    ]
    touching = {"first_ms": {"$lte": last_ms}, "last_ms": {"$gte": first_ms}}
    decisions: list[Document] = [{"$match": touching}, {"$sort": {"_id": -1}}, {"$limit": each}]
    stages: list[Document] = [
        {"$match": {"_id": "schema"}},
        {"$project": {"of": {"$literal": list(dict.fromkeys(schedule_ids))}}},
        {"$unwind": "$of"},
        _joined("live", schema.RUNS, runs),
        _joined("ended", schema.HISTORY, runs),
        _joined("decisions", schema.DECISIONS, decisions),
    ]
    found = list(database[schema.META].aggregate(stages, session=session, batchSize=AT_ONCE))
    newest = [_newest([*of["live"], *of["ended"]])[:each] for of in found]
    return Ticks(
        tuple(documents.mark_from(run) for runs in newest for run in runs),
        tuple(documents.decision_from(decision) for of in found for decision in of["decisions"]),
    )


def _joined(name: str, collection: str, pipeline: list[Document]) -> Document:
    joined = {"from": collection, "localField": "of", "foreignField": "schedule_id", "pipeline": pipeline, "as": name}
    return {"$lookup": joined}


def _newest(runs: list[Document]) -> list[Document]:
    return sorted(runs, key=lambda run: (run["scheduled_ms"], run["_id"]), reverse=True)
