"""Ticks that were decided ahead, on PostgreSQL: checked, moved and begun by one statement, and so in one round trip.

The version carries the proof. The statement looks for live runs in the rows as they were when it began; a schedule that
it locks it reads anew, and whoever adds, starts, revives or unblocks a run of one has raised its version.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, TextClause, text

from onthedot.rules.ahead import Ahead, AtOnce
from onthedot.stores.lanes import lane_of
from onthedot.stores.sql import copying, driver, plain, tables
from onthedot.stores.sql.given_rows import Kinds, Unnest
from onthedot.stores.sql.plain_postgresql import NOW_MS

_GIVEN = Unnest()
_AHEAD: Kinds = {**copying.TICK, "version": "number", "until_ms": "number"}
_MY_MS = "(SELECT now_ms FROM me)"
_PLANNABLE = "enabled = 1 AND deleted = 0 AND error IS NULL AND mode = 'durable'"


def plan_ahead(
    connection: Connection, owner: str, ahead: Sequence[tuple[Ahead, str]], now_ms: int | None, floor_ms: int
) -> AtOnce:
    """Those that still hold; each with the id of its run."""
    rows = sorted(_given(each, run_id) for each, run_id in ahead)
    (given,) = _GIVEN.values(_AHEAD, rows)
    found = driver.fetch(
        connection,
        _statement(*(copying.name_in(connection, each) for each in (tables.schedules, tables.runs, tables.nodes))),
        {**given, "owner": owner, "now_ms": now_ms, "floor_ms": floor_ms},
    )
    begun = frozenset(schedule_id for schedule_id, moment_ms, _ in found if moment_ms is None)
    for _, moment_ms, more in found:
        if moment_ms is not None:
            return AtOnce(int(moment_ms), begun, bool(more))
    return AtOnce(None, frozenset(), more=True)


def _given(ahead: Ahead, run_id: str) -> tuple[Any, ...]:
    run = ahead.run
    tick = run.schedule_id, run_id, ahead.tick_ms, ahead.next_run_ms, run.slot, lane_of(run), run.policy.pool
    return *tick, ahead.schedule.version, ahead.until_ms


@cache
def _statement(schedules: str, runs: str, nodes: str) -> TextClause:
    """What is given goes along from part to part: to join it again, row by row, would cost the square of a batch."""
    carried = ", ".join(f"given.{name}" for name in copying.TICK if name != "id")
    moved = ", ".join(f"{name} = {value}" for name, value in copying.moved(_MY_MS).items())
    columns = {name: value.replace("given.", "ours.") for name, value in copying.begun(":owner", _MY_MS).items()}
    names = ", ".join(f'"{name}"' for name in columns)
    return text(
        f"WITH me AS (SELECT id, {NOW_MS} AS now_ms FROM {nodes} WHERE id = :owner AND {plain.LIVES} FOR SHARE),"
        f" locked AS (SELECT theirs.id, {carried} FROM {_GIVEN.table(_AHEAD)}"
        f" JOIN {schedules} AS theirs ON theirs.id = given.id"
        f" WHERE theirs.version = given.version AND given.tick_ms <= {_MY_MS} AND given.until_ms > {_MY_MS}"
        " FOR NO KEY UPDATE OF theirs SKIP LOCKED),"
        " free AS (SELECT * FROM locked"
        f" WHERE NOT EXISTS (SELECT 1 FROM {runs} AS live WHERE live.schedule_id = locked.id)),"
        f" moved AS (UPDATE {schedules} AS ours SET {moved} FROM free AS given"
        f" WHERE ours.id = given.id RETURNING ours.*, {carried}),"
        f" begun AS (INSERT INTO {runs} ({names}) SELECT {', '.join(columns.values())} FROM moved AS ours"
        " RETURNING schedule_id)"
        " SELECT schedule_id, CAST(NULL AS bigint), 0 FROM begun UNION ALL"
        f" SELECT id, now_ms, CASE WHEN {_others_are_due(schedules)} THEN 1 ELSE 0 END FROM me"
    )


def _others_are_due(schedules: str) -> str:
    """Some that were due and have not moved; or have, and are due again."""
    due = f"{_PLANNABLE} AND next_run_ms BETWEEN :floor_ms AND {NOW_MS}"
    return (
        f"EXISTS (SELECT 1 FROM {schedules} WHERE {due} AND id NOT IN (SELECT id FROM moved))"
        f" OR EXISTS (SELECT 1 FROM moved WHERE next_run_ms <= {_MY_MS})"
    )
