"""Where a page of schedules ended, as text that the next page begins after."""

from __future__ import annotations

from onthedot.model.schedule import Order, Schedule

NEVER_MS = 1 << 62
"""In place of a next moment where there is none: after all others."""


def place_of(schedule: Schedule, order: Order) -> str:
    """Where it stands in that order."""
    if order == "name":
        return schedule.name
    return f"{NEVER_MS if schedule.next_run_ms is None else schedule.next_run_ms}:{schedule.name}"


def place_from(text: str) -> tuple[int, str]:
    """The moment and the name of a place in the order of next moments; what is no place is the beginning."""
    moment, _, name = text.partition(":")
    is_one = moment.isascii() and moment.isdecimal() and len(moment) <= 19
    return (min(int(moment), NEVER_MS), name) if is_one else (-1, "")
