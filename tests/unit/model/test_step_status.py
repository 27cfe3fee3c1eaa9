"""How far a flow is with its steps."""

from __future__ import annotations

from onthedot.model.graph import Graph, Step
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.run import Run
from onthedot.model.step_status import statuses
from onthedot.model.values import replace

GRAPH = Graph(
    "etl",
    (
        Step("one", "t"),
        Step("map", "t", over={"$result": "one"}, after=("one",)),
        Step("sub", "@sub", after=("one",)),
        Step("last", "t", after=("map",)),
        Step("page", "t", on="failure", closing=True),
    ),
)


def test_each_step_is_told_with_what_became_of_its_runs() -> None:
    entries = {
        "one": Entry(1, good=1, verdict="good"),
        "map": Entry(5, good=0b1, bad=0b10, skip=0b100, live=0b11000),
        "sub": Entry(1, bad=1, verdict="cut"),
        "last": Entry(1, bad=1, verdict="bad", again=True),
    }
    told = statuses(GRAPH, Ledger(entries).as_json())
    assert [(each.name, each.state, each.total, each.ended) for each in told] == [
        ("one", "succeeded", 1, 1),
        ("map", "running", 5, 3),
        ("sub", "cancelled", 1, 1),
        ("last", "waiting", None, 0),
        ("page", "waiting", None, 0),
    ]
    assert told[1].failed == told[1].skipped == 1


def test_a_flow_that_has_not_begun_waits_with_all_steps_and_other_runs_have_none() -> None:
    assert {each.state for each in statuses(GRAPH, None)} == {"waiting"}
    run = Run("r", "t", "enqueue", 0, 0)
    assert run.steps == ()
    assert run.with_steps(statuses(GRAPH, None)) == run


def test_a_run_is_called_by_its_schedule_its_step_or_its_task() -> None:
    run = Run("r", "@etl", "enqueue", 0, 0)
    assert (run.title, replace(run, schedule="nightly").title) == ("etl", "nightly")
    assert (replace(run, step="load").title, replace(run, step="load", item=17).title) == ("load", "load[17]")
