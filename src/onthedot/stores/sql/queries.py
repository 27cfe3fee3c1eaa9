"""The lists that people ask for: schedules and runs, filtered and paged."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Select,
    Table,
    and_,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.model.states import LIVE, State
from onthedot.stores import mapping
from onthedot.stores.asking import folded, page_of, since
from onthedot.stores.counts import LATE_MS
from onthedot.stores.json_text import word_in_words
from onthedot.stores.paging import NEVER_MS, place_from
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.sql import counts, driver, statements, tables
from onthedot.stores.sql.exactly import exactly
from onthedot.stores.sql.has_text import has_text
from onthedot.stores.sql.in_list import in_list

# schedules

_schedules = tables.schedules.c
_ALL = select(*statements.SCHEDULE_COLUMNS).where(tables.LISTED)
LISTED = _ALL.order_by(_schedules.name)
# No index has that: PostgreSQL would take one of all that are listed for a plan that it makes while there are none.
_ALL_BY_CLOCK = select(*statements.SCHEDULE_COLUMNS).where(
    _schedules.deleted + literal_column("0") == literal_column("0")
)
_STATES: dict[Facet, ColumnElement[bool]] = {
    "active": tables.ACTIVE,
    "paused": tables.PAUSED,
    "parked": tables.PARKED,
    "ended": statements.HAS_ENDED,
}
_listed = tables.schedules.alias("listed")
FEW = 1000
"""So many that have a text are read by their names, rather than all that have whatever else is asked for."""
BY_CLOCK: tuple[Facet, ...] = ("undeclared", "leaving_out")
"""The clock decides who has these, by an index of moments. It decides who is frozen, too, but by the windows."""
_NEXT_MS = func.coalesce(_schedules.next_run_ms, literal_column(str(NEVER_MS)))
_NAME = func.coalesce(_schedules.name, literal_column("''"))
"""The name, but no index has it: where another one finds the few that are wanted, a database might rather walk along
the names."""


@dataclass(frozen=True, slots=True)
class WantedSchedules:
    """Which schedules: all that is given must hold."""

    names: Collection[str] | None = None
    tag: str | None = None
    task: str | None = None
    mode: Mode | None = None
    state: Facet | None = None
    search: str = ""
    order: Order = "name"
    after: str = ""
    limit: int = 100
    now_ms: int = 0
    """By which the clock decides."""
    windows: tuple[str, ...] = ()
    """Of the frozen ones: all that the column `frozen` says where one of its windows lasts."""

    @property
    def are_few(self) -> bool:
        """Whether an index leads to few of them: then a text is looked for in their rows."""
        few = self.mode == "local" or self.state in ("paused", "parked", "ended", "frozen")
        return few or self.names is not None or self.task is not None

    @property
    def is_text_alone(self) -> bool:
        """Whether the text says which are on a page: nothing else is asked of them, and they stand by name."""
        others = (self.names, self.tag, self.task, self.mode, self.state)
        return bool(self.search) and self.order == "name" and all(each is None for each in others)


def schedules(connection: Connection, wanted: WantedSchedules, *, nested: bool) -> list[Schedule]:
    """In order, tombstones left out."""
    if wanted.state == "frozen":
        wanted = replace(wanted, windows=_lasting(connection, wanted.now_ms))
    if wanted.search and not wanted.are_few and not wanted.is_text_alone:
        names = connection.execute(some_with(wanted)).scalars().all()
        if len(names) <= FEW:
            wanted = replace(wanted, names=set(names), search="")
    if wanted.names is not None:
        statement = _narrowed(_ALL, wanted).where(in_list(_schedules.name))
        found: Any = _among(connection, statement, set(wanted.names))
    elif wanted.order == "name":
        found = connection.execute(by_name(wanted))
    elif wanted.search or wanted.task is not None or wanted.state in (*BY_CLOCK, "frozen"):
        found = connection.execute(sorted_by_next(wanted))
    else:
        furthest_ms = connection.execute(furthest(wanted)).scalar()
        found = connection.execute(by_next(wanted, NEVER_MS if furthest_ms is None else furthest_ms, nested=nested))
    rows = [mapping.schedule_from(row) for row in found]
    if wanted.names is not None:  # exactly: to MariaDB blanks at the end are nothing
        rows = [row for row in rows if row.name in wanted.names]
    return page_of(rows, wanted.order, wanted.after, wanted.limit)


def by_name(wanted: WantedSchedules) -> Select[Any]:
    """A page of them in the order of their names."""
    if wanted.state in BY_CLOCK:
        return _narrowed(_ALL_BY_CLOCK.order_by(_NAME), wanted).where(wanted.after < _NAME).limit(wanted.limit)
    return _narrowed(LISTED, wanted).where(_schedules.name > wanted.after).limit(wanted.limit)


def sorted_by_next(wanted: WantedSchedules) -> Select[Any]:
    """A page in the order of next moments, of what a task, a text or the clock makes few."""
    listed = _ALL_BY_CLOCK if wanted.state in BY_CLOCK else _ALL
    return _narrowed(_following(listed, _NEXT_MS, place_from(wanted.after)), wanted).limit(wanted.limit)


def furthest(wanted: WantedSchedules) -> Select[Any]:
    """Up to which moment a page of next moments can reach, if it is full: few are then sorted by their names."""
    after_ms, _ = place_from(wanted.after)
    planned = select(_schedules.next_run_ms).where(tables.PLANNABLE, _schedules.next_run_ms > after_ms)
    in_turn = planned.order_by(_schedules.next_run_ms, _schedules.id).offset(wanted.limit)
    return _narrowed(in_turn.limit(1), wanted)


def by_next(wanted: WantedSchedules, furthest_ms: int, *, nested: bool) -> CompoundSelect[Any]:
    """A page in the order of next moments, of each state: up to that moment of those that are planned."""
    after = place_from(wanted.after)
    parts = [_narrowed(part, wanted).limit(wanted.limit) for part in _parts(after, furthest_ms, wanted.state)]
    return union_all(*(select(part.subquery()) for part in parts)) if nested else union_all(*parts)


def _parts(after: tuple[int, str], furthest_ms: int, state: Facet | None) -> list[Select[Any]]:
    """What is planned by its index, the others by theirs: they are few, and sorted."""
    parts = []
    if state in (None, "active"):
        planned = _ALL.where(tables.PLANNABLE, _schedules.next_run_ms.between(after[0], furthest_ms))
        parts += [_following(planned, _schedules.next_run_ms, after), _following(_ALL.where(_LOCAL), _NEXT_MS, after)]
    return parts + [_following(each, _NEXT_MS, after) for name, each in _OTHERS.items() if state in (None, name)]


# MariaDB would rather read all schedules than the paused ones of them.
_OTHERS: dict[Facet, Select[Any]] = {
    "paused": _ALL.where(tables.PAUSED).with_hint(
        tables.schedules, "FORCE INDEX (onthedot_schedules_plannable)", dialect_name="mysql"
    ),
    "parked": _ALL.where(tables.PARKED),
    "ended": _ALL.where(statements.HAS_ENDED),
}
_LOCAL = and_(tables.LOCAL, tables.ACTIVE)


def _following(statement: Select[Any], moment: ColumnElement[int], after: tuple[int, str]) -> Select[Any]:
    after_ms, name = after
    return statement.where(or_(moment > after_ms, and_(moment == after_ms, _schedules.name > name))).order_by(
        moment, _schedules.name
    )


def _narrowed(statement: Select[Any], wanted: WantedSchedules) -> Select[Any]:
    if wanted.tag is not None:
        statement = statement.where(_has_word(_schedules.tags, wanted.tag))
    if wanted.task is not None:
        statement = statement.where(exactly(_schedules.task, wanted.task))
    if wanted.mode is not None:
        statement = statement.where(tables.LOCAL if wanted.mode == "local" else ~tables.LOCAL)
    if wanted.state is not None:
        statement = statement.where(_of_facet(wanted.state, wanted))
    if wanted.search:
        in_index = _schedules.name.in_(_page_with(wanted))
        statement = statement.where(in_index if wanted.is_text_alone else _has_part(tables.schedules, wanted.search))
    return statement


def _has_word(column: Column[str], word: str) -> ColumnElement[bool]:
    """Longer than without the word: the word is in it. The same on every database, and it minds the case."""
    without = func.replace(column, word_in_words(word), "")
    return func.length(without) < func.length(column)


def _of_facet(facet: Facet, wanted: WantedSchedules) -> ColumnElement[bool]:
    match facet:
        case "undeclared":
            return _schedules.declared_seen_ms < since(wanted.now_ms).declared_before_ms
        case "leaving_out":
            return _schedules.left_out_ms >= since(wanted.now_ms).left_out_from_ms
        case "frozen":
            return and_(tables.FROZEN, _schedules.frozen.in_(wanted.windows))
        case _:
            return _STATES[facet]


def _lasting(connection: Connection, now_ms: int) -> tuple[str, ...]:
    return tuple(counts.frozen_now(connection.execute(counts.FREEZING), now_ms))


def users(use: str, after: str, limit: int) -> Select[Any]:
    """A page of those that name this calendar or trigger, in the order of their names."""
    return LISTED.where(tables.USING, _has_word(_schedules.uses, use), _schedules.name > after).limit(limit)


def some_with(wanted: WantedSchedules) -> Select[Any]:
    """Names with the text in them or in their task's; all of them, where they are few."""
    return _with_part(wanted).limit(FEW + 1)


