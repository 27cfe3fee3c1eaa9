"""The lists that people ask for: schedules and runs, filtered and paged."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import LIVE, State
from onthedot.stores import json_text
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.schema import ANY_RANK, BLOCKED, PLANNABLE, READY


def schedules(
    database: Database[Document],
    *,
    names: Sequence[str] | None,
    tag: str | None,
    mode: Mode | None,
    after: str,
    limit: int,
) -> list[Schedule]:
    """By name, ascending, tombstones left out."""
    wanted: Document = {"deleted": 0, "name": {"$gt": after}}
    if names is not None:
        wanted["name"]["$in"] = sorted(set(names))
    if tag is not None:
        wanted["tags"] = {"$regex": re.escape(json_text.word_in_words(tag))}
    if mode is not None:
        wanted["mode"] = mode
    found = database[schema.SCHEDULES].find(wanted).sort("name").limit(limit)
    return [documents.schedule_from(each) for each in found]


def behind(database: Database[Document], schedule_ids: Collection[str]) -> set[str]:
    """Those of the schedules behind whose slots a run waits."""
    blocked = {"schedule_id": {"$in": sorted(schedule_ids)}, **BLOCKED}
    found = database[schema.RUNS].find(blocked, {"schedule_id": 1}, batch_size=AT_ONCE).hint(schema.RUNS_TICK)
    return {each["schedule_id"] for each in found}


def upcoming(database: Database[Document], after_ms: int, until_ms: int) -> list[int]:
    """Moments for the ring: all that lie between, each once, and before them the earliest of all, if it is overdue."""
    moments: set[int] = set()
    for collection, field, matching, index in (
        (schema.SCHEDULES, "next_run_ms", PLANNABLE, schema.SCHEDULES_DUE),
        (schema.RUNS, "due_ms", {**READY, **ANY_RANK}, schema.RUNS_DUE),
    ):
        overdue = {**matching, field: {"$lte": after_ms}}
        first = database[collection].find(overdue, {field: 1}).sort(field).limit(1).hint(index)
        moments.update(each[field] for each in first)
        ahead = {"$match": {**matching, field: {"$gt": after_ms, "$lte": until_ms}}}
        found = database[collection].aggregate([ahead, {"$group": {"_id": f"${field}"}}], hint=index)
        moments.update(each["_id"] for each in found)
    late = sorted(moment for moment in moments if moment <= after_ms)
    return late[:1] + sorted(moment for moment in moments if moment > after_ms)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs: all that is given must hold."""

    ids: Sequence[str] | None
    schedule: str | None
    state: State | None
    before: str | None
    limit: int


def runs(database: Database[Document], session: ClientSession, wanted: Wanted) -> list[Run]:
    """Live and ended ones, newest first by id; one snapshot, or a run that just ends would be in neither."""
    found: list[Run] = []
    if wanted.state is None or wanted.state in LIVE:
        found += _found(database, session, schema.RUNS, live_filter(wanted), wanted.limit)
    if wanted.state is None or wanted.state not in LIVE:
        found += _found(database, session, schema.HISTORY, ended_filter(wanted), wanted.limit)
    return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]


def live_filter(wanted: Wanted) -> Document:
    """Which live runs."""
    matching = _ids(wanted)
    if wanted.schedule is not None:
        matching["schedule"] = wanted.schedule
    if wanted.state is not None:
        matching["state"] = wanted.state.value
    return matching


def ended_filter(wanted: Wanted) -> Document:
    """Which of history."""
    matching = _ids(wanted)
    if wanted.schedule is not None:
        matching["kept_by"] = wanted.schedule
    if wanted.state is not None:
        matching["state"] = wanted.state.value
    if wanted.state not in (None, State.SUCCEEDED):
        matching |= schema.WENT_WRONG  # says nothing new, but names the partial index
    return matching


def _ids(wanted: Wanted) -> Document:
    bounds: Document = {}
    if wanted.ids is not None:
        bounds["$in"] = sorted(set(wanted.ids))
    if wanted.before is not None:
        bounds["$lt"] = wanted.before
    return {"_id": bounds} if bounds else {}


def _found(
    database: Database[Document], session: ClientSession, collection: str, matching: Document, limit: int
) -> list[Run]:
    found = database[collection].find(matching, session=session).sort("_id", -1).limit(limit)
    return [documents.run_from(each) for each in found]
