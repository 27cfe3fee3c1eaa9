"""What happens on all days of the time line: for each different mask of seconds, the set of days that have it."""

from __future__ import annotations

from collections.abc import Mapping

from onthedot.triggers.exclusions.clock_days import DAY, END, part_of_day, run

DaySets = Mapping[int, int]
"""Seconds of a day to the days that have just these; no day stands twice, and a day with none does not stand here."""


class Gathered(dict[int, int]):
    """Day sets in the making."""

    def add(self, mask: int, days: int) -> None:
        """These days have this mask."""
        if mask and days:
            self[mask] = self.get(mask, 0) | days


def both(one: DaySets, other: DaySets) -> DaySets:
    """The seconds that are in both."""
    found = Gathered()
    for mine, days in one.items():
        for its, its_days in other.items():
            if shared := days & its_days:
                found.add(mine & its, shared)
    return found


def minus(one: DaySets, other: DaySets) -> DaySets:
    """The seconds that are in the first, and not in the second."""
    found = Gathered()
    for mine, days in one.items():
        alone = days
        for its, its_days in other.items():
            if shared := days & its_days:
                found.add(mine ^ (mine & its), shared)
                alone ^= shared
        found.add(mine, alone)
    return found


def within(sets: DaySets, first: int, end: int) -> DaySets:
    """What lies in the seconds [first, end) of the time line."""
    if first <= 0 and end >= END:
        return sets
    found, inside = Gathered(), run(-(-first // DAY), end // DAY)
    edges = [day for day in {first // DAY, (end - 1) // DAY} if first < end and not inside >> day & 1]
    for mask, days in sets.items():
        found.add(mask, days & inside)
        for day in edges:
            if days >> day & 1:
                found.add(mask & part_of_day(first, end, day), 1 << day)
    return found
