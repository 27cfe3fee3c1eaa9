"""What the schedules of a store will run in a window. Needs the extra `forecast`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from onthedot.errors import TriggerError
from onthedot.model.schedule import Schedule
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, from_ms
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

if TYPE_CHECKING:
    from onthedot.app.schedules import Schedules
    from onthedot.forecast import RunIndex

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class StoreOutlook:
    """Runs to come in [first, end)."""

    index: RunIndex
    first_ms: int
    end_ms: int

    def counts(self, step_ms: int) -> list[int]:
        """How many begin in each stretch of this length."""
        step = from_ms(step_ms) - from_ms(0)
        found: list[int] = self.index.counts(step, from_ms(self.first_ms), from_ms(self.end_ms)).tolist()
        return found

    def busiest(self, step_ms: int, count: int) -> list[tuple[int, int]]:
        """The fullest stretches by their beginning, and how many begin in them."""
        step = from_ms(step_ms) - from_ms(0)
        return [(ceil_ms(each.at), each.runs) for each in self.index.busiest(step, count)]

    def runs_in(self, first_ms: int, end_ms: int, most: int) -> list[tuple[int, str]]:
        """Those that begin there, by their moment."""
        found = self.index.query(from_ms(first_ms), from_ms(end_ms))
        return [(ceil_ms(run.at), run.name) for run in islice(found, most)]


def outlook(schedules: Schedules, first_ms: int, end_ms: int, *, tag: str | None = None) -> StoreOutlook:
    """Of all schedules that run, or of those with a tag. Reads every one of them."""
    from onthedot.forecast import forecast

    first_ms, end_ms = max(first_ms, FIRST_MS), min(end_ms, END_MS)
    triggers: dict[str, Trigger] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = schedules.list(tag=tag, cursor=cursor, limit=_PAGE)
        triggers.update((each.name, trigger) for each in page if (trigger := _trigger(each)) is not None)
        cursor = page.cursor
    return StoreOutlook(forecast(triggers, from_ms(first_ms), from_ms(end_ms)), first_ms, end_ms)


def _trigger(schedule: Schedule) -> Trigger | None:
    """None for one that does not run: paused, parked, or at its end."""
    if not schedule.enabled or schedule.error is not None or schedule.next_run_ms is None:
        return None
    try:
        return decode(schedule.trigger)
    except TriggerError:
        return None
