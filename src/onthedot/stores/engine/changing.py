"""Changing schedules, and the audit of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onthedot.model.change import Author, Change
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.rules.alerts import watched
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.engine.audit import schedule_changed
from onthedot.stores.engine.settling import write
from onthedot.stores.engine.valuing import check_pins
from onthedot.stores.known_values import learn
from onthedot.stores.transaction import Transaction, TryAgain


def change(tx: Transaction, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
    """Lock, edit, write, and keep who did what."""
    found = tx.schedules_named(names)
    learn(tx, found.values())
    live = _by_schedule(tx.live_of([schedule.id for schedule in found.values()]))
    freezes = tuple(tx.freezes())
    befores = [
        Before(name, found.get(name), tuple(live.get(found[name].id, ())) if name in found else (), freezes=freezes)
        for name in names
    ]
    all_effects = [_watched(before, edit(before, tx.now_ms), tx.now_ms) for before in befores]
    check_pins(tx, befores, all_effects)
    _lock_what_changes(tx, befores, all_effects)
    write(tx, all_effects)
    lines: list[Change] = []
    for before, effects in zip(befores, all_effects, strict=True):
        lines += _record(tx, before.schedule, effects, by)
    tx.add_changes(lines)
    return all_effects


def _watched(before: Before, effects: Effects, now_ms: int) -> Effects:
    if effects.schedule is None:
        return effects
    return replace(effects, schedule=watched(before.schedule, effects.schedule, now_ms))


def _lock_what_changes(tx: Transaction, befores: Sequence[Before], all_effects: Sequence[Effects]) -> None:
    """Runs were read under their schedule's lock alone: what an edit touches must still be as it was read."""
    read = {run.id: run for before in befores for run in before.live}
    touched = {run.id for each in all_effects for run in (*each.runs, *each.ended) if run.id in read}
    locked = tx.live_runs(touched) if touched else {}
    if any(run_id not in locked or locked[run_id].claim_no != read[run_id].claim_no for run_id in touched):
        raise TryAgain


def _record(tx: Transaction, before: Schedule | None, effects: Effects, by: Author) -> list[Change]:
    after = effects.schedule
    if after is None or after == before:
        return []
    if before is None or before.revision != after.revision:
        tx.add_revision(after)
    return schedule_changed(before, after, effects.noted, by, tx.now_ms)


def _by_schedule(runs: Sequence[Run]) -> dict[str, list[Run]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        if run.schedule_id is not None:
            grouped.setdefault(run.schedule_id, []).append(run)
    return grouped
