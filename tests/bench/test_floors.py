"""The floors of planning write what the tables of today ask for: a column more would end a bench in its midst."""

from __future__ import annotations

from pathlib import Path

import psycopg
from bench.filling import fill, opened_engine, schedule_at

from bench import floors, pgbench
from onthedot.stores.base import Store

DUE = 7


def filled(url: str) -> Store:
    store = opened_engine(url)
    fill(store, DUE, schedule_at(store.now_ms() - 1000), "due")
    return store


def planned(store: Store) -> tuple[int, int]:
    """How many runs there are, and how many schedules are left that are due."""
    due = [each for each in store.schedules(limit=100) if each.is_due_at(store.now_ms())]
    return len(store.runs(limit=100)), len(due)


def test_that_of_sqlite_makes_a_run_of_each_tick(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    store = filled(url)
    floors.sqlite_plan(url, DUE, 5)
    assert planned(store) == (DUE, 0)
    store.close()


def test_that_of_postgresql_makes_a_run_of_each_tick(postgresql_15_url: str) -> None:
    store = filled(postgresql_15_url)
    with psycopg.connect(postgresql_15_url, autocommit=True) as connection:
        for _ in range(2):
            connection.execute(pgbench.statement(5))
    assert planned(store) == (DUE, 0)
    store.close()
