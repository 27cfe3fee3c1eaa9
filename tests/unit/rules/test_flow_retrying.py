"""What is done again: when a step may be retried by itself, and what waits for what when a flow is."""

from __future__ import annotations

import pytest

from onthedot.model.graph import Graph, Step
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.flows.judging import advance
from onthedot.rules.flows.retrying import reopened, why_not_alone

FLOW = Run("f", "@flow", "enqueue", 0, 0, state=State.RUNNING)
GRAPH = Graph(
    "flow",
    (
        Step("a", "job"),
        Step("b", "job", after=("a",), on="end"),
        Step("c", "job", after=("b",)),
        Step("z", "job", on="end", closing=True),
    ),
)
GOOD, BAD = Entry(1, good=1, verdict="good"), Entry(1, bad=1, verdict="bad")
ROW = replace(FLOW, id="c", step="c", parent_id="f", state=State.FAILED)


@pytest.mark.parametrize(
    ("flow", "steps", "why"),
    [
        (FLOW, {"a": GOOD, "b": GOOD, "c": BAD}, None),
        (None, {}, "its flow does not run"),
        (replace(FLOW, state=State.WAITING), {}, "its flow does not run"),
        (replace(FLOW, cancel_requested_ms=1), {"a": GOOD, "b": GOOD, "c": BAD}, "its flow is asked to stop"),
        (FLOW, {"a": GOOD, "b": GOOD, "c": BAD, "z": Entry(1, live=1)}, "its flow is closing"),
        (FLOW, {"a": GOOD, "b": GOOD, "c": GOOD}, "its flow does not count it among those that went wrong"),
        (FLOW, {"a": Entry(1, live=1), "b": GOOD, "c": BAD}, "a step before it has not ended"),
        (FLOW, {"b": GOOD, "c": BAD}, "a step before it has not ended"),
    ],
)
def test_a_step_is_retried_by_itself_only_where_its_flow_stands_as_it_left_it(
    flow: Run | None, steps: dict[str, Entry], why: str | None
) -> None:
    assert why_not_alone(flow, ROW, GRAPH, Ledger(steps)) == why


def test_what_is_retried_waits_for_all_of_its_ancestors_not_only_for_its_parents() -> None:
    ended = Ledger({"a": BAD, "b": GOOD, "c": BAD, "z": GOOD})
    again = reopened(ended, GRAPH)
    assert again.steps["b"] == GOOD
    first = advance(FLOW, GRAPH, again)
    assert [wanted.step.name for wanted in first.wanted] == ["a"]
