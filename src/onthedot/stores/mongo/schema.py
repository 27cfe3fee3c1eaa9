"""The collections and their indexes, and the version that they are of.

Indexes cost with every write, so each one here is asked for by a query that must stay fast whatever the number of
documents; the comment beside it says which.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.database import Database
from pymongo.errors import CollectionInvalid, OperationFailure
from pymongo.write_concern import WriteConcern

from onthedot.errors import SchemaError
from onthedot.model.finding import Finding, Level
from onthedot.stores.mongo.mapping import Document

HEAD = 1
"""The version of what is declared here."""

PREFIX = "onthedot_"
SCHEDULES = f"{PREFIX}schedules"
RUNS = f"{PREFIX}runs"
HISTORY = f"{PREFIX}history"
KEYS = f"{PREFIX}keys"
NODES = f"{PREFIX}nodes"
GATES = f"{PREFIX}gates"
"""Eight of each node: whoever claims runs for the node passes through one, and a takeover closes all of them."""
GATES_EACH = 8
TASKS = f"{PREFIX}tasks"
DECISIONS = f"{PREFIX}decisions"
CHANGES = f"{PREFIX}changes"
REVISIONS = f"{PREFIX}revisions"
LOGS = f"{PREFIX}logs"
TOKENS = f"{PREFIX}tokens"
SESSIONS = f"{PREFIX}sessions"
FREEZES = f"{PREFIX}freezes"
"""Windows in which schedules are frozen: few, and read with every change of a schedule."""
VALUES = f"{PREFIX}values"
"""What triggers name, each revision of it."""
MINUTES = f"{PREFIX}minutes"
"""What nodes count."""
HOURS = f"{PREFIX}hours"
"""What was counted of the runs that ended in each hour."""
ROLLED = f"{PREFIX}rolled"
"""Up to which moment ends are counted."""
WAKES = f"{PREFIX}wakes"
"""One of each process that had news, for the others to see; see `notify`."""
GRAPHS = f"{PREFIX}graphs"
"""What flows are, by hash."""
FORGOTTEN = f"{PREFIX}forgotten"
"""Flows that are forgotten, and whose steps are to follow them."""
META = f"{PREFIX}meta"

_TEXT: Document = {"$gt": ""}
PLANNABLE: Document = {"plannable": 1}
LOCAL: Document = {"mode": "local"}
KEPT: Document = {"deleted": 0}
"""Schedules that are no tombstones."""
PARKED: Document = {**KEPT, "error": {"$gte": ""}}
DISABLED: Document = {**KEPT, "enabled": 0}
USING: Document = {"uses": {"$lt": "[]"}}
"""A list of words that has any begins with a quotation mark."""
DECLARED: Document = {"declared_seen_ms": {"$gt": 0}}
LEFT_OUT: Document = {"left_out_ms": {"$gt": 0}}
FROZEN: Document = {"frozen": _TEXT}
WATCHED: Document = {"watch_ms": {"$gt": 0}}
HAS_PARENT: Document = {"parent_id": _TEXT}
"""Parts of flows and broadcasts, and runs that follow others."""
FLOW: Document = {"graph": _TEXT}
"""Runs that stand for steps."""
STEP: Document = {"step": _TEXT}
"""Runs that are a part of a flow."""
UNTOLD: Document = {"untold": _TEXT}
"""Those of them that have ended, and whose flow does not know."""
BOUNDED: Document = {"bounded_ms": {"$gt": 0}}
"""Runs that wait, or stand for steps, until a moment."""
READY: Document = {"ready_for": {"$gte": ""}}
"""Runs that wait for nothing but their moment and a node."""
ROUTED: Document = {"ready_for": _TEXT}
"""Those of them that are for one node."""
BLOCKED: Document = {"waits_for": _TEXT}
OWNED: Document = {"owner": _TEXT}
"""Runs that a node has; of those that live, just those that run."""
WENT_WRONG: Document = {"wrong": 1}
LATE: Document = {"late": 1}
_EXISTS = 48

SCHEDULES_DUE = "due"
SCHEDULES_LOCAL = "local"
SCHEDULES_NAME = "name"
SCHEDULES_NEXT = "next"
SCHEDULES_TASK = "task"
SCHEDULES_WORDS = "words"
SCHEDULES_PARKED = "parked"
SCHEDULES_DISABLED = "disabled"
SCHEDULES_DECLARED = "declared"
SCHEDULES_LEFT_OUT = "left_out"
SCHEDULES_FROZEN = "frozen"
SCHEDULES_WATCHED = "watched"
SCHEDULES_USES = "uses"
RUNS_DUE = "due"
RUNS_MOMENTS = "moments"
RUNS_ROUTED = "routed"
RUNS_AWAITED = "awaited"
RUNS_SCHEDULE = "schedule"
RUNS_OWNER = "owner"
RUNS_PARENT = "parent"
RUNS_UNTOLD = "untold"
RUNS_BOUNDED = "bounded"
RUNS_GRAPH = "graph"
DECISIONS_SCHEDULE = "schedule"


def _index(name: str, *keys: str, unique: bool = False, only: Document | None = None) -> IndexModel:
    """`-name` is a descending key; `only` makes it partial."""
    spec = [(key.lstrip("-"), DESCENDING if key.startswith("-") else ASCENDING) for key in keys]
    partial: dict[str, Any] = {} if only is None else {"partialFilterExpression": only}
    return IndexModel(spec, name=name, unique=unique, **partial)


INDEXES: dict[str, list[IndexModel]] = {
    SCHEDULES: [
        _index(SCHEDULES_NAME, "name", unique=True),
        # Which schedules are due? The id is in it because ten thousand at one moment would be sorted for each batch.
        _index(SCHEDULES_DUE, "next_run_ms", "_id", "plannable", only=PLANNABLE),
        # Which schedules do nodes plan in memory? Asked once a second; nearly all are not in it.
        _index(SCHEDULES_LOCAL, "name", only=LOCAL),
        # Which come next? And which have ended, since they have no next moment?
        _index(SCHEDULES_NEXT, "next_run_ms", "name", only=KEPT),
        # Which are of this task?
        _index(SCHEDULES_TASK, "task", "name", only=KEPT),
        # In which names or tasks is this text, and which have this tag? All are looked at, but in the index alone.
        _index(SCHEDULES_WORDS, "name", "words", "tags", only=KEPT),
        # Which name this calendar, or this trigger? Most name none, and are not in it.
        _index(SCHEDULES_USES, "uses", "name", only=USING),
        # Which are parked, and which paused? Nearly all are in neither.
        _index(SCHEDULES_PARKED, "name", only=PARKED),
        _index(SCHEDULES_DISABLED, "name", only=DISABLED),
        # Which does nobody declare any more, and which have left out ticks of late? Most are in neither.
        _index(SCHEDULES_DECLARED, "declared_seen_ms", "name", only=DECLARED),
        _index(SCHEDULES_LEFT_OUT, "left_out_ms", "name", only=LEFT_OUT),
        # In which has a freeze a window? None, as a rule.
        _index(SCHEDULES_FROZEN, "frozen", "name", only=FROZEN),
        # Of which must somebody see whether they are overdue? Most have no alert that asks for it.
        _index(SCHEDULES_WATCHED, "watch_ms", only=WATCHED),
        # Which tombstones are old?
        _index("tombstones", "updated_ms", only={"deleted": 1}),
    ],
    RUNS: [
        # Which runs are due that a node may take? Its own and anybody's; of each kind the oldest first.
        _index(RUNS_DUE, "ready_for", "queue", "due_ms", "_id", only=READY),
        # At which moments is any run due?
        _index(RUNS_MOMENTS, "due_ms", "_id", "ready_for", only=READY),
        # Which runs has their node not taken?
        _index(RUNS_ROUTED, "due_ms", "_id", only=ROUTED),
        # Who waits for this, and what is waited for at all? Each level of priority apart.
        _index(RUNS_AWAITED, "waits_for", "priority", "due_ms", "_id", only=BLOCKED),
        # The live runs of a schedule: those that run, then those that wait, oldest first.
        _index(RUNS_SCHEDULE, "schedule_id", "state", "due_ms", "_id", only={"schedule_id": _TEXT}),
        # What does a node run? Asked at every renewal. How many does each?
        _index(RUNS_OWNER, "owner", "_id", only=OWNED),
        # Which are the parts of a broadcast, or follow a run? Most are neither.
        _index(RUNS_PARENT, "parent_id", "_id", only=HAS_PARENT),
        # Which flows have steps that have ended? And which steps are these?
        _index(RUNS_UNTOLD, "untold", "_id", only=UNTOLD),
        # Which have waited, or gone on, for too long?
        _index(RUNS_BOUNDED, "bounded_ms", "_id", only=BOUNDED),
        # Does any run need this graph?
        _index(RUNS_GRAPH, "graph", only=FLOW),
        # The net under the watermark: no two runs of one tick. And no two runs in one slot. One index, since each
        # unique one costs with every run that a transaction removes; most runs are neither, and not in it.
        _index("sole", "sole", unique=True, only={"sole": _TEXT}),
    ],
    HISTORY: [
        # A schedule's history, newest first; and how many of it to forget.
        _index("schedule", "kept_by", "_id"),
        # How old is the oldest?
        _index("finished", "finished_ms"),
        # What went wrong? Nearly everything succeeds and is not in it.
        _index("wrong", "state", "_id", only=WENT_WRONG),
        # What began late? Nearly everything begins on time and is not in it.
        _index("late", "_id", "late", only=LATE),
        # A task's runs, newest first.
        _index("task", "task", "_id"),
        # What did this node run? Newest first.
        _index("owner", "owner", "_id", only=OWNED),
        # Which were the parts of a broadcast, or followed a run?
        _index("parent", "parent_id", "_id", only=HAS_PARENT),
        # Does any run need this graph?
        _index("graph", "graph", only=FLOW),
        # What did the runs of a step return, in their order?
        _index("step", "parent_id", "step", "item", only=STEP),
        # What became of a schedule's ticks, newest moment first?
        _index("ticks", "schedule_id", "scheduled_ms", "_id", only={"schedule_id": _TEXT}),
    ],
    GRAPHS: [],
    FORGOTTEN: [],
    KEYS: [_index("expires", "expires_ms", only={"expires_ms": {"$gt": 0}})],
    # Who has long been gone?
    NODES: [_index("state", "state", "renewed_ms")],
    GATES: [],
    TASKS: [],
    DECISIONS: [_index(DECISIONS_SCHEDULE, "schedule_id", "_id"), _index("decided", "decided_ms")],
    CHANGES: [_index("schedule", "schedule", "seq"), _index("seq", "seq")],
    REVISIONS: [_index("schedule", "schedule_id", "revision", "seq"), _index("seq", "seq")],
    LOGS: [_index("run", "run_id", "seq")],
    # Who may use the HTTP API; and which sessions of a token are over?
    TOKENS: [],
    SESSIONS: [_index("token", "token", "expires_ms")],
    FREEZES: [],
    # Which is the last revision of its name, and which are new?
    VALUES: [_index("state", "state", "kind", "name")],
    # What was counted in these minutes, and what of it is old?
    MINUTES: [_index("minute", "minute_ms", "node_id")],
    # A schedule's hours, in order; and how old is the oldest?
    HOURS: [_index("place", "kept_by", "step", "hour_ms", unique=True), _index("hour", "hour_ms")],
    ROLLED: [],
    # Processes that are gone are forgotten after a day, by the server itself.
    WAKES: [IndexModel("at", name="at", expireAfterSeconds=86_400)],
    META: [],
}


def version_of(database: Database[Document]) -> int | None:
    """The version of the collections that are there; None where there are none."""
    found = database[META].find_one({"_id": "schema"})
    return None if found is None else int(found["version"])


def examine(database: Database[Document]) -> list[Finding]:
    """The version, and every index that is not there; nothing else makes one again."""
    found = [Finding(Level.OK, "schema", f"version {version_of(database)}")]
    for name, indexes in INDEXES.items():
        there = database[name].index_information()
        for index in (each.document for each in indexes):
            if index["name"] not in there:
                what = f"{index['name']} of the collection {name} is missing"
                found.append(Finding(Level.PROBLEM, "index", what, _in_mongosh(name, index)))
    return found if len(found) > 1 else [*found, Finding(Level.OK, "index", "all are there")]


def _in_mongosh(collection: str, index: Mapping[str, Any]) -> str:
    options = {name: value for name, value in index.items() if name != "key"}
    return f"db.{collection}.createIndex({json.dumps(dict(index['key']))}, {json.dumps(options)})"


def is_current(version: int, place: str) -> bool:
    """Whether nothing is to be done; `SchemaError` if a newer version of onthedot made these collections."""
    if version > HEAD:
        raise SchemaError(
            f"{place} has the collections of a newer onthedot (schema {version}, known here: {HEAD}); "
            "upgrade onthedot here"
        )
    return version == HEAD


def create(database: Database[Document]) -> None:
    """Everything that is missing; the version last, so that who finds it finds all. Any number may do it at once."""
    sure = WriteConcern("majority")
    for name, indexes in INDEXES.items():
        _make(database, name)
        if indexes:
            database.get_collection(name, write_concern=sure).create_indexes(indexes)
    meta = database.get_collection(META, write_concern=sure)
    meta.update_one({"_id": "schema"}, {"$set": {"version": HEAD}}, upsert=True)


def _make(database: Database[Document], name: str) -> None:
    try:
        database.create_collection(name, write_concern=WriteConcern("majority"))
    except CollectionInvalid:
        return  # the driver has seen that it is there
    except OperationFailure as error:
        if error.code != _EXISTS:  # somebody was faster than we looked
            raise
