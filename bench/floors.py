"""Floors: what the database itself takes for the same rows, without us, and what an empty commit costs.

They decide nothing, read no trigger and return no rows. That of PostgreSQL is in `pgbench`.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from contextlib import closing

import psycopg

COMMITS = 200
# As `pgbench` has it: schedules that are due, a run for each, and the schedules moved on.
_DUE = (
    "SELECT id FROM onthedot_schedules WHERE enabled = 1 AND deleted = 0 AND error IS NULL AND mode = 'durable' "
    "AND next_run_ms <= :now ORDER BY next_run_ms, id LIMIT :batch"
)
_INSERT = f"""
INSERT INTO onthedot_runs (id, task, cause, scheduled_ms, due_ms, state, args, policy, schedule_id, schedule, revision,
  claim_no, attempt, crashes, fence, exempt, created_ms, priority, ranked, apart, lane, plain)
SELECT lower(hex(randomblob(18))), task, 'tick', next_run_ms, next_run_ms, 'waiting', args, policy, id, name, revision,
  0, 0, 0, 0, 0, next_run_ms, priority, 0, '', 'ANY', 1 FROM onthedot_schedules WHERE id IN ({_DUE})
"""
_ADVANCE = f"""
UPDATE onthedot_schedules SET settled_ms = next_run_ms, last_enqueued_ms = next_run_ms,
  next_run_ms = next_run_ms + 3600000, planned_runs = planned_runs + 1, version = version + 1 WHERE id IN ({_DUE})
"""


def sqlite_plan(url: str, due: int, batch: int) -> float:
    """Seconds for two statements a batch on SQLite, until nothing is due."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        asked = {"now": int(time.time() * 1000), "batch": batch}
        planned, start = 0, time.perf_counter()
        while planned < due:
            connection.execute("BEGIN IMMEDIATE")
            planned += connection.execute(_INSERT, asked).rowcount
            connection.execute(_ADVANCE, asked)
            connection.execute("COMMIT")
        return time.perf_counter() - start


def commit_ms(kind: str, url: str) -> float:
    """The median of commits of one row, in ms: no transaction can take less."""
    took = _sqlite_commits(url) if kind == "sqlite" else _postgresql_commits(url)
    return statistics.median(took) * 1000


def _sqlite_commits(url: str) -> list[float]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS floor (n INTEGER)")
        took = []
        for number in range(COMMITS):
            start = time.perf_counter()
            connection.execute("INSERT INTO floor VALUES (?)", (number,))
            took.append(time.perf_counter() - start)
        return took


def _postgresql_commits(url: str) -> list[float]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS floor (n integer)")
        took = []
        for number in range(COMMITS):
            start = time.perf_counter()
            connection.execute("INSERT INTO floor VALUES (%s)", (number,))
            took.append(time.perf_counter() - start)
        return took
