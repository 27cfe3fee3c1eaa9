"""How many there are of each kind: counting stops somewhere, and groups are counted by the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from typing import Any

from sqlalchemy import Column, ColumnElement, ScalarSelect, and_, bindparam, func, literal_column, or_, select

from onthedot.model.policy import Policy
from onthedot.stores.counts import Demand, Needed, RunCounts, ScheduleCounts
from onthedot.stores.json_text import UNREADABLE, policy_from
from onthedot.stores.mapping import is_frozen
from onthedot.stores.sql import tables
from onthedot.stores.sql.in_list import in_list
from onthedot.stores.sql.statements import HAS_ENDED, ONE

_NAMED = 3
_schedules = tables.schedules.c
_runs = tables.runs.c


def _up_to_most(*which: ColumnElement[bool], along: Sequence[Column[Any]] = ()) -> ScalarSelect[int]:
    """`along` an index, where a database would rather read the table: it does not know how far."""
    found = select(ONE).where(*which).order_by(*along).limit(bindparam("most")).subquery()
    return select(func.count()).select_from(found).scalar_subquery()


SCHEDULE_COUNTS: Any = select(
    _up_to_most(tables.PLANNABLE, _schedules.next_run_ms.is_not(None), along=(_schedules.next_run_ms, _schedules.id)),
    _up_to_most(tables.LOCAL, tables.ACTIVE),
    _up_to_most(tables.PAUSED),
    _up_to_most(tables.PARKED),
    _up_to_most(HAS_ENDED),
    _up_to_most(tables.LISTED, _schedules.declared_seen_ms < bindparam("declared_before_ms")),
    _up_to_most(tables.LISTED, _schedules.left_out_ms >= bindparam("left_out_from_ms")),
    _up_to_most(tables.FROZEN),
)
FREEZING: Any = select(_schedules.frozen, func.count()).where(tables.FROZEN).group_by(_schedules.frozen)
"""Which windows schedules have, and how many have just these: all that a freeze concerns have the same."""
# Also where its state cannot be read. A broadcast and a flow have no owner; a step that has ended keeps it.
_IS_RUNNING = and_(tables.OWNED, ~tables.HAS_ENDED)
_RUNS_AS_FLOW = and_(tables.FLOW, _runs.state == literal_column("'running'"))
_IS_STEP = and_(tables.HAS_PARENT, _runs.step.is_not(None))
_IS_NO_STEP = _runs.step.is_(None)
RUN_COUNTS: Any = select(
    _up_to_most(tables.WAITING),
    _up_to_most(_IS_RUNNING),
    _up_to_most(_RUNS_AS_FLOW),
    _up_to_most(_IS_STEP, tables.WAITING),
    _up_to_most(_IS_STEP, or_(_IS_RUNNING, _RUNS_AS_FLOW)),
)
"""All by indexes alone but for the steps, of which there are few or none."""
RUN_COUNTS_WITHOUT_STEPS: Any = select(
    _up_to_most(tables.WAITING, _IS_NO_STEP),
    _up_to_most(_IS_RUNNING, _IS_NO_STEP),
    _up_to_most(_RUNS_AS_FLOW, _IS_NO_STEP),
)
"""Reads the rows: for when counting stopped, and steps are among what was counted."""
_BY_POOL = _runs.owner, _runs.task, _runs.pool
LOAD_BY_POOL = select(*_BY_POOL, func.count()).where(_IS_RUNNING).group_by(*_BY_POOL)


def schedule_counts(row: Sequence[int], most: int) -> ScheduleCounts:
    """Of a row of `SCHEDULE_COUNTS`; but how many have windows is not yet how many are frozen."""
    durable, local, *others = row
    return ScheduleCounts(min(durable + local, most), *others)


def frozen_now(rows: Iterable[Sequence[Any]], now_ms: int) -> dict[str, int]:
    """Of rows of `FREEZING`: those texts of which a window covers the moment, and how many have each."""
    return {text: count for text, count in rows if is_frozen(text, now_ms)}


def run_counts(row: Sequence[int], most: int, count_without_steps: Callable[[], Sequence[Sequence[int]]]) -> RunCounts:
    """Of a row of `RUN_COUNTS`."""
    waiting, owned, flows, waiting_steps, running_steps = row
    if not waiting_steps and not running_steps:
        return RunCounts(waiting, min(owned + flows, most))
    if max(waiting, owned, flows) >= most:
        ((waiting, owned, flows),) = count_without_steps()
        return RunCounts(waiting, min(owned + flows, most), waiting_steps, running_steps)
    running = owned + flows - running_steps
    return RunCounts(waiting - waiting_steps, min(running, most), waiting_steps, running_steps)


OVERDUE: Any = select(
    _up_to_most(
        *(tables.PLANNABLE, _schedules.next_run_ms < bindparam("before_ms")),
        along=(_schedules.next_run_ms, _schedules.id),
    )
)
NEEDED = (
    select(_schedules.task, _schedules.policy)
    .where(tables.ACTIVE)
    .distinct()
    .with_hint(tables.schedules, "NOT INDEXED", "sqlite")
)
"""Nearly all are active: SQLite would follow the index of tasks to each row, in three times as long."""
DEMANDS = select(_schedules.task, _schedules.policy, _schedules.name).where(
    tables.ACTIVE, in_list(_schedules.task, "tasks")
)
"""Grouped here: databases sort the names of all groups for it, which takes them three times as long."""


def needed(rows: Iterable[Sequence[Any]]) -> list[Needed]:
    """Of rows of `NEEDED`: policies that need the same are one."""
    return list({_needed(task, text) for task, text in rows})


def demands(rows: Iterable[Sequence[Any]]) -> list[Demand]:
    """Of rows of `DEMANDS`: policies that need the same are one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for task, text, name in rows:
        alike.setdefault((task, text), []).append(name)
    names: dict[Needed, list[str]] = {}
    for (task, text), found in alike.items():
        names.setdefault(_needed(task, text), []).extend(found)
    first = {need: tuple(nsmallest(_NAMED, found)) for need, found in names.items()}
    return [Demand(*need, len(names[need]), first[need]) for need in sorted(first, key=lambda need: first[need])]


def _needed(task: str, text: str) -> Needed:
    try:
        policy = policy_from(text)
    except UNREADABLE:
        policy = Policy()
    return Needed(task, policy.group, policy.depends_on)
