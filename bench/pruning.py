"""Forgetting: how many rows a second, when nothing else runs, and how long others would wait for one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from bench.filling import opened_engine
from bench.places import NAMES, opened
from bench.report import Report
from onthedot.model.ids import new_id
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.engine import Engine
from onthedot.stores.retention import Pruned, Retention

Say = Callable[[str], None]
RUNS, SCHEDULES, GOAL = 200_000, 1000, 20_000
DAY_MS = 86_400_000


def run(report: Report, say: Say, kind: str) -> None:
    """One table."""
    section = report.section(
        f"Forgetting on {NAMES[kind]}",
        f"{RUNS:,} ended runs of {SCHEDULES:,} schedules, nothing else runs; one process calls `prune` until nothing "
        "is left. A call forgets up to 5,000 rows, in transactions of up to 1,000.",
        *("what", "rows", "rows a second", "longest call, ms"),
    )
    with opened(kind) as place:
        for what, lines, keep in (
            ("old runs", 0, Retention(history_ms=DAY_MS)),
            ("old runs, each with a line of log", 1, Retention(history_ms=DAY_MS)),
            ("runs too many, half of all", 0, Retention(history_ms=1 << 50, per_schedule=RUNS // SCHEDULES // 2)),
        ):
            say(f"{what}: filling")
            with closing(opened_engine(place.fresh())) as store:
                _fill(store, lines)
                say(f"{what}: forgetting")
                done, seconds, longest = _prune(store, keep)
            rate = done.total / seconds
            section.rows.append((what, done.total, rate, longest * 1000))
            if not lines and not keep.history_ms > DAY_MS:
                report.goal(f"{GOAL:,} ended runs a second", f"{rate:,.0f}", rate >= GOAL)


def _fill(store: Engine, lines: int) -> None:
    """Runs that ended ten days ago, of all schedules in turn."""
    old_ms = store.now_ms() - 10 * DAY_MS
    blank = Run("", "task", "tick", 1, 1, State.SUCCEEDED, schedule_id="s", started_ms=1, attempt=1)
    for first in range(0, RUNS, 1000):
        runs = [
            replace(blank, id=new_id(old_ms), finished_ms=old_ms + first, schedule=f"schedule-{number % SCHEDULES}")
            for number in range(first, first + 1000)
        ]
        with store.begin() as rows:
            rows.end_runs(runs)
            rows.add_log([LogLine(run.id, 1, old_ms, "info", "done") for run in runs for _ in range(lines)])


def _prune(store: Engine, keep: Retention) -> tuple[Pruned, float, float]:
    """What was forgotten, in how many seconds, and those of the longest call."""
    done, longest, start = Pruned(), 0.0, time.perf_counter()
    while True:
        before = time.perf_counter()
        last = store.prune(keep)
        longest = max(longest, time.perf_counter() - before)
        done += last
        if not last.more:
            return done, time.perf_counter() - start, longest
