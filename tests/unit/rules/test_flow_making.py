"""The runs of steps: their ids, their arguments, and how they wait again."""

from __future__ import annotations

from onthedot.model.graph import MOST_ITEMS, Graph, Step
from onthedot.model.ids import least_id, made_ms, new_id
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.flows.making import SMALL_ITEM, Maker, id_of, is_small, opened, waits_again
from onthedot.rules.start import started

NOW_MS = 1_800_000_000_000
FLOW = Run(new_id(NOW_MS), "@etl", "enqueue", NOW_MS, NOW_MS, args={"day": "today", "big": "x" * 5000})


def _maker(step: Step, flow: Run = FLOW) -> Maker:
    return Maker(flow, Graph("etl", (step,), defaults={"size": 3}), step, Ledger(fence=7), Policy(), NOW_MS)


def test_a_steps_id_is_made_from_its_flow_its_name_and_its_item_and_sorts_by_them() -> None:
    step = Step("load", "load", over=[1, 2])
    ids = [id_of(FLOW, step, item, Ledger()) for item in range(MOST_ITEMS)]
    assert len(set(ids)) == MOST_ITEMS
    assert ids == sorted(ids)
    assert {len(each) for each in ids} == {36}
    assert id_of(FLOW, step, 3, Ledger()) == id_of(FLOW, step, 3, Ledger(round=2, fence=9))
    others = [id_of(FLOW, replace(step, name=f"lead-{number}"), 3, Ledger()) for number in range(1000)]
    assert len({*ids, *others}) == MOST_ITEMS + 1000
    assert id_of(FLOW, step, 3, Ledger()) != id_of(replace(FLOW, id=new_id(NOW_MS)), step, 3, Ledger())
    assert {made_ms(each) for each in ids} == {NOW_MS}
    assert min(ids) >= least_id(NOW_MS)
    assert {each[14] for each in ids} == {"7"}
    assert {each[19] for each in ids} <= set("89ab")


def test_closing_steps_are_other_runs_in_every_round() -> None:
    step = Step("clean", "clean", on="end", closing=True)
    assert id_of(FLOW, step, 0, Ledger(round=1)) != id_of(FLOW, step, 0, Ledger(round=2))


def test_small_items_and_arguments_are_copied_and_large_ones_stay_references() -> None:
    args = {
        "file": {"$item": [], "path": ["name"]},
        "day": {"$arg": "day"},
        "big": {"$arg": "big"},
        "n": {"$arg": "size"},
    }
    step = Step("load", "load", {**args, "all": [{"$item": []}], "literal": {"$value": {"$item": 1}}}, over=[{}])
    made = _maker(step).new(0, {"name": "a.csv"})
    assert made.args == {
        "file": "a.csv",
        "day": "today",
        "big": {"$arg": "big"},
        "n": 3,
        "all": [{"name": "a.csv"}],
        "literal": {"$value": {"$item": 1}},
    }
    assert is_small("x" * SMALL_ITEM)
    assert not is_small("x" * (SMALL_ITEM + 1))
    assert not is_small(["x"] * SMALL_ITEM)


def test_the_arguments_of_a_sub_flow_are_not_copied_since_they_may_be_references_of_its_flow() -> None:
    step = Step("load", "load", {"day": {"$arg": "day"}})
    inner = replace(FLOW, step="inner", args={"day": {"$result": "first"}})
    assert _maker(step, inner).new(0).args == {"day": {"$arg": "day"}}


def test_a_step_is_a_one_off_run_that_begins_above_the_fence_of_its_flow() -> None:
    made = _maker(Step("load", "work", graph="abc")).new(0)
    assert (made.parent_id, made.step, made.item, made.graph, made.cause) == (FLOW.id, "load", None, "abc", "step")
    assert (made.fence, made.schedule_id, made.state, made.due_ms) == (7, None, State.WAITING, NOW_MS)


def test_a_retried_step_is_the_same_run_and_shows_no_old_error() -> None:
    made = _maker(Step("load", "work")).new(0)
    ended = replace(made, state=State.FAILED, error="no", owner="n", claim_no=3, crashes=2, fence=9, started_ms=NOW_MS)
    again = waits_again(replace(ended, finished_ms=NOW_MS), 5, NOW_MS + 9)
    assert (again.id, again.state, again.claim_no, again.crashes, again.error) == (made.id, State.WAITING, 4, 0, None)
    assert (again.fence, again.due_ms, again.earlier[-1].error) == (9, NOW_MS + 9, "no")


def test_opening_begins_the_time_out_and_a_reopening_another_round() -> None:
    graph = Graph("etl", (Step("a", "work"), Step("b", "work", after=("a",))))
    flow = replace(FLOW, policy=Policy(timeout_ms=5000))
    first = opened(started(flow, "n", NOW_MS, fence=1 << 20), graph, NOW_MS)
    assert (first.state, first.owner, first.until_ms, first.claim_no) == (State.RUNNING, None, NOW_MS + 5000, 1)
    assert Ledger.from_json(first.ledger) == Ledger(fence=1 << 20)
    ended = Ledger({"a": Entry(1, bad=1, verdict="bad"), "b": Entry(0, verdict="skip")}, fence=99, late=True, carried=1)
    second = opened(started(replace(flow, ledger=ended.as_json()), "n", NOW_MS, fence=3), graph, NOW_MS)
    assert Ledger.from_json(second.ledger) == Ledger({"a": Entry(1, old=1, again=True)}, round=2, fence=99)
