"""One transaction: the `Transaction` that the engine works on.

A read is no lock in MongoDB. All reads of a transaction see one snapshot, and a write of a document that has changed
since throws the transaction out. So what was read under lock is either written anyway, or touched where something that
is written rests on it: a schedule whose runs change, the holders behind which a run is left, the gates of a node that
gets runs. What nobody wrote meanwhile was, in effect, locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.decision import Decision
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores import mapping
from onthedot.stores.base import Change, LogLine, TaskInfo
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.batches import Writes
from onthedot.stores.mongo.candidates import IN_TURN, OLDEST, Candidates, Manners
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.reservations import Reservations
from onthedot.stores.mongo.schema import ANY_RANK, BLOCKED, PLANNABLE, READY
from onthedot.stores.transaction import Place, TryAgain, in_the_way, readable, readable_page, still_live

_LIVES = {"state": {"$in": ["alive", "draining"]}}
_PATIENCE = 5
"""So often a transaction waits for those who have marked what it needs; then it is left to the clash."""
_numbers = count()


def sequence(now_ms: int) -> int:
    """A number that grows: the order of what is only ever appended, by the store's time, then by this process."""
    return now_ms << 20 | next(_numbers) & (1 << 20) - 1


class MongoTransaction:
    """Remembers what it has read: those documents exist, so only what moved is written, without asking again."""

    def __init__(
        self, database: Database[Document], session: ClientSession, now_ms: int, hints: Reservations, manners: Manners
    ) -> None:
        self.database = database
        self.session = session
        self._now_ms = now_ms
        self._hints = hints
        self._manners = manners
        self._candidates = Candidates(database, hints, manners)
        self._begun = False
        self._writes = Writes(database, session)
        self._read_schedules: dict[str, Schedule] = {}
        self._read_runs: dict[str, Run] = {}
        self._read_keys: dict[str, Key | None] = {}
        self._read_nodes: set[str] = set()
        self._rests_on_schedules: set[str] = set()
        self._left_behind: set[str | None] = set()
        self._claims_for: set[str] = set()
        self.written: set[str] = set()
        """The ids of schedules and runs that were written."""

    @property
    def now_ms(self) -> int:
        return self._now_ms

    def finish(self) -> None:
        """Everything but the commit."""
        self._writes.send_all()
        self._writes.touch(schema.SCHEDULES, (self._rests_on_schedules & self._read_schedules.keys()) - self.written)
        self._writes.touch(schema.RUNS, {run.id for run in self._holders()} - self.written)
        self._writes.touch(schema.GATES, {_gate(node_id, self._manners.gate) for node_id in self._claims_for})

    def _holders(self) -> Iterator[Run]:
        """Who runs while another of the schedule is left waiting: had they ended meanwhile, nobody would wake it."""
        if self._left_behind:
            for run in self._read_runs.values():
                if run.state is State.RUNNING and run.schedule_id in self._left_behind:
                    yield run

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        on_time = {**PLANNABLE, "next_run_ms": {"$gte": on_time_from_ms, "$lte": self._now_ms}}
        overdue = {**PLANNABLE, "next_run_ms": {"$lt": on_time_from_ms}}
        if not self._manners.hints or self._begun:
            found = self._in_turn(on_time, limit)
            found += self._in_turn(overdue, limit - len(found))
            return self._remember_schedules(found), False
        ids, others = self._candidates.schedules([on_time, overdue], limit)
        if not ids:
            return [], others
        mine = {each["_id"]: each for each in self._find(schema.SCHEDULES, {"_id": {"$in": ids}, **self._hints.mine})}
        self._manners.lost = len(mine) < len(ids)
        return self._remember_schedules(mine[each] for each in ids if each in mine), others or self._manners.lost

    def _in_turn(self, due: Document, most: int) -> list[Document]:
        if most <= 0:
            return []
        due = {**due, **self._hints.free}
        return list(self._find(schema.SCHEDULES, due).sort(IN_TURN).limit(most).hint(schema.SCHEDULES_DUE))

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        found = self._find(schema.SCHEDULES, {"name": {"$in": sorted(names)}})
        return {row.name: row for row in self._remember_schedules(found)}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        if not ids:
            return {}
        wanted: Document = {"_id": {"$in": sorted(ids)}}
        if self._manners.hints and not self._begun:
            self._hints.take(schema.SCHEDULES, ids)
            wanted |= self._hints.mine
        found = list(self._find(schema.SCHEDULES, wanted).sort("_id"))
        if not all(self._hints.is_free(each) for each in found) and self._manners.tries < _PATIENCE:
            # Who wakes a run that waits behind a slot must not pass over its schedule: nobody else may come by.
            raise TryAgain("others work on the same schedules")
        self._manners.lost = self._manners.lost or len(found) < len(ids)
        return {row.id: row for row in self._remember_schedules(found)}

    def standing(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        if not ids:
            return {}
        fields = dict.fromkeys(documents.STANDING, 1)
        found = self._find(schema.SCHEDULES, {"_id": {"$in": sorted(ids)}}, fields)
        return {each["_id"]: documents.standing_from(each) for each in found}

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        for row in schedules:
            known = self._read_schedules.get(row.id)
            if known is None:
                self._writes.insert(schema.SCHEDULES, documents.schedule_document(row), row.id)
            elif mapping.schedule_definition(known) == mapping.schedule_definition(row):
                self._writes.change(schema.SCHEDULES, row.id, documents.schedule_moves(row))
            else:
                whole = documents.schedule_document(row)
                del whole["_id"]
                self._writes.change(schema.SCHEDULES, row.id, whole)
            self._read_schedules[row.id] = row
            self.written.add(row.id)

    def _remember_schedules(self, found: Iterable[Document]) -> list[Schedule]:
        read = [documents.schedule_from(each) for each in found]
        self._read_schedules.update((row.id, row) for row in read)
        return read

    # runs

    def due_runs(self, node_id: str, tasks: Collection[str], limit: int) -> list[Run]:
        due = {
            **READY,
            "due_ms": {"$lte": self._now_ms},
            "task": {"$in": sorted(tasks)},
            "target": {"$in": [None, node_id]},
        }
        unreadable: list[str] = []
        while True:
            found = [documents.run_from(each) for each in self._candidates.runs(due, limit)]
            good = readable(found)
            if len(good) == len(found):
                return found
            unreadable += [run.id for run in found if isinstance(run, UnreadableRun)]
            due["_id"] = {"$nin": unreadable}  # they would hide others

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        if not schedule_ids:
            return []
        live = self._remember_runs(self._find(schema.RUNS, {"schedule_id": {"$in": sorted(schedule_ids)}}))
        return sorted(in_the_way(live), key=lambda run: (run.due_ms, run.id))

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        if not ids:
            return {}
        found = self._find(schema.RUNS, {"_id": {"$in": sorted(ids)}}).sort("_id")
        return {run.id: run for run in still_live(self._remember_runs(found))}

    def owned_by(self, node_id: str) -> list[Run]:
        found = self._look(schema.RUNS, {"owner": node_id, "state": State.RUNNING.value})
        return [documents.run_from(each) for each in found.sort("_id")]

    def blocked_runs(self, limit: int, after: tuple[int, str] = (0, "")) -> list[Run]:
        def page(after: Place) -> list[Run]:
            from_ms, after_id = after
            later = [{"due_ms": {"$gt": from_ms}}, {"_id": {"$gt": after_id}}]
            due = {**BLOCKED, "due_ms": {"$gte": from_ms, "$lte": self._now_ms}, "$or": later}
            found = self._find(schema.RUNS, due).sort([("due_ms", 1), ("_id", 1)]).limit(limit)
            return [documents.run_from(each) for each in found.hint(schema.RUNS_BLOCKED)]

        return readable_page(page, limit, after)

    def routed_runs(self, limit: int) -> list[Run]:
        due = {**READY, **ANY_RANK, "due_ms": {"$lte": self._now_ms}, "target": {"$ne": None}}
        found = self._find(schema.RUNS, due).sort(OLDEST).limit(limit).hint(schema.RUNS_DUE)
        return readable(documents.run_from(each) for each in found)

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        well = {"kept_by": schedule, "state": State.SUCCEEDED.value, "finished_ms": {"$gte": since_ms}}
        return any(True for _ in self._find(schema.HISTORY, well, {"_id": 1}).sort("_id", -1).limit(1))

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        if not ids:
            return {}
        found = self._find(schema.HISTORY, {"_id": {"$in": sorted(ids)}})
        return {run.id: run for run in readable(map(documents.run_from, found))}

    def save_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            known = self._read_runs.get(run.id)
            if known is None:
                self._writes.insert(schema.RUNS, documents.live_document(run), run.id)
            else:
                self._writes.change(schema.RUNS, run.id, documents.live_moves(run))
            self._note(known, run)
            self._read_runs[run.id] = run
            self.written.add(run.id)

    def _note(self, known: Run | None, run: Run) -> None:
        """What the write of this run rests on."""
        if run.schedule_id is not None:
            self._rests_on_schedules.add(run.schedule_id)
        if run.state is State.RUNNING and run.owner in self._read_nodes:
            claimed = known is None or (known.owner, known.claim_no) != (run.owner, run.claim_no)
            self._claims_for.update([run.owner] if claimed and run.owner is not None else ())
        if known is not None and run.blocked and not known.blocked:
            self._left_behind.add(run.schedule_id)

    def end_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._writes.delete(schema.RUNS, run.id)
            self._writes.insert(schema.HISTORY, documents.ended_document(replace(run, slot=None)), run.id)
            self._note(None, run)
            self._read_runs.pop(run.id, None)
            self.written.add(run.id)

    def revive_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._writes.delete(schema.HISTORY, run.id)
        self.save_runs(runs)

    def _remember_runs(self, found: Iterable[Document]) -> list[Run]:
        read = [documents.run_from(each) for each in found]
        self._read_runs.update((run.id, run) for run in read)
        return read

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        self._look_up_keys(keys)
        found = ((key, self._read_keys[key]) for key in keys)
        return {key: held for key, held in found if held is not None and not self._expired(held)}

    def save_keys(self, keys: Sequence[Key]) -> None:
        self._look_up_keys([key.key for key in keys])
        for key in keys:
            held = self._read_keys[key.key]
            if held is not None and held.run_id != key.run_id and not self._expired(held):
                raise TryAgain(f"the key {key.key} is another run's")
            document = documents.key_document(key)
            if held is None:
                self._writes.insert(schema.KEYS, document, key.key)
            else:
                del document["_id"]
                self._writes.change(schema.KEYS, key.key, document)
            self._read_keys[key.key] = key

    def _look_up_keys(self, keys: Collection[str]) -> None:
        unknown = {key for key in keys if key not in self._read_keys}
        if unknown:
            self._read_keys.update(dict.fromkeys(unknown))
            found = self._find(schema.KEYS, {"_id": {"$in": sorted(unknown)}})
            self._read_keys.update((each["_id"], documents.key_from(each)) for each in found)

    def _expired(self, key: Key) -> bool:
        return key.expires_ms is not None and key.expires_ms <= self._now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        for each in self._find(schema.NODES, {"_id": node_id}):
            self._read_nodes.add(node_id)
            return documents.node_from(each)
        return None

    def nodes(self) -> list[Node]:
        live = [documents.node_from(each) for each in self._look(schema.NODES, _LIVES)]
        self._manners.nodes = len(live)
        return sorted(live, key=lambda node: (node.started_ms, node.id))

    def save_node(self, node: Node) -> None:
        document = documents.node_document(node)
        if node.id not in self._read_nodes:
            self._writes.insert(schema.NODES, document, node.id)
            for number in range(schema.GATES_EACH):
                self._writes.insert(schema.GATES, {"_id": _gate(node.id, number)}, _gate(node.id, number))
            self._read_nodes.add(node.id)
            return
        del document["_id"]
        self._writes.change(schema.NODES, node.id, document)
        if not node.lives:
            self._writes.touch(schema.GATES, {_gate(node.id, number) for number in range(schema.GATES_EACH)})

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        by_name = {task.name: task for task in tasks}
        document = documents.tasks_document(node_id, by_name.values())
        self.database[schema.TASKS].replace_one({"_id": node_id}, document, upsert=True, session=self.session)

    # append only

    def add_log(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            self._writes.insert(schema.LOGS, documents.log_document(line, sequence(self._now_ms)))

    def add_decisions(self, decisions: Iterable[Decision]) -> None:
        for each in decisions:
            self._writes.insert(schema.DECISIONS, documents.decision_document(each, sequence(self._now_ms)))

    def add_changes(self, changes: Iterable[Change]) -> None:
        for each in changes:
            self._writes.insert(schema.CHANGES, documents.change_document(each, sequence(self._now_ms)))

    def add_revision(self, schedule: Schedule) -> None:
        self._writes.insert(schema.REVISIONS, documents.revision_document(schedule, sequence(self._now_ms)))

    def _look(self, collection: str, wanted: Document) -> Any:
        """Without a lock: before anything was locked it is a look from outside, so that hints can still be taken."""
        return self._find(collection, wanted) if self._begun else self.database[collection].find(wanted)

    def _find(self, collection: str, wanted: Document, fields: Document | None = None) -> Any:
        """In the transaction, which sees what it has written itself."""
        self._begun = True
        self._writes.send(collection)
        return self.database[collection].find(wanted, fields, session=self.session, batch_size=AT_ONCE)


def _gate(node_id: str, number: int) -> str:
    return f"{node_id}/{number}"


def gates_of(node_ids: Iterable[str]) -> Iterator[str]:
    """The ids of all gates of these nodes."""
    return (_gate(node_id, number) for node_id in node_ids for number in range(schema.GATES_EACH))
