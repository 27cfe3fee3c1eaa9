"""Arguments are refused when they are given, not when the task runs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from onthedot import ArgumentsError, Context
from onthedot.app.arguments import signature_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def report(
    ctx: Context,
    count: int,
    ratio: float = 1.0,
    name: str | None = None,
    when: datetime | None = None,
    colour: Colour = Colour.RED,
    flags: list[str] | None = None,
) -> None: ...


def anything(first, **others): ...  # type: ignore[no-untyped-def]


def hidden(run: "Context", missing: "NotImportable") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, "needs count"),
        ({"count": "3"}, "count must be int, not '3'"),
        ({"count": True}, "count must be int"),
        ({"count": 1, "cuont": 2}, "no parameter 'cuont'; it takes: count, ratio"),
        ({"count": 1, "when": "yesterday"}, "when must be datetime or None"),
        ({"count": 1, "colour": "green"}, "colour must be Colour"),
        ({"count": 1, "flags": "x"}, "flags must be list"),
        ({"count": 1, "ctx": 1}, "no parameter 'ctx'"),
        ([1, 2], "map parameter names to values"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(args: Any, says: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        signature_of(report).check("report", args)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_fits_is_kept_as_json() -> None:
    when = datetime(2026, 11, 15, tzinfo=UTC)
    args = {"count": 1, "ratio": 2, "when": when, "colour": Colour.BLUE, "flags": ("a",), "name": None}
    kept = signature_of(report).check("report", args)
    assert kept == {
        "count": 1,
        "ratio": 2,
        "when": "2026-11-15T00:00:00+00:00",
        "colour": "blue",
        "flags": ["a"],
        "name": None,
    }


def test_objects_come_out_as_they_went_in() -> None:
    def task(at: datetime, day: date, span: timedelta, key: UUID, price: Decimal, colour: Colour) -> None: ...

    args = {
        "at": datetime(2026, 11, 15, tzinfo=UTC),
        "day": date(2026, 11, 15),
        "span": timedelta(minutes=90),
        "key": UUID(int=7),
        "price": Decimal("9.90"),
        "colour": Colour.BLUE,
    }
    signature = signature_of(task)
    assert signature.objects(signature.check("task", args)) == args


def test_a_function_that_takes_anything_gets_anything() -> None:
    assert signature_of(anything).check("anything", {"first": 1, "second": [2]}) == {"first": 1, "second": [2]}


def test_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(ArgumentsError, match="a object is no JSON value"):
        signature_of(anything).check("anything", {"first": object()})


def test_the_context_is_known_by_its_annotation_also_where_others_cannot_be_imported() -> None:
    signature = signature_of(hidden)
    assert signature.context == "run"
    assert [parameter.name for parameter in signature.parameters] == ["missing"]
