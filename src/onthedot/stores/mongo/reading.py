"""Everything of the store that only reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import State
from onthedot.stores.base import Change, LogLine, TaskInfo
from onthedot.stores.engine import Engine
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import queries as listing
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.connect import Opened
from onthedot.stores.mongo.mapping import Document

T = TypeVar("T")


class Reading(Engine):
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
            lambda opened: listing.schedules(opened.database, names=names, tag=tag, mode=mode, after=after, limit=limit)
        )

    def revisions(self, schedule_id: str) -> list[Schedule]:
        found = self._all(schema.REVISIONS, {"schedule_id": schedule_id}, [("revision", 1), ("seq", 1)])
        return [documents.revision_from(each) for each in found]

    def changes(self, *, name: str | None = None, limit: int = 100) -> list[Change]:
        wanted = {} if name is None else {"schedule": name}
        return [documents.change_from(each) for each in self._all(schema.CHANGES, wanted, [("seq", -1)], limit)]

    def behind(self, schedule_ids: Collection[str]) -> Collection[str]:
        return self._reading(lambda opened: listing.behind(opened.database, schedule_ids))

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        return self._reading(lambda opened: listing.upcoming(opened.database, after_ms, until_ms))

    def runs(
        self,
        *,
        ids: Sequence[str] | None = None,
        schedule: str | None = None,
        state: State | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        wanted = listing.Wanted(ids, schedule, state, before, limit)

        def read(opened: Opened) -> list[Run]:
            with opened.client.start_session(snapshot=True) as session:
                return listing.runs(opened.database, session, wanted)

        return self._reading(read)

    def cancels(self, node_id: str) -> list[str]:
        asked = {"owner": node_id, "state": State.RUNNING.value, "cancel_requested_ms": {"$ne": None}}
        return [each["_id"] for each in self._all(schema.RUNS, asked, [("_id", 1)])]

    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        wanted = {"schedule_id": schedule_id, "first_ms": {"$lte": last_ms}, "last_ms": {"$gte": first_ms}}
        return [documents.decision_from(each) for each in self._all(schema.DECISIONS, wanted, [("seq", -1)], limit)]

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        found = self._all(schema.LOGS, {"run_id": run_id}, [("seq", 1)], limit, after)
        return [documents.log_from(each) for each in found]

    def nodes(self) -> list[Node]:
        living = {"state": {"$in": ["alive", "draining"]}}
        return [documents.node_from(each) for each in self._all(schema.NODES, living, [("started_ms", 1), ("_id", 1)])]

    def tasks(self) -> list[TaskInfo]:
        nodes = [node.id for node in self.nodes()]
        found = self._all(schema.TASKS, {"_id": {"$in": nodes}}, [("_id", 1)])
        published = {task.name: task for each in found for task in documents.tasks_from(each)}
        return [published[name] for name in sorted(published)]

    def _all(
        self, collection: str, wanted: Document, order: list[tuple[str, int]], limit: int = 0, skip: int = 0
    ) -> list[Document]:
        """`limit` 0 is none."""
        return self._reading(
            lambda opened: list(opened.database[collection].find(wanted).sort(order).skip(skip).limit(limit))
        )
