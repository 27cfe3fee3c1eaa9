"""Schedules of another scheduler are written into a store: each goes on where it was there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onthedot.app.enabled import and_pause
from onthedot.app.moving.report import Move, Refused
from onthedot.errors import OnthedotError, TriggerError
from onthedot.model.change import Author
from onthedot.model.schedule import Schedule
from onthedot.rules import edits
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger

_BATCH = 500

Definitions = Mapping[str, edits.Definition[Trigger]]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was done, or would be."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    refused: tuple[Refused, ...]
    written: bool


def take(
    store: Store, moves: Sequence[Move], define: Callable[[Move], edits.Definition[Trigger]], by: Author | None
) -> Taken:
    """Write them, in batches; without an author only say what would be done."""
    wanted = {move.name: move for move in moves}
    defined, refused = _defined(wanted, define)
    held = _held(store, [*defined])
    created = tuple(name for name in defined if name not in held)
    changed = tuple(name for name in held if _differs(held[name], wanted[name], defined[name]))
    if by is not None:
        _write(store, [*created, *changed], wanted, defined, by)
    unchanged = tuple(name for name in held if name not in changed)
    return Taken(created, changed, unchanged, refused, by is not None)


def _defined(
    wanted: Mapping[str, Move], define: Callable[[Move], edits.Definition[Trigger]]
) -> tuple[Definitions, tuple[Refused, ...]]:
    defined: dict[str, edits.Definition[Trigger]] = {}
    refused: list[Refused] = []
    for name, move in wanted.items():
        try:
            defined[name] = define(move)
        except TriggerError as error:
            refused.append(Refused(name, error.line))
        except OnthedotError as error:
            refused.append(Refused(name, str(error)))
    return defined, tuple(refused)


def _held(store: Store, names: Sequence[str]) -> dict[str, Schedule]:
    batches = (names[first : first + _BATCH] for first in range(0, len(names), _BATCH))
    return {each.name: each for batch in batches for each in store.schedules(names=batch, limit=_BATCH)}


def _differs(held: Schedule, move: Move, definition: edits.Definition[Trigger]) -> bool:
    """Whether a put would change it, or it is to be paused. One that code declares is as that says."""
    if held.declared_hash is not None:
        return False
    effects = edits.put(definition)(Before(held.name, held, ()), held.settled_ms)
    return (effects.schedule is not None and effects.schedule.revision != held.revision) or (
        move.paused is not None and held.enabled
    )


def _write(store: Store, names: Sequence[str], wanted: Mapping[str, Move], defined: Definitions, by: Author) -> None:
    def edit(before: Before, now_ms: int) -> Effects:
        return _edit(wanted[before.name], defined[before.name])(before, now_ms)

    for first in range(0, len(names), _BATCH):
        store.change(names[first : first + _BATCH], edit, by)


def _edit(move: Move, definition: edits.Definition[Trigger]) -> Edit:
    edit = edits.put(definition) if move.last_ms is None else edits.go_on(definition, move.last_ms)
    return edit if move.paused is None else and_pause(edit, move.paused)
