"""References in the arguments of steps: what they stand for, and what cannot be one."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.model.references import (
    Unresolved,
    arg_of,
    condition_text,
    holds,
    item_of,
    literal,
    resolve,
    result_of,
    results_in,
    with_item,
)


class Values:
    """What is known: plain values."""

    def __init__(self, results: dict[str, Any], item: Any = None, args: dict[str, Any] | None = None) -> None:
        self._results, self._item, self._args = results, item, args or {}

    def result(self, step: str) -> Any:
        return self._results[step]

    def item(self) -> Any:
        return self._item

    def arg(self, name: str) -> Any:
        return self._args[name]


KNOWN = Values({"load": {"rows": [1, 2]}, "none": None}, item={"id": 7}, args={"day": "today"})


def test_references_anywhere_in_arguments_stand_for_their_values() -> None:
    args = {"a": result_of("load", ["rows", 1]), "b": [item_of(["id"]), {"c": arg_of("day")}], "d": "plain"}
    assert resolve(args, KNOWN) == {"a": 2, "b": [7, {"c": "today"}], "d": "plain"}


@pytest.mark.parametrize("value", [{"$result": "load"}, [{"deep": {"$arg": "x"}}], {"$value": 1}, {"$gt": [1, 2]}, 5])
def test_a_value_that_looks_like_a_reference_stays_what_it_is(value: Any) -> None:
    assert resolve(literal(value), KNOWN) == value
    assert results_in(literal(value)) == []


def test_an_item_is_put_in_the_place_of_its_references_and_stays_what_it_is() -> None:
    item = {"id": {"$result": "load"}}
    args = {
        "one": item_of(),
        "part": item_of(["id"]),
        "other": result_of("load", ["rows"]),
        "plain": literal({"$item": []}),
    }
    made = with_item(args, item)
    assert resolve(made, Values({"load": {"rows": 3}}, item="another")) == {
        "one": item,
        "part": {"$result": "load"},
        "other": 3,
        "plain": {"$item": []},
    }


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (result_of("load", ["cols"]), "what load returned has no ['cols']: it is {'rows': [1, 2]}"),
        (result_of("load", ["rows", 5]), "what load returned['rows'] has no [5]: it is [1, 2]"),
        (result_of("none", ["rows"]), "what none returned has no ['rows']: it is None"),
        (arg_of("day", [0]), "the flow's argument day has no [0]: it is 'today'"),
    ],
)
def test_a_path_that_leads_nowhere_says_where(reference: Any, said: str) -> None:
    with pytest.raises(Unresolved) as raised:
        resolve(reference, KNOWN)
    assert str(raised.value) == said


ROWS = result_of("load", ["rows", 1])


@pytest.mark.parametrize(
    ("condition", "expected", "text"),
    [
        ({"$gt": [ROWS, 1]}, True, "load['rows'][1] > 1"),
        ({"$le": [ROWS, 1]}, False, "load['rows'][1] <= 1"),
        ({"$eq": [arg_of("day"), "today"]}, True, "day == 'today'"),
        ({"$true": result_of("none")}, False, "none"),
        ({"$not": {"$true": result_of("none")}}, True, "not (none)"),
        ({"$all": [{"$ge": [ROWS, 2]}, {"$lt": [ROWS, 2]}]}, False, "load['rows'][1] >= 2 and load['rows'][1] < 2"),
        ({"$any": [{"$ne": [ROWS, 2]}, {"$true": literal([1])}]}, True, "(load['rows'][1] != 2 or [1])"),
    ],
)
def test_conditions_are_judged_and_told(condition: Any, expected: bool, text: str) -> None:
    assert holds(condition, KNOWN) is expected
    assert condition_text(condition) == text


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(Unresolved, match="None > 0 cannot be judged"):
        holds({"$gt": [result_of("none"), 0]}, KNOWN)
