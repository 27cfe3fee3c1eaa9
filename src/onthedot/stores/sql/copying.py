"""Rows that are mostly another row: a plain tick's run is what its schedule says, a run in history what it was alive.

The database copies them; given is only what differs. One statement for any number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Table, TextClause, text

from onthedot.model.run import Run
from onthedot.rules.effects import Effects
from onthedot.stores import mapping
from onthedot.stores.counts import LATE_MS
from onthedot.stores.json_text import clean, encode
from onthedot.stores.lanes import lane_of
from onthedot.stores.sql import driver, tables
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.given_rows import Kinds
from onthedot.stores.sql.tables import qualified

TICK: Kinds = {
    "id": "key",
    "run_id": "key",
    "tick_ms": "number",
    "next_ms": "number",
    "slot": "key",
    "lane": "key",
    "pool": "key",
}


def moved(now_ms: str) -> dict[str, str]:
    """What a plain tick changes in its schedule: `rules.ahead` lets no other through."""
    return {
        "next_run_ms": "given.next_ms",
        "rescheduled": "0",
        "settled_ms": f"CASE WHEN given.next_ms <= {now_ms} THEN given.next_ms - 1 ELSE {now_ms} END",
        "last_run_ms": now_ms,
        "last_enqueued_ms": now_ms,
        "version": "ours.version + 1",
        "fence": "ours.fence + 1",
        "planned_runs": "ours.planned_runs + 1",
    }


def begun(owner: str, now_ms: str) -> dict[str, str]:
    """Its run; the columns that are not here are empty."""
    return {
        "id": "given.run_id",
        "task": "ours.task",
        "cause": "'tick'",
        "scheduled_ms": "given.tick_ms",
        "due_ms": "given.tick_ms",
        "state": "'running'",
        "args": "ours.args",
        "policy": "ours.policy",
        "schedule_id": "ours.id",
        "schedule": "ours.name",
        "revision": "ours.revision",
        "owner": owner,
        "claim_no": "1",
        "attempt": "1",
        "crashes": "0",
        "fence": "ours.fence",
        "slot": "given.slot",
        "exempt": "0",
        "created_ms": now_ms,
        "started_ms": now_ms,
        "priority": "ours.priority",
        "ranked": "CASE WHEN ours.priority = 0 THEN 0 ELSE 1 END",
        "apart": "''",
        "pool": "given.pool",
        "lane": "given.lane",
        "plain": "0",
    }


_ENDED: Kinds = {
    "id": "key",
    "state": "key",
    "finished_ms": "number",
    "result": "text",
    "error": "text",
    "reason": "text",
    "kept_by": "key",
}
_BY_GIVEN = {name: f"given.{name}" for name in _ENDED if name != "id"}
LATE = {"late": f"CASE WHEN ours.started_ms - ours.due_ms > {LATE_MS} THEN 1 ELSE 0 END"}
_IN_HISTORY = {name: f"ours.{name}" for name in mapping.RUN} | {"slot": "NULL"} | _BY_GIVEN | LATE
"""What history has of a run; the rest of its live row is for those who look for work."""
_kept = attrgetter(*(name for name in mapping.RUN_MOVING if name not in (*_ENDED, "slot", "lane", "plain")))


def begin_ticks(
    connection: Connection, dialect: Dialect, now_ms: int, owner: str, all_effects: Sequence[Effects]
) -> None:
    """Plain ticks of schedules, and their runs. The schedules first: their rows then have the fence of the run."""
    move, begin = _of_ticks(dialect, name_in(connection, tables.schedules), name_in(connection, tables.runs))
    for given in dialect.given.values(TICK, [_tick(each) for each in all_effects]):
        driver.write(connection, move, {**given, "now_ms": now_ms})
        driver.write(connection, begin, {**given, "now_ms": now_ms, "owner": owner})


def only_ends(before: Run, ended: Run) -> bool:
    """Whether nothing of it is different but that it has ended, and how."""
    return _kept(before) == _kept(ended)


def end(connection: Connection, dialect: Dialect, runs: Sequence[Run]) -> bool:
    """Copy runs into history that only end; their live rows must still be there. Whether they are not, after that."""
    if not runs:
        return True
    names = name_in(connection, tables.history), name_in(connection, tables.runs)
    for given in dialect.given.values(_ENDED, [_ended(run) for run in runs]):
        driver.write(connection, _of_ended(dialect, *names), given)
    return dialect.given.taking(names[1], _ENDED) is not None


def name_in(connection: Connection, table: Table) -> str:
    """The table in the text of a statement. A colon in the name of a schema begins no parameter."""
    return qualified(connection, table.name).replace(":", "\\:")


def _tick(effects: Effects) -> tuple[Any, ...]:
    (run,) = effects.runs
    assert effects.schedule is not None
    moments = run.scheduled_ms, effects.schedule.next_run_ms
    return run.schedule_id, run.id, *moments, run.slot, lane_of(run), run.policy.pool


def _ended(run: Run) -> tuple[Any, ...]:
    result = None if run.result is None else encode(run.result)
    error, reason = clean(run.error), clean(run.reason)
    return run.id, run.state.value, run.finished_ms, result, error, reason, mapping.kept_by(run)


@cache
def _of_ticks(dialect: Dialect, schedules: str, runs: str) -> tuple[TextClause, TextClause]:
    move = dialect.given.update(schedules, TICK, moved(":now_ms"))
    return text(move), _copying(dialect, runs, begun(":owner", ":now_ms"), dialect.given.beside(schedules, TICK))


@cache
def _of_ended(dialect: Dialect, history: str, runs: str) -> TextClause:
    taking = dialect.given.taking(runs, _ENDED)
    if taking is None:
        return _copying(dialect, history, _IN_HISTORY, dialect.given.beside(runs, _ENDED))
    given_and_gone, source = taking
    return _copying(dialect, history, _IN_HISTORY, source, given_and_gone)


def _copying(dialect: Dialect, table: str, columns: Mapping[str, str], source: str, beginning: str = "") -> TextClause:
    names = ", ".join(f"{dialect.given.quote}{name}{dialect.given.quote}" for name in columns)
    return text(f"{beginning} INSERT INTO {table} ({names}) SELECT {', '.join(columns.values())} FROM {source}")
