"""Changing schedules, and the audit of it."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.base import Author
from onthedot.stores.engine.audit import schedule_changed
from onthedot.stores.engine.settling import write
from onthedot.stores.transaction import Transaction


def change(tx: Transaction, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
    """Lock, edit, write, and keep who did what."""
    found = tx.schedules_named(names)
    live = _by_schedule(tx.live_of([schedule.id for schedule in found.values()]))
    all_effects = []
    for name in names:
        before = found.get(name)
        effects = edit(Before(name, before, tuple(live.get(before.id, ())) if before else ()), tx.now_ms)
        write(tx, [effects])
        _record(tx, before, effects, by)
        all_effects.append(effects)
    return all_effects


def _record(tx: Transaction, before: Schedule | None, effects: Effects, by: Author) -> None:
    after = effects.schedule
    if after is None or after == before:
        return
    if before is None or before.revision != after.revision:
        tx.add_revision(after)
    tx.add_changes(schedule_changed(before, after, effects.noted, by, tx.now_ms))


def _by_schedule(runs: Sequence[Run]) -> dict[str, list[Run]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        if run.schedule_id is not None:
            grouped.setdefault(run.schedule_id, []).append(run)
    return grouped
