"""A schedule's definition as JSON, derived from its fields: the same in every store, in revisions and in exports.

Only what differs from the defaults is written: a field that an earlier version did not know has its default, and what
only a later one knows is passed over.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, fields
from typing import Any

from onthedot.model.alert import Alert
from onthedot.model.policy import Policy
from onthedot.model.schedule import DEFINITION, Definition, Json

DEFAULTS: Json = {
    each.name: each.default_factory() if each.default_factory is not MISSING else each.default
    for each in fields(Definition)
    if each.name not in ("task", "trigger")
}
"""Of the fields that need not be given."""
LISTS = frozenset(name for name, value in DEFAULTS.items() if isinstance(value, tuple))


def as_json(definition: Definition[Any], names: Collection[str] = DEFINITION) -> dict[str, Any]:
    """Of these fields what differs from the defaults, as JSON has it."""
    values = ((name, getattr(definition, name)) for name in DEFINITION if name in names)
    return {name: json_value(value) for name, value in values if name not in DEFAULTS or value != DEFAULTS[name]}


def json_value(value: Any) -> Any:
    """A field as JSON has it."""
    if isinstance(value, Policy):
        return value.as_json()
    if isinstance(value, tuple):
        return [each.as_json() if isinstance(each, Alert) else each for each in value]
    return value


def from_json(values: Json, names: Collection[str] = DEFINITION) -> dict[str, Any]:
    """These fields, of what `as_json` gave; `ValueError` or `TypeError` if that cannot be what was written."""
    return {name: _read(name, values) for name in DEFINITION if name in names}


def _read(name: str, values: Json) -> Any:
    if name not in values and name in DEFAULTS:
        return {} if name == "args" else DEFAULTS[name]  # user code may change arguments in place
    value: Any = values.get(name)
    if name == "alerts":
        return _alerts(value)
    if name in LISTS:
        return _words(name, value)
    _check(name, value, DEFAULTS.get(name, {} if name == "trigger" else ""))
    return Policy.from_json(value) if name == "policy" else value


def _words(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is {value!r}, and no list of texts")
    return tuple(value)


def _alerts(value: Any) -> tuple[Alert, ...]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TypeError(f"alerts is {value!r}, and no list of alerts")
    return tuple(Alert.from_json(each) for each in value)


def _check(name: str, value: Any, meant: Any) -> None:
    """What may be nothing may be any text or number: who uses it will say what is wrong with it."""
    kinds = {dict: dict, Policy: dict, bool: bool, str: str}.get(type(meant), (str, int, type(None)))
    if not isinstance(value, kinds):
        raise TypeError(f"{name} is {value!r}")
