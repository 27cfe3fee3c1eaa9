"""Which waiting runs are due, and what others wait for: by their lanes (`stores.lanes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BindParameter,
    Column,
    ColumnElement,
    CompoundSelect,
    Select,
    String,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)

from onthedot.stores import lanes
from onthedot.stores.sql import tables
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.in_list import in_list
from onthedot.stores.sql.statements import OLDEST_RUNS, ONE, RUNS, listed_in
from onthedot.stores.sql.tables import RANKED, WAITING

_runs = tables.runs.c
_PLAIN = _runs.ranked == literal_column("0")


class InLanes:
    """So many runs of each lane, those with a priority apart: each part is one range of an index, in its order."""

    def __init__(self, statement: Select[Any], *kinds: ColumnElement[bool], in_rows: InLanes | None = None) -> None:
        """`in_rows`: the same for databases that compare rows with rows."""
        self._statement = statement
        self._kinds = kinds
        self._in_rows = in_rows
        self._built: dict[tuple[int, bool], CompoundSelect[Any]] = {}

    def on(self, dialect: Dialect, lanes: int) -> CompoundSelect[Any]:
        """For so many of them, which it is given as `lane_0`, `lane_1` and so on."""
        if self._in_rows is not None and dialect.compares_rows:
            return self._in_rows.on(dialect, lanes)
        key = lanes, dialect.nests_limits
        if key not in self._built:
            self._built[key] = self._build(*key)
        return self._built[key]

    def _build(self, lanes: int, nested: bool) -> CompoundSelect[Any]:
        """Nested only where it must be: MariaDB would write each part to a table of its own first."""
        parts = [
            self._statement.where(_runs.lane == bindparam(f"lane_{number}"), kind)
            for number in range(lanes)
            for kind in self._kinds
        ]
        return union_all(*(select(part.subquery()) for part in parts)) if nested else union_all(*parts)


def by_number(lanes: Sequence[str]) -> dict[str, str]:
    """The lanes as such a statement is given them."""
    return {f"lane_{number}": lane for number, lane in enumerate(lanes)}


_PRIORITY: BindParameter[int] = bindparam("priority")
_FLOOR: BindParameter[int] = bindparam("floor_ms")
_NOW: BindParameter[int] = bindparam("now_ms")
_OF_LEVEL = and_(RANKED, _runs.priority == _PRIORITY)
# The same as one range of the index of levels, in its order: the index of lanes, which PostgreSQL may else read from
# end to end, has neither.
_LEVEL_AND_MOMENT = tuple_(_runs.priority, _runs.due_ms)
_ALONG_A_LEVEL = and_(RANKED, tuple_(_PRIORITY, _NOW) >= _LEVEL_AND_MOMENT)
_BY_LEVEL = RUNS.where(WAITING).order_by(_runs.priority, _runs.due_ms, _runs.id).limit(bindparam("most"))
_OF_TASKS = in_list(_runs.task, "tasks")
_OF_POOLS = or_(
    and_(_runs.pool.is_(None), in_list(_runs.task, "tasks")),
    and_(in_list(_runs.pool, "pools"), in_list(_runs.task, "known")),
)


class Waiting(NamedTuple):
    """How the foremost of some waiting runs are found: those that are the oldest, and those of one priority."""

    oldest: InLanes
    of_level: InLanes


def _waiting(*which: ColumnElement[bool], since_floor: bool) -> Waiting:
    moments = _runs.due_ms.between(_FLOOR, _NOW) if since_floor else _runs.due_ms <= _NOW
    first = tuple_(_PRIORITY, _FLOOR) <= _LEVEL_AND_MOMENT if since_floor else _runs.priority >= _PRIORITY
    statement = OLDEST_RUNS.where(WAITING, moments, *which)
    in_rows = InLanes(_BY_LEVEL.where(*which), and_(_ALONG_A_LEVEL, first))
    return Waiting(InLanes(statement, _PLAIN, RANKED), InLanes(statement, _OF_LEVEL, in_rows=in_rows))


DUE_OF_TASKS = _waiting(_OF_TASKS, since_floor=True)
DUE_OF_POOLS = _waiting(_OF_POOLS, since_floor=True)
WAITING_FOR = _waiting(since_floor=False)
# The state in other words, so that they are found by their ids: PostgreSQL might else read all that wait.
FREE_RUNS = (
    select(_runs.id, _runs.lane, _runs.claim_no, _runs.due_ms)
    .where(in_list(_runs.id), _runs.state.concat("") == literal_column("'waiting'"))
    .order_by(_runs.id)
    .with_for_update(skip_locked=True, key_share=True)
)


def _steps(column: Column[Any], after: ColumnElement[Any], which: ColumnElement[bool]) -> CTE:
    """Each value of the column after this one: from one to the next along an index, however many rows share it."""
    least = select(column).where(which).order_by(column).limit(ONE)
    steps = select(least.where(column > after).scalar_subquery().label("value")).cte("steps", recursive=True)
    following = least.where(column > steps.c.value).correlate(steps).scalar_subquery()
    return steps.union_all(select(following).where(steps.c.value.is_not(None)))


def _levels() -> Select[Any]:
    """Every priority but 0 of a lane, and its earliest moment."""
    in_lane = and_(RANKED, _runs.lane == bindparam("lane"))
    steps = _steps(_runs.priority, literal_column("-2147483648"), in_lane)
    earliest = (
        select(_runs.due_ms)
        .where(in_lane, _runs.priority == steps.c.value)
        .order_by(_runs.due_ms, _runs.id)
        .limit(ONE)
        .correlate(steps)
    )
    return select(steps.c.value, earliest.scalar_subquery()).where(steps.c.value.is_not(None))


def _awaited() -> Select[Any]:
    """The lanes of what due runs wait for."""
    steps = _steps(_runs.lane, bindparam("after"), WAITING)
    due = [
        select(_runs.id)
        .where(WAITING, _runs.lane == steps.c.value, kind, _runs.due_ms <= bindparam("now_ms"))
        .correlate(steps)
        .exists()
        for kind in (_PLAIN, RANKED)
    ]
    return select(steps.c.value).where(steps.c.value.is_not(None), or_(*due)).limit(bindparam("most"))


LEVELS = _levels()
AWAITED = _awaited()
# MariaDB does not look for "more than" what a subquery is given by an index, but groups by jumping along one: only if
# all columns of the index that come before are in the group.
LEVELS_GROUPED = (
    select(_runs.priority, func.min(_runs.due_ms))
    .where(RANKED, _runs.lane == bindparam("lane"))
    .group_by(_runs.state, _runs.lane, _runs.ranked, _runs.priority)
)
AWAITED_GROUPED = (
    select(_runs.lane)
    .where(WAITING, _runs.lane > bindparam("after"))
    .group_by(_runs.state, _runs.lane, _runs.ranked)
    .having(func.min(_runs.due_ms) <= bindparam("now_ms"))
    .order_by(_runs.lane)
    .limit(bindparam("most"))
)
ARE_AWAITED = listed_in(_runs.lane, select(_runs.id).where(WAITING))
# One look, where the one before takes one for each: mostly nobody waits for anything.
IS_ANYTHING_AWAITED = (
    select(_runs.id).where(WAITING, _runs.lane >= literal_column(f"'{lanes.AWAITED}'", String)).limit(ONE)
)
_FROM, _UP_TO = (literal_column(f"'{lane}'", String) for lane in lanes.ROUTED)
# By the lane alone: whether a run waits for something else is in it, and no other index is then of any use.
ROUTED_RUNS = OLDEST_RUNS.where(WAITING, _runs.lane >= _FROM, _runs.lane < _UP_TO, _runs.due_ms <= bindparam("now_ms"))
