"""One transaction: the `Transaction` that the engine works on.

A read is no lock in MongoDB. All reads of a transaction see one snapshot, and a write of a document that has changed
since throws the transaction out. So what was read under lock is either written anyway, or touched where something that
is written rests on it: a schedule whose runs change, a gate of a node that gets runs. What nobody wrote meanwhile was,
in effect, locked. Runs that are only read may change: whoever adds or starts one writes its schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count

from pymongo.client_session import ClientSession
from pymongo.database import Database

from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value, ValueState
from onthedot.model.values import replace
from onthedot.rules import start
from onthedot.rules.effects import Effects
from onthedot.stores import mapping
from onthedot.stores.claimed_runs import COLUMNS, ClaimedRuns
from onthedot.stores.engine.plainly import may_begin
from onthedot.stores.kept_graphs import Graphs
from onthedot.stores.mongo import awaited, beside, flows, schema
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo.candidates import IN_TURN, OLDEST, Candidates, Manners
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.mongo.reads import Part, Reads, StoreTime
from onthedot.stores.mongo.reservations import Reservations
from onthedot.stores.mongo.schema import OWNED, PLANNABLE, ROUTED
from onthedot.stores.mongo.writes import Writes
from onthedot.stores.transaction import Claim, LiveRuns, StepRow, TryAgain, in_the_way, readable, still_live
from onthedot.triggers.pinned import Use

_LIVES = {"state": {"$in": ["alive", "draining"]}}
_HELD = dict.fromkeys(("_id", *COLUMNS[1:]), 1)
_SUMMARY = dict.fromkeys(mapping.SUMMARY, 1)
_VERSION = {"version": 1, "busy_ms": 1, "busy_by": 1}
_NEWEST_OF_EACH: list[Document] = [
    {"$sort": {"schedule_id": -1, "_id": -1}},
    {"$group": {"_id": "$schedule_id", "newest": {"$first": "$$ROOT"}}},
]
_numbers = count()


def sequence(now_ms: int) -> int:
    """A number that grows: the order of what is only ever appended, by the store's time, then by this process."""
    return now_ms << 20 | next(_numbers) & (1 << 20) - 1