def _page_with(wanted: WantedSchedules) -> Select[Any]:
    """Those of the page only: what many have would else be looked up for each of them."""
    name = _listed.c.name + literal_column("''")  # no index has that: along the one of names, rows would be read
    page = _with_part(wanted).where(name > wanted.after).order_by(name).limit(wanted.limit)
    return select(page.subquery("page").c.name)


def _with_part(wanted: WantedSchedules) -> Select[Any]:
    """Read in an index that has both name and task. MariaDB would rather read all rows."""
    names = select(_listed.c.name).where(_listed.c.deleted == literal_column("0"), _has_part(_listed, wanted.search))
    return names.with_hint(_listed, "FORCE INDEX (onthedot_schedules_task)", dialect_name="mysql")


def _has_part(table: FromClause, search: str) -> ColumnElement[bool]:
    part = folded(search)
    return or_(has_text(table.c.name, part), has_text(table.c.task, part))


# runs


def runs(connection: Connection, wanted: RunFilter) -> list[Run]:
    """Live and ended ones, newest first by id."""
    found: list[Run] = []
    # Steps that have ended stay among the live ones until their flow is told.
    found += _found(connection, live_statement(wanted), tables.runs, wanted)
    if wanted.state is None or wanted.state not in LIVE:
        found += _found(connection, ended_statement(wanted), tables.history, wanted)
    return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]


