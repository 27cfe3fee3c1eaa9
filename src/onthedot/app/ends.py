"""Schedules that would never run: they are refused when they are put, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from onthedot.errors import TriggerError
from onthedot.model.schedule import Schedule
from onthedot.moments import END_MS, FIRST_MS, iso
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.base import Store
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode, encode

_OPEN_END_MS = END_MS - 60 * 366 * 86_400_000
"""A trigger that ticks after this moment is taken for one without an end; no clock is asked about it."""


_EDGE_MS = 2 * 86_400_000
"""Clocks of different zones reach the first and the last day of time some hours apart: there an exclusion may leave
ticks that nobody means."""


def check_fires(name: str, trigger: Trigger) -> None:
    """Refuse a trigger that has no tick at any time."""
    if _last_ms(trigger) is None:
        raise TriggerError(f"{name}: {trigger} can never fire", hint="what is excluded leaves nothing of it")


def refuse_ended(store: Store, triggers: Mapping[str, Trigger]) -> None:
    """Refuse triggers that have come to their end by the store's clock, unless the schedule has them already.

    Single moments are left to `unless_past`: one that is past may still be meant.
    """
    plain = {name: each.plain() for name, each in triggers.items()}
    lasts = {name: _last_ms(each.with_key(name)) for name, each in plain.items() if not isinstance(each, At)}
    ending = {name: last for name, last in lasts.items() if last is not None and last < _OPEN_END_MS}
    now_ms = store.now_ms() if ending else 0
    for name, last in ending.items():
        if last <= now_ms and not _has_already(store, name, triggers[name]):
            raise TriggerError(
                f"{name}: {triggers[name]} can never fire again; its last tick was {iso(last)}",
                hint="give it a later end",
            )


def _last_ms(given: Trigger) -> int | None:
    """Its last tick before the end of time; None where there is none."""
    trigger = given.plain()
    if isinstance(trigger, At):
        return trigger.prev_ms(END_MS)
    return trigger.prev_after_ms(END_MS - _EDGE_MS, FIRST_MS + _EDGE_MS)


def _has_already(store: Store, name: str, trigger: Trigger) -> bool:
    return any(each.trigger == encode(trigger.with_key(name)) for each in store.schedules(names=[name]))


def unless_past(edit: Edit) -> Edit:
    """The edit, refused if it gives a schedule another trigger by which it will never run.

    So it is with a moment before all that the store has decided: under a new name it runs late, under a used one never.
    """

    def checked(before: Before, now_ms: int) -> Effects:
        effects = edit(before, now_ms)
        old, new = before.schedule, effects.schedule
        if new is not None and new.next_run_ms is None and not _had_all_runs(new) and _has_another_trigger(old, new):
            raise TriggerError(
                f"{new.name}: {decode(new.trigger)} is past, and all up to {iso(new.settled_ms)} is decided",
                hint="to run it now, use trigger",
            )
        return effects

    return checked


def _had_all_runs(schedule: Schedule) -> bool:
    return schedule.max_runs is not None and schedule.planned_runs >= schedule.max_runs


def _has_another_trigger(old: Schedule | None, new: Schedule) -> bool:
    return old is None or old.deleted or old.trigger != new.trigger
