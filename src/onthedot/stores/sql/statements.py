"""Every statement of the store, built once, readable as a sentence.

`with_for_update` is the lock where a database has row locks; SQLite's compiler leaves it out, since a writing
transaction there has the whole file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    Integer,
    Select,
    String,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    union,
)

from onthedot.model.node import NodeState
from onthedot.stores import claimed_runs, mapping, open_flows
from onthedot.stores.counts import LATE_MS
from onthedot.stores.sql import tables
from onthedot.stores.sql.batches import Batch, changing, deleting
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.exactly import exactly
from onthedot.stores.sql.in_list import in_list, listed
from onthedot.stores.sql.tables import PLANNABLE, READY, WAITING

CHUNK = 500
"""How many ids one statement names at most."""
ONE = literal_column("1", Integer)


def _columns(table: Table, names: Sequence[str]) -> list[Column[Any]]:
    return [table.c[name] for name in names]


class Aging:
    """What of a table is old by a moment of its own; and how it is forgotten: found, locked as it was, deleted."""

    def __init__(self, key: Column[Any], moment: Column[int], *also: Any, in_order: bool = True) -> None:
        old = moment.between(bindparam("from_ms"), bindparam("before_ms"))
        oldest = select(key, moment).where(old, *also).limit(bindparam("most"))
        self.oldest = oldest.order_by(moment) if in_order else oldest
        self.in_order = in_order
        # What somebody works on is left to the next time; in order, so that two who forget never wait in a circle.
        self.locked = select(key, moment).where(in_list(key)).order_by(key).with_for_update(skip_locked=True)
        self.delete = deleting(key)


class Crowd:
    """Groups of a table, from one to the next, and what each has beyond its newest rows."""

    def __init__(self, group: Column[str], key: Column[Any], moment: Column[int]) -> None:
        self.newest = select(group).order_by(moment.desc()).limit(bindparam("most"))
        self.following = select(group).where(group > bindparam("after")).order_by(group).limit(literal_column("1"))
        self.beyond = _all_but_newest(key, moment, group == bindparam("group"))


def _all_but_newest(key: Column[Any], moment: Column[int], *which: Any) -> Select[Any]:
    """The rows that are kept are passed over in the index: only the others are read."""
    keys = select(key).where(*which).order_by(key.desc()).offset(bindparam("keep")).limit(bindparam("most")).subquery()
    return select(key, moment).join(keys, keys.c[0] == key)


# schedules

_schedules = tables.schedules.c
# Which modes there are says nothing new, but leads MariaDB and MySQL to them in the index of what can be planned.
HAS_ENDED = and_(tables.ENDED, _schedules.mode.in_([literal_column("'durable'"), literal_column("'local'")]))
SCHEDULE_COLUMNS = _columns(tables.schedules, mapping.SCHEDULE)
_SCHEDULES = select(*SCHEDULE_COLUMNS)
_IN_TURN = (_schedules.next_run_ms, _schedules.id)
_DUE = _SCHEDULES.where(PLANNABLE).order_by(*_IN_TURN).limit(bindparam("most"))

SCHEDULES_ON_TIME = _DUE.where(
    _schedules.next_run_ms.between(bindparam("from_ms"), bindparam("now_ms"))
).with_for_update(skip_locked=True, key_share=True)
SCHEDULES_OVERDUE = _DUE.where(
    _schedules.next_run_ms >= bindparam("floor_ms"), _schedules.next_run_ms < bindparam("from_ms")
).with_for_update(skip_locked=True, key_share=True)
COUNT_DUE = select(func.count()).select_from(
    select(_schedules.id)
    .where(PLANNABLE, _schedules.next_run_ms.between(bindparam("floor_ms"), bindparam("now_ms")))
    .order_by(*_IN_TURN)  # so that PostgreSQL does not take its chance with the whole table
    .limit(bindparam("most"))
    .subquery()
)
SCHEDULES_NAMED = _SCHEDULES.where(in_list(_schedules.name)).order_by(_schedules.id).with_for_update(key_share=True)
_BY_ID = _SCHEDULES.where(in_list(_schedules.id)).order_by(_schedules.id)
LOCK_SCHEDULES = _BY_ID.with_for_update(key_share=True)
SCHEDULES_IF_FREE = _BY_ID.with_for_update(skip_locked=True, key_share=True)
# Not whether it can be planned: that is as it was, like the version. PostgreSQL would take the index of what can be.
VERSIONS_IF_FREE = (
    select(_schedules.id, _schedules.version)
    .where(in_list(_schedules.id))
    .order_by(_schedules.id)
    .with_for_update(skip_locked=True, key_share=True)
)
IS_DUE = (
    select(_schedules.id)
    .where(PLANNABLE, _schedules.next_run_ms.between(bindparam("floor_ms"), bindparam("now_ms")))
    .order_by(*_IN_TURN)
    .limit(literal_column("1"))
)
COMING = (
    select(_schedules.id, _schedules.version)
    .where(PLANNABLE, _schedules.next_run_ms.between(bindparam("from_ms"), bindparam("until_ms")))
    .order_by(*_IN_TURN)
    .limit(bindparam("most"))
)
OVERDUE = _DUE.where(_schedules.next_run_ms < bindparam("before_ms"))
SCHEDULES_BY_ID = _BY_ID
SUMMARIES = select(_schedules.id, *_columns(tables.schedules, mapping.SUMMARY)).where(in_list(_schedules.id))
WATCHED = (
    select(_schedules.id)
    .where(_schedules.watch_ms.is_not(None), _schedules.watch_ms <= bindparam("now_ms"))
    .order_by(_schedules.watch_ms)
    .limit(bindparam("most"))
)
INSERT_SCHEDULES = Batch(insert(tables.schedules), (*mapping.SCHEDULE, *mapping.SCHEDULE_DERIVED))
MOVE_SCHEDULES = changing(tables.schedules.c.id, mapping.SCHEDULE_MOVING)
DEFINE_SCHEDULES = changing(tables.schedules.c.id, (*mapping.SCHEDULE[1:], *mapping.SCHEDULE_DERIVED))

# runs

_runs = tables.runs.c
RUNS = select(*_columns(tables.runs, mapping.RUN))
OLDEST_RUNS = RUNS.order_by(_runs.due_ms, _runs.id).limit(bindparam("most"))


def listed_in(column: Column[str], found: Select[Any]) -> Select[Any]:
    """Those of the listed values with which something is found: one look each, however many rows share it."""
    values = listed()
    one = found.where(column == values.c.value).limit(ONE).correlate(values)
    return select(values.c.value).where(one.scalar_subquery().is_not(None))


# MariaDB would rather read every run than look up some hundred schedules.
LIVE_OF = RUNS.where(in_list(_runs.schedule_id)).with_hint(
    tables.runs, "FORCE INDEX (onthedot_runs_schedule)", dialect_name="mysql"
)
LIVE_BESIDE = LIVE_OF.limit(bindparam("most"))
WITH_LIVE = select(_runs.schedule_id).where(in_list(_runs.schedule_id)).distinct()
CROWDED = listed_in(_runs.schedule_id, select(_runs.id).offset(bindparam("few")))
_OF_SCHEDULE = OLDEST_RUNS.where(_runs.schedule_id == bindparam("schedule_id"))
RUNNING_OF = _OF_SCHEDULE.where(_runs.state == literal_column("'running'"))
WAITING_OF = _OF_SCHEDULE.where(WAITING)
_LIVE_RUNS = RUNS.where(in_list(_runs.id)).order_by(_runs.id)
LIVE_RUNS = _LIVE_RUNS.with_for_update()
LIVE_RUNS_IF_FREE = _LIVE_RUNS.with_for_update(skip_locked=True)
# With a column that the index of schedules has not: PostgreSQL might else read all of that one.
SCHEDULES_OF = select(_runs.schedule_id, _runs.claim_no).where(in_list(_runs.id))
HELD = (
    select(*_columns(tables.runs, claimed_runs.COLUMNS)).where(in_list(_runs.id)).order_by(_runs.id).with_for_update()
)
_HELD_FLOWS = select(*_columns(tables.runs, open_flows.COLUMNS)).where(in_list(_runs.id)).order_by(_runs.id)
HELD_FLOWS = _HELD_FLOWS.with_for_update()
HELD_FLOWS_IF_FREE = _HELD_FLOWS.with_for_update(skip_locked=True)
OWNED_BY = RUNS.where(_runs.owner == bindparam("node_id"), _runs.state == literal_column("'running'")).order_by(
    _runs.id
)
CANCELS = select(_runs.id).where(
    _runs.owner == bindparam("node_id"),
    _runs.state == literal_column("'running'"),
    _runs.cancel_requested_ms.is_not(None),
)
LOAD = select(_runs.owner, func.count()).where(tables.OWNED, ~tables.HAS_ENDED).group_by(_runs.owner)


def _coming(what: str, moment: Column[int], condition: Any) -> tuple[Select[*tuple[Any, ...]], Select[str, int]]:
    """The earliest moment, and all those between two others: each by the index, however many share one."""
    of = literal_column(f"'{what}'", String)
    lies_ahead = moment.between(bindparam("from_ms"), bindparam("until_ms"))
    # Not min(): MariaDB would look at all of them, since the condition is not wholly in its index.
    in_turn = select(moment).where(condition, moment <= bindparam("until_ms")).order_by(moment)
    earliest = in_turn.limit(ONE).subquery()
    return select(of, earliest.c[0]), select(of, moment).where(condition, lies_ahead).distinct()


UPCOMING = union(
    *_coming("schedule", _schedules.next_run_ms, PLANNABLE),
    *_coming("run", _runs.due_ms, READY),
)
INSERT_RUNS = Batch(insert(tables.runs), mapping.LIVE)
MOVE_RUNS = changing(tables.runs.c.id, mapping.RUN_MOVING)
MOVE_LEDGERS = changing(tables.runs.c.id, ("ledger",))
DELETE_LIVE = deleting(_runs.id)

# history

_history = tables.history.c
_HISTORY = select(*_columns(tables.history, mapping.RUN))
INSERT_HISTORY = Batch(insert(tables.history), (*mapping.RUN, "kept_by", "late"))
ENDED_RUNS = _HISTORY.where(in_list(_history.id))
SUCCEEDED_SINCE = (
    select(_history.id)
    .where(
        _history.kept_by == bindparam("kept_by"),
        _history.state == literal_column("'succeeded'"),
        _history.finished_ms >= bindparam("since_ms"),
    )
    .order_by(_history.id.desc())
    .limit(1)
)
DELETE_ENDED = deleting(_history.id)
NEWEST_LIVE = RUNS.order_by(_runs.id.desc())
NEWEST_ENDED = _HISTORY.order_by(_history.id.desc())

# flows: their steps, and what was drawn

STEPS_OF = (
    select(*_columns(tables.runs, mapping.STEP))
    .where(in_list(_runs.parent_id), _runs.step.is_not(None))
    .order_by(_runs.id)
)
# Their flow's lock is held, so they are as they were read. With nothing but their rows: they were written as they end.
TELL = insert(tables.history).from_select(
    (*mapping.RUN, "kept_by", "late"),
    select(
        *_columns(tables.runs, mapping.RUN),
        func.coalesce(_runs.schedule, literal_column("''")),
        case((_runs.started_ms - _runs.due_ms > literal_column(f"{LATE_MS}"), ONE), else_=literal_column("0")),
    ).where(in_list(_runs.id)),
)
DELETE_TOLD = delete(tables.runs).where(in_list(_runs.id))
UNTOLD = (
    select(_runs.parent_id)
    .where(tables.UNTOLD, _runs.parent_id > bindparam("after"))
    .distinct()
    .order_by(_runs.parent_id)
    .limit(bindparam("most"))
)
PAST_UNTIL = (
    RUNS.where(
        _runs.until_ms <= bindparam("now_ms"),
        or_(WAITING, and_(_runs.state == literal_column("'running'"), _runs.graph.is_not(None))),
    )
    .order_by(_runs.until_ms, _runs.id)
    .limit(bindparam("most"))
)


def _results(table: Table, *also: Any) -> Select[Any]:
    """Of one step. One that is not mapped has no item, and is the first."""
    columns = table.c.item, table.c.state, table.c.result, table.c.created_ms
    of_step = and_(exactly(table.c.parent_id, bindparam("flow_id")), exactly(table.c.step, bindparam("step")), *also)
    return select(*columns).where(of_step).order_by(table.c.item, table.c.created_ms.desc()).limit(bindparam("most"))


RESULTS = [
    part
    for table, ended in ((tables.runs, tables.HAS_ENDED), (tables.history, None))
    for part in (
        _results(table, table.c.item >= bindparam("first_item"), *([] if ended is None else [ended])),
        _results(table, table.c.item.is_(None), *([] if ended is None else [ended])),
    )
]
_graphs = tables.graphs.c
GRAPHS = select(_graphs.hash, _graphs.content).where(in_list(_graphs.hash))
KEPT_GRAPHS = select(_graphs.hash, _graphs.seen_ms).where(in_list(_graphs.hash)).with_for_update()
INSERT_GRAPHS = Batch(insert(tables.graphs), mapping.GRAPH)
SEE_GRAPHS = changing(_graphs.hash, ("seen_ms",))

# keys

_keys = tables.keys.c
KEYS = select(*_columns(tables.keys, mapping.KEY)).where(in_list(_keys.key)).order_by(_keys.key)
LOCK_KEYS = KEYS.with_for_update()
INSERT_KEYS = Batch(insert(tables.keys), mapping.KEY)
CHANGE_KEYS = changing(_keys.key, mapping.KEY[1:])

# nodes and their tasks

_nodes = tables.nodes.c
_LIVES = _nodes.state.in_([NodeState.ALIVE.value, NodeState.DRAINING.value])
_NODES = select(*_columns(tables.nodes, mapping.NODE))
_THE_NODE = _NODES.where(_nodes.id == bindparam("node_id"))
NODE = _THE_NODE.with_for_update(key_share=True)
NODE_SHARED = _THE_NODE.with_for_update(read=True)


@cache
def clock_of(dialect: Dialect) -> Select[Any]:
    """The server's time in milliseconds."""
    assert dialect.clock is not None
    return select(dialect.clock)


