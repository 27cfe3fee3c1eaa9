"""What programs read is strict JSON, whatever stands in the store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onthedot.cli.json_output import json_text, show_json


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_does_not_have_is_null(number: float, capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"a": [1.5, number], "b": {"c": (number, "Infinity")}})
    assert strict(capsys.readouterr().out) == {"a": [1.5, None], "b": {"c": [None, "Infinity"]}}
    assert strict(json_text({"a": number})) == {"a": None}
