"""Which waiting runs are due, and what others wait for: by their lanes (`stores.lanes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from onthedot.stores import lanes
from onthedot.stores.sql import tables
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.in_list import in_list
from onthedot.stores.sql.statements import OLDEST_RUNS, ONE, listed_in
from onthedot.stores.sql.tables import RANKED, WAITING

_runs = tables.runs.c
_PLAIN = _runs.ranked == literal_column("0")


class InLanes:
    """So many runs of each lane, those with a priority apart: each part is one range of an index, in its order."""

    def __init__(self, statement: Select[Any], kinds: Sequence[ColumnElement[bool]], most_lanes: int) -> None:
        """Given as `lane_0`, `lane_1` and so on; where a statement is given fewer, the rest of them is None."""
        self._names = [f"lane_{number}" for number in range(most_lanes)]
        parts = [statement.where(_runs.lane == bindparam(name), kind) for name in self._names for kind in kinds]
        self._plain = union_all(*parts)
        self._nested = union_all(*(select(part.subquery()) for part in parts))

    def on(self, dialect: Dialect) -> CompoundSelect[Any]:
        """Nested only where it must be: MariaDB would write each part to a table of its own first."""
        return self._nested if dialect.nests_limits else self._plain

    def given(self, lanes: Sequence[str]) -> dict[str, str | None]:
        """The parameters that name the lanes."""
        return dict.fromkeys(self._names) | dict(zip(self._names, lanes, strict=False))


_SUITABLE = or_(
    and_(or_(_runs.pool.is_(None), bindparam("any_pool") == ONE), in_list(_runs.task, "tasks")),
    and_(in_list(_runs.pool, "pools"), in_list(_runs.task, "known")),
)
_MINE = OLDEST_RUNS.where(WAITING, _runs.due_ms.between(bindparam("floor_ms"), bindparam("now_ms")), _SUITABLE)
_BEHIND = OLDEST_RUNS.where(WAITING, _runs.due_ms <= bindparam("now_ms"))
_OF_LEVEL = and_(RANKED, _runs.priority == bindparam("priority"))
_MOST_LANES = 4
"""A claim has no more: see `lanes_of`."""
DUE_RUNS = InLanes(_MINE, (_PLAIN, RANKED), _MOST_LANES)
DUE_OF_LEVEL = InLanes(_MINE, (_OF_LEVEL,), _MOST_LANES)
WAITING_FOR = InLanes(_BEHIND, (_PLAIN, RANKED), 1)
WAITING_OF_LEVEL = InLanes(_BEHIND, (_OF_LEVEL,), 1)
FREE_RUNS = (
    # Whether they still wait is looked at afterwards: said here, PostgreSQL might read all that wait.
    select(_runs.id, _runs.state, _runs.lane)
    .where(in_list(_runs.id))
    .order_by(_runs.id)
    .with_for_update(skip_locked=True, key_share=True)
)


def _steps(column: Column[Any], which: ColumnElement[bool], *first: ColumnElement[bool]) -> CTE:
    """Each value of the column once: from the first to the next along an index, however many rows share it."""
    least = select(column).where(which).order_by(column).limit(ONE)
    steps = select(least.where(*first).scalar_subquery().label("value")).cte("steps", recursive=True)
    following = least.where(column > steps.c.value).correlate(steps).scalar_subquery()
    return steps.union_all(select(following).where(steps.c.value.is_not(None)))


def _levels() -> Select[Any]:
    """Every priority but 0 of a lane, and its earliest moment."""
    in_lane = and_(RANKED, _runs.lane == bindparam("lane"))
    steps = _steps(_runs.priority, in_lane)
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
    steps = _steps(_runs.lane, WAITING, _runs.lane > bindparam("after"))
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
# By the lane alone: whether a run waits for something else is in it, and no other index is then of any use.
ROUTED_RUNS = OLDEST_RUNS.where(
    WAITING, _runs.lane >= lanes.ROUTED[0], _runs.lane < lanes.ROUTED[1], _runs.due_ms <= bindparam("now_ms")
)
