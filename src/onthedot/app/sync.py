"""What this process declares, in code or in files, and how that gets into the store; what operators did stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from onthedot.app.dependencies import warn_of_missing
from onthedot.app.enabled import and_pause, was_declared
from onthedot.app.herds import warn_of_herds
from onthedot.app.pinning import pinned_definitions, with_the_latest
from onthedot.app.schedules import Put, Schedules
from onthedot.app.tasks import Tasks, identity
from onthedot.app.values import DeclaredValue
from onthedot.errors import Conflict
from onthedot.model.change import Author
from onthedot.model.definition_json import as_json
from onthedot.model.schedule import DEFINITION, Origin, Schedule
from onthedot.node.upkeep import DECLARE_MS
from onthedot.rules import edits
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode, without_pins
from onthedot.triggers.combine import uses_of
from onthedot.triggers.pinned import Use

BATCH = 500


@dataclass(frozen=True, slots=True)
class Synced:
    """What `sync` did."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    pruned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """One schedule as it is declared."""

    put: Put
    origin: Origin = "code"
    paused: str | None = None
    """The note of the pause that it is declared with, if it is."""
    unchecked: bool = False
    """Its task may be one that no node has published yet."""


class _Meant(NamedTuple):
    """A declaration worked out: what the store shall hold."""

    definition: edits.Definition[Trigger]
    paused: str | None


class Declarations:
    """By name; `sync` writes them, `touch` says that they are still meant."""

    def __init__(
        self, open_store: Callable[[], Store], schedules: Schedules, by: Callable[[str], Author], tasks: Tasks
    ) -> None:
        self._open_store = open_store
        self._tasks = tasks
        self._schedules = schedules
        self._by = by
        self._by_name: dict[str, Declared] = {}
        self._said: dict[str, str | None] = {}
        """What this process declared when it last synced."""
        self._values: dict[Use, DeclaredValue] = {}
        self.origins: set[Origin] = set()
        """Where declarations come from, also where there are none left."""

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def add(self, declared: Declared) -> None:
        """Declare it, or declare it anew: the same function of a reloaded module or a notebook cell replaces itself."""
        held = self._by_name.get(declared.put.name)
        if held is not None:
            _refuse_two(held.put, declared.put)
        self._by_name[declared.put.name] = declared
        self.origins.add(declared.origin)

    def tasks(self) -> Iterator[tuple[str, str]]:
        """Each schedule's name with its task's."""
        for name, declared in self._by_name.items():
            task = declared.put.task
            yield name, task if isinstance(task, str) else task.run_name

    def replace(self, names: Iterable[str], declared: Iterable[Declared]) -> None:
        """Declare these instead of those, at once; what is in the store stays there."""
        gone = set(names)
        kept = {name: each for name, each in self._by_name.items() if name not in gone}
        self._by_name = kept | {each.put.name: each for each in declared}

    def add_value(self, declared: DeclaredValue) -> None:
        """Declare a calendar or a named trigger, or declare it anew."""
        self._values[declared.use] = declared

    def replace_values(self, gone: Iterable[Use], values: Iterable[DeclaredValue]) -> None:
        """Declare these instead of those, at once; what is in the store stays there."""
        left_out = set(gone)
        kept = {use: each for use, each in self._values.items() if use not in left_out}
        self._values = kept | {each.use: each for each in values}

    def declares_value(self, use: Use) -> bool:
        """Whether `sync` puts it."""
        return use in self._values

    def uses(self) -> set[Use]:
        """What the declared schedules name, and nothing here declares."""
        named = {use for each in self._by_name.values() for use in uses_of(each.put.trigger)}
        return named - {*self._values}

    def _put_values(self, store: Store) -> None:
        """Calendars before triggers, which may use them; what an operator has put since it was declared so stays."""
        for use in sorted(self._values):
            head = next(iter(store.values(use)), None)
            self._values[use].put_unless(head)

    @with_the_latest
    def sync(self, *, prune: bool = False) -> Synced:
        """Create what is new, update what was changed in its declaration; an operator's edits and pauses stay."""
        store = self._open_store()
        self._tasks.save_all_graphs()
        self._put_values(store)
        meant = {name: self._meant(declared) for name, declared in self._by_name.items()}
        held = {each.name: each for each in _held(store, meant)}
        same = [name for name in meant if name in held and self._stands(store, held[name], meant[name].definition)]
        new = [name for name in meant if name not in held]
        changed = [name for name in meant if name in held and name not in set(same)]
        put: dict[str, edits.Definition[Trigger]] = {}
        if new or changed:
            put = pinned_definitions(store, {name: each.definition for name, each in meant.items()})
            warn_of_herds(store, {name: each.trigger for name, each in put.items()})
            warn_of_missing(store, put)
        self._change(store, [*new, *changed], lambda name: _declare(_Meant(put[name], meant[name].paused)))
        self._touch(store, {name: meant[name].definition.declared_hash for name in same})
        self._said = {name: each.definition.declared_hash for name, each in meant.items()}
        pruned = self._prune(store) if prune else ()
        return Synced(tuple(new), tuple(changed), tuple(same), pruned)

    @with_the_latest
    def touch(self) -> None:
        """Tell the store that these schedules are still meant. What others have declared, and no live node declares
        any more, gives way: of a deploy that was taken back, nothing stays."""
        store = self._open_store()
        self._tasks.save_all_graphs()
        meant = {name: self._meant(each) for name, each in self._by_name.items()}
        hashes = {name: each.definition.declared_hash for name, each in meant.items()}
        self._touch(store, hashes)
        now_ms = store.now_ms()
        silent = [
            each.name
            for each in _held(store, meant)
            if each.declared_hash != hashes[each.name] and _is_silent(each, now_ms)
        ]
        put = pinned_definitions(store, {name: meant[name].definition for name in silent})
        self._change(store, silent, lambda name: _if_silent(_declare(_Meant(put[name], meant[name].paused))))

    def _meant(self, declared: Declared) -> _Meant:
        definition = self._schedules.define(declared.put, origin=declared.origin, unchecked=declared.unchecked)
        return _Meant(replace(definition, declared_hash=_hash(definition, declared.paused)), declared.paused)

    def _stands(self, store: Store, held: Schedule, definition: edits.Definition[Trigger]) -> bool:
        if held.declared_hash == definition.declared_hash:
            return True
        took_back = self._said.get(held.name) == held.declared_hash  # a file that was changed, and changed back
        return not took_back and _is_older(store, held, definition)

    def _touch(self, store: Store, hashes: dict[str, str | None]) -> None:
        self._change(store, [*hashes], lambda name: edits.touch_declared(hashes[name]))

    def _change(self, store: Store, names: Sequence[str], edit_of: Callable[[str], Edit], what: str = "sync") -> None:
        for batch in _batches(names):
            store.change(batch, lambda before, now_ms: edit_of(before.name)(before, now_ms), self._by(what))

    def _prune(self, store: Store) -> tuple[str, ...]:
        origins = self.origins or {"code"}
        gone = [each.name for each in _all(store) if each.origin in origins and each.name not in self._by_name]
        self._change(store, gone, lambda _: edits.delete(), "sync --prune")
        return tuple(gone)