@cache
def with_clock(statement: Select[Any], dialect: Dialect) -> Select[Any]:
    """The same, and in a last column the server's time."""
    assert dialect.clock is not None
    return statement.add_columns(dialect.clock)


NODES = _NODES.where(_LIVES).order_by(_nodes.started_ms, _nodes.id)
_IS_GONE = _nodes.state.in_([NodeState.STOPPED.value, NodeState.DEAD.value])
GONE_NODES = _NODES.where(_IS_GONE).order_by(_nodes.renewed_ms.desc(), _nodes.id.desc()).limit(bindparam("most"))
INSERT_NODES = Batch(insert(tables.nodes), mapping.NODE)
CHANGE_NODES = changing(tables.nodes.c.id, mapping.NODE[1:])
DELETE_NODES = deleting(tables.nodes.c.id)
TASKS = (
    select(*_columns(tables.tasks, mapping.TASK))
    .join(tables.nodes, tables.nodes.c.id == tables.tasks.c.node_id)
    .where(_LIVES)
    .order_by(_nodes.started_ms, _nodes.id)
)
INSERT_TASKS = Batch(insert(tables.tasks), mapping.TASK)
DELETE_TASKS = deleting(tables.tasks.c.node_id)

# who may use the HTTP API

_tokens = tables.tokens.c
_sessions = tables.sessions.c
TOKENS = select(*_columns(tables.tokens, mapping.TOKEN)).order_by(_tokens.name)
TOKEN = TOKENS.where(exactly(_tokens.name, bindparam("name")))
LOCK_TOKEN = TOKEN.with_for_update()
INSERT_TOKENS = Batch(insert(tables.tokens), mapping.TOKEN)
DELETE_TOKENS = deleting(_tokens.name)
SESSION = select(*_columns(tables.sessions, mapping.SESSION)).where(exactly(_sessions.id, bindparam("session_id")))
INSERT_SESSIONS = Batch(insert(tables.sessions), mapping.SESSION)
DELETE_SESSIONS = deleting(_sessions.id)
SESSIONS_UNTIL = delete(tables.sessions).where(
    _sessions.token == bindparam("of_token"), _sessions.expires_ms <= bindparam("until_ms")
)

