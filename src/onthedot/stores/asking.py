"""What people ask for, judged row by row: for stores, or parts of one, that have no index to ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from onthedot.model.run import Run
from onthedot.model.schedule import LEFT_OUT_LATELY_MS, UNDECLARED_AFTER_MS, Facet, Order, Schedule
from onthedot.model.states import State
from onthedot.stores.counts import LATE_MS, Demand, Needed, ScheduleCounts
from onthedot.stores.paging import NEVER_MS, place_from

NAMED = 3
"""So many names a demand has."""
BY_THE_CLOCK: tuple[Facet, ...] = ("undeclared", "leaving_out", "frozen")
"""Who has these is judged at a moment: the store is asked for its time first."""


def has_part(schedule: Schedule, search: str) -> bool:
    """Whether the text is part of its name or its task's, whatever the case of letters from a to z."""
    wanted = folded(search)
    return wanted in folded(schedule.name) or wanted in folded(schedule.task)


_FOLDED = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def folded(text: str) -> str:
    """With small letters from a to z; all others stay, since databases do not agree about them."""
    return text.translate(_FOLDED)


def page_of(schedules: Iterable[Schedule], order: Order, after: str, limit: int) -> list[Schedule]:
    """Those that come after that place, in order."""
    if order == "name":
        return sorted((row for row in schedules if row.name > after), key=lambda row: row.name)[:limit]
    place = place_from(after) if after else (-1, "")
    return sorted((row for row in schedules if _next(row) > place), key=_next)[:limit]


def _next(row: Schedule) -> tuple[int, str]:
    return NEVER_MS if row.next_run_ms is None else row.next_run_ms, row.name


def counts_of(schedules: Sequence[Schedule], now_ms: int, most: int) -> ScheduleCounts:
    """How many of each there are."""
    found: Counter[str] = Counter(row.state for row in schedules)
    found["undeclared"] = sum(row.is_undeclared(now_ms) for row in schedules)
    found["leaving_out"] = sum(row.is_leaving_out(now_ms) for row in schedules)
    found["frozen"] = sum(row.frozen_at(now_ms) is not None for row in schedules)
    return ScheduleCounts(**{facet: min(count, most) for facet, count in found.items()})


class Since(NamedTuple):
    """For stores that find by index who has a facet that the clock decides."""

    declared_before_ms: int
    """Undeclared are those who were last declared before."""
    left_out_from_ms: int
    """Leaving out are those who last did then or later."""


def since(now_ms: int) -> Since:
    """Judged at that moment; the same as `Schedule.has`."""
    return Since(now_ms - UNDECLARED_AFTER_MS, now_ms - LEFT_OUT_LATELY_MS)


def needed_by(row: Schedule) -> Needed:
    """What it needs to run."""
    return Needed(row.task, row.policy.group, row.policy.depends_on)


def demands_of(schedules: Sequence[Schedule]) -> list[Demand]:
    """What the active ones of them need; they come by name."""
    names: dict[Needed, list[str]] = {}
    for row in schedules:
        if row.state == "active":
            names.setdefault(needed_by(row), []).append(row.name)
    return [Demand(*need, len(found), tuple(found[:NAMED])) for need, found in names.items()]


def is_late(run: Run) -> bool:
    """Whether it began late."""
    return run.lateness_ms is not None and run.lateness_ms > LATE_MS


def results_of(ended: Iterable[Run], first: int, limit: int) -> list[tuple[int, State, Any]]:
    """Of ended runs of one step: by item, of each the one that was made last."""
    last: dict[int, Run] = {}
    for run in sorted(ended, key=lambda run: (run.created_ms, run.id)):
        last[run.item or 0] = run
    items = sorted(item for item in last if item >= first)[: max(limit, 0)]
    return [(item, last[item].state, last[item].result) for item in items]
