"""How full pools are: what a node published beside what it runs, by the rules that the node itself goes by."""

from __future__ import annotations

import pytest

from onthedot import App
from onthedot.insight.pool_use import PoolUse, pools_in_use
from onthedot.model.node import SLOW_LABEL, Node
from onthedot.model.task_info import TaskInfo
from onthedot.node.settings import NodeSettings
from onthedot.stores.counts import Load

SIZES = {"fast": 40, "slow": 20, "loop": 40, "process": 2}
TASKS = [TaskInfo("plain"), TaskInfo("fetch", pool="loop"), TaskInfo("heavy", pool="process")]


def _running(*load: Load, **fields: object) -> dict[str, int]:
    node = Node("n", "web", pools=SIZES, **fields)  # type: ignore[arg-type]
    return {each.pool: each.running for each in pools_in_use([node], load, TASKS)["n"] if each.running}


@pytest.mark.parametrize(
    ("task", "named", "pool"),
    [
        ("plain", None, "fast"),
        ("plain", "slow", "slow"),
        ("plain", "process", "process"),
        ("fetch", None, "loop"),
        ("fetch", "slow", "loop"),
        ("fetch", "process", "process"),
        ("heavy", None, "process"),
        ("heavy", "fast", "fast"),
        ("nobody knows", None, "fast"),
    ],
)
def test_a_run_counts_in_the_pool_that_its_node_puts_it_into(task: str, named: str | None, pool: str) -> None:
    assert _running(Load("n", task, named, 3), Load("other", task, named, 5)) == {pool: 3}


def test_what_a_node_found_to_be_slow_counts_in_its_slow_pool() -> None:
    labels = {SLOW_LABEL: "other\nplain"}
    assert _running(Load("n", "plain", None, 3), Load("n", "plain", "fast", 1), labels=labels) == {"slow": 3, "fast": 1}


def test_a_pool_is_needed_if_anything_runs_there_or_a_task_of_the_node_goes_there() -> None:
    node = Node("n", "web", tasks=("fetch",), pools=SIZES)
    used = pools_in_use([node], [Load("n", "plain", "slow", 1)], TASKS)["n"]
    assert [each.pool for each in used] == [*SIZES]
    assert [each.pool for each in used if each.is_needed] == ["slow", "loop"]


def test_a_pool_that_was_not_published_is_told_all_the_same() -> None:
    (used,) = pools_in_use([Node("n", "web")], [Load("n", "plain", None, 3)], [])["n"]
    assert (used, used.part, used.free) == (PoolUse("fast", 0, 3), 1.0, 0)


def test_a_node_publishes_its_pools_and_where_its_tasks_go() -> None:
    app = App("memory://", node=NodeSettings(capacity=6))

    @app.task
    async def fetch() -> None: ...

    app.task(name="calm", pool="slow")(lambda: None)
    app.start()
    try:
        (node,) = app.nodes.list()
        assert {**node.pools, "process": 0} == {"fast": 6, "slow": 3, "loop": 6, "process": 0}
        assert {task.name: task.pool for task in app.open_store().tasks()} == {"fetch": "loop", "calm": "slow"}
        assert [each.pool for each in app.nodes.pools()[node.id] if each.is_needed] == ["slow", "loop"]
    finally:
        app.stop()


def test_a_node_that_does_not_execute_has_no_pools() -> None:
    app = App("memory://", node=NodeSettings(roles=("plan",)))
    app.start()
    try:
        (node,) = app.nodes.list()
        assert (dict(node.pools), app.nodes.pools()[node.id]) == ({}, ())
    finally:
        app.stop()