class MongoTransaction:
    """Remembers what it has read: those documents exist, so only what moved is written, without asking again."""

    def __init__(
        self,
        database: Database[Document],
        session: ClientSession,
        now_ms: StoreTime,
        reservations: Reservations,
        manners: Manners,
        *,
        claimed_runs: ClaimedRuns,
        graphs: Graphs,
    ) -> None:
        self.database = database
        self.session = session
        self._now_ms = now_ms
        self._reservations = reservations
        self._manners = manners
        self._claimed_runs = claimed_runs
        self._graphs = graphs
        self._candidates = Candidates(database, reservations, manners, now_ms)
        self._writes = Writes(database, session)
        self._reads = Reads(database, session, self._writes, now_ms)
        self._locked: dict[str, Schedule] = {}
        self._read_runs: dict[str, Run] = {}
        self._whole_runs: dict[str, Document] = {}
        """Of those the documents, as far as they may be written anew."""
        self._summaries: dict[str, ScheduleSummary] = {}
        self._nodes: dict[str, Node] = {}
        """Read with something else, in the snapshot."""
        self._some_due: set[str] = set()
        self._is_due_again = False
        """Of those that were moved, one is due again."""
        self._reserved_runs: set[str] = set()
        """Those of them that others are about to start."""
        self._read_keys: dict[str, Key | None] = {}
        self._read_nodes: set[str] = set()
        self._read_decisions: set[str] = set()
        self._rests_on_schedules: set[str] = set()
        self._claims_for: set[str] = set()
        self.written: set[str] = set()
        """The ids of schedules and runs that were written."""
        self.started: list[Run] = []
        self.ended: list[str] = []
        """What became of runs, for those who remember them once it is committed."""

    @property
    def now_ms(self) -> int:
        return self._now_ms()

    def finish(self) -> None:
        """Everything but the commit."""
        self._writes.send_all()
        self._writes.touch(schema.SCHEDULES, (self._rests_on_schedules & self._locked.keys()) - self.written)
        self._writes.touch(schema.GATES, {_gate(node_id, self._manners.gate) for node_id in self._claims_for})

    def prefetch(self, node_id: str, run_ids: Collection[str]) -> None:
        """Of the runs that were started here only what may have changed; others are read when they are asked for."""
        claimed = [run for run in map(self._claimed_runs.get, run_ids) if run is not None]
        ids = {run.schedule_id for run in claimed if run.schedule_id is not None}
        parts: dict[str, Part] = {"nodes": (schema.NODES, [_among([node_id])])}
        if claimed:
            parts["held"] = schema.RUNS, [_among(run.id for run in claimed), {"$project": _HELD}]
        if ids:
            parts["summaries"] = schema.SCHEDULES, [_among(ids), {"$project": _SUMMARY}]
        found = self._reads.together(parts)
        self._learn_nodes(found["nodes"])
        held = (self._claimed_runs.run_of([each.get(name) for name in _HELD]) for each in found.get("held", ()))
        self._read_runs.update((run.id, run) for run in held if run is not None)
        self._summaries = {each["_id"]: documents.summary_from(each) for each in found.get("summaries", ())}

    def _learn_nodes(self, found: Iterable[Document]) -> None:
        self._nodes.update((each["_id"], documents.node_from(each)) for each in found)

    # schedules

    def unchanged(self, schedules: Sequence[Schedule]) -> set[str]:
        given = {each.id: each for each in schedules}
        self._reserve(given)
        due = {**PLANNABLE, "next_run_ms": {"$lte": self.now_ms}}
        found = self._reads.together(
            {
                "versions": (schema.SCHEDULES, [_among(given), {"$project": _VERSION}]),
                "due": (schema.SCHEDULES, [{"$match": due}, {"$limit": len(given) + 1}, {"$project": {"_id": 1}}]),
                "nodes": (schema.NODES, [{"$match": _LIVES}]),
            }
        )
        self._learn_nodes(found["nodes"])
        self._manners.nodes = len(found["nodes"])
        self._some_due = {each["_id"] for each in found["due"]}
        free = [each for each in found["versions"] if self._reservations.is_free(each)]
        same = {each["_id"] for each in free if each["version"] == given[each["_id"]].version}
        self._manners.lost = len(free) < len(found["versions"])
        if same:
            same -= set(self._reads.distinct(schema.RUNS, "schedule_id", {"schedule_id": {"$in": sorted(same)}}))
        return same

    def save_ahead(self, owner: str, all_effects: Sequence[Effects]) -> None:
        for effects in all_effects:
            row = effects.schedule
            assert row is not None
            self._writes.change(schema.SCHEDULES, row.id, documents.tick_moves(row))
            self.written.add(row.id)
            self._is_due_again |= row.is_due_at(self.now_ms)
        self.save_runs([run for each in all_effects for run in each.runs])

    def is_due(self) -> bool:
        """As `unchanged` was told, without those that were written since and are due no more."""
        return self._is_due_again or bool(self._some_due - self.written)

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        on_time = {**PLANNABLE, "next_run_ms": {"$gte": on_time_from_ms, "$lte": self.now_ms}}
        overdue = {**PLANNABLE, "next_run_ms": {"$lt": on_time_from_ms}}
        if not self._manners.reserves or self._reads.begun:
            found = self._in_turn(on_time, limit)
            found += self._in_turn(overdue, limit - len(found))
            return self._lock(found), False
        ids, others = self._candidates.schedules([on_time, overdue], limit)
        if not ids:
            return [], others
        mine = {each["_id"]: each for each in self._reserved(ids)}
        self._manners.lost = len(mine) < len(ids)
        return self._lock(mine[each] for each in ids if each in mine), others or self._manners.lost

    def _in_turn(self, due: Document, most: int) -> list[Document]:
        if most <= 0:
            return []
        found = self._reads.find(schema.SCHEDULES, {**due, **self._reservations.free})
        return list(found.sort(IN_TURN).limit(most).hint(schema.SCHEDULES_DUE))

    def _reserved(self, ids: Collection[str]) -> Iterable[Document]:
        return self._reads.find(schema.SCHEDULES, {"_id": {"$in": sorted(ids)}, **self._reservations.mine})

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        named = {"name": {"$in": sorted(names)}}
        if self._manners.reserves and not self._reads.begun:
            self._reserve([each["_id"] for each in self._reads.look(schema.SCHEDULES, named, {"_id": 1})])
        return {row.name: row for row in self._lock_waiting(self._reads.find(schema.SCHEDULES, named))}

    def lock_schedules(self, ids: Collection[str]) -> dict[str, Schedule]:
        if not ids:
            return {}
        self._reserve(ids)
        found = self._reads.find(schema.SCHEDULES, {"_id": {"$in": sorted(ids)}})
        return {row.id: row for row in self._lock_waiting(found)}

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        if not ids:
            return {}
        self._reserve(ids)
        found = self._reads.find(schema.SCHEDULES, {"_id": {"$in": sorted(ids)}})
        free = [each for each in found if self._reservations.is_free(each)]
        self._manners.lost = self._manners.lost or len(free) < len(ids)
        return {row.id: row for row in self._lock(free)}

    def summaries(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        known = {each: self._summaries[each] for each in ids if each in self._summaries}
        unknown = sorted(each for each in ids if each not in known)
        if not unknown:
            return known
        found = self._reads.look(schema.SCHEDULES, {"_id": {"$in": unknown}}, _SUMMARY)
        return known | {each["_id"]: documents.summary_from(each) for each in found}

    def watched(self, limit: int) -> list[str]:
        due = {"watch_ms": {"$gt": 0, "$lte": self.now_ms}}
        found = self._reads.look(schema.SCHEDULES, due, {"_id": 1}).sort([("watch_ms", 1)]).limit(limit)
        return [each["_id"] for each in found.hint(schema.SCHEDULES_WATCHED)]

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        for row in schedules:
            known = self._locked.get(row.id)
            if known is None:
                self._writes.insert(schema.SCHEDULES, documents.schedule_document(row), row.id)
            elif mapping.schedule_definition(known) == mapping.schedule_definition(row):
                self._writes.change(schema.SCHEDULES, row.id, documents.schedule_moves(row))
            else:
                whole = documents.schedule_document(row)
                del whole["_id"]
                self._writes.change(schema.SCHEDULES, row.id, whole)
            self._locked[row.id] = row
            self.written.add(row.id)

    def _reserve(self, ids: Collection[str]) -> None:
        if self._manners.reserves and not self._reads.begun:
            self._reservations.take(schema.SCHEDULES, ids)

    def _lock_waiting(self, found: Iterable[Document]) -> list[Schedule]:
        """What others have reserved is waited for: who then comes again has kept the rest, so that it gets all."""
        read = list(found)
        if self._manners.waits and not all(self._reservations.is_free(each) for each in read):
            self._reservations.is_kept = self._manners.waited = True
            raise TryAgain("others work on the same schedules")
        return self._lock(read)

    def _lock(self, found: Iterable[Document]) -> list[Schedule]:
        read = [documents.schedule_from(each) for each in found]
        self._locked.update((row.id, row) for row in read)
        return read

    # runs

    def due_runs(self, claim: Claim, limit: int) -> list[Run]:
        asked = limit
        while True:
            due = self._due_runs(claim, asked)
            good = readable(due)
            if len(good) >= min(limit, len(due)) or len(due) < asked:
                return good[:limit]
            asked *= 4  # what cannot be read must not hide the others

    def _due_runs(self, claim: Claim, most: int) -> list[Run]:
        if self._manners.reserves and not self._reads.begun:
            return [documents.run_from(each) for each in self._candidates.runs(claim, most)]
        found = self._candidates.foremost(claim, most, lambda wanted: self._reads.find(schema.RUNS, wanted))
        return self._remember_runs(found)

    def live_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        def read(wanted: Document, most: int) -> list[Run]:
            found = self._reads.find(schema.RUNS, wanted).sort(beside.IN_ORDER)
            return in_the_way(self._remember_runs(found.limit(most).hint(schema.RUNS_SCHEDULE)))

        return beside.live_beside(read, schedules)

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        if not schedule_ids:
            return []
        found = self._reads.find(schema.RUNS, {"schedule_id": {"$in": sorted(schedule_ids)}})
        live = self._remember_runs(found.hint(schema.RUNS_SCHEDULE))
        return sorted(in_the_way(live), key=lambda run: (run.due_ms, run.id))

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        unknown = sorted(each for each in ids if each not in self._read_runs)
        if unknown:
            self._remember_runs(self._reads.find(schema.RUNS, {"_id": {"$in": unknown}}))
        found = [self._read_runs[each] for each in ids if each in self._read_runs]
        return {run.id: run for run in still_live(found)}

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        return {each: run for each, run in self.live_runs(ids).items() if each not in self._reserved_runs}

    def schedules_of(self, run_ids: Collection[str]) -> set[str]:
        found = self._reads.look(schema.RUNS, {"_id": {"$in": sorted(run_ids)}}, {"schedule_id": 1})
        return {each["schedule_id"] for each in found if each.get("schedule_id") is not None}

    def owned_by(self, node_id: str) -> list[Run]:
        found = self._reads.look(schema.RUNS, {"owner": node_id, "state": State.RUNNING.value})
        return [documents.run_from(each) for each in found.sort("_id")]

    def load(self) -> dict[str, int]:
        counted: list[Document] = [{"$match": OWNED}, {"$group": {"_id": "$owner", "runs": {"$sum": 1}}}]
        found = self._reads.aggregate(schema.RUNS, counted, schema.RUNS_OWNER)
        return {each["_id"]: each["runs"] for each in found}

    def waiting_for(self, what: str, limit: int) -> list[Run]:
        found = awaited.waiting_for(self._reads, what, self.now_ms, limit)
        return readable(documents.run_from(each) for each in found)

    def are_awaited(self, whats: Collection[str]) -> set[str]:
        return set(self._reads.distinct(schema.RUNS, "waits_for", {"waits_for": {"$in": sorted(whats)}}))

    def awaited(self, limit: int, after: str = "") -> list[str]:
        return awaited.awaited(self._reads, self.now_ms, limit, after)

    def routed_runs(self, limit: int) -> list[Run]:
        due = {**ROUTED, "due_ms": {"$lte": self.now_ms}}
        found = self._reads.look(schema.RUNS, due).sort(OLDEST).limit(limit).hint(schema.RUNS_ROUTED)
        return readable(documents.run_from(each) for each in found)

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        well = {"kept_by": schedule, "state": State.SUCCEEDED.value, "finished_ms": {"$gte": since_ms}}
        return any(True for _ in self._reads.find(schema.HISTORY, well, {"_id": 1}).sort("_id", -1).limit(1))

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        if not ids:
            return {}
        found = self._reads.find(schema.HISTORY, {"_id": {"$in": sorted(ids)}})
        return {run.id: run for run in readable(map(documents.run_from, found))}

    def begin_plainly(self, claim: Claim, most: int) -> tuple[Run, ...] | None:
        """For the short way: what was just read is what becomes of it, but for a few fields."""
        found = self._candidates.foremost(claim, most, lambda wanted: self._reads.find(schema.RUNS, wanted))
        due = [documents.run_from(each) for each in found]
        if not all(may_begin(run) for run in due):
            return None
        begun = tuple(start.started(run, claim.node_id, self.now_ms) for run in due)
        for run, document in zip(begun, found, strict=True):
            whole = document if documents.may_be_written_anew(document) else None
            self._writes.change(schema.RUNS, run.id, documents.begin_moves(run), whole)
            self.written.add(run.id)
        self._claims_for.update([claim.node_id] if begun else ())
        self.started += begun
        return begun

    def save_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            assert type(run) is not StepRow, "a step as `steps_of` gives it is not whole"
            known = self._read_runs.get(run.id)
            if known is None:
                self._writes.insert(schema.RUNS, documents.live_document(run), run.id)
            else:
                whole = self._whole_runs.pop(run.id, None)
                self._writes.change(schema.RUNS, run.id, documents.live_moves(run), whole)
            self._note(known, run)
            self._read_runs[run.id] = run
            if run.is_final:
                self.ended.append(run.id)
            elif run.state is State.RUNNING and run.owner is not None:
                self.started.append(run)

    def _note(self, known: Run | None, run: Run) -> None:
        """What the write of this run rests on."""
        self.written.add(run.id)
        if run.schedule_id is not None:
            self._rests_on_schedules.add(run.schedule_id)
        if run.state is State.RUNNING and run.owner in self._read_nodes:
            claimed = known is None or (known.owner, known.claim_no) != (run.owner, run.claim_no)
            self._claims_for.update([run.owner] if claimed and run.owner is not None else ())

    def end_runs(self, runs: Sequence[Run]) -> None:
        flows.tell(self._reads, self._writes, [run.id for run in runs if isinstance(run, StepRow)])
        for run in runs:
            if not isinstance(run, StepRow):
                self._writes.delete(schema.RUNS, run.id)
                ended = documents.ended_document(run if run.slot is None else replace(run, slot=None))
                self._writes.insert(schema.HISTORY, ended, run.id)
            self._note(None, run)
            self._read_runs.pop(run.id, None)
            self.ended.append(run.id)

    def revive_runs(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._writes.delete(schema.HISTORY, run.id)
        self.save_runs(runs)

    def _remember_runs(self, found: Iterable[Document]) -> list[Run]:
        """In a snapshot they stay as they are, until they are written here."""
        read: list[Run] = []
        for each in found:
            read.append(documents.run_from(each))
            if documents.may_be_written_anew(each):
                self._whole_runs[each["_id"]] = each
            if not self._reservations.is_free(each):
                self._reserved_runs.add(each["_id"])
        self._read_runs.update((run.id, run) for run in read)
        return read

    # flows

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        return flows.graphs_of(self._reads, self._graphs, hashes)

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        flows.save_graphs(self._reads, self._writes, graphs, self.now_ms)

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        return flows.steps_of(self._reads, flow_ids)

    def untold(self, limit: int, after: str = "") -> list[str]:
        return flows.untold(self._reads, limit, after)

    def past_until(self, limit: int) -> list[Run]:
        return readable(flows.past_until(self._reads, self.now_ms, limit))

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
            found = self._reads.find(schema.KEYS, {"_id": {"$in": sorted(unknown)}})
            self._read_keys.update((each["_id"], documents.key_from(each)) for each in found)

    def _expired(self, key: Key) -> bool:
        return key.expires_ms is not None and key.expires_ms <= self.now_ms

    # nodes

    def node(self, node_id: str) -> Node | None:
        if node_id in self._nodes:
            self._read_nodes.add(node_id)
            return self._nodes[node_id]
        for each in self._reads.find(schema.NODES, {"_id": node_id}):
            self._read_nodes.add(node_id)
            return documents.node_from(each)
        return None

    def node_shared(self, node_id: str) -> Node | None:
        """By a gate of the node, which is touched if runs are claimed: one that dies closes all of them."""
        return self.node(node_id)

    def nodes(self) -> list[Node]:
        live = [documents.node_from(each) for each in self._reads.look(schema.NODES, _LIVES)]
        self._manners.nodes = len(live)
        return sorted(live, key=lambda node: (node.started_ms, node.id))

    def owners(self) -> set[str]:
        return set(self._reads.distinct(schema.RUNS, "owner", OWNED))

    def save_node(self, node: Node) -> None:
        document = documents.node_document(node)
        self._nodes.pop(node.id, None)
        if node.id not in self._read_nodes:
            self._writes.insert(schema.NODES, document, node.id)
            for number in range(schema.GATES_EACH):
                self._writes.insert(schema.GATES, {"_id": _gate(node.id, number)}, _gate(node.id, number))
            self._read_nodes.add(node.id)
            self.nodes()  # a node that is alone knows so before its first pass
            return
        del document["_id"]
        self._writes.change(schema.NODES, node.id, document)
        if not node.lives:
            self._writes.touch(schema.GATES, {_gate(node.id, number) for number in range(schema.GATES_EACH)})

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        by_name = {task.name: task for task in tasks}
        document = documents.tasks_document(node_id, by_name.values())
        self.database[schema.TASKS].replace_one({"_id": node_id}, document, upsert=True, session=self.session)

    def forget_node(self, node_id: str) -> None:
        self._nodes.pop(node_id, None)
        self._writes.delete(schema.NODES, node_id)
        self._writes.delete(schema.TASKS, node_id)
        for gate in gates_of([node_id]):
            self._writes.delete(schema.GATES, gate)

    # who may use the HTTP API

    def token(self, name: str) -> Token | None:
        """What is added to it (a session) must clash with its end: so it is touched."""
        for each in self._reads.find(schema.TOKENS, {"_id": name}):
            self._writes.touch(schema.TOKENS, [name])
            return documents.token_from(each)
        return None

    def save_token(self, token: Token) -> None:
        self._writes.insert(schema.TOKENS, documents.token_document(token), token.name)

    def forget_token(self, name: str) -> None:
        self._writes.delete(schema.TOKENS, name)
        self._forget_sessions({"token": name})

    def save_session(self, session: Session) -> None:
        self._forget_sessions({"token": session.token, "expires_ms": {"$lte": self.now_ms}})
        self._writes.insert(schema.SESSIONS, documents.session_document(session), session.id)

    def forget_session(self, session_id: str) -> None:
        self._writes.delete(schema.SESSIONS, session_id)

    def _forget_sessions(self, which: Document) -> None:
        for each in self._reads.find(schema.SESSIONS, which, {"_id": 1}):
            self._writes.delete(schema.SESSIONS, each["_id"])

    # freezes

    def freezes(self) -> list[Freeze]:
        return [documents.freeze_from(each) for each in self._reads.find(schema.FREEZES, {}).sort("_id", 1)]

    def freeze(self, name: str) -> Freeze | None:
        for each in self._reads.find(schema.FREEZES, {"_id": name}):
            self._writes.touch(schema.FREEZES, [name])
            return documents.freeze_from(each)
        return None

    def save_freeze(self, freeze: Freeze) -> None:
        document = documents.freeze_document(freeze)
        if self.freeze(freeze.name) is None:
            self._writes.insert(schema.FREEZES, document, freeze.name)
        else:
            self._writes.change(schema.FREEZES, freeze.name, {"content": document["content"]})

    def forget_freeze(self, name: str) -> None:
        self._writes.delete(schema.FREEZES, name)

    # what triggers name

    def value(self, use: Use) -> Value | None:
        """Whatever rests on it must clash with its end: so it is touched."""
        heads = [*self._reads.find(schema.VALUES, {"state": {"$in": _HEADS}, "kind": use.kind, "name": use.name})]
        if not heads:
            return None
        newest = max(heads, key=lambda each: int(each["rev"]))
        self._writes.touch(schema.VALUES, [newest["_id"]])
        return documents.value_from(newest)

    def value_shared(self, use: Use) -> Value | None:
        return self.value(use)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return [documents.value_from(each) for each in self._reads.look(schema.VALUES, {"_id": {"$in": sorted(ids)}})]

    def add_value(self, value: Value) -> None:
        self._writes.insert(schema.VALUES, documents.value_document(value), value.id)

    def change_value(self, value: Value) -> None:
        self._writes.change(schema.VALUES, value.id, {"state": value.state.value})

    def forget_values(self, ids: Collection[str]) -> None:
        for each in ids:
            self._writes.delete(schema.VALUES, each)

    # what happened

    def last_decisions(self, schedule_ids: Collection[str]) -> dict[str, Decision]:
        if not schedule_ids:
            return {}
        newest: list[Document] = [{"$match": {"schedule_id": {"$in": sorted(schedule_ids)}}}, *_NEWEST_OF_EACH]
        found = self._reads.aggregate(schema.DECISIONS, newest, schema.DECISIONS_SCHEDULE)
        last = {each["_id"]: documents.decision_from(each["newest"]) for each in found}
        self._read_decisions.update(each.id for each in last.values())
        return last

    def save_decisions(self, decisions: Sequence[Decision]) -> None:
        for each in decisions:
            document = documents.decision_document(each)
            if each.id in self._read_decisions:
                del document["_id"]
                self._writes.change(schema.DECISIONS, each.id, document)
            else:
                self._writes.insert(schema.DECISIONS, document, each.id)

    def add_log(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            self._writes.insert(schema.LOGS, documents.log_document(line, sequence(self.now_ms)))

    def add_changes(self, changes: Sequence[Change]) -> None:
        for each in changes:
            self._writes.insert(schema.CHANGES, documents.change_document(each, sequence(self.now_ms)))

    def add_revision(self, schedule: Schedule) -> None:
        self._writes.insert(schema.REVISIONS, documents.revision_document(schedule, sequence(self.now_ms)))


_HEADS = [ValueState.NEW.value, ValueState.LATEST.value, ValueState.GONE.value]


def _among(ids: Iterable[str]) -> Document:
    return {"$match": {"_id": {"$in": sorted(ids)}}}


def _gate(node_id: str, number: int) -> str:
    return f"{node_id}/{number}"


def gates_of(node_ids: Iterable[str]) -> Iterator[str]:
    """The ids of all gates of these nodes."""
    return (_gate(node_id, number) for node_id in node_ids for number in range(schema.GATES_EACH))
