"""How many there are of each kind: counting stops somewhere, and groups are counted by the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, ScalarSelect, Select, bindparam, func, literal_column, select

from onthedot.model.policy import Policy
from onthedot.stores.base import Demand, ScheduleCounts
from onthedot.stores.json_text import UNREADABLE, policy_from
from onthedot.stores.sql import tables
from onthedot.stores.sql.statements import HAS_ENDED, ONE

_NAMED = 3
_schedules = tables.schedules.c
_runs = tables.runs.c


def _up_to_most(*which: ColumnElement[bool], along: Sequence[Column[Any]] = ()) -> ScalarSelect[int]:
    """`along` an index, where a database would rather read the table: it does not know how far."""
    found = select(ONE).where(*which).order_by(*along).limit(bindparam("most")).subquery()
    return select(func.count()).select_from(found).scalar_subquery()


SCHEDULE_COUNTS: Select[Any] = select(
    _up_to_most(tables.PLANNABLE, _schedules.next_run_ms.is_not(None), along=(_schedules.next_run_ms, _schedules.id)),
    _up_to_most(tables.LOCAL, tables.ACTIVE),
    _up_to_most(tables.PAUSED),
    _up_to_most(tables.PARKED),
    _up_to_most(HAS_ENDED),
)
_IS_RUNNING = (_runs.owner.is_not(None), _runs.state == literal_column("'running'"))
RUN_COUNTS: Select[Any] = select(_up_to_most(tables.WAITING), _up_to_most(*_IS_RUNNING))
LOAD_BY_POOL = select(_runs.owner, _runs.pool, func.count()).where(*_IS_RUNNING).group_by(_runs.owner, _runs.pool)


def schedule_counts(row: Sequence[int], most: int) -> ScheduleCounts:
    """Of a row of `SCHEDULE_COUNTS`."""
    durable, local, paused, parked, ended = row
    return ScheduleCounts(min(durable + local, most), paused, parked, ended)


def _needs() -> Select[Any]:
    """Of each task and policy how many active schedules have them, with the first names."""
    each = (_schedules.task, _schedules.policy)
    place = func.row_number().over(partition_by=each, order_by=_schedules.name).label("place")
    count = func.count().over(partition_by=each).label("count")
    active = select(*each, _schedules.name, count, place).where(tables.ACTIVE).subquery()
    return select(*(active.c[name] for name in ("task", "policy", "name", "count", "place"))).where(
        active.c.place <= literal_column(str(_NAMED))
    )


DEMANDS = _needs()


def demands(rows: Iterable[Sequence[Any]]) -> list[Demand]:
    """Of rows of `DEMANDS`: policies that need the same are one."""
    counts: dict[tuple[str, str | None, tuple[str, ...]], int] = {}
    names: dict[tuple[str, str | None, tuple[str, ...]], list[str]] = {}
    for task, text, name, count, place in rows:
        policy = _policy(text)
        need = task, policy.group, policy.depends_on
        names.setdefault(need, []).append(name)
        counts[need] = counts.get(need, 0) + (count if place == 1 else 0)
    first = {need: tuple(sorted(found)[:_NAMED]) for need, found in names.items()}
    return [Demand(*need, counts[need], first[need]) for need in sorted(first, key=lambda need: first[need])]


def _policy(text: str) -> Policy:
    try:
        return policy_from(text)
    except UNREADABLE:
        return Policy()
