"""The zones of schedules, for pages that tell each moment in its own."""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.app.clock_notes import zone_of
from onthedot.errors import TriggerError
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.triggers.codec import decode


def own_zones(store: Store, runs: Iterable[Run]) -> dict[str, str]:
    """By the names of their schedules, as far as these are there and can be read."""
    names = sorted({run.schedule for run in runs if run.schedule is not None})
    found = {}
    for schedule in store.schedules(names=names, limit=len(names)) if names else []:
        try:
            found[schedule.name] = zone_of(decode(schedule.trigger)).name
        except TriggerError:
            continue
    return found
