"""Everything of the store that only reads: the lists that people ask for, and the moments of the ring."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.alert import AlertState, alert_states_from, keys_of_alerts
from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import Ticks
from onthedot.stores.asking import BY_THE_CLOCK
from onthedot.stores.counts import COUNTED, Demand, Load, Needed, RunCounts, ScheduleCounts
from onthedot.stores.engine import Engine
from onthedot.stores.known_values import with_values
from onthedot.stores.mongo import flows, run_queries, schedule_queries, schema
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo.connect import Opened
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.schema import PLANNABLE, READY
from onthedot.stores.run_filter import RunFilter
from onthedot.triggers.pinned import Use

T = TypeVar("T")


class Queries(Engine):
    """From the primary, so that everybody sees what they have written themselves."""

    @abstractmethod
    def _reading(self, work: Callable[[Opened], T]) -> T:
        """Do the work, once more while the primary changes."""

    @answerable
    @with_values
    def schedules(
        self,
        *,
        names: Sequence[str] | None = None,
        tag: str | None = None,
        task: str | None = None,
        mode: Mode | None = None,
        state: Facet | None = None,
        search: str = "",
        order: Order = "name",
        after: str = "",
        limit: int = 100,
    ) -> list[Schedule]:
        now_ms = self.now_ms() if state in BY_THE_CLOCK else 0
        wanted = schedule_queries.Wanted(names, tag, task, mode, state, search, order, after, limit, now_ms)
        if limit <= 0:  # which the server would take for no limit
            return []
        if order == "name":
            return self._reading(lambda opened: schedule_queries.by_name(opened.database, wanted))
        return self._in_snapshot(lambda database, session: schedule_queries.by_next(database, session, wanted))

    def count_schedules(self, most: int = COUNTED, *, now_ms: int | None = None) -> ScheduleCounts:
        judged_ms = self.now_ms() if now_ms is None else now_ms
        return self._reading(lambda opened: schedule_queries.counts(opened.database, most, judged_ms))

    def needed(self) -> list[Needed]:
        return self._reading(lambda opened: schedule_queries.needed(opened.database))

    def demands(self, tasks: Sequence[str]) -> list[Demand]:
        return self._reading(lambda opened: schedule_queries.demands(opened.database, tasks))

    @answerable
    @with_values
    def overdue(self, before_ms: int, limit: int = 100) -> list[Schedule]:
        if limit <= 0:
            return []
        return self._reading(lambda opened: schedule_queries.overdue(opened.database, before_ms, limit))

    def count_overdue(self, before_ms: int, most: int = COUNTED) -> int:
        if most <= 0:
            return 0
        return self._reading(lambda opened: schedule_queries.count_overdue(opened.database, before_ms, most))

    @with_values
    def revisions(self, schedule_id: str) -> list[Schedule]:
        found = self._all(schema.REVISIONS, {"schedule_id": schedule_id}, [("revision", 1), ("seq", 1)])
        return [documents.revision_from(each) for each in found]

    @answerable
    def changes(self, *, name: str | None = None, before: str | None = None, limit: int = 100) -> list[Change]:
        wanted: Document = {} if name is None else {"schedule": name}
        if limit <= 0:
            return []
        if before is not None:
            last = self._all(schema.CHANGES, {"_id": before}, [("_id", 1)])
            if not last:
                return []
            wanted["seq"] = {"$lt": last[0]["seq"]}
        return [documents.change_from(each) for each in self._all(schema.CHANGES, wanted, [("seq", -1)], limit)]

    @with_values
    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        return self._reading(lambda opened: _coming(opened.database, after_ms, until_ms, known))

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        return self._reading(lambda opened: _upcoming(opened.database, after_ms, until_ms))

    def find_runs(self, wanted: RunFilter) -> list[Run]:
        return self._in_snapshot(lambda database, session: run_queries.page(database, session, wanted))

    @answerable
    def results(self, flow_id: str, step: str, first: int = 0, limit: int = 1000) -> list[tuple[int, State, Any]]:
        return self._in_snapshot(
            lambda database, session: flows.results(database, session, flow_id, step, first=first, limit=limit)
        )

    def count_runs(self, most: int = COUNTED) -> RunCounts:
        return self._in_snapshot(lambda database, session: run_queries.counts(database, session, most))

    def load(self) -> list[Load]:
        return self._reading(lambda opened: run_queries.load(opened.database))

    @answerable
    def ticks(self, schedule_ids: Sequence[str], *, first_ms: int = 0, last_ms: int = 1 << 62, each: int = 24) -> Ticks:
        return self._in_snapshot(
            lambda database, session: run_queries.ticks(
                database, session, schedule_ids, first_ms=first_ms, last_ms=last_ms, each=each
            )
        )

    def cancels(self, node_id: str) -> list[str]:
        asked = {"owner": node_id, "state": State.RUNNING.value, "cancel_requested_ms": {"$ne": None}}
        return [each["_id"] for each in self._all(schema.RUNS, asked, [("_id", 1)])]

    @answerable
    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        wanted = {"schedule_id": schedule_id, "first_ms": {"$lte": last_ms}, "last_ms": {"$gte": first_ms}}
        return [documents.decision_from(each) for each in self._all(schema.DECISIONS, wanted, [("_id", -1)], limit)]

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        found = self._all(schema.LOGS, {"run_id": run_id}, [("seq", 1)], limit, after)
        return [documents.log_from(each) for each in found]

    @answerable
    def minutes(self, first_ms: int, last_ms: int) -> list[Minute]:
        within = {"minute_ms": {"$gte": first_ms, "$lte": last_ms}}
        found = self._all(schema.MINUTES, within, [("minute_ms", 1), ("node_id", 1)])
        return [documents.minute_from(each) for each in found]

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

    def alert_states(self, schedule_ids: Sequence[str]) -> dict[str, AlertState]:
        keys = keys_of_alerts(schedule_ids)
        found = map(documents.key_from, self._all(schema.KEYS, {"_id": {"$in": [*keys]}}, [("_id", 1)]))
        return alert_states_from(keys, ((each.key, each.state) for each in found))

    def tokens(self, name: str | None = None) -> list[Token]:
        wanted = {} if name is None else {"_id": name}
        return [documents.token_from(each) for each in self._all(schema.TOKENS, wanted, [("_id", 1)])]

    def freezes(self) -> list[Freeze]:
        return [documents.freeze_from(each) for each in self._all(schema.FREEZES, {}, [("_id", 1)])]

    def values(self, use: Use | None = None, *, new: bool = False) -> list[Value]:
        states = ["new"] if new else ["new", "latest"]
        wanted: Document = {"state": {"$in": states}}
        if use is not None:
            wanted |= {"kind": use.kind, "name": use.name}
        return [documents.value_from(each) for each in self._all(schema.VALUES, wanted, [("kind", 1), ("name", 1)])]

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return [
            documents.value_from(each) for each in self._all(schema.VALUES, {"_id": {"$in": sorted(ids)}}, [("_id", 1)])
        ]

    @answerable
    @with_values
    def users(self, use: str, *, after: str = "", limit: int = 500) -> list[Schedule]:
        return self._reading(lambda opened: schedule_queries.users(opened.database, use, after, limit))

    def session(self, session_id: str) -> Session | None:
        found = self._all(schema.SESSIONS, {"_id": session_id}, [("_id", 1)], 1)
        return documents.session_from(found[0]) if found else None

    def _in_snapshot(self, read: Callable[[Database[Document], ClientSession], T]) -> T:
        """All that is read is of one moment."""

        def work(opened: Opened) -> T:
            with opened.client.start_session(snapshot=True) as session:
                return read(opened.database, session)

        return self._reading(work)

    def _all(
        self, collection: str, wanted: Document, order: list[tuple[str, int]], limit: int = 0, skip: int = 0
    ) -> list[Document]:
        """`limit` 0 is none."""
        return self._reading(
            lambda opened: list(opened.database[collection].find(wanted).sort(order).skip(skip).limit(limit))
        )


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
