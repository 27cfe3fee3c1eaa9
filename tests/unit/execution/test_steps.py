"""What a step is given before it is called, and what of its result the flow can go on with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from onthedot.clock import ManualClock
from onthedot.execution.context import Context, GiveUp, Skip
from onthedot.execution.facts import StoreFacts
from onthedot.execution.results import ANYTHING, MOST_STEP_BYTES, NotAsExpected, expected_of, kept
from onthedot.execution.steps import Steps
from onthedot.model.graph import Graph, Step
from onthedot.model.ids import new_id
from onthedot.model.references import arg_of, item_of, result_of
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.memory import MemoryStore

GOOD = State.SUCCEEDED


class Desk:
    """A store with one flow, and runs of its steps as they ended."""

    def __init__(
        self, *steps: Step, args: dict[str, Any] | None = None, defaults: dict[str, Any] | None = None
    ) -> None:
        self.store = MemoryStore(ManualClock(1_000_000).now_ms)
        self.graph = Graph("etl", steps, defaults or {})
        self.flow = self.keep_flow(self.graph, args or {})
        self.steps = Steps(self.store)

    def keep_flow(self, graph: Graph, args: dict[str, Any], **fields: Any) -> Run:
        self.store.save_graphs([graph])
        return self.keep(task="@etl", graph=graph.hash, state=State.RUNNING, args=args, ledger={}, **fields)

    def keep(self, **fields: Any) -> Run:
        run = Run(new_id(1_000_000), cause="enqueue", scheduled_ms=0, due_ms=0, **fields)
        with self.store.begin() as tx:
            tx.save_runs([run])
        return run

    def ended(self, step: str, *ends: tuple[State, Any]) -> None:
        for number, (state, result) in enumerate(ends):
            item = number if self.graph[step].is_map else None
            self.keep(task="t", parent_id=self.flow.id, step=step, item=item, state=state, result=result)

    def context(self, step: str, item: int | None = None, flow: Run | None = None) -> Context:
        parent = flow or self.flow
        graph = self.store.graph(parent.graph or "")
        assert graph is not None
        run = self.keep(task="t", parent_id=parent.id, step=step, item=item, args=graph[step].args)
        return Context(run, facts=StoreFacts(self.store))

    def args(self, step: str, item: int | None = None, flow: Run | None = None) -> Any:
        context = self.context(step, item, flow)
        assert self.steps.begin(context) is None
        return context.run.args


def a(name: str, args: dict[str, Any] | None = None, **fields: Any) -> Step:
    return Step(name, "t", args or {}, **fields)


def test_a_step_is_given_results_arguments_and_defaults() -> None:
    desk = Desk(
        a("one"),
        a("two", {"x": result_of("one", ["rows"]), "day": arg_of("day"), "n": arg_of("n"), "plain": 5}, after=("one",)),
        args={"day": "monday"},
        defaults={"day": "today", "n": 3},
    )
    desk.ended("one", (GOOD, {"rows": 7}))
    assert desk.args("two") == {"x": 7, "day": "monday", "n": 3, "plain": 5}


def test_the_results_of_a_map_are_a_list_in_order_with_none_for_what_went_badly() -> None:
    desk = Desk(a("one", {"x": item_of()}, over=[1, 2, 3, 4]), a("two", {"parts": result_of("one")}, after=("one",)))
    desk.ended("one", (GOOD, "a"), (State.FAILED, None), (GOOD, "c"), (State.FAILED, None))
    assert desk.args("two") == {"parts": ["a", None, "c", None]}


@pytest.mark.parametrize(
    "over", [[{"f": "a"}, {"f": "b"}], arg_of("files"), arg_of("deep", ["files"]), result_of("one")]
)
def test_a_run_of_a_map_is_given_its_item(over: Any) -> None:
    files = [{"f": "a"}, {"f": "b"}]
    desk = Desk(
        a("one"),
        a("map", {"x": item_of(["f"]), "all": item_of()}, over=over, after=("one",)),
        args={"files": files, "deep": {"files": files}},
    )
    desk.ended("one", (GOOD, files))
    assert desk.args("map", 1) == {"x": "b", "all": {"f": "b"}}


def test_a_map_over_a_map_is_given_what_the_same_item_returned() -> None:
    desk = Desk(
        a("one", {"x": item_of()}, over=[1, 2]), a("two", {"x": item_of()}, over=result_of("one"), after=("one",))
    )
    desk.ended("one", (GOOD, "a"), (GOOD, "b"))
    assert desk.args("two", 1) == {"x": "b"}


def test_what_a_task_does_to_its_arguments_does_nothing_to_the_next() -> None:
    desk = Desk(a("map", {"x": item_of(), "y": arg_of("y")}, over=[["a"]]), args={"y": [1]})
    given = desk.args("map", 0)
    given["x"].append("b")
    given["y"].append(2)
    assert desk.args("map", 0) == {"x": ["a"], "y": [1]}


def test_a_flow_in_a_flow_is_given_what_the_outer_one_knows() -> None:
    inner = Graph("inner", (a("leaf", {"x": arg_of("file", ["name"]), "n": arg_of("n")}),), {"n": 1})
    desk = Desk(
        a("one"), Step("each", "@inner", {"file": item_of()}, over=result_of("one"), after=("one",), graph=inner.hash)
    )
    desk.ended("one", (GOOD, [{"name": "a"}, {"name": "b"}]))
    sub = desk.keep_flow(inner, {"file": item_of()}, parent_id=desk.flow.id, step="each", item=1)
    assert desk.args("leaf", flow=sub) == {"x": "b", "n": 1}


def test_a_condition_that_does_not_hold_skips_the_step_and_one_that_cannot_be_judged_fails_it() -> None:
    desk = Desk(a("one"), a("two", when={"$gt": [result_of("one", ["rows"]), 0]}, after=("one",)))
    desk.ended("one", (GOOD, {"rows": 0}))
    with pytest.raises(Skip, match=r"when one\['rows'\] > 0: it does not hold"):
        desk.steps.begin(desk.context("two"))
    desk = Desk(a("one"), a("two", when={"$gt": [result_of("one", ["rows"]), 0]}, after=("one",)))
    desk.ended("one", (GOOD, {"rows": None}))
    with pytest.raises(GiveUp, match="None > 0 cannot be judged"):
        desk.steps.begin(desk.context("two"))


def test_too_much_of_results_fails_the_step_and_names_the_remedy_which_reads_all() -> None:
    desk = Desk(
        a("load", {"x": item_of()}, over=list(range(30))), a("two", {"parts": result_of("load")}, after=("load",))
    )
    desk.ended("load", *[(GOOD, "x" * 50_000)] * 30)
    context = desk.context("two")
    with pytest.raises(GiveUp, match=r'are more than 1,000,000 bytes.*for each in ctx.results\("load"\)'):
        desk.steps.begin(context)
    assert [len(each) for each in context.results("load")] == [50_000] * 30


def test_results_are_read_page_by_page_with_none_for_what_is_missing() -> None:
    desk = Desk(a("load", {"x": item_of()}, over=list(range(250))), a("two", after=("load",)))
    desk.ended("load", *[(GOOD if number % 7 else State.SKIPPED, number) for number in range(250)])
    assert list(desk.context("two").results("load")) == [number if number % 7 else None for number in range(250)]


def test_a_step_whose_flow_is_gone_says_so() -> None:
    desk = Desk(a("one"))
    context = desk.context("one")
    context.run = Run("x", "t", "enqueue", 0, 0, parent_id="gone", step="one")
    with pytest.raises(GiveUp, match="its flow gone, or the graph of it, is no longer in the store"):
        desk.steps.begin(context)


def test_only_what_is_known_without_the_store_is_at_hand() -> None:
    desk = Desk(a("one", {"day": arg_of("day")}), a("two", {"x": result_of("one")}, after=("one",)), args={"day": "x"})
    first, second = desk.context("one").run, desk.context("two").run
    assert not desk.steps.is_at_hand(first)
    desk.args("one")
    assert (desk.steps.is_at_hand(first), desk.steps.is_at_hand(second)) == (True, False)


# what it returned

USED = expected_of(Graph("etl", (a("one"), a("two", {"x": result_of("one")}, after=("one",)))), "one")
MAPPED = expected_of(Graph("etl", (a("one"), a("two", {"x": item_of()}, over=result_of("one"), after=("one",)))), "one")
FOLLOWED = expected_of(Graph("etl", (a("one"), a("two", after=("one",)))), "one")


def test_a_result_of_five_megabytes_fails_a_step_only_if_another_is_given_it() -> None:
    large = "x" * 5_000_000
    with pytest.raises(NotAsExpected, match="its result of 5,000,002 bytes is too large for two, which gets it"):
        kept(large, USED)
    for expected in (ANYTHING, FOLLOWED):
        value, size, dropped = kept(large, expected)
        assert (value, size) == (None, None)
        assert "was not kept" in (dropped or "")
    value = "x" * (MOST_STEP_BYTES - 2)
    assert kept(value, USED) == (value, None, None)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"a": 1},
            r"two is mapped over what it returns, which is a dict and no list; return list\(d.items\(\)\) or list\(d\)",
        ),
        (None, "which is None and no list; return a list"),
        (list(range(10_001)), "it returned 10,001 items for two; a map has at most 10,000: return batches"),
    ],
)
def test_a_step_that_is_mapped_over_fails_if_it_returns_no_list_or_too_long_a_one(result: Any, said: str) -> None:
    with pytest.raises(NotAsExpected, match=said):
        kept(result, MAPPED)
    assert kept(result, FOLLOWED)[0] == result


@pytest.mark.parametrize("result", [[], (1, 2), list(range(10_000))])
def test_the_length_of_a_list_is_noted_where_a_step_is_mapped_over_it(result: Sequence[Any]) -> None:
    assert kept(result, MAPPED)[1] == len(result)
    assert kept(result, USED)[1] is None
