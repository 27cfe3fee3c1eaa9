"""Statistics: how many ends a second are counted into hours, and how long a page of a month takes to read."""  # noqa: A005

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import sqlalchemy
from sqlalchemy import text

from bench.filling import opened_engine, server_engine, settle
from bench.places import NAMES, opened
from bench.report import Report
from onthedot.insight.statistics import Asked, read_statistics
from onthedot.model.hour import EVERYTHING
from onthedot.stores.engine import Engine
from onthedot.stores.sql import tables

Say = Callable[[str], None]
ENDS, SCHEDULES, GOAL, MOST_ROWS = int(os.environ.get("BENCH_ENDS", "10000000")), 1000, 50_000, 720
DAY_MS = 86_400_000
DAYS = 29
_AT_ONCE = 1_000_000
_NUMBERS = {
    "sqlite": "WITH RECURSIVE numbers(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last}) ",
    "postgresql": "WITH numbers(n) AS (SELECT * FROM generate_series({first}::bigint, {last})) ",
}
# In the order in which they ended, of all schedules in turn; one in fifty failed; lateness and duration are spread.
_ROWS = """
SELECT '00000000-0000-7000-8000-' || {padded}, 'task', 'tick', {ended} - 100 - n % 5000, {ended} - 100 - n % 5000,
  CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'succeeded' END, '{{"to": "somebody@example.org"}}', '{{}}',
  'schedule-' || (n % {schedules}), 'schedule-' || (n % {schedules}), 1, 1, 1, 0, 0, 0, {ended} - 9000,
  {ended} - n * 7919 % 5000, {ended},
  CASE WHEN n % 50 = 0 THEN 'Traceback (most recent call last): somewhere' || chr(10) || 'OSError: disk ' || n END,
  'schedule-' || (n % {schedules}), 0 FROM numbers
"""
_COLUMNS = (
    *("id", "task", "cause", "scheduled_ms", "due_ms", "state", "args", "policy", "schedule_id", "schedule"),
    *("revision", "claim_no", "attempt", "crashes", "fence", "exempt", "created_ms", "started_ms", "finished_ms"),
    *("error", "kept_by", "late"),
)


def run(report: Report, say: Say, kind: str) -> None:
    """Two tables."""
    if kind not in _NUMBERS:
        raise SystemExit(f"error: statistics are measured on {' and '.join(_NUMBERS)}")
    counting = report.section(
        f"Counting ends on {NAMES[kind]}",
        f"{ENDS:,} ended runs of {SCHEDULES:,} schedules in {DAYS} days, one in fifty failed, nobody else uses the "
        "store; one process counts them, 10,000 at a time. Processor time is that of this process; a server has its "
        "own. The load above tells what else the machine did.",
        *("ends", "seconds", "ends a second", "ends a second of processor time", "longest call, ms"),
    )
    reading = report.section(
        "A page of statistics",
        f"Read from what was counted, {DAYS} days of it; best of 5.",
        *("what", "rows", "ms"),
    )
    with opened(kind) as place:
        url = place.fresh()
        with closing(opened_engine(url)) as store:
            say(f"{ENDS:,} ends: filling")
            _fill(store, url, kind)
            say(f"{ENDS:,} ends: counting")
            rate = _count(store, counting.rows)
            report.goal(f"{GOAL:,} ends a second", f"{rate:,.0f}", rate >= GOAL)
            for what, of in (("everything", EVERYTHING), ("one schedule", "schedule-7")):
                rows, seconds = _read(store, of)
                reading.rows.append((what, rows, seconds * 1000))
                report.goal(f"{what}: {MOST_ROWS} rows at most", f"{rows}", 0 < rows <= MOST_ROWS)


def _fill(store: Engine, url: str, kind: str) -> None:
    """By the database itself. All indexes but those that are asked here are left out, or it would take an hour."""
    first_ms = store.now_ms() - DAYS * DAY_MS - 120_000
    ended = f"({first_ms} + n * {DAYS * DAY_MS} / {ENDS})"
    padded = "printf('%012d', n)" if kind == "sqlite" else "lpad(n::text, 12, '0')"
    break_line = "char(10)" if kind == "sqlite" else "chr(10)"
    rows = _ROWS.format(padded=padded, ended=ended, schedules=SCHEDULES).replace("chr(10)", break_line)
    with _engine(url) as engine:
        with engine.begin() as connection:
            for index in tables.history.indexes:
                if index.name != "onthedot_history_finished":
                    connection.execute(text(f"DROP INDEX IF EXISTS {index.name}"))
        for first in range(0, ENDS, _AT_ONCE):
            numbers = _NUMBERS[kind].format(first=first, last=min(first + _AT_ONCE, ENDS) - 1)
            with engine.begin() as connection:
                insert = f"INSERT INTO onthedot_history ({', '.join(_COLUMNS)}) "
                statement = numbers + insert + rows if kind == "sqlite" else insert + numbers + rows
                connection.exec_driver_sql(statement.replace("%", "%%") if kind == "postgresql" else statement)
    settle(url, tables.history)


@contextmanager
def _engine(url: str) -> Iterator[sqlalchemy.Engine]:
    if url.startswith("sqlite"):
        engine = sqlalchemy.create_engine(url)
        yield engine
        engine.dispose()
        return
    with server_engine(url) as engine:
        yield engine


def _count(store: Engine, rows: list[tuple[str | float | int, ...]]) -> float:
    ends, longest = 0, 0.0
    start, processor = time.perf_counter(), time.process_time()
    while True:
        before = time.perf_counter()
        rolled = store.roll_up()
        longest = max(longest, time.perf_counter() - before)
        ends += rolled.ends
        if not rolled.more:
            break
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    rows.append((ends, seconds, ends / seconds, ends / processor, longest * 1000))
    return ends / seconds


def _read(store: Engine, of: str) -> tuple[int, float]:
    now_ms = store.now_ms()
    best = 1e9
    for _ in range(5):
        before = time.perf_counter()
        read_statistics(store, Asked(of, "", now_ms - 30 * DAY_MS, now_ms))
        best = min(best, time.perf_counter() - before)
    return len(store.hours(of)), best