# freezes

_freezes = tables.freezes.c
FREEZES = select(*_columns(tables.freezes, mapping.FREEZE)).order_by(_freezes.name)
LOCK_FREEZE = FREEZES.where(exactly(_freezes.name, bindparam("name"))).with_for_update()
INSERT_FREEZES = Batch(insert(tables.freezes), mapping.FREEZE)
CHANGE_FREEZES = changing(_freezes.name, mapping.FREEZE[1:])
DELETE_FREEZES = deleting(_freezes.name)
# what triggers name

_values = tables.values.c
VALUES = select(*_columns(tables.values, mapping.VALUE)).order_by(_values.kind, _values.name)
_HEADS = VALUES.where(_values.state.in_(["new", "latest", "gone"]))
HEADS = VALUES.where(_values.state.in_(["new", "latest"]))
NEW_VALUES = VALUES.where(_values.state == literal_column("'new'"))
_HEAD = _HEADS.where(_values.kind == bindparam("kind"), exactly(_values.name, bindparam("name")))
HEAD = _HEAD
LOCK_HEAD = _HEAD.with_for_update()
SHARE_HEAD = _HEAD.with_for_update(read=True)
VALUES_BY_ID = VALUES.where(in_list(_values.id))
INSERT_VALUES = Batch(insert(tables.values), mapping.VALUE)
CHANGE_VALUES = changing(_values.id, ("state",))
DELETE_VALUES = deleting(_values.id)

