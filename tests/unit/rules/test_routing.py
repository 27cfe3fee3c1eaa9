"""Which node each route chooses, one row for each case; and what moves when nodes come and go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.rules.routing import ROUTES, Router, eligible, used_after

NOW_MS = 1_000_000


def node(name: str, started_ms: int = 0, **fields: object) -> Node:
    defaults: dict[str, object] = {"tasks": ("job",), "capacity": 10, "renewed_ms": NOW_MS}
    return Node(name, name, started_ms=started_ms, **{**defaults, **fields})  # type: ignore[arg-type]


A, B, C = node("a", 1), node("b", 2), node("c", 3)


def chosen(
    route: str,
    nodes: tuple[Node, ...] = (A, B, C),
    turn: int = 0,
    used: dict[str, int] | None = None,
    load: dict[str, int] | None = None,
) -> str | None:
    run = Run("run", "job", "tick", 0, 0, policy=Policy(route=route), schedule="digest")
    return id_of(Router(nodes, load or {}, NOW_MS).choose(run, turn, used))


def id_of(node: Node | None) -> str | None:
    return None if node is None else node.id


@pytest.mark.parametrize(
    ("route", "turn", "used", "expected"),
    [
        ("any", 0, None, None),
        ("broadcast", 0, None, None),
        ("first", 5, None, "a"),
        ("last", 5, None, "c"),
        ("round", 0, None, "a"),
        ("round", 1, None, "b"),
        ("round", 5, None, "c"),
        ("lfu", 0, {"a": 3, "b": 1, "c": 2}, "b"),
        ("lfu", 0, {"a": 3, "b": 1}, "b"),
        ("lru", 0, {"a": 7, "b": 9, "c": 8}, "a"),
        ("lru", 0, {"a": 7, "c": 8}, "b"),
        ("failover", 0, None, "a"),
    ],
)
def test_a_route_chooses(route: str, turn: int, used: dict[str, int] | None, expected: str | None) -> None:
    assert chosen(route, turn=turn, used=used) == expected


@pytest.mark.parametrize("route", ["busyover", "lfu", "lru"])
def test_where_nothing_else_is_known_the_load_counts(route: str) -> None:
    assert chosen(route, load={"a": 1}) == "b"
    assert chosen(route, load={"a": 5, "b": 3, "c": 4}) == "b"


def test_what_a_batch_has_chosen_counts_as_load_for_the_rest_of_it() -> None:
    router = Router((A, B, C), {}, NOW_MS)
    runs = [Run(f"run-{n}", "job", "tick", 0, 0, policy=Policy(route="busyover")) for n in range(6)]
    assert [id_of(router.choose(run)) for run in runs] == ["a", "b", "c", "a", "b", "c"]


@pytest.mark.parametrize("route", ["lfu", "lru"])
def test_routes_by_use_go_around_all_nodes_whoever_plans(route: str) -> None:
    used: dict[str, int] = {}
    chose = []
    for turn in range(6):
        run = Run("run", "job", "tick", 0, 0, policy=Policy(route=route))
        node = Router((A, B, C), {}, NOW_MS).choose(run, turn, used)  # each time another planner
        assert node is not None
        used = used_after(used, route, node, turn, (A, B, C))
        chose.append(node.id)
    assert sorted(chose[:3]) == sorted(chose[3:]) == ["a", "b", "c"]


def test_a_node_that_comes_new_does_not_get_all_runs_until_it_has_caught_up() -> None:
    used = {"a": 100, "b": 101}
    chose = []
    for turn in range(6):
        node = Router((A, B, C), {}, NOW_MS).choose(
            Run("run", "job", "tick", 0, 0, policy=Policy(route="lfu")), turn, used
        )
        assert node is not None
        used = used_after(used, "lfu", node, turn, (A, B, C))
        chose.append(node.id)
    assert chose.count("c") <= 3


def test_failover_passes_over_a_node_whose_lease_is_over() -> None:
    silent = node("a", 1, renewed_ms=NOW_MS - 30_000)
    assert chosen("failover", (silent, B, C)) == "b"
    assert chosen("first", (silent, B, C)) == "a"
    assert chosen("failover", (silent,)) == "a"


def test_busyover_goes_by_the_part_of_the_workers_that_is_busy() -> None:
    large = node("c", 3, capacity=100)
    assert chosen("busyover", (A, B, large), load={"a": 2, "b": 2, "c": 10}) == "c"


def test_random_is_the_same_for_the_same_run_and_spreads_over_all_nodes() -> None:
    def of(number: int) -> str | None:
        run = Run(f"run-{number}", "job", "tick", 0, 0, policy=Policy(route="random"))
        return id_of(Router((A, B, C), {}, NOW_MS).choose(run))

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
        before = id_of(Router(nodes, {}, NOW_MS).choose(run))
        after = id_of(Router(left, {}, NOW_MS).choose(run))
        assert before in (after, gone)
