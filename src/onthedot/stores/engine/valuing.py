"""Calendars and named triggers: each change is one more revision, and what a schedule is put with is the latest.

Whoever puts a schedule holds the last revision of what its trigger names until the commit; whoever writes the next one,
or deletes it, waits for that. So after a new revision has been committed, every schedule that goes by an earlier one is
there to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from onthedot.errors import Conflict, ValueMoved, ValueNotFound
from onthedot.model.change import Author
from onthedot.model.schedule import Schedule
from onthedot.model.value import REVISIONS_KEPT, Value, ValueState, value_id
from onthedot.model.values import replace
from onthedot.rules.effects import Before, Effects
from onthedot.stores.engine.audit import value_changed
from onthedot.stores.transaction import Transaction
from onthedot.triggers.pinned import Content, Use, digest_of, direct_pins, uses_in

_NAMED = 3


def put_value(tx: Transaction, use: Use, content: Content, by: Author) -> Value:
    """The next revision; the last one, if it says the same. What it names itself is named at its last revision."""
    _check_heads(tx, {each.use: {each.pin.rev} for each in direct_pins(content.get("trigger"))})
    head, digest = tx.value(use), digest_of(content)
    if head is not None and head.is_there and head.digest == digest:
        return head
    rev = 1 if head is None else head.rev + 1
    made = Value(use.kind, use.name, rev, content, digest, tx.now_ms)
    if head is not None:
        tx.change_value(replace(head, state=ValueState.OLD))
    tx.add_value(made)
    if rev > REVISIONS_KEPT:
        tx.forget_values([value_id(use, rev - REVISIONS_KEPT)])
    there = head if head is not None and head.is_there else None
    tx.add_changes([value_changed(there, made, by, tx.now_ms)])
    return made


def remove_value(tx: Transaction, use: Use, users: Callable[[], Sequence[str]], by: Author) -> Value:
    """Nobody may use it; its last revision stays as the sign that it is gone."""
    head = tx.value(use)
    if head is None or not head.is_there:
        raise ValueNotFound(use.kind, use.name)
    names = users()
    if names:
        more = " and others" if len(names) > _NAMED else ""
        raise Conflict(f"{use.told} is used by {', '.join(names[:_NAMED])}{more}; change or delete these first")
    gone = Value(use.kind, use.name, head.rev + 1, {}, digest_of({}), tx.now_ms, ValueState.GONE)
    tx.change_value(replace(head, state=ValueState.OLD))
    tx.add_value(gone)
    tx.add_changes([value_changed(head, None, by, tx.now_ms)])
    return head


def settle_value(tx: Transaction, value: Value) -> bool:
    """No schedule goes by an earlier revision any more; nothing, if there is a later one."""
    head = tx.value(value.use)
    if head is None or head.rev != value.rev or head.state is not ValueState.NEW:
        return False
    tx.change_value(replace(head, state=ValueState.LATEST))
    return True


def check_pins(tx: Transaction, befores: Sequence[Before], all_effects: Sequence[Effects]) -> None:
    """Triggers that are new go by the last revisions of what they name, which stay so until the commit."""
    wanted: dict[Use, set[int]] = {}
    for before, effects in zip(befores, all_effects, strict=True):
        if effects.schedule is not None and _has_another_trigger(before.schedule, effects.schedule):
            for use, rev in _pins(effects.schedule):
                wanted.setdefault(use, set()).add(rev)
    _check_heads(tx, wanted)


def _check_heads(tx: Transaction, wanted: Mapping[Use, Collection[int]]) -> None:
    for use in sorted(wanted):
        head = tx.value_shared(use)
        if head is None or not head.is_there or {*wanted[use]} != {head.rev}:
            raise ValueMoved(use.kind, use.name)


def _has_another_trigger(old: Schedule | None, new: Schedule) -> bool:
    if not new.uses or new.deleted:
        return False
    return old is None or old.deleted or old.trigger != new.trigger


def _pins(schedule: Schedule) -> list[tuple[Use, int]]:
    """What it names itself, and at which revision; 0 where it says none, which is never the last."""
    pinned = {use: pin.rev for use, pin in direct_pins(schedule.trigger)}
    return [(use, pinned.get(use, 0)) for use in uses_in(schedule.uses)]