# append only

ADD_LOG = Batch(insert(tables.logs), mapping.LOG)
ADD_DECISIONS = Batch(insert(tables.decisions), mapping.DECISION)
CHANGE_DECISIONS = changing(tables.decisions.c.id, mapping.DECISION[1:])
ADD_CHANGES = Batch(insert(tables.changes), mapping.CHANGE)
ADD_REVISIONS = Batch(insert(tables.revisions), mapping.REVISION)

_decisions = tables.decisions.c
_DECISIONS = select(*_columns(tables.decisions, mapping.DECISION))
TOUCHING = (
    _DECISIONS.where(_decisions.first_ms <= bindparam("last_ms"), _decisions.last_ms >= bindparam("first_ms"))
    .order_by(_decisions.id.desc())
    .limit(bindparam("most"))
)
DECISIONS = TOUCHING.where(exactly(_decisions.schedule_id, bindparam("schedule_id")))
DECISIONS_BY_ID = _DECISIONS.where(in_list(_decisions.id))


def _last_decisions() -> Select[Any]:
    """The newest one of each schedule; its id only, by which the rest is found."""
    schedules = listed()
    newest = select(_decisions.id).where(_decisions.schedule_id == schedules.c.value)
    return select(newest.order_by(_decisions.id.desc()).limit(ONE).correlate(schedules).scalar_subquery()).select_from(
        schedules
    )


