"""Every statement of the store, built once, readable as a sentence.

`with_for_update` is the lock where a database has row locks; SQLite's compiler leaves it out, since a writing
transaction there has the whole file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Column,
    CompoundSelect,
    Connection,
    Delete,
    Insert,
    Select,
    String,
    Table,
    Update,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    union,
    union_all,
    update,
)

from onthedot.model.node import NodeState
from onthedot.stores import mapping
from onthedot.stores.mapping import Columns
from onthedot.stores.sql import claimed_runs as claims
from onthedot.stores.sql import mysql_batches as together
from onthedot.stores.sql import postgres_batches as unfolded
from onthedot.stores.sql import tables
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.in_list import among
from onthedot.stores.sql.tables import BLOCKED, PLAIN, PLANNABLE, RANKED, READY

CHUNK = 500
"""How many ids one statement names at most."""


class Batch:
    """A statement for many rows at once, given to the driver as plain tuples: a third of the cost of dicts."""

    def __init__(
        self, statement: Insert | Update | Delete, names: Sequence[str], key: Column[Any] | None = None
    ) -> None:
        """Of a statement for rows that are there, the last name is that of its `key`."""
        self._statement = (
            statement.values({name: bindparam(name) for name in names}) if isinstance(statement, Insert) else statement
        )
        self._names = tuple(names)
        self._key = key
        self._texts: dict[tuple[str, str, str | None], str | None] = {}

    def run(self, connection: Connection, rows: Sequence[Columns]) -> int:
        """Write the rows, each in the order of the names; how many there were, where the driver counts them."""
        if not rows:
            return 0
        if len(rows) > 1 and unfolded.is_possible(connection):
            if self._key is None:
                table = self._statement.table
                assert isinstance(table, Table)
                return unfolded.insert(connection, table, self._names, rows)
            return unfolded.change(connection, self._key, self._names[:-1], rows)
        if self._key is not None and len(rows) > 1 and together.is_needed(connection):
            return together.change(connection, self._key, self._names[:-1], rows)
        text = self._text(connection)
        if text is None:
            values = [dict(zip(self._names, row, strict=True)) for row in rows]
            return connection.execute(self._statement, values).rowcount
        return connection.exec_driver_sql(text, list(rows)).rowcount

    def _text(self, connection: Connection) -> str | None:
        """The statement in the database's own words; None where its driver takes no parameters by position."""
        schemas = connection.get_execution_options().get("schema_translate_map") or {}
        key = (connection.dialect.name, connection.dialect.paramstyle, schemas.get(None))
        if key not in self._texts:
            translated: dict[str, Any] = (
                {"schema_translate_map": schemas, "render_schema_translate": True} if schemas else {}
            )
            compiled = self._statement.compile(dialect=connection.dialect, **translated)
            in_order = compiled.positional and tuple(compiled.positiontup or ()) == self._names
            self._texts[key] = str(compiled) if in_order else None
        return self._texts[key]


def _columns(table: Table, names: Sequence[str]) -> list[Column[Any]]:
    return [table.c[name] for name in names]


def _changing(key: Column[Any], names: Sequence[str]) -> Batch:
    """Change these columns of the row whose key comes last."""
    statement = update(key.table).where(key == bindparam("this_key"))
    return Batch(statement.values({name: bindparam(name) for name in names}), (*names, "this_key"), key)


def _deleting(key: Column[Any]) -> Batch:
    """Delete the rows with this key."""
    return Batch(delete(key.table).where(key == bindparam("this_key")), ("this_key",), key)


class Aging:
    """What of a table is old by a moment of its own; and how it is forgotten: found, locked as it was, deleted."""

    def __init__(self, key: Column[Any], moment: Column[int], *also: Any, in_order: bool = True) -> None:
        old = moment.between(bindparam("from_ms"), bindparam("before_ms"))
        oldest = select(key, moment).where(old, *also).limit(bindparam("most"))
        self.oldest = oldest.order_by(moment) if in_order else oldest
        self.in_order = in_order
        # What somebody works on is left to the next time; in order, so that two who forget never wait in a circle.
        self.locked = select(key, moment).where(among(key)).order_by(key).with_for_update(skip_locked=True)
        self.delete = _deleting(key)


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
SCHEDULES_NAMED = _SCHEDULES.where(among(_schedules.name)).order_by(_schedules.id).with_for_update(key_share=True)
SCHEDULES_IF_FREE = (
    _SCHEDULES.where(among(_schedules.id)).order_by(_schedules.id).with_for_update(skip_locked=True, key_share=True)
)
STANDING = select(
    _schedules.id,
    _schedules.enabled,
    _schedules.deleted,
    _schedules.auto_remove,
    _schedules.next_run_ms,
    _schedules.then,
    _schedules.on_failure,
).where(among(_schedules.id))
INSERT_SCHEDULES = Batch(insert(tables.schedules), (*mapping.SCHEDULE, "priority"))
MOVE_SCHEDULES = _changing(tables.schedules.c.id, mapping.SCHEDULE_MOVING)
DEFINE_SCHEDULES = _changing(tables.schedules.c.id, (*mapping.SCHEDULE[1:], "priority"))

