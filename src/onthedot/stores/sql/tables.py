"""The tables. Moments are whole milliseconds since 1970, JSON is text, truth is 0 or 1: the same on every database.

Indexes cost with every write, so each one here is asked for by a statement that must stay fast whatever the number of
rows; the comment beside it says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    and_,
    event,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import literal_column

from onthedot.model.states import FINAL, State
from onthedot.stores.sql import PREFIX

metadata = MetaData()

_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts rows by itself only under INTEGER


class _MediumText(Text):
    """16 MB: the TEXT of MySQL ends at 64 kB. SQLAlchemy's own name for it comes with all that it knows of MySQL."""


@compiles(_MediumText, "mysql")
def _medium_text(*_: Any, **__: Any) -> str:
    return "MEDIUMTEXT"


_LONG = Text().with_variant(_MediumText(), "mysql")


def qualified(connection: Connection, name: str) -> str:
    """The name of a table for a statement in the database's own words: with its schema, where it is in one."""
    schema: str | None = (connection.get_execution_options().get("schema_translate_map") or {}).get(None)
    return name if schema is None else f'"{schema.replace(chr(34), chr(34) * 2)}"."{name}"'


def _partly(*_: Any, dialect: Dialect, **__: Any) -> bool:
    """Whether an index may be of some rows only: see docs/decisions/0010-indexes-without-conditions.md"""
    return dialect.name != "mysql"


_DETAILS: dict[Index, Mapping[str, object]] = {}


def _index(
    name: str,
    *columns: Column[Any],
    where: ColumnElement[bool] | None = None,
    unique: bool = False,
    mysql_length: int | None = None,
) -> Index:
    """Of all rows; on SQLite and PostgreSQL only of those that fit `where`. MySQL wants to know how much of a text."""
    index = Index(name, *columns, unique=unique)
    if where is not None:
        _DETAILS[index] = {"sqlite_where": where, "postgresql_where": where}
    if mysql_length is not None:
        _DETAILS[index] = {"mysql_length": {columns[0].name: mysql_length}}
    return index


def complete(*_: Any, **__: Any) -> None:
    """Tell tables and indexes what only some databases are told; needed to make them, and not to ask anything:
    SQLAlchemy loads all that it knows of these databases for it, which is a tenth of what a short command costs."""
    for index, details in _DETAILS.items():
        index.dialect_kwargs.update(details)
    for table in metadata.tables.values():
        table.dialect_kwargs.update(mysql_engine="InnoDB", mysql_charset="utf8mb4", mysql_collate="utf8mb4_bin")


event.listen(metadata, "before_create", complete)


