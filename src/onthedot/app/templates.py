"""Templates: one definition for several schedules that differ in their arguments, put and changed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onthedot.app.names import name_problem
from onthedot.errors import Conflict, SettingsError
from onthedot.model.schedule import Schedule
from onthedot.patterns import matches
from onthedot.rules import edits
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.storable import brief
from onthedot.triggers.base import Trigger

if TYPE_CHECKING:
    from onthedot.stores.base import Store

Each = Mapping[str, Mapping[str, Any]]
MOST = 500
"""All of a template are written in one transaction."""
_RESERVED = "[]*"
_PAGE = 500


def refuse_revision(revision: int | None, name: str) -> None:
    """Which of many would it be?"""
    if revision is not None:
        raise SettingsError(f"{name}: a revision goes with one schedule, not with several; leave it out")


def item_name(template: str, key: str) -> str:
    """The name of one of its schedules: `digest[eu]`."""
    return f"{template}[{key}]"


def items_of(name: str, each: Each, args: Mapping[str, Any] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each schedule, and its arguments: those of all, and above them its own. `SettingsError`."""
    _check(name, each)
    for key, own in each.items():
        problem = _key_problem(key) or name_problem(item_name(name, key))
        if problem is not None:
            raise SettingsError(f"{name}: each: {problem}")
        if not isinstance(own, Mapping):
            raise SettingsError(f"{name}: each: {key}: {brief(own)} is no mapping of names to arguments")
        yield item_name(name, key), {**(args or {}), **own}


def _check(name: str, each: Each) -> None:
    if any(letter in str(name) for letter in _RESERVED):
        raise SettingsError(
            f"{name}: each: '[', ']' and '*' cannot stand in the name of a template; its schedules are NAME[KEY]"
        )
    if not isinstance(each, Mapping):
        raise SettingsError(f"{name}: each: {brief(each)} is no mapping; write each={{'eu': {{'audience': 'eu'}}}}")
    if not each:
        raise SettingsError(f"{name}: each: it is empty; to have none of its schedules, delete {item_name(name, '*')}")
    if len(each) > MOST:
        raise SettingsError(f"{name}: each: {len(each):,} schedules; at most {MOST} of one template")


def _key_problem(key: object) -> str | None:
    if not isinstance(key, str) or not key.strip():
        return f"{brief(key)} is no text that tells a schedule from the others"
    if any(letter in key for letter in _RESERVED):
        return f"'[', ']' and '*' cannot stand in {key!r}"
    return None


def schedules_of(store: Store, template: str) -> list[Schedule]:
    """Those that the template has now."""
    found: list[Schedule] = []
    after = ""
    while True:
        page = store.schedules(search=f"{template}[", after=after, limit=_PAGE)
        found += [each for each in page if each.template == template]
        if len(page) < _PAGE:
            return found
        after = page[-1].name


def of_template(template: str, edit: Edit | None) -> Edit:
    """Put one of its schedules; without an edit it is none of them any more, and deleted. `Conflict` where a schedule
    of that name is not the template's."""

    def judge(before: Before, now_ms: int) -> Effects:
        held = before.schedule
        alien = held is not None and not held.deleted and held.template != template
        if edit is None:
            return Effects() if alien else edits.delete()(before, now_ms)
        if alien:
            raise Conflict(
                f"{before.name} is a schedule of its own, and not of the template {template}: delete it, or name one"
                " of them otherwise"
            )
        return edit(before, now_ms)

    return judge


def keeping(definition: edits.Definition[Trigger]) -> Edit:
    """Put one schedule by its own name: it stays in the template that it is of."""

    def edit(before: Before, now_ms: int) -> Effects:
        held = before.schedule
        template = None if held is None or held.deleted else held.template
        return edits.put(replace(definition, template=template))(before, now_ms)

    return edit


def names_like(pattern: str, schedules: Iterable[Schedule]) -> list[str]:
    """The names of those of these that are such."""
    return [each.name for each in schedules if matches(pattern, each.name)]