# runs

_runs = tables.runs.c
_RUNS = select(*_columns(tables.runs, mapping.RUN))


class Halves:
    """So many runs without a priority, and so many with one: each half is one range of an index, in its order."""

    def __init__(self, statement: Select[Any]) -> None:
        halves = [statement.where(_runs.ranked == literal_column(which)) for which in ("0", "1")]
        self._plain = union_all(*halves)
        self._nested = union_all(*(select(half.subquery()) for half in halves))

    def on(self, dialect: Dialect) -> CompoundSelect[Any]:
        """Nested only where it must be: MariaDB would write each half to a table of its own first."""
        return self._nested if dialect.nests_limits else self._plain


_OLDEST = _RUNS.order_by(_runs.due_ms, _runs.id).limit(bindparam("most"))
_MINE = _OLDEST.where(
    _runs.due_ms.between(bindparam("floor_ms"), bindparam("now_ms")),
    among(_runs.task),
    _runs.target.is_(None) | (_runs.target == bindparam("node_id")),
)
DUE_RUNS = Halves(_MINE.where(READY))
DUE_OF_LEVEL = _MINE.where(RANKED, _runs.priority == bindparam("priority"))


def _levels() -> Select[Any]:
    """Every priority of ready runs but 0, and its earliest moment: from one to the next, however many share it."""
    ranked = select(_runs.priority).where(RANKED).order_by(_runs.priority).limit(literal_column("1"))
    levels = select(ranked.scalar_subquery().label("priority")).cte("levels", recursive=True)
    following = ranked.where(_runs.priority > levels.c.priority).correlate(levels).scalar_subquery()
    levels = levels.union_all(select(following).where(levels.c.priority.is_not(None)))
    first = (
        select(_runs.due_ms)
        .where(RANKED, _runs.priority == levels.c.priority)
        .order_by(_runs.due_ms, _runs.id)
        .limit(literal_column("1"))
    )
    earliest = first.correlate(levels).scalar_subquery()
    return select(levels.c.priority, earliest).where(levels.c.priority.is_not(None))


LEVELS = _levels()
# MariaDB does not look for "more than" what a subquery is given by an index, but groups by jumping along one: only if
# all columns of the index that come before are in the group.
LEVELS_GROUPED = (
    select(_runs.priority, func.min(_runs.due_ms))
    .where(RANKED)
    .group_by(_runs.state, _runs.blocked, _runs.ranked, _runs.priority)
)
LIVE_OF = _RUNS.where(among(_runs.schedule_id)).order_by(_runs.id).with_for_update()
LIVE_RUNS = _RUNS.where(among(_runs.id)).order_by(_runs.id).with_for_update()
BEHIND = select(_runs.schedule_id).where(among(_runs.schedule_id), BLOCKED).distinct()
HELD = select(*_columns(tables.runs, claims.COLUMNS)).where(among(_runs.id)).order_by(_runs.id).with_for_update()
OWNED_BY = _RUNS.where(_runs.owner == bindparam("node_id"), _runs.state == literal_column("'running'")).order_by(
    _runs.id
)
CANCELS = select(_runs.id).where(
    _runs.owner == bindparam("node_id"),
    _runs.state == literal_column("'running'"),
    _runs.cancel_requested_ms.is_not(None),
)
STILL_READY = (
    select(_runs.id).where(among(_runs.id), READY).order_by(_runs.id).with_for_update(skip_locked=True, key_share=True)
)
BLOCKED_RUNS = Halves(
    _OLDEST.where(
        BLOCKED,
        _runs.due_ms.between(bindparam("from_ms"), bindparam("now_ms")),
        (_runs.due_ms > bindparam("from_ms")) | (_runs.id > bindparam("after_id")),
    )
)
ROUTED_RUNS = Halves(_OLDEST.where(READY, _runs.target.is_not(None), _runs.due_ms <= bindparam("now_ms")))


def _coming(what: str, moment: Column[int], condition: Any) -> tuple[Select[*tuple[Any, ...]], Select[str, int]]:
    """The earliest moment, and all those between two others: each by the index, however many share one."""
    of = literal_column(f"'{what}'", String)
    lies_ahead = moment.between(bindparam("from_ms"), bindparam("until_ms"))
    # Not min(): MariaDB would look at all of them, since the condition is not wholly in its index.
    in_turn = select(moment).where(condition, moment <= bindparam("until_ms")).order_by(moment)
    earliest = in_turn.limit(literal_column("1")).subquery()
    return select(of, earliest.c[0]), select(of, moment).where(condition, lies_ahead).distinct()


UPCOMING = union(
    *_coming("schedule", _schedules.next_run_ms, PLANNABLE),
    *_coming("run", _runs.due_ms, PLAIN),
    *_coming("run", _runs.due_ms, RANKED),
)
INSERT_RUNS = Batch(insert(tables.runs), mapping.LIVE)
MOVE_RUNS = _changing(tables.runs.c.id, mapping.RUN_MOVING)
DELETE_LIVE = _deleting(_runs.id)

