"""Arguments of tasks in forms: a field for each parameter that nodes publish, read by its annotation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from onthedot.errors import ArgumentsError
from onthedot.model.task_info import TaskInfo
from onthedot.web.dashboard.forms import Form, read_json
from onthedot.web.dashboard.questions import Input

PREFIX = "arg."
WHOLE = "args"
"""Where it is not known what a task takes: all of it as one JSON object."""
_WANTED = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def inputs_of(task: TaskInfo | None, args: Mapping[str, Any]) -> list[Input]:
    """A field for each parameter, filled with what it has now."""
    if task is None:
        return [Input(WHOLE, "Arguments, as JSON", json.dumps(dict(args), ensure_ascii=False), "area")]
    return [_input(each, args) for each in task.parameters]


def _input(parameter: Mapping[str, Any], args: Mapping[str, Any]) -> Input:
    name, kind = str(parameter["name"]), str(parameter.get("annotation", ""))
    value = _shown(args[name], kind) if name in args else ""
    left_out = "" if parameter["required"] else "left out if empty"
    hint = ", ".join(part for part in (kind, left_out) if part)
    return Input(f"{PREFIX}{name}", name, value, hint=hint, mono=True, required=bool(parameter["required"]))


def _shown(value: Any, kind: str) -> str:
    return value if isinstance(value, str) and _is_text(kind) else json.dumps(value, ensure_ascii=False)


def _is_text(kind: str) -> bool:
    return kind.split("|", maxsplit=1)[0].strip() in ("str", "datetime", "date", "timedelta", "UUID", "Decimal")


def read_arguments(form: Form, task: TaskInfo | None) -> tuple[dict[str, Any], list[Input]]:
    """The values, and the fields as they were filled in, each with what is wrong with it."""
    if task is None:
        return _read_whole(form[WHOLE])
    values: dict[str, Any] = {}
    inputs: list[Input] = []
    for parameter in task.parameters:
        name, kind = str(parameter["name"]), str(parameter.get("annotation", ""))
        text, wrong = form[f"{PREFIX}{name}"], ""
        if text == "" and not (parameter["required"] and _is_text(kind)):
            wrong = "this one is needed" if parameter["required"] else ""
        else:
            try:
                values[name] = _value(text, kind)
            except ValueError as error:
                wrong = f"{name}: {error}"
        hint = _input(parameter, {}).hint
        inputs.append(
            Input(f"{PREFIX}{name}", name, text, hint=hint, mono=True, required=parameter["required"], wrong=wrong)
        )
    return values, inputs


def _value(text: str, kind: str) -> Any:
    """Text where text is meant; else JSON, and text where that is none and no number is wanted."""
    if _is_text(kind):
        return text
    wanted = _WANTED.get(kind)
    try:
        value = read_json(text)
    except ValueError:
        if wanted is None:
            return text
        raise ValueError(f"{wanted} is wanted, not {text!r}") from None
    if wanted is not None and not _fits(value, kind):
        raise ValueError(f"{wanted} is wanted, not {text!r}")
    return value


def _fits(value: Any, kind: str) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool}
    return isinstance(value, kinds[kind]) and (kind == "bool" or not isinstance(value, bool))


def _read_whole(text: str) -> tuple[dict[str, Any], list[Input]]:
    label = "Arguments, as JSON"
    try:
        values = read_json(text or "{}")
    except ValueError as error:
        return {}, [Input(WHOLE, label, text, "area", wrong=f"this is no JSON: {error}")]
    if not isinstance(values, dict):
        return {}, [Input(WHOLE, label, text, "area", wrong="an object is wanted: names and values")]
    return values, [Input(WHOLE, label, text, "area")]


def with_problem(inputs: Sequence[Input], error: ArgumentsError) -> list[Input]:
    """The problem beside the field that it names, else beside the first."""
    said = str(error)
    names = [each.label for each in inputs]
    at = next((place for place, name in enumerate(names) if f" {name} " in f" {said.replace(':', ' ')} "), 0)
    return [replace(each, wrong=said) if place == at else each for place, each in enumerate(inputs)]