LAST_DECISIONS = _last_decisions()
CHANGES = (
    select(*_columns(tables.changes, mapping.CHANGE)).order_by(tables.changes.c.seq.desc()).limit(bindparam("most"))
)
CHANGES_OF = CHANGES.where(exactly(tables.changes.c.schedule, bindparam("schedule")))
_line_before = tables.changes.alias()
# None where that line is forgotten: nothing is before it.
_OLDER = (
    tables.changes.c.seq
    < select(_line_before.c.seq).where(exactly(_line_before.c.id, bindparam("before"))).limit(ONE).scalar_subquery()
)
CHANGES_BEFORE = CHANGES.where(_OLDER)
CHANGES_OF_BEFORE = CHANGES_OF.where(_OLDER)
CHANGES_ASKED_BY = {
    (): CHANGES,
    ("schedule",): CHANGES_OF,
    ("before",): CHANGES_BEFORE,
    ("schedule", "before"): CHANGES_OF_BEFORE,
}
REVISIONS = (
    select(tables.revisions.c.body)
    .where(exactly(tables.revisions.c.schedule_id, bindparam("schedule_id")))
    .order_by(tables.revisions.c.revision, tables.revisions.c.seq)
)
LOGS = (
    select(*_columns(tables.logs, mapping.LOG))
    .where(exactly(tables.logs.c.run_id, bindparam("run_id")))
    .order_by(tables.logs.c.seq)
    .offset(bindparam("skip"))
    .limit(bindparam("most"))
)

