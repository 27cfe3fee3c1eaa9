"""Drawing a flow: what the calls of tasks in it become."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from onthedot import App, Context, Flow, cron, item
from onthedot.model.graph import Graph, Step
from onthedot.model.references import arg_of, item_of, literal, result_of

app = App("memory://")
called: list[str] = []


@app.task
def list_files(day: str) -> list[str]:
    called.append("list_files")
    return [day]


@app.task(limit="db:4")
def load(ctx: Context, file: str, fast: bool = False) -> dict[str, int]:
    called.append("load")
    return {"rows": 1}


@app.task
def sum_up(parts: list[dict[str, int]]) -> dict[str, int]:
    return {"rows": len(parts)}


@app.task
async def publish(total: dict[str, int], on: date = date(2026, 1, 1)) -> None: ...


@app.task
def page() -> None: ...


@app.task
def clean() -> None: ...


def draw(function: Any, **options: Any) -> Graph:
    """The graph of a flow that only this test knows."""
    called.clear()
    other = App("memory://")
    flow: Flow[...] = other.flow(**options)(function)
    assert called == [], "no task is called while a flow is drawn"
    return flow.graph


def etl(day: str = "today") -> None:
    files = list_files(day)
    parts = load.options(retries=3, limit="db:4", parallel=20).map(files)
    total = sum_up(parts)
    publish.options(when=total["rows"] > 0)(total)
    page.options(on="failure")()
    clean.options(on="end")()


def test_a_function_draws_its_steps_and_calls_no_task() -> None:
    graph = draw(etl)
    assert graph == Graph(
        "etl",
        (
            Step("list_files", "list_files", {"day": arg_of("day")}),
            Step(
                "load",
                "load",
                {"file": item_of()},
                after=("list_files",),
                over=result_of("list_files"),
                parallel=20,
                policy={"retries": 3, "limit": "db:4"},
            ),
            Step("sum_up", "sum_up", {"parts": result_of("load")}, after=("load",)),
            Step(
                "publish",
                "publish",
                {"total": result_of("sum_up")},
                after=("sum_up",),
                when={"$gt": [result_of("sum_up", ["rows"]), 0]},
            ),
            Step("page", "page", on="failure", closing=True),
            Step("clean", "clean", on="end", closing=True),
        ),
        defaults={"day": "today"},
    )


def test_a_builder_draws_the_same_graph() -> None:
    flow = App("memory://").flow("etl")
    files = flow.step(list_files, args={"day": flow.arg("day", "today")})
    parts = flow.map(load, files.result, retries=3, limit="db:4", parallel=20)
    total = flow.step(sum_up, args={"parts": parts})
    flow.step(publish, args={"total": total.result}, when=total["rows"] > 0)
    flow.step(page, on="failure")
    flow.step(clean, on="end")
    assert flow.graph == draw(etl)
    assert flow.graph.hash == draw(etl).hash


def test_the_graph_comes_back_from_its_text() -> None:
    graph = draw(etl)
    assert Graph.from_text(graph.text) == graph


def test_a_task_that_is_called_outside_a_flow_is_its_function() -> None:
    draw(etl)
    assert sum_up([{}, {}]) == {"rows": 2}
    assert list_files("monday") == ["monday"]


def test_arguments_are_kept_as_json_and_what_looks_like_a_reference_stays_a_value() -> None:
    def flow() -> None:
        total = sum_up([{"$result": 1}])
        publish([1, {"deep": total["rows"]}], on=date(2026, 11, 16))

    first, second = draw(flow).steps
    assert first.args == {"parts": literal([{"$result": 1}])}
    assert second.args == {"total": [1, {"deep": result_of("sum_up", ["rows"])}], "on": "2026-11-16"}
    assert second.after == ("sum_up",)


def test_after_names_steps_beside_those_whose_results_are_used() -> None:
    def flow() -> None:
        cleaned = clean()
        files = list_files("monday")
        load.options(name="first", after=cleaned)(files[0])
        load.options(name="join", after=["first", cleaned], on="any", may_fail=True)(file="x")
        page.options(after=[files], on="failure")()

    graph = draw(flow)
    assert {step.name: (step.after, step.on, step.closing) for step in graph.steps} == {
        "clean": ((), "success", False),
        "list_files": ((), "success", False),
        "first": (("clean", "list_files"), "success", False),
        "join": (("first", "clean"), "any", False),
        "page": (("list_files",), "failure", False),
    }
    assert graph["join"].may_fail


def test_steps_that_a_builder_adds_out_of_order_are_put_in_order() -> None:
    flow = App("memory://").flow("late")
    flow.step(page, after="clean")
    flow.step(clean)
    assert [step.name for step in flow.graph.steps] == ["clean", "page"]


def test_a_map_goes_over_arguments_and_lists_and_gives_parts_of_its_items() -> None:
    def flow(files: list[str]) -> None:
        load.map(files)
        load.options(name="listed").map(["a", "b"], fast=True)
        load.options(name="parts").map([{"f": "a"}], file=item["f"], fast=item["quick"])

    graph = draw(flow)
    assert (graph["load"].over, graph["load"].args) == (arg_of("files"), {"file": item_of()})
    assert (graph["listed"].over, graph["listed"].args) == (["a", "b"], {"file": item_of(), "fast": True})
    assert graph["parts"].args == {"file": item_of(["f"]), "fast": item_of(["quick"])}
    assert graph.required == ("files",)


def test_a_flow_called_in_a_flow_is_a_step_that_carries_its_graph() -> None:
    other = App("memory://")

    @other.flow
    def inner(file: str) -> None:
        load(file)

    @other.flow(name="outer")
    def outer(files: list[str]) -> None:
        inner("x")
        inner.options(name="each", parallel=5).map(files)
        clean.options(after=["each"])()

    assert outer.graph["inner"] == Step("inner", "@inner", {"file": "x"}, graph=inner.graph.hash)
    each = outer.graph["each"]
    assert (each.graph, each.over, each.parallel) == (inner.graph.hash, arg_of("files"), 5)
    assert [graph.name for graph in outer.graphs] == ["outer", "inner"]


def test_a_flow_mapped_in_a_flow_by_either_way_is_the_same() -> None:
    other = App("memory://")

    @other.flow
    def inner(file: str) -> None:
        load(file)

    @other.flow
    def drawn(files: list[str]) -> None:
        inner.map(files)

    built = App("memory://").flow("drawn")
    built.map(inner, built.arg("files"))
    assert built.graph == drawn.graph


def test_conditions_are_joined() -> None:
    def flow(day: str) -> None:
        total = sum_up([])
        page.options(when=(total["rows"] > 0) & ~(total["rows"] >= 9) | (day != "monday"))()
        clean.options(when=total)()

    graph = draw(flow)
    rows = result_of("sum_up", ["rows"])
    assert graph["page"].when == {
        "$any": [
            {"$all": [{"$gt": [rows, 0]}, {"$not": {"$ge": [rows, 9]}}]},
            {"$ne": [arg_of("day"), "monday"]},
        ]
    }
    assert graph["page"].after == ("sum_up",)
    assert graph["clean"].when == {"$true": result_of("sum_up")}


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ({"timeout": "90s", "retries": 0}, {"timeout_ms": 90_000, "retries": 0}),
        ({"route": "hash", "group": "eu", "pool": "slow"}, {"route": "hash", "group": "eu", "pool": "slow"}),
        ({"priority": 5, "delivery": "at_most_once"}, {"priority": 5, "delivery": "at_most_once"}),
        (
            {"backoff": "1s", "max_backoff": "5s", "crash_retries": 1},
            {"backoff_ms": 1000, "max_backoff_ms": 5000, "crash_retries": 1},
        ),
    ],
)
def test_policies_of_a_step_are_what_was_said_for_it(options: dict[str, Any], policy: dict[str, Any]) -> None:
    def flow() -> None:
        page.options(**options)()

    assert draw(flow)["page"].policy == policy


def test_a_flow_with_a_trigger_is_a_schedule_too() -> None:
    other = App("memory://")
    flow = other.flow(cron("0 3 * * *"), overlap="discard", timeout="2h", tags=["nightly"])(etl)
    assert other.named_tasks() == [("etl", "@etl")]
    assert flow.policies == {"overlap": "discard", "timeout": "2h"}
    assert [info.graph for info in other.tasks.infos()] == [flow.graph.hash]


def test_a_flow_drawn_anew_by_a_reloaded_module_takes_the_place_of_itself() -> None:
    other = App("memory://")
    other.flow(etl)
    assert other.flow(etl) is other.tasks.flow("@etl")
