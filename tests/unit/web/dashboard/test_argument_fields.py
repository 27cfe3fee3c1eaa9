"""What is written into the fields of a form becomes the arguments of a task."""

from __future__ import annotations

import pytest

from onthedot.model.task_info import TaskInfo
from onthedot.web.dashboard.argument_fields import inputs_of, read_arguments
from onthedot.web.dashboard.forms import Form


def _task(**annotations: str) -> TaskInfo:
    return TaskInfo(
        "t", tuple({"name": name, "required": False, "annotation": kind} for name, kind in annotations.items())
    )


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "12", "12"),
        ("int", "12", 12),
        ("float", "12", 12),
        ("bool", "true", True),
        ("list", "[1, 2]", [1, 2]),
        ("", "12", 12),
        ("", "us", "us"),
        ("str | None", "null", "null"),
    ],
)
def test_a_value_is_read_by_the_annotation(kind: str, text: str, value: object) -> None:
    values, (field,) = read_arguments(Form({"arg.x": [text]}), _task(x=kind))
    assert (values, field.wrong) == ({"x": value}, "")


@pytest.mark.parametrize(
    ("kind", "wanted"), [("int", "a whole number"), ("float", "a number"), ("bool", "true or false")]
)
def test_what_does_not_fit_is_said_beside_its_field(kind: str, wanted: str) -> None:
    values, (field,) = read_arguments(Form({"arg.x": ["ten"]}), _task(x=kind))
    assert (values, field.wrong, field.value) == ({}, f"x: {wanted} is wanted, not 'ten'", "ten")


def test_a_field_that_is_empty_is_left_out_unless_it_is_needed() -> None:
    needed = TaskInfo("t", ({"name": "x", "required": True, "annotation": "int"},))
    assert read_arguments(Form({"arg.x": [""]}), _task(x="int"))[0] == {}
    assert read_arguments(Form({"arg.x": [""]}), needed)[1][0].wrong == "this one is needed"


def test_without_a_published_task_all_is_one_object() -> None:
    assert read_arguments(Form({"args": ['{"x": 1}']}), None)[0] == {"x": 1}
    assert "no JSON" in read_arguments(Form({"args": ["{"]}), None)[1][0].wrong
    assert "object" in read_arguments(Form({"args": ["[]"]}), None)[1][0].wrong


def test_fields_show_what_a_schedule_has_and_reading_gives_it_back() -> None:
    task, args = _task(a="str", b="int", c=""), {"a": "1", "b": 2, "c": {"d": ["e"]}}
    fields = {each.name: [each.value] for each in inputs_of(task, args)}
    assert read_arguments(Form(fields), task)[0] == args