def live_statement(wanted: RunFilter) -> Select[Any]:
    """A page of live runs."""
    live = tables.runs.c
    statement = _of_both(statements.NEWEST_LIVE, tables.runs, wanted)
    if wanted.schedule is not None:
        statement = statement.where(exactly(live.schedule, wanted.schedule))
    if wanted.state is not None and wanted.state not in LIVE:
        statement = statement.where(tables.UNTOLD)  # says nothing new, but names the partial index
    return statement.where(live.started_ms - live.due_ms > LATE_MS) if wanted.late else statement


def ended_statement(wanted: RunFilter) -> Select[Any]:
    """A page of history."""
    statement = _of_both(statements.NEWEST_ENDED, tables.history, wanted)
    if wanted.schedule is not None:
        statement = statement.where(exactly(tables.history.c.kept_by, wanted.schedule))
    if wanted.state not in (None, State.SUCCEEDED):
        statement = statement.where(tables.WENT_WRONG)  # says nothing new, but names the partial index
    return statement.where(tables.LATE) if wanted.late else statement


def _of_both(statement: Select[Any], table: Table, wanted: RunFilter) -> Select[Any]:
    if wanted.task is not None:
        statement = statement.where(exactly(table.c.task, wanted.task))
    if wanted.node is not None:
        statement = statement.where(exactly(table.c.owner, wanted.node))
    if wanted.parent is not None:
        statement = statement.where(exactly(table.c.parent_id, wanted.parent))
    if wanted.step is not None:
        statement = statement.where(exactly(table.c.step, wanted.step))
    if not wanted.steps:
        statement = statement.where(table.c.step.is_(None))
    if wanted.state is not None:
        statement = statement.where(table.c.state == wanted.state.value)
    if wanted.first:
        statement = statement.where(table.c.id >= wanted.first)
    if wanted.end is not None:
        statement = statement.where(table.c.id < wanted.end)
    return statement.limit(wanted.limit)


def _found(connection: Connection, statement: Select[Any], table: Table, wanted: RunFilter) -> list[Run]:
    if wanted.ids is None:
        found: Any = connection.execute(statement)
    else:
        found = _among(connection, statement.where(in_list(table.c.id)), set(wanted.ids))
    runs = [mapping.run_from(row) for row in found]
    return runs if wanted.ids is None else [run for run in runs if run.id in wanted.ids]


def results(connection: Connection, asked: dict[str, Any]) -> list[tuple[int, State, Any]]:
    """What runs of one step returned, in order."""
    rows = [row for part in statements.RESULTS for row in driver.fetch(connection, part, asked)]
    found: dict[int, Any] = {}
    for item, state, result, _created_ms in sorted(rows, key=lambda row: row[3]):
        found[item or 0] = state, result
    return [(item, *mapping.result_from(*found[item])) for item in sorted(found) if item >= asked["first_item"]][
        : asked["most"]
    ]


# both


def _among(connection: Connection, statement: Select[Any], values: Collection[str]) -> Iterator[Any]:
    """What the statement finds among the values. It is made for this question: nobody remembers it (`driver.fetch`)."""
    ordered = sorted(values)
    for first in range(0, len(ordered), statements.CHUNK):
        yield from connection.execute(statement, {"ids": ordered[first : first + statements.CHUNK]})