def _refuse_two(held: Put, put: Put) -> None:
    """Two declarations of one name would take turns in the store, and one of them would never run."""
    if isinstance(held.task, str) or isinstance(put.task, str):
        return
    is_replaced = identity(held.task) == identity(put.task) and held.task.function is not put.task.function
    if not is_replaced:
        raise Conflict(
            f"two schedules are named {put.name!r}: {held.task.place} and {put.task.place};"
            " give one of them another name="
        )


def _declare(meant: _Meant) -> Edit:
    return and_pause(edits.put(meant.definition), meant.paused, was_declared)


def _is_older(store: Store, held: Schedule, definition: edits.Definition[Trigger]) -> bool:
    """Whether the store had this declaration before the one that live nodes still make.

    Old code must not undo what newer code said; once nobody says that any more, it is a rollback, and counts.
    """
    if held.declared_seen_ms is None or _is_silent(held, store.now_ms()):
        return False
    before = takewhile(lambda each: each.declared_hash != held.declared_hash, store.revisions(held.id))
    return any(each.declared_hash == definition.declared_hash for each in before)


def _is_silent(held: Schedule, now_ms: int) -> bool:
    """Whether no live node has declared it for a while as it stands."""
    seen_ms = held.declared_seen_ms
    return seen_ms is not None and now_ms - seen_ms > 3 * DECLARE_MS


def _if_silent(edit: Edit) -> Edit:
    """Unless somebody has declared it meanwhile, or it is gone."""

    def checked(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None or old.deleted or not _is_silent(old, now_ms):
            return Effects(answer=old)
        return edit(before, now_ms)

    return checked


def _held(store: Store, names: Iterable[str]) -> Iterator[Schedule]:
    """Those of these that the store has."""
    for batch in _batches([*names]):
        yield from store.schedules(names=batch, limit=BATCH)


def _all(store: Store) -> Iterator[Schedule]:
    page = store.schedules(limit=BATCH)
    while page:
        yield from page
        page = store.schedules(after=page[-1].name, limit=BATCH)


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    for first in range(0, len(names), BATCH):
        yield list(names[first : first + BATCH])


_SAID = frozenset(DEFINITION) - {"origin", "declared_hash", "uses"}


def _hash(definition: edits.Definition[Trigger], paused: str | None) -> str:
    """Of all that a declaration says, so that a change of it can be told from an operator's edit."""
    said = {
        **as_json(definition, _SAID),
        "trigger": without_pins(encode(definition.trigger)),
        "paused": paused is not None,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
