"""Planning on SQLite with synchronous FULL: how many schedules a second, and what a million others cost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from bench.report import Report
from onthedot import every
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.planner.decide import Decider
from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store
from onthedot.triggers.codec import encode

BATCH = 500
TRIGGER = encode(every("1h"))

Say = Callable[[str], None]


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    say("10,000 due schedules")
    throughput(report)
    say("1,000 due among a million, and behind a million finished runs; filling the tables takes a minute")
    growth(report)


class Bench:
    """A store in a folder of its own, with a node that plans."""

    def __init__(self, folder: str) -> None:
        store = open_store(f"sqlite:///{Path(folder) / 'bench.db'}", create=True)
        assert isinstance(store, Engine)
        self.store = store
        self.now_ms = store.now_ms()
        self.store.join(Node("node", "bench", tasks=("task",)), [])
        self.decide = Decider(lambda: new_id(self.now_ms))

    def fill(self, count: int, *, due_in_ms: int, prefix: str) -> None:
        """Insert schedules as they are after a put."""
        for first in range(0, count, 10_000):
            with self.store.begin() as rows:
                rows.save_schedules(
                    [self._schedule(f"{prefix}-{n}", due_in_ms) for n in range(first, min(first + 10_000, count))]
                )

    def _schedule(self, name: str, due_in_ms: int) -> Schedule:
        moment = self.now_ms + due_in_ms
        return Schedule(
            new_id(self.now_ms), name, "task", TRIGGER, next_run_ms=moment, settled_ms=moment - 1, created_ms=1
        )

    def fill_history(self, count: int) -> None:
        """Insert finished runs."""
        blank = Run("", "task", "enqueue", 1, 1, State.SUCCEEDED, finished_ms=self.now_ms, started_ms=1, attempt=1)
        for first in range(0, count, 10_000):
            runs = [replace(blank, id=new_id(self.now_ms)) for _ in range(first, min(first + 10_000, count))]
            with self.store.begin() as rows:
                rows.end_runs(runs)

    def plan_all(self) -> tuple[int, float]:
        """Plan until nothing is due; how many runs that gave, and how long it took."""
        planned, start = 0, perf_counter()
        while True:
            done = self.store.plan_due("node", BATCH, 0, self.decide)
            planned += sum(len(effects.runs) for effects in done.effects)
            if not done.more:
                return planned, perf_counter() - start


def throughput(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        bench.fill(10_000, due_in_ms=-1000, prefix="due")
        planned, taken = bench.plan_all()
        bench.store.close()
    section = report.section(
        "Planning on SQLite",
        f"Batches of {BATCH}, synchronous FULL, WAL; each schedule gives a run.",
        "schedules",
        "ms",
        "a second",
    )
    section.rows.append((planned, taken * 1000, planned / taken))
    report.goal("20,000 schedules planned a second on SQLite", f"{planned / taken:,.0f}", planned / taken >= 20_000)


def growth(report: Report) -> None:
    section = report.section(
        "What others cost",
        "ms to plan 1,000 due schedules, best of 3 fresh batches of them.",
        "beside them",
        "ms",
        "times",
    )
    taken: dict[str, float] = {}
    for name, schedules, history in (
        ("9,000 schedules", 9_000, 0),
        ("999,000 schedules", 999_000, 0),
        ("1,000,000 runs of history", 9_000, 1_000_000),
    ):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(folder)
            bench.fill(schedules, due_in_ms=3_600_000, prefix="later")
            bench.fill_history(history)
            taken[name] = min(_plan_thousand(bench, turn) for turn in range(3))
            bench.store.close()
        section.rows.append((name, taken[name] * 1000, taken[name] / taken["9,000 schedules"]))
    for name in ("999,000 schedules", "1,000,000 runs of history"):
        ratio = taken[name] / taken["9,000 schedules"]
        report.goal(f"planning beside {name}: at most twice as long", f"{ratio:.2f} times", ratio <= 2)


def _plan_thousand(bench: Bench, turn: int) -> float:
    bench.fill(1000, due_in_ms=-1000, prefix=f"due-{turn}")
    planned, taken = bench.plan_all()
    assert planned == 1000
    return taken