def _string(length: int) -> String:
    """Compared and ordered byte by byte, whatever language the database speaks (MySQL: see the end)."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def _id(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(name, _string(36), primary_key=primary_key, nullable=nullable)


def _name(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, _string(200), nullable=nullable)


def _lane(name: str, *, nullable: bool = False) -> Column[str]:
    """What a run waits for, or who may take it: a word, and up to an id and a name."""
    return Column(name, _string(250), nullable=nullable)


def _word(name: str) -> Column[str]:
    return Column(name, String(20), nullable=False)


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, _LONG, nullable=nullable)


def _ms(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _count(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=nullable)


def _flag(name: str) -> Column[int]:
    return Column(name, SmallInteger, nullable=False)


def _sequence() -> Column[int]:
    return Column("seq", _NUMBER, primary_key=True, autoincrement=True)


schedules = Table(
    f"{PREFIX}schedules",
    metadata,
    _id("id", primary_key=True),
    _name("name"),
    _name("task"),
    _text("args"),
    _text("policy"),
    _text("tags"),
    _word("mode"),
    _text("uses"),
    _text("definition"),  # all else that only a put changes: see docs/decisions/0042-one-definition.md
    _count("revision"),
    _ms("created_ms"),
    _flag("enabled"),
    _text("paused_note", nullable=True),
    _text("error", nullable=True),
    _flag("deleted"),
    _ms("declared_seen_ms", nullable=True),
    _ms("next_run_ms", nullable=True),
    _flag("rescheduled"),
    _count("skips"),
    _text("frozen", nullable=True),
    _ms("settled_ms"),
    _ms("last_run_ms", nullable=True),
    _ms("last_enqueued_ms", nullable=True),
    _ms("version"),
    _ms("fence"),
    _ms("planned_runs"),
    _text("routed"),
    _count("plan_attempts"),
    _ms("updated_ms"),
    _ms("left_out_ms", nullable=True),
    _ms("watch_ms", nullable=True),
    _ms("watched_ms", nullable=True),
    _count("priority"),  # of the policy, for queries
    _flag("followed"),  # whether anything follows the ends of its runs: see `rules.plain`
)

# Written out, never bound: SQLite uses a partial index only where the statement repeats its condition word by word.
PLANNABLE = and_(
    schedules.c.enabled == literal_column("1"),
    schedules.c.deleted == literal_column("0"),
    schedules.c.error.is_(None),
    schedules.c.mode == literal_column("'durable'"),
)

_index("onthedot_schedules_name", schedules.c.name, unique=True)
# Which schedules are due? The id is in it because ten thousand at one moment would otherwise be sorted for each batch.
_index(
    "onthedot_schedules_due",
    schedules.c.next_run_ms,
    schedules.c.id,
    where=PLANNABLE,
).ddl_if(callable_=_partly)
_index(
    "onthedot_schedules_plannable",
    *(schedules.c[name] for name in ("enabled", "deleted", "mode", "next_run_ms", "id")),
).ddl_if(dialect="mysql")
# Which are local? Asked by every node once a second; most schedules are not in it.
LOCAL = schedules.c.mode == literal_column("'local'")
_index("onthedot_schedules_local", schedules.c.name, where=LOCAL).ddl_if(callable_=_partly)
_index("onthedot_schedules_mode", schedules.c.mode, schedules.c.name).ddl_if(dialect="mysql")
# Which tombstones are old? Not by the watermark, which would be written here with every tick.
TOMBSTONE = schedules.c.deleted == literal_column("1")
_index("onthedot_schedules_tombstones", schedules.c.updated_ms, where=TOMBSTONE).ddl_if(callable_=_partly)
_index("onthedot_schedules_deleted", schedules.c.deleted, schedules.c.updated_ms).ddl_if(dialect="mysql")
# Which run this task? And in whose name or task is this text? That is read here, without the rows, so tombstones must
# be told from others; but not first, or SQLite would take it for all that asks for no tombstones.
LISTED = schedules.c.deleted == literal_column("0")
_index("onthedot_schedules_task", schedules.c.task, schedules.c.name, schedules.c.deleted)
# Which name this calendar, or this trigger? Most name none, and are not in it.
USING = and_(LISTED, schedules.c.uses != literal_column("'[]'"))
_index("onthedot_schedules_uses", schedules.c.name, where=USING).ddl_if(callable_=_partly)
_index("onthedot_schedules_using", schedules.c.uses, mysql_length=3).ddl_if(dialect="mysql")
# In which has a freeze a window? None, as a rule.
FROZEN = and_(LISTED, schedules.c.frozen.is_not(None))
_index("onthedot_schedules_frozen", schedules.c.name, where=FROZEN).ddl_if(callable_=_partly)
_index("onthedot_schedules_windows", schedules.c.frozen, mysql_length=1).ddl_if(dialect="mysql")
# Which are parked, paused, or have ended? Nearly all are active, and in none of these. MariaDB and MySQL find the
# paused and the ended ones in the index of what can be planned.
PARKED = and_(LISTED, schedules.c.error.is_not(None))
PAUSED = and_(LISTED, schedules.c.error.is_(None), schedules.c.enabled == literal_column("0"))
_GOES_ON = and_(LISTED, schedules.c.error.is_(None), schedules.c.enabled == literal_column("1"))
ENDED = and_(_GOES_ON, schedules.c.next_run_ms.is_(None))
ACTIVE = and_(_GOES_ON, schedules.c.next_run_ms.is_not(None))
for _state, _which in (("parked", PARKED), ("paused", PAUSED), ("ended", ENDED)):
    _index(f"onthedot_schedules_{_state}", schedules.c.name, where=_which).ddl_if(callable_=_partly)
# Which does nobody declare any more, and which have left out ticks of late? Most were never declared, or left out none.
_DECLARED = schedules.c.declared_seen_ms.is_not(None)
_LEFT_OUT = schedules.c.left_out_ms.is_not(None)
_index(
    "onthedot_schedules_declared",
    schedules.c.declared_seen_ms,
    where=_DECLARED,
)
_index("onthedot_schedules_left_out", schedules.c.left_out_ms, where=_LEFT_OUT)
# Of which must somebody see whether they are overdue? Most have no alert that asks for it.
_WATCHED = schedules.c.watch_ms.is_not(None)
_index("onthedot_schedules_watch", schedules.c.watch_ms, where=_WATCHED)
_index("onthedot_schedules_error", schedules.c.error, mysql_length=1).ddl_if(dialect="mysql")


def _run_columns() -> list[Column[str] | Column[int]]:
    return [
        _id("id", primary_key=True),
        _name("task"),
        _word("cause"),
        _ms("scheduled_ms"),
        _ms("due_ms"),
        _word("state"),
        _text("args"),
        _text("policy"),
        _id("schedule_id", nullable=True),
        _name("schedule", nullable=True),
        _count("revision", nullable=True),
        Column("key", _string(700), nullable=True),
        _id("target", nullable=True),
        _id("parent_id", nullable=True),
        _id("owner", nullable=True),
        _count("claim_no"),
        _count("attempt"),
        _count("crashes"),
        _ms("fence"),
        Column("slot", _string(60), nullable=True),
        _lane("waits_for", nullable=True),
        _flag("exempt"),
        _ms("cancel_requested_ms", nullable=True),
        _ms("created_ms"),
        _ms("started_ms", nullable=True),
        _ms("finished_ms", nullable=True),
        _text("result", nullable=True),
        _text("error", nullable=True),
        _text("reason", nullable=True),
        Column("trace", _string(60), nullable=True),
        _text("progress", nullable=True),
        _text("earlier", nullable=True),  # attempts, where there was more than one
        _ms("until_ms", nullable=True),
        Column("graph", _string(64), nullable=True),
        _text("ledger", nullable=True),
        _name("step", nullable=True),
        _count("item", nullable=True),
        _count("size", nullable=True),
        Column("remote", _string(210), nullable=True),
    ]


# Waiting and running runs only: it stays small however long the history.
runs = Table(
    f"{PREFIX}runs",
    metadata,
    *_run_columns(),
    _count("priority"),
    _flag("ranked"),  # whether its priority is another than 0: most have none
    _id("apart"),  # empty for a tick, the run's own id for anything else: ticks of one moment clash, manual runs do not
    Column("pool", String(20), nullable=True),  # of the policy, for queries
    _lane("lane"),  # where it stands while it waits: see `stores.lanes`
    # Whether nothing but its own row is touched when it begins (see `rules.plain`). Behind a limit: how many places its
    # group has, if a place is all that it needs.
    _flag("plain"),
)
WAITING = runs.c.state == literal_column("'waiting'")
RANKED = and_(WAITING, runs.c.ranked == literal_column("1"))
READY = and_(WAITING, runs.c.waits_for.is_(None))

# Which runs of a lane are due? Oldest first, also where ten thousand are due at one moment; those with a priority
# apart. Task and pool are in it so that what is for others is passed by without being read.
_IN_LANE = (runs.c.lane, runs.c.ranked, runs.c.due_ms, runs.c.id, runs.c.task, runs.c.pool)
_index("onthedot_runs_lane", *_IN_LANE, where=WAITING).ddl_if(callable_=_partly)
_index("onthedot_runs_waiting", runs.c.state, *_IN_LANE).ddl_if(dialect="mysql")
# Which levels of priority has a lane, and which runs of one are due? Runs without a priority are not in it.
# `ranked` is, or SQLite would rather take the index above, and sort.
_OF_LEVELS = (runs.c.lane, runs.c.ranked, runs.c.priority, runs.c.due_ms, runs.c.id)
_index("onthedot_runs_levels", *_OF_LEVELS, where=RANKED).ddl_if(callable_=_partly)
_index("onthedot_runs_ranked", runs.c.state, *_OF_LEVELS).ddl_if(dialect="mysql")
# When is a run due next, of whatever lane?
_index("onthedot_runs_moment", runs.c.due_ms, where=READY).ddl_if(callable_=_partly)
_index("onthedot_runs_ready", runs.c.state, runs.c.waits_for, runs.c.due_ms).ddl_if(dialect="mysql")
# What is live of a schedule? Those that run, and the oldest that wait, however many do. And how many run, of any?
_index("onthedot_runs_schedule", runs.c.schedule_id, runs.c.state, runs.c.due_ms, runs.c.id)
# The net under the watermark: no two runs of one tick. One-off runs are not in it.
_OF_TICK = (runs.c.schedule_id, runs.c.scheduled_ms, runs.c.apart)
_index("onthedot_runs_tick", *_OF_TICK, unique=True, where=runs.c.schedule_id.is_not(None))
# What does a node run? Asked at every renewal.
OWNED = runs.c.owner.is_not(None)
_index("onthedot_runs_owner", runs.c.owner, where=OWNED)
# Which are the parts of a broadcast, or follow a run? Most are neither.
HAS_PARENT = runs.c.parent_id.is_not(None)
_index("onthedot_runs_parent", runs.c.parent_id, runs.c.id, where=HAS_PARENT)
# A row of a state that nobody knows has not ended.
HAS_ENDED = runs.c.state.in_([literal_column(f"'{state.value}'", String) for state in State if state in FINAL])
# Which steps have ended, and have not been told of to their flow? None, as a rule.
UNTOLD = and_(runs.c.state != literal_column("'waiting'"), runs.c.state != literal_column("'running'"))
_index("onthedot_runs_untold", runs.c.parent_id, where=UNTOLD).ddl_if(callable_=_partly)
# Which have waited, or gone on, for too long? Most may for ever.
_BOUNDED = runs.c.until_ms.is_not(None)
_index("onthedot_runs_until", runs.c.until_ms, where=_BOUNDED)
# Does any run need this graph? Most are no flows.
FLOW = runs.c.graph.is_not(None)
_index("onthedot_runs_graph", runs.c.graph, where=FLOW)
_HELD = runs.c.slot.is_not(None)
_index("onthedot_runs_slot", runs.c.slot, unique=True, where=_HELD)

history = Table(
    f"{PREFIX}history",
    metadata,
    *_run_columns(),
    Column(
        "kept_by", _string(201), nullable=False
    ),  # the schedule's name, or "/" and the task's: what `Retention` counts by
    _flag("late"),  # whether it began more than `LATE_MS` after it was due, for queries
)
# A schedule's history, newest first; and how many of it to forget.
_index("onthedot_history_schedule", history.c.kept_by, history.c.id)
# How old is the oldest?
_index("onthedot_history_finished", history.c.finished_ms)
# What went wrong? Nearly everything succeeds and is not in it.
WENT_WRONG = history.c.state != literal_column("'succeeded'")
_index(
    "onthedot_history_wrong",
    history.c.state,
    history.c.id,
    where=WENT_WRONG,
)
# What was late? Nearly everything is on time and is not in it.
LATE = history.c.late == literal_column("1")
_index("onthedot_history_late", history.c.late, history.c.id, where=LATE)
# What did a task, and a node, run last?
_index("onthedot_history_task", history.c.task, history.c.id)
_index("onthedot_history_owner", history.c.owner, history.c.id)
# Which were the parts of a broadcast, or followed a run?
_HAD_PARENT = history.c.parent_id.is_not(None)
_index(
    "onthedot_history_parent",
    history.c.parent_id,
    history.c.id,
    where=_HAD_PARENT,
)
# What did the runs of a step return, in their order?
_STEP = history.c.step.is_not(None)
_index(
    "onthedot_history_step",
    history.c.parent_id,
    history.c.step,
    history.c.item,
    where=_STEP,
)
# Does any run need this graph? Most are no flows.
_OF_GRAPH = history.c.graph.is_not(None)
_index("onthedot_history_graph", history.c.graph, where=_OF_GRAPH)
# What became of a schedule's ticks? One-off runs are not in it, nor the steps of flows and the shards of broadcasts.
TICK = history.c.schedule_id.is_not(None)
_index(
    "onthedot_history_tick",
    history.c.schedule_id,
    history.c.scheduled_ms,
    where=TICK,
).ddl_if(callable_=_partly)
_index("onthedot_history_moment", history.c.schedule_id, history.c.scheduled_ms).ddl_if(dialect="mysql")

# Graphs of flows, by the hash of their content.
graphs = Table(
    f"{PREFIX}graphs",
    metadata,
    Column("hash", _string(64), primary_key=True),
    _name("name"),
    _text("content"),
    _ms("seen_ms"),  # when somebody last asked to keep it
)

# Flows that are forgotten, and whose steps are to follow them.
forgotten = Table(f"{PREFIX}forgotten", metadata, _id("id", primary_key=True))

keys = Table(
    f"{PREFIX}keys",
    metadata,
    Column("key", _string(700), primary_key=True),
    _id("run_id"),
    _ms("expires_ms", nullable=True),
    _text("state", nullable=True),  # how the run ended; or what has been told of a schedule
)
_EXPIRES = keys.c.expires_ms.is_not(None)
_index("onthedot_keys_expires", keys.c.expires_ms, where=_EXPIRES)

decisions = Table(
    f"{PREFIX}decisions",
    metadata,
    _id("id", primary_key=True),
    _id("schedule_id"),
    _name("schedule"),
    _count("revision"),
    _word("reason"),
    _ms("first_ms"),
    _ms("last_ms"),
    _ms("count", nullable=True),
    _ms("decided_ms"),
    _text("detail"),
)
_index("onthedot_decisions_schedule", decisions.c.schedule_id, decisions.c.id)
# How old is the oldest? The id does not tell: one that grows has a new moment.
_index("onthedot_decisions_decided", decisions.c.decided_ms)

revisions = Table(
    f"{PREFIX}revisions",
    metadata,
    _sequence(),
    _id("schedule_id"),
    _count("revision"),
    _ms("made_ms"),
    _text("body"),
)
# A schedule's definitions; and by which one was replaced.
_index("onthedot_revisions_schedule", revisions.c.schedule_id, revisions.c.revision, revisions.c.seq)

changes = Table(
    f"{PREFIX}changes",
    metadata,
    _sequence(),
    _id("id"),
    _id("schedule_id"),
    _name("schedule"),
    _count("revision"),
    _ms("at_ms"),
    _text("who"),
    _text("surface"),
    _text("what"),
    _text("before"),
    _text("after"),
)
_index("onthedot_changes_schedule", changes.c.schedule, changes.c.seq)
# How old is the oldest?
_index("onthedot_changes_at", changes.c.at_ms)
# Where did a page end?
_index("onthedot_changes_id", changes.c.id)

nodes = Table(
    f"{PREFIX}nodes",
    metadata,
    _id("id", primary_key=True),
    _name("name"),
    _name("group", nullable=True),
    _text("labels"),
    _count("capacity"),
    _text("roles"),
    _text("tasks"),
    _word("state"),
    _text("pools"),
    _ms("started_ms"),
    _ms("renewed_ms"),
    _ms("renewals"),
    _ms("lease_ms"),
)
# Who lives, asked at every renewal; and who has long been gone.
_index("onthedot_nodes_state", nodes.c.state, nodes.c.renewed_ms)

tasks = Table(
    f"{PREFIX}tasks",
    metadata,
    _id("node_id", primary_key=True),
    Column("name", _string(200), primary_key=True),
    _text("parameters"),
    _text("doc"),
    _text("policy"),
    _word("pool"),
)

logs = Table(
    f"{PREFIX}logs",
    metadata,
    _sequence(),
    _id("run_id"),
    _count("claim_no"),
    _ms("at_ms"),
    _word("level"),
    _text("text"),
)
_index("onthedot_logs_run", logs.c.run_id, logs.c.seq)

# What each node counted in each minute; by minute, since the old ones are forgotten.
minutes = Table(
    f"{PREFIX}minutes",
    metadata,
    Column("minute_ms", BigInteger, primary_key=True, autoincrement=False),
    _id("node_id", primary_key=True),
    _text("body"),
)

# What was counted of the runs that ended in each hour, of a schedule or a task, and of each step of a flow.
hours = Table(
    f"{PREFIX}hours",
    metadata,
    _sequence(),
    Column("kept_by", _string(201), nullable=False),  # as in history; empty: of all runs
    _name("step"),
    _ms("hour_ms"),
    _text("body"),
)
# A schedule's hours, in order; and no two of one place.
_index("onthedot_hours_place", hours.c.kept_by, hours.c.step, hours.c.hour_ms, unique=True)
# How old is the oldest?
_index("onthedot_hours_hour", hours.c.hour_ms)

# One row, `ends`: the moment up to which runs that ended are counted.
rolled = Table(
    f"{PREFIX}rolled",
    metadata,
    Column("name", String(20), primary_key=True),
    _ms("through_ms"),
)

# Who may use the HTTP API; each stays until it is revoked.
tokens = Table(
    f"{PREFIX}tokens",
    metadata,
    Column("name", _string(200), primary_key=True),
    _word("role"),
    Column("digest", _string(64), nullable=False),
    _ms("created_ms"),
    _ms("expires_ms", nullable=True),
)

sessions = Table(
    f"{PREFIX}sessions",
    metadata,
    Column("id", _string(64), primary_key=True),
    _name("token"),
    Column("digest", _string(64), nullable=False),
    _ms("created_ms"),
    _ms("expires_ms"),
)
# Which sessions of a token are over?
_index("onthedot_sessions_token", sessions.c.token, sessions.c.expires_ms)

# Windows in which schedules are frozen: few, and read with every change of a schedule.
freezes = Table(f"{PREFIX}freezes", metadata, Column("name", _string(200), primary_key=True), _text("content"))
# What triggers name, each revision of it. Who is the last of its name, and which are new?
values = Table(
    f"{PREFIX}values",
    metadata,
    Column("id", _string(250), primary_key=True),
    _word("kind"),
    _name("name"),
    _count("rev"),
    _text("content"),
    Column("digest", _string(16), nullable=False),
    _ms("created_ms"),
    _word("state"),
)
_index("onthedot_values_state", values.c.state, values.c.kind, values.c.name)

# One row: the version of these tables. Alembic keeps it there too, so there are no two truths.
meta = Table(f"{PREFIX}meta", metadata, Column("version_num", String(32), primary_key=True))
meta.primary_key.name = f"{PREFIX}meta_pkc"
