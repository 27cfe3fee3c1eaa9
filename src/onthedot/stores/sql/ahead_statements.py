"""Writing what was decided ahead: two statements for any number of ticks.

A schedule's row says most of what its run is, so the database copies it from there. Given are only moments, the run's
id, its slot, and where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, TextClause, text

from onthedot.rules.effects import Effects
from onthedot.stores.lanes import lane_of
from onthedot.stores.sql import tables
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.tables import qualified

_GIVEN = {"id": str, "run_id": str, "tick_ms": int, "next_ms": int, "slot": str, "lane": str, "pool": str}
_MOVED = {
    "next_run_ms": "given.next_ms",
    "rescheduled": "0",
    "settled_ms": ":now_ms",
    "last_run_ms": ":now_ms",
    "last_enqueued_ms": ":now_ms",
    "version": "ours.version + 1",
    "fence": "ours.fence + 1",
    "planned_runs": "ours.planned_runs + 1",
}
"""What a plain tick changes in its schedule: `rules.ahead` lets no other through."""
_BEGUN = {
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
    "owner": ":owner",
    "claim_no": "1",
    "attempt": "1",
    "crashes": "0",
    "fence": "ours.fence",
    "slot": "given.slot",
    "exempt": "0",
    "created_ms": ":now_ms",
    "started_ms": ":now_ms",
    "priority": "ours.priority",
    "ranked": "CASE WHEN ours.priority = 0 THEN 0 ELSE 1 END",
    "apart": "''",
    "pool": "given.pool",
    "lane": "given.lane",
}
"""Its run; the columns that are not here are empty."""


def write(connection: Connection, dialect: Dialect, now_ms: int, owner: str, all_effects: Sequence[Effects]) -> None:
    """The schedules first: their rows then have the fence of the run."""
    given = dialect.given.values(_GIVEN, [_given(each) for each in all_effects])
    move, begin = _statements(dialect, qualified(connection, tables.schedules), qualified(connection, tables.runs))
    connection.execute(move, {**given, "now_ms": now_ms})
    connection.execute(begin, {**given, "now_ms": now_ms, "owner": owner})


def _given(effects: Effects) -> tuple[Any, ...]:
    (run,) = effects.runs
    assert effects.schedule is not None
    moments = run.scheduled_ms, effects.schedule.next_run_ms
    return run.schedule_id, run.id, *moments, run.slot, lane_of(run), run.policy.pool


@cache
def _statements(dialect: Dialect, schedules: str, runs: str) -> tuple[TextClause, TextClause]:
    move = dialect.given.update(schedules, _GIVEN, _MOVED)
    columns, values = ", ".join(_BEGUN), ", ".join(_BEGUN.values())
    begin = f"INSERT INTO {runs} ({columns}) SELECT {values} FROM {dialect.given.beside(schedules, _GIVEN)}"
    return text(move), text(begin)
