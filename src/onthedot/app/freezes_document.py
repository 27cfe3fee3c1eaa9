"""Freezes in the document that goes from one store to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onthedot.app.freezes import new_freeze
from onthedot.errors import FileError, OnthedotError, SettingsError
from onthedot.model.freeze import Freeze
from onthedot.moments import iso
from onthedot.stores.base import Store

_NEEDED = {"name", "start", "end"}


def exported_freezes(store: Store) -> list[dict[str, Any]]:
    """Those that are not over."""
    now_ms = store.now_ms()
    return [_document(each) for each in store.freezes() if each.end_ms > now_ms and not each.thawed]


def _document(freeze: Freeze) -> dict[str, Any]:
    whom = {"tag": freeze.tag, "name": freeze.pattern}
    where = {key: value for key, value in whom.items() if value is not None}
    return {"name": freeze.name, "start": iso(freeze.start_ms), "end": iso(freeze.end_ms), "where": where or None}


def read_freezes(document: object, path: str) -> list[Freeze]:
    """What the document says; `FileError` with all that is wrong."""
    given = document.get("freezes", []) if isinstance(document, dict) else []
    if not isinstance(given, list):
        raise FileError(path, [f"freezes: {given!r} is no list"])
    found, problems = list[Freeze](), list[str]()
    for number, item in enumerate(given, 1):
        try:
            if not isinstance(item, dict) or set(item) - {"where"} != _NEEDED:
                raise SettingsError("it has a name, a start, an end and perhaps where, and nothing else")
            found.append(new_freeze(item["name"], item["start"], item["end"], item.get("where"), 0))
        except OnthedotError as error:
            problems.append(f"freeze {number}: {error}")
    if problems:
        raise FileError(path, problems)
    return found


def new_freezes(store: Store, wanted: Sequence[Freeze]) -> list[Freeze]:
    """Those that are not here like that, and not over."""
    now_ms = store.now_ms()
    held = {_meant(each) for each in store.freezes() if not each.thawed}
    return [each for each in wanted if each.end_ms > now_ms and _meant(each) not in held]


def _meant(freeze: Freeze) -> tuple[object, ...]:
    return freeze.window, freeze.tag, freeze.pattern
