"""Calendars and named triggers in the document that goes from one store to another: without their revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onthedot.app.names import name_problem
from onthedot.app.values import DECLARED
from onthedot.errors import FileError, TriggerError
from onthedot.model.change import Author
from onthedot.node.carrying import carry_new
from onthedot.stores.base import Store
from onthedot.triggers.calendar_days import days_from
from onthedot.triggers.codec import decode, encode, without_pins
from onthedot.triggers.pinned import KINDS, Pin, Use

Wanted = dict[Use, dict[str, Any]]


def exported_values(store: Store) -> dict[str, Any]:
    """By kind and name; nothing of a kind that there is none of."""
    found: dict[str, Any] = {}
    for value in store.values():
        found.setdefault(f"{value.kind}s", {})[value.name] = _said(value.content)
    return found


def read_values(document: object, path: str) -> Wanted:
    """What the document says; `FileError` with all that is wrong."""
    wanted, problems = Wanted(), list[str]()
    for kind in KINDS:
        given = document.get(f"{kind}s", {}) if isinstance(document, dict) else {}
        if not isinstance(given, dict):
            raise FileError(path, [f"{kind}s: {given!r} is no JSON object of names"])
        for name, content in given.items():
            problem = name_problem(name) or _problem(kind, content)
            if problem is not None:
                problems.append(f"{kind} {name}: {problem}")
            else:
                wanted[Use(kind, name)] = without_pins(content)
    if problems:
        raise FileError(path, problems)
    return wanted


def new_values(store: Store, wanted: Wanted) -> list[Use]:
    """Those that are not here, or say something else here; calendars first, which triggers name."""
    held = {each.use: _said(each.content) for each in store.values()}
    return sorted(use for use, content in wanted.items() if held.get(use) != content)


def put_values(store: Store, wanted: Wanted, uses: list[Use], by: Author) -> None:
    """Write these, and carry them to the schedules that use them."""
    for use in uses:
        store.put_value(use, _pinned(store, wanted[use]), by)
        carry_new(store, by)


def _said(content: Mapping[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = without_pins({key: value for key, value in content.items() if key != DECLARED})
    return said


def _problem(kind: str, content: object) -> str | None:
    if not isinstance(content, dict):
        return f"{content!r} is no JSON object"
    try:
        if kind == "calendar":
            days_from(content)
        else:
            decode(content.get("trigger"))
    except TriggerError as error:
        return error.line
    return None


def _pinned(store: Store, content: dict[str, Any]) -> dict[str, Any]:
    if "trigger" not in content:
        return content
    pins: dict[Use, Pin] = {each.use: each.pin for each in store.values()}
    return {**content, "trigger": encode(decode(content["trigger"]).with_pins(pins))}
