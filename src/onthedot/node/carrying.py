"""Carrying a new revision of a calendar or named trigger to the schedules that use it.

Whoever puts it begins at once. If it dies in the midst of it, a node goes on: a revision stays `new` until no schedule
goes by an earlier one. Any number may do it at once; what is carried already is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from onthedot.errors import Conflict, TriggerError, ValueMoved
from onthedot.model.change import Author
from onthedot.model.value import Value
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.known_values import learn_triggers
from onthedot.triggers.codec import decode, encode
from onthedot.triggers.pinned import Content, Pin, Use, direct_pins, remember

BATCH = 500
"""So many schedules are put in one transaction."""
LEFT_ALONE_MS = 10_000
"""So long a node leaves it to whoever put the revision."""
_BY = Author("a node", "node", "go on")


def carry_new(store: Store, by: Author = _BY, *, older_ms: int = 0) -> int:
    """Carry all that is new, and was put at least so long ago; says how many schedules were put.

    First calendars, then triggers: a named trigger that uses a calendar becomes new with it.
    """
    new = store.values(new=True)
    if not new or (older_ms and all(store.now_ms() - each.created_ms < older_ms for each in new)):
        return 0
    count = 0
    for value in (each for each in new if each.kind == "calendar"):
        _carry_to_triggers(store, value, by)
        count += _carry(store, value, by)
    return count + sum(_carry(store, each, by) for each in store.values(new=True) if each.kind == "trigger")


def _carry(store: Store, value: Value, by: Author) -> int:
    count, after = 0, ""
    while True:
        page = store.users(str(value.use), after=after, limit=BATCH)
        names = [each.name for each in page if _is_behind(each.trigger, value)]
        if names and not _put(store, names, by):
            return count  # there is a newer one, which whoever put it carries
        count += len(names)
        if len(page) < BATCH:
            store.settle_value(value)
            return count
        after = page[-1].name


def _put(store: Store, names: list[str], by: Author) -> bool:
    pins = _latest(store)
    try:
        store.change(names, edits.repin(pins), by)
    except ValueMoved:
        return False
    return True


def _latest(store: Store) -> Mapping[Use, Pin]:
    """Of all that there is; what it says is known here from then on."""
    found = store.values()
    for each in found:
        remember(each.pinned, each.content)
    learn_triggers(store, [each.content.get("trigger", {}) for each in found if each.kind == "trigger"])
    return {each.use: each.pin for each in found}


def _is_behind(trigger: Content, value: Value) -> bool:
    return any(use == value.use and pin.rev < value.rev for use, pin in direct_pins(trigger))


def _carry_to_triggers(store: Store, calendar: Value, by: Author) -> None:
    for value in store.values():
        told = value.content.get("trigger")
        if value.kind == "trigger" and told is not None and _is_behind(told, calendar):
            try:
                trigger = decode(told).with_pins(_latest(store))
                store.put_value(value.use, {**value.content, "trigger": encode(trigger)}, by)
            except (TriggerError, Conflict):  # nobody can read it: those who use it say so
                continue