# history

_history = tables.history.c
_HISTORY = select(*_columns(tables.history, mapping.RUN))
INSERT_HISTORY = Batch(insert(tables.history), (*mapping.RUN, "kept_by"))
ENDED_RUNS = _HISTORY.where(among(_history.id))
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
DELETE_ENDED = _deleting(_history.id)
NEWEST_LIVE = _RUNS.order_by(_runs.id.desc())
NEWEST_ENDED = _HISTORY.order_by(_history.id.desc())

# keys

_keys = tables.keys.c
KEYS = select(*_columns(tables.keys, mapping.KEY)).where(among(_keys.key)).order_by(_keys.key)
LOCK_KEYS = KEYS.with_for_update()
INSERT_KEYS = Batch(insert(tables.keys), mapping.KEY)
CHANGE_KEYS = _changing(_keys.key, mapping.KEY[1:])

# nodes and their tasks

_nodes = tables.nodes.c
_LIVES = _nodes.state.in_([NodeState.ALIVE.value, NodeState.DRAINING.value])
_NODES = select(*_columns(tables.nodes, mapping.NODE))
NODE = _NODES.where(_nodes.id == bindparam("node_id")).with_for_update(key_share=True)
NODES = _NODES.where(_LIVES).order_by(_nodes.started_ms, _nodes.id)
INSERT_NODES = Batch(insert(tables.nodes), mapping.NODE)
CHANGE_NODES = _changing(tables.nodes.c.id, mapping.NODE[1:])
TASKS = (
    select(*_columns(tables.tasks, mapping.TASK))
    .join(tables.nodes, tables.nodes.c.id == tables.tasks.c.node_id)
    .where(_LIVES)
    .order_by(_nodes.started_ms, _nodes.id)
)
INSERT_TASKS = Batch(insert(tables.tasks), mapping.TASK)
DELETE_TASKS = _deleting(tables.tasks.c.node_id)

# append only

ADD_LOG = Batch(insert(tables.logs), mapping.LOG)
ADD_DECISIONS = Batch(insert(tables.decisions), mapping.DECISION)
ADD_CHANGES = Batch(insert(tables.changes), mapping.CHANGE)
ADD_REVISIONS = Batch(insert(tables.revisions), mapping.REVISION)

_decisions = tables.decisions.c
DECISIONS = (
    select(*_columns(tables.decisions, mapping.DECISION))
    .where(
        _decisions.schedule_id == bindparam("schedule_id"),
        _decisions.first_ms <= bindparam("last_ms"),
        _decisions.last_ms >= bindparam("first_ms"),
    )
    .order_by(_decisions.seq.desc())
    .limit(bindparam("most"))
)
CHANGES = (
    select(*_columns(tables.changes, mapping.CHANGE)).order_by(tables.changes.c.seq.desc()).limit(bindparam("most"))
)
CHANGES_OF = CHANGES.where(tables.changes.c.schedule == bindparam("schedule"))
REVISIONS = (
    select(tables.revisions.c.body)
    .where(tables.revisions.c.schedule_id == bindparam("schedule_id"))
    .order_by(tables.revisions.c.revision, tables.revisions.c.seq)
)
LOGS = (
    select(*_columns(tables.logs, mapping.LOG))
    .where(tables.logs.c.run_id == bindparam("run_id"))
    .order_by(tables.logs.c.seq)
    .offset(bindparam("skip"))
    .limit(bindparam("most"))
)
VERSION = select(tables.meta.c.version_num)

# forgetting

ENDED = Aging(_history.id, _history.finished_ms)
ENDED_CROWD = Crowd(_history.kept_by, _history.id, _history.finished_ms)
_logs = tables.logs.c
# By way of the runs, whose ids are unique: PostgreSQL would else hope to come upon lines by reading all of them.
LINES = (
    select(_logs.seq)
    .join(tables.history, _history.id == _logs.run_id)
    .where(among(_history.id))
    .limit(bindparam("most"))
)
WITH_LINES = select(_history.id).where(
    among(_history.id), select(_logs.seq).where(_logs.run_id == _history.id).exists()
)
DELETE_LINES = _deleting(_logs.seq)

DECIDED = Aging(_decisions.seq, _decisions.decided_ms)
DECIDED_CROWD = Crowd(_decisions.schedule_id, _decisions.seq, _decisions.decided_ms)

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
    _nodes.state.in_([NodeState.STOPPED.value, NodeState.DEAD.value]),
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
    ~select(_decisions.seq).where(_decisions.schedule_id == _schedules.id).exists(),
)

_revisions = tables.revisions.c
REVISED = Aging(_revisions.seq, _revisions.made_ms)
DELETE_REVISIONS_OF = _deleting(_revisions.schedule_id)


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
    .order_by(_decisions.seq)
    .limit(literal_column("1"))
    .scalar_subquery(),
)
