"""What became of the ticks of many schedules, in two statements: so many rows of each, by an index of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, CompoundSelect, Connection, Select, Table, bindparam, select, union_all

from onthedot.model.decision import Decision
from onthedot.model.mark import Mark
from onthedot.stores import mapping
from onthedot.stores.answers import Ticks
from onthedot.stores.sql import driver, statements, tables

_SIZES = (1, 10, 50)
"""For so many schedules there is a statement each; the places that are left are nobody's."""


def ticks(connection: Connection, schedule_ids: Sequence[str], asked: dict[str, int], *, nested: bool) -> Ticks:
    """Of each schedule the newest ones, up to `most`, that touch the moments from `first_ms` to `last_ms`."""
    marks: list[Mark] = []
    decisions: list[Decision] = []
    of_each = list(dict.fromkeys(schedule_ids))
    for size, given in _parts(of_each):
        marks += map(mapping.mark_from, driver.fetch(connection, marks_of(size, nested), {**asked, **given}))
        found = driver.fetch(connection, decisions_of(size, nested), {**asked, **given})
        decisions += [Decision(*row) for row in found]
    place = {schedule_id: number for number, schedule_id in enumerate(of_each)}
    marks.sort(key=lambda mark: (-place[mark.schedule_id], mark.scheduled_ms, mark.id), reverse=True)
    decisions.sort(key=lambda decision: (-place[decision.schedule_id], decision.id), reverse=True)
    return Ticks(tuple(_first(marks, asked["most"])), tuple(decisions))


def _first(marks: Sequence[Mark], most: int) -> Iterator[Mark]:
    """Up to so many of each schedule: live and ended ones were asked for apart."""
    seen: dict[str, int] = {}
    for mark in marks:
        seen[mark.schedule_id] = seen.get(mark.schedule_id, 0) + 1
        if seen[mark.schedule_id] <= most:
            yield mark


def _parts(schedule_ids: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    for start in range(0, len(schedule_ids), _SIZES[-1]):
        part = schedule_ids[start : start + _SIZES[-1]]
        size = next(size for size in _SIZES if len(part) <= size)
        yield size, {f"schedule_{number}": part[number] if number < len(part) else "" for number in range(size)}


@cache
def marks_of(size: int, nested: bool) -> CompoundSelect[Any]:
    """Of so many schedules: `schedule_0`, `schedule_1` and so on."""
    numbers = range(size)
    return _union([_marks(table, number) for table in (tables.history, tables.runs) for number in numbers], nested)


@cache
def decisions_of(size: int, nested: bool) -> CompoundSelect[Any]:
    """The same."""
    of_each = (statements.TOUCHING.where(tables.decisions.c.schedule_id == _schedule(number)) for number in range(size))
    return _union([*of_each], nested)


def _marks(table: Table, number: int) -> Select[Any]:
    columns: list[Column[Any]] = [table.c[name] for name in mapping.MARK]
    return (
        select(*columns)
        .where(
            table.c.schedule_id == _schedule(number),
            table.c.scheduled_ms.between(bindparam("first_ms"), bindparam("last_ms")),
        )
        .order_by(table.c.scheduled_ms.desc(), table.c.id.desc())
        .limit(bindparam("most"))
    )


def _schedule(number: int) -> Any:
    return bindparam(f"schedule_{number}")


def _union(parts: Sequence[Select[Any]], nested: bool) -> CompoundSelect[Any]:
    return union_all(*(select(part.subquery()) for part in parts)) if nested else union_all(*parts)