_minutes = tables.minutes.c
MINUTES = (
    select(*_columns(tables.minutes, mapping.MINUTE))
    .where(_minutes.minute_ms.between(bindparam("first_ms"), bindparam("last_ms")))
    .order_by(_minutes.minute_ms, _minutes.node_id)
)
INSERT_MINUTES = Batch(insert(tables.minutes), mapping.MINUTE)
DELETE_MINUTE = delete(tables.minutes).where(
    _minutes.minute_ms == bindparam("minute_ms"), _minutes.node_id == bindparam("node_id")
)
FORGET_MINUTES = delete(tables.minutes).where(_minutes.minute_ms < bindparam("before_ms"))
VERSION = select(tables.meta.c.version_num)

# forgetting

# Steps go with their flow: few are left that are older than it. Nor are they counted: they are kept by nobody.
_OF_A_FLOW = and_(_history.step.is_not(None), _history.schedule_id.is_(None))
ENDED = Aging(_history.id, _history.finished_ms, ~_OF_A_FLOW)
ENDED_CROWD = Crowd(_history.kept_by, _history.id, _history.finished_ms)
FLOWS_AMONG = select(_history.id).where(in_list(_history.id), _history.graph.is_not(None))
_forgotten = tables.forgotten.c
FORGET_FLOWS = Batch(insert(tables.forgotten), ("id",))
FORGOTTEN = select(_forgotten.id).order_by(_forgotten.id).limit(bindparam("most"))
STEPS_LEFT = (
    select(_history.id, _history.finished_ms).where(in_list(_history.parent_id), _OF_A_FLOW).limit(bindparam("most"))
)
BARE_FLOWS = FORGOTTEN.where(
    ~select(_history.id).where(_history.parent_id == _forgotten.id, _OF_A_FLOW).exists(),
    ~select(_runs.id).where(_runs.parent_id == _forgotten.id, _runs.step.is_not(None)).exists(),
)
DELETE_FORGOTTEN = deleting(_forgotten.id)
SEEN = Aging(_graphs.hash, _graphs.seen_ms)


def _unused_graphs() -> Select[Any]:
    """Of a page of graphs: hash, when they were seen, and whether anything but other graphs refers to them."""
    page = select(_graphs.hash, _graphs.name, _graphs.seen_ms).where(_graphs.hash > bindparam("after"))
    each = page.order_by(_graphs.hash).limit(bindparam("most")).subquery("each")
    task = literal_column("'@'", String).concat(each.c.name)
    named = literal_column("'%'", String).concat(each.c.hash).concat(literal_column("'%'", String))
    of_flow = select(_schedules.id).where(_schedules.task == task)
    revised = select(tables.revisions.c.seq).where(
        tables.revisions.c.schedule_id.in_(of_flow.correlate(each)), tables.revisions.c.body.like(named)
    )
    used = or_(
        select(_runs.id).where(_runs.graph == each.c.hash).exists(),
        select(_history.id).where(_history.graph == each.c.hash).exists(),
        of_flow.where(_schedules.definition.like(named)).exists(),
        revised.exists(),
    )
    return select(each.c.hash, each.c.seen_ms, case((used, ONE), else_=literal_column("0")))


