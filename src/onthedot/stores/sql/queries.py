"""The lists that people ask for: schedules and runs, filtered and paged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, func, select

from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import LIVE, State
from onthedot.stores import mapping
from onthedot.stores.json_text import word_in_words
from onthedot.stores.sql import statements, tables
from onthedot.stores.sql.in_list import in_list
from onthedot.stores.sql.transaction import in_chunks

_schedules = tables.schedules.c
LISTED = select(*statements.SCHEDULE_COLUMNS).where(_schedules.deleted == 0).order_by(_schedules.name)


def schedules(
    connection: Connection,
    *,
    names: Sequence[str] | None,
    tag: str | None,
    mode: Mode | None,
    after: str,
    limit: int,
) -> list[Schedule]:
    """By name, ascending, tombstones left out."""
    statement = LISTED.where(_schedules.name > after).limit(limit)
    if tag is not None:
        # Longer than without the word: the word is in it. The same on every database, and it minds the case.
        without = func.replace(_schedules.tags, word_in_words(tag), "")
        statement = statement.where(func.length(without) < func.length(_schedules.tags))
    if mode is not None:
        statement = statement.where(tables.LOCAL if mode == "local" else ~tables.LOCAL)
    if names is None:
        found: Any = connection.execute(statement)
    else:
        found = in_chunks(connection, statement.where(in_list(_schedules.name)), set(names))
    return [mapping.schedule_from(row) for row in found][:limit]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs: all that is given must hold."""

    ids: Sequence[str] | None
    schedule: str | None
    state: State | None
    before: str | None
    limit: int


def runs(connection: Connection, wanted: Wanted) -> list[Run]:
    """Live and ended ones, newest first by id."""
    found: list[Run] = []
    if wanted.state is None or wanted.state in LIVE:
        found += _found(connection, live_statement(wanted), tables.runs, wanted)
    if wanted.state is None or wanted.state not in LIVE:
        found += _found(connection, ended_statement(wanted), tables.history, wanted)
    return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]


def live_statement(wanted: Wanted) -> Select[Any]:
    """A page of live runs."""
    statement = statements.NEWEST_LIVE.limit(wanted.limit)
    if wanted.schedule is not None:
        statement = statement.where(tables.runs.c.schedule == wanted.schedule)
    if wanted.state is not None:
        statement = statement.where(tables.runs.c.state == wanted.state.value)
    return statement if wanted.before is None else statement.where(tables.runs.c.id < wanted.before)


def ended_statement(wanted: Wanted) -> Select[Any]:
    """A page of history."""
    statement = statements.NEWEST_ENDED.limit(wanted.limit)
    if wanted.schedule is not None:
        statement = statement.where(tables.history.c.kept_by == wanted.schedule)
    if wanted.state is not None:
        statement = statement.where(tables.history.c.state == wanted.state.value)
    if wanted.state not in (None, State.SUCCEEDED):
        statement = statement.where(tables.WENT_WRONG)  # says nothing new, but names the partial index
    return statement if wanted.before is None else statement.where(tables.history.c.id < wanted.before)


def _found(connection: Connection, statement: Select[Any], table: Table, wanted: Wanted) -> list[Run]:
    if wanted.ids is None:
        found: Any = connection.execute(statement)
    else:
        found = in_chunks(connection, statement.where(in_list(table.c.id)), set(wanted.ids))
    return [mapping.run_from(row) for row in found]
