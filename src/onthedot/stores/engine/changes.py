"""Changing schedules, and the audit of it."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.schedule import Schedule
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.stores.base import Author
from onthedot.stores.engine.audit import schedule_changed
from onthedot.stores.engine.transactions import Transactions, by_schedule
from onthedot.stores.transaction import Transaction


class Changes(Transactions):
    """`change`: lock, edit, write, and keep who did what."""

    def change(self, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
        changed = self._transact(lambda rows: self._change(rows, names, edit, by))
        self.notify()
        return changed

    def _change(self, rows: Transaction, names: Sequence[str], edit: Edit, by: Author) -> list[Effects]:
        found = rows.schedules_named(names)
        live = by_schedule(rows.live_of([schedule.id for schedule in found.values()]))
        all_effects = []
        for name in names:
            before = found.get(name)
            effects = edit(Before(name, before, tuple(live.get(before.id, ())) if before else ()), rows.now_ms)
            self._write(rows, [effects])
            self._record_change(rows, before, effects, by)
            all_effects.append(effects)
        return all_effects

    @staticmethod
    def _record_change(rows: Transaction, before: Schedule | None, effects: Effects, by: Author) -> None:
        after = effects.schedule
        if after is None or after == before:
            return
        if before is None or before.revision != after.revision:
            rows.add_revision(after)
        rows.add_changes(schedule_changed(before, after, effects.noted, by, rows.now_ms))
