"""Everything of the store that only reads: the lists that people ask for, and the moments of the ring."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import LIVE, State
from onthedot.model.token import Session, Token
from onthedot.stores.base import Change, LogLine, TaskInfo
from onthedot.stores.engine import Engine
from onthedot.stores.json_text import word_in_words
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.connect import Opened
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.schema import PLANNABLE, READY

T = TypeVar("T")


class Queries(Engine):
    """From the primary, so that everybody sees what they have written themselves."""

    @abstractmethod
    def _reading(self, work: Callable[[Opened], T]) -> T:
        """Do the work, once more while the primary changes."""

    def schedules(
        self,
        *,
        names: Sequence[str] | None = None,
        tag: str | None = None,
        mode: Mode | None = None,
        after: str = "",
        limit: int = 100,
    ) -> list[Schedule]:
        return self._reading(
            lambda opened: _schedules(opened.database, names=names, tag=tag, mode=mode, after=after, limit=limit)
        )

    def revisions(self, schedule_id: str) -> list[Schedule]:
        found = self._all(schema.REVISIONS, {"schedule_id": schedule_id}, [("revision", 1), ("seq", 1)])
        return [documents.revision_from(each) for each in found]

    def changes(self, *, name: str | None = None, limit: int = 100) -> list[Change]:
        wanted = {} if name is None else {"schedule": name}
        return [documents.change_from(each) for each in self._all(schema.CHANGES, wanted, [("seq", -1)], limit)]

    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        return self._reading(lambda opened: _coming(opened.database, after_ms, until_ms, known))

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        return self._reading(lambda opened: _upcoming(opened.database, after_ms, until_ms))

    def runs(
        self,
        *,
        ids: Sequence[str] | None = None,
        schedule: str | None = None,
        state: State | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        wanted = _Wanted(ids, schedule, state, before, limit)

        def read(opened: Opened) -> list[Run]:
            with opened.client.start_session(snapshot=True) as session:
                return _runs(opened.database, session, wanted)

        return self._reading(read)

    def cancels(self, node_id: str) -> list[str]:
        asked = {"owner": node_id, "state": State.RUNNING.value, "cancel_requested_ms": {"$ne": None}}
        return [each["_id"] for each in self._all(schema.RUNS, asked, [("_id", 1)])]

    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        wanted = {"schedule_id": schedule_id, "first_ms": {"$lte": last_ms}, "last_ms": {"$gte": first_ms}}
        return [documents.decision_from(each) for each in self._all(schema.DECISIONS, wanted, [("_id", -1)], limit)]

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        found = self._all(schema.LOGS, {"run_id": run_id}, [("seq", 1)], limit, after)
        return [documents.log_from(each) for each in found]

    def nodes(self) -> list[Node]:
        living = {"state": {"$in": ["alive", "draining"]}}
        return [documents.node_from(each) for each in self._all(schema.NODES, living, [("started_ms", 1), ("_id", 1)])]

    def gone_nodes(self, limit: int = 1000) -> list[Node]:
        gone = {"state": {"$in": ["stopped", "dead"]}}
        found = self._all(schema.NODES, gone, [("renewed_ms", -1), ("_id", -1)], limit)
        return [documents.node_from(each) for each in found]

    def tasks(self) -> list[TaskInfo]:
        nodes = [node.id for node in self.nodes()]
        found = self._all(schema.TASKS, {"_id": {"$in": nodes}}, [("_id", 1)])
        published = {task.name: task for each in found for task in documents.tasks_from(each)}
        return [published[name] for name in sorted(published)]

    def tokens(self, name: str | None = None) -> list[Token]:
        wanted = {} if name is None else {"_id": name}
        return [documents.token_from(each) for each in self._all(schema.TOKENS, wanted, [("_id", 1)])]

    def session(self, session_id: str) -> Session | None:
        found = self._all(schema.SESSIONS, {"_id": session_id}, [("_id", 1)], 1)
        return documents.session_from(found[0]) if found else None

    def _all(
        self, collection: str, wanted: Document, order: list[tuple[str, int]], limit: int = 0, skip: int = 0
    ) -> list[Document]:
        """`limit` 0 is none."""
        return self._reading(
            lambda opened: list(opened.database[collection].find(wanted).sort(order).skip(skip).limit(limit))
        )


def _schedules(
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
        wanted["tags"] = {"$regex": re.escape(word_in_words(tag))}
    if mode is not None:
        wanted["mode"] = mode
    found = database[schema.SCHEDULES].find(wanted).sort("name").limit(limit)
    if mode == "local":
        found = found.hint(schema.SCHEDULES_LOCAL)
    return [documents.schedule_from(each) for each in found]


def _coming(database: Database[Document], after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
    """Of those that are known by their version, no more is read than that."""
    soon = {**PLANNABLE, "next_run_ms": {"$gt": after_ms, "$lte": until_ms}}
    schedules = database[schema.SCHEDULES]
    versions = schedules.find(soon, {"version": 1}, batch_size=AT_ONCE).hint(schema.SCHEDULES_DUE)
    new = [each["_id"] for each in versions if known.get(each["_id"]) != each["version"]]
    if not new:
        return []
    found = schedules.find({"_id": {"$in": new}, **soon}, batch_size=AT_ONCE)
    return [documents.schedule_from(each) for each in found]


def _upcoming(database: Database[Document], after_ms: int, until_ms: int) -> list[int]:
    """Moments for the ring: all that lie between, each once, and before them the earliest of all, if it is overdue."""
    moments: set[int] = set()
    for collection, field, matching, index in (
        (schema.SCHEDULES, "next_run_ms", PLANNABLE, schema.SCHEDULES_DUE),
        (schema.RUNS, "due_ms", READY, schema.RUNS_MOMENTS),
    ):
        overdue = {**matching, field: {"$lte": after_ms}}
        first = database[collection].find(overdue, {field: 1}).sort(field).limit(1).hint(index)
        moments.update(each[field] for each in first)
        ahead = {**matching, field: {"$gt": after_ms, "$lte": until_ms}}
        moments.update(database[collection].distinct(field, ahead))
    late = sorted(moment for moment in moments if moment <= after_ms)
    return late[:1] + sorted(moment for moment in moments if moment > after_ms)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which runs: all that is given must hold."""

    ids: Sequence[str] | None
    schedule: str | None
    state: State | None
    before: str | None
    limit: int


def _runs(database: Database[Document], session: ClientSession, wanted: _Wanted) -> list[Run]:
    """Live and ended ones, newest first by id; one snapshot, or a run that just ends would be in neither."""
    found: list[Run] = []
    if wanted.state is None or wanted.state in LIVE:
        found += _found(database, session, schema.RUNS, _live_filter(wanted), wanted.limit)
    if wanted.state is None or wanted.state not in LIVE:
        found += _found(database, session, schema.HISTORY, _ended_filter(wanted), wanted.limit)
    return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]


def _live_filter(wanted: _Wanted) -> Document:
    """Which live runs."""
    matching = _ids(wanted)
    if wanted.schedule is not None:
        matching["schedule"] = wanted.schedule
    if wanted.state is not None:
        matching["state"] = wanted.state.value
    return matching


def _ended_filter(wanted: _Wanted) -> Document:
    """Which of history."""
    matching = _ids(wanted)
    if wanted.schedule is not None:
        matching["kept_by"] = wanted.schedule
    if wanted.state is not None:
        matching["state"] = wanted.state.value
    if wanted.state not in (None, State.SUCCEEDED):
        matching |= schema.WENT_WRONG  # says nothing new, but names the partial index
    return matching


def _ids(wanted: _Wanted) -> Document:
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
