"""Which node each route chooses, one row for each case; and what moves when nodes come and go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.rules.routing import ROUTES, Known, Question, choose, eligible

NOW_MS = 1_000_000


def node(name: str, started_ms: int = 0, **fields: object) -> Node:
    defaults: dict[str, object] = {"tasks": ("job",), "capacity": 10, "renewed_ms": NOW_MS}
    return Node(name, name, started_ms=started_ms, **{**defaults, **fields})  # type: ignore[arg-type]


A, B, C = node("a", 1), node("b", 2), node("c", 3)


def chosen(route: str, nodes: tuple[Node, ...] = (A, B, C), turn: int = 0, known: Known | None = None) -> str | None:
    run = Run("run", "job", "tick", 0, 0, policy=Policy(route=route), schedule="digest")
    return choose(Question(run, turn, nodes, NOW_MS, known or Known()))


@pytest.mark.parametrize(
    ("route", "turn", "known", "expected"),
    [
        ("any", 0, None, None),
        ("broadcast", 0, None, None),
        ("first", 5, None, "a"),
        ("last", 5, None, "c"),
        ("round", 0, None, "a"),
        ("round", 1, None, "b"),
        ("round", 5, None, "c"),
        ("lfu", 0, Known(used={"a": 3, "b": 1, "c": 2}), "b"),
        ("lfu", 0, Known(used={"a": 3, "b": 1}), "c"),
        ("lru", 0, Known(last_used={"a": 7, "b": 9, "c": 8}), "a"),
        ("lru", 0, Known(last_used={"a": 7, "c": 8}), "b"),
        ("failover", 0, None, "a"),
        ("busyover", 0, Known(busy={"a": 1}), "b"),
        ("busyover", 0, Known(busy={"a": 5, "b": 3, "c": 4}), "b"),
    ],
)
def test_a_route_chooses(route: str, turn: int, known: Known | None, expected: str | None) -> None:
    assert chosen(route, turn=turn, known=known) == expected


def test_failover_passes_over_a_node_whose_lease_is_over() -> None:
    silent = node("a", 1, renewed_ms=NOW_MS - 30_000)
    assert chosen("failover", (silent, B, C)) == "b"
    assert chosen("first", (silent, B, C)) == "a"
    assert chosen("failover", (silent,)) == "a"


def test_busyover_goes_by_the_part_of_the_workers_that_is_busy() -> None:
    large = node("c", 3, capacity=100)
    assert chosen("busyover", (A, B, large), known=Known(busy={"a": 2, "b": 2, "c": 10})) == "c"


def test_random_is_the_same_for_the_same_run_and_spreads_over_all_nodes() -> None:
    def of(number: int) -> str | None:
        run = Run(f"run-{number}", "job", "tick", 0, 0, policy=Policy(route="random"))
        return choose(Question(run, 0, (A, B, C), NOW_MS, Known()))

    assert of(1) == of(1)
    assert {of(number) for number in range(50)} == {"a", "b", "c"}


def test_without_a_node_that_may_take_it_a_run_waits_for_whoever_is_free() -> None:
    assert all(chosen(route, ()) is None for route in ROUTES)


def test_only_live_nodes_that_execute_know_the_task_and_are_of_the_group_are_eligible() -> None:
    nodes = [
        node("late", 9),
        node("early", 1),
        node("draining", state=NodeState.DRAINING),
        node("planner", roles=("plan",)),
        node("ignorant", tasks=("other",)),
        node("special", 5, group="gpu"),
    ]
    assert [each.name for each in eligible(nodes, "job", None)] == ["early", "special", "late"]
    assert [each.name for each in eligible(nodes, "job", "gpu")] == ["special"]
    assert [each.name for each in eligible(nodes, "job", None, not_="early")] == ["special", "late"]


names = st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=2, max_size=8, unique=True)


@given(names, st.data())
def test_a_hash_route_moves_only_what_its_lost_node_held(members: list[str], data: st.DataObject) -> None:
    nodes = tuple(node(name, number) for number, name in enumerate(sorted(members)))
    gone = data.draw(st.sampled_from(members))
    left = tuple(each for each in nodes if each.name != gone)
    for number in range(30):
        run = Run("run", "job", "tick", 0, 0, policy=Policy(route="hash"), schedule=f"s{number}")
        before = choose(Question(run, 0, nodes, NOW_MS, Known()))
        after = choose(Question(run, 0, left, NOW_MS, Known()))
        assert before in (after, gone)
