"""Changing schedules, and the audit of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from onthedot.model.ids import new_id
from onthedot.model.schedule import Schedule
from onthedot.stores.base import Before, By, Change, Edit, Effects
from onthedot.stores.engine.transactions import Transactions, by_schedule
from onthedot.stores.rows import Rows

_UNREMARKABLE = frozenset({"version", "updated_ms", "revision", "declared_seen_ms"})


class Changes(Transactions):
    """`change`: lock, edit, write, and keep who did what."""

    def change(self, names: Sequence[str], edit: Edit, by: By) -> list[Effects]:
        changed = self._transact(lambda rows: self._change(rows, names, edit, by))
        self.notify()
        return changed

    def _change(self, rows: Rows, names: Sequence[str], edit: Edit, by: By) -> list[Effects]:
        found = rows.schedules_named(names)
        live = by_schedule(rows.live_of([schedule.id for schedule in found.values()]))
        all_effects = []
        for name in names:
            before = found.get(name)
            effects = edit(Before(name, before, tuple(live.get(before.id, ())) if before else ()), rows.now_ms)
            self._write(rows, [effects])
            self._record_change(rows, before, effects.schedule, by)
            all_effects.append(effects)
        return all_effects

    def _record_change(self, rows: Rows, before: Schedule | None, after: Schedule | None, by: By) -> None:
        if after is None or after == before:
            return
        if before is None or before.revision != after.revision:
            rows.add_revision(after)
        old, new = _as_json(before), _as_json(after)
        differ = [name for name in new if old.get(name) != new[name] and name not in _UNREMARKABLE]
        if not differ:
            return
        rows.add_changes(
            [
                Change(
                    id=new_id(rows.now_ms),
                    schedule_id=after.id,
                    schedule=after.name,
                    revision=after.revision,
                    at_ms=rows.now_ms,
                    by=by,
                    before={name: old[name] for name in differ if name in old},
                    after={name: new[name] for name in differ},
                )
            ]
        )


def _as_json(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {}
    return {**asdict(schedule), "policy": schedule.policy.as_json()}
