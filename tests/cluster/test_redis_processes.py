"""What holds for several processes on one SQLite file holds for them on one Redis; and for fifty planners at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.cluster.test_sqlite_processes import (
    BY,
    Processes,
    opened,
    processes,
    test_a_process_killed_inside_its_planning_transaction_leaves_nothing_behind,
    test_a_process_killed_while_it_plans_loses_nothing_and_nothing_is_planned_twice,
    test_eight_processes_plan_two_thousand_due_schedules_and_none_twice,
    test_six_processes_open_a_file_that_does_not_exist_yet_and_work,
)

from onthedot import at
from onthedot.planner import edits
from onthedot.stores.base import Store

__all__ = [
    "opened",
    "processes",
    "test_a_process_killed_inside_its_planning_transaction_leaves_nothing_behind",
    "test_a_process_killed_while_it_plans_loses_nothing_and_nothing_is_planned_twice",
    "test_eight_processes_plan_two_thousand_due_schedules_and_none_twice",
    "test_six_processes_open_a_file_that_does_not_exist_yet_and_work",
]

PROCESSES, THREADS = 5, 10
PLAN_WITH_MANY_THREADS = f"""
from concurrent.futures import ThreadPoolExecutor
store = open_store(url, create=False)

def plan(number):
    node = store.join(Node(new_id(now_ms()), f"{{name}} {{number}}"), [])
    made = []
    while True:
        planned = store.plan_due(node.id, 50, 0, decide)
        made += [run.schedule_id for effects in planned.effects for run in effects.runs]
        if not planned.effects and not planned.passed_over:
            return made

with ThreadPoolExecutor({THREADS}) as pool:
    for made in pool.map(plan, range({THREADS})):
        say(" ".join(made))
store.close()
"""


@pytest.fixture
def url(redis_url: str) -> str:
    return redis_url


def test_fifty_planners_make_ten_thousand_runs_of_ten_thousand_due_schedules(
    processes: Processes, opened: Callable[[], Store]
) -> None:
    store = opened()
    once = edits.put(edits.Definition("task", at("2026-01-01T00:00Z")))
    for start in range(0, 10_000, 1000):
        store.change([f"schedule {number}" for number in range(start, start + 1000)], once, BY)
    for number in range(PROCESSES):
        processes.start(PLAN_WITH_MANY_THREADS, f"process {number}")
    said = processes.go()
    assert Counter(Counter(each for lines in said for each in lines).values()) == Counter({1: 10_000})
    runs = store.runs(limit=20_000)
    assert len(runs) == len({run.schedule_id for run in runs}) == 10_000