GRAPHS_PAGE = _unused_graphs()
OTHERS_WITH = (
    select(_graphs.hash)
    .where(_graphs.hash != bindparam("of"), _graphs.content.like(bindparam("part")))
    .limit(literal_column("1"))
)
_logs = tables.logs.c
# By way of the runs, whose ids are unique: PostgreSQL would else hope to come upon lines by reading all of them.
LINES = (
    select(_logs.seq)
    .join(tables.history, _history.id == _logs.run_id)
    .where(in_list(_history.id))
    .limit(bindparam("most"))
)
WITH_LINES = select(_history.id).where(
    in_list(_history.id), select(_logs.seq).where(_logs.run_id == _history.id).exists()
)
DELETE_LINES = deleting(_logs.seq)

DECIDED = Aging(_decisions.id, _decisions.decided_ms)
DECIDED_CROWD = Crowd(_decisions.schedule_id, _decisions.id, _decisions.decided_ms)

# Keys of ticks (t:…) go only with their schedule: they are what keeps a backfill from running twice.
EXPIRED = Aging(_keys.key, _keys.expires_ms, _keys.key.not_like("t:%"))
KEYS_BETWEEN = (
    select(_keys.key).where(_keys.key >= bindparam("first"), _keys.key < bindparam("last")).limit(bindparam("most"))
)

_changes = tables.changes.c
CHANGED = Aging(_changes.seq, _changes.at_ms)
CHANGED_CROWD = _all_but_newest(_changes.seq, _changes.at_ms)
# Each by itself: SQLite would read the whole table for both at once.
CHANGED_SPAN = select(
    select(func.max(_changes.seq)).scalar_subquery() - select(func.min(_changes.seq)).scalar_subquery()
)

GONE = Aging(
    _nodes.id,
    _nodes.renewed_ms,
    _IS_GONE,
    ~select(_runs.id).where(_runs.owner == _nodes.id).exists(),
    in_order=False,  # two states are two ranges of the index
)

TOMBSTONES = Aging(
    _schedules.id,
    _schedules.updated_ms,
    tables.TOMBSTONE,
    _schedules.settled_ms <= bindparam("before_ms"),
    ~select(_runs.id).where(_runs.schedule_id == _schedules.id).exists(),
    ~select(_history.id).where(_history.kept_by == _schedules.name).exists(),
    ~select(_decisions.id).where(_decisions.schedule_id == _schedules.id).exists(),
)

_revisions = tables.revisions.c
REVISED = Aging(_revisions.seq, _revisions.made_ms)
DELETE_REVISIONS_OF = deleting(_revisions.schedule_id)


def _revisions_and_their_ends() -> Select[Any]:
    """A page of definitions, each with the moment at which the next one took its place."""
    page = select(tables.revisions).where(_revisions.seq > bindparam("after")).order_by(_revisions.seq)
    page_of = page.limit(bindparam("most")).subquery()
    following = tables.revisions.alias()
    # By number, not by order: MariaDB finds "the first one after" a value of another table only by reading all before.
    replaced_ms = (
        select(func.min(following.c.made_ms))
        .where(following.c.schedule_id == page_of.c.schedule_id, following.c.revision == page_of.c.revision + 1)
        .scalar_subquery()
    )
    columns = (page_of.c[name] for name in ("seq", "made_ms", "schedule_id", "revision"))
    return select(*columns, replaced_ms)


REVISIONS_PAGE = _revisions_and_their_ends()
# Of one schedule: the revision of the oldest ended run, that of the oldest live one, and the first moment of the oldest
# decision.
OLDEST_OF = select(
    select(_history.revision)
    .where(
        _history.kept_by == select(_schedules.name).where(_schedules.id == bindparam("schedule_id")).scalar_subquery()
    )
    .order_by(_history.id)
    .limit(literal_column("1"))
    .scalar_subquery(),
    select(func.min(_runs.revision)).where(_runs.schedule_id == bindparam("schedule_id")).scalar_subquery(),
    select(_decisions.first_ms)
    .where(_decisions.schedule_id == bindparam("schedule_id"))
    .order_by(_decisions.id)
    .limit(literal_column("1"))
    .scalar_subquery(),
)

_hours = tables.hours.c
COUNTED = Aging(_hours.seq, _hours.hour_ms)
