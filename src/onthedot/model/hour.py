"""An hour of a schedule: how its runs ended, how late they began, how long they took, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.model.histogram import Histogram, added
from onthedot.model.tracebacks import telling_line

HOUR_MS = 3_600_000
MOST_ERRORS = 20
"""So many groups of errors are told apart in an hour."""
OTHER_ERRORS = ""
"""The group of all that go beyond them."""
EVERYTHING = ""
"""Of whom the hour of all runs is; no schedule and no task is called so."""


@dataclass(frozen=True, slots=True)
class Hour:
    """What was counted of the runs that ended in one hour."""

    of: str
    """The schedule's name; "/" and the task's, where runs have no schedule; `EVERYTHING`."""
    step: str
    """The name of a flow's step; empty for runs that are no steps."""
    hour_ms: int
    """The beginning of the hour."""
    ended: Mapping[str, int] = field(default_factory=dict)
    """By how they ended."""
    lateness: Histogram = field(default_factory=dict)
    """Of those that were begun (`model.histogram`)."""
    duration: Histogram = field(default_factory=dict)
    """The same of how long their latest attempts took."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """By the masked last lines of their errors: the largest groups, and `OTHER_ERRORS`."""

    def __add__(self, other: Hour) -> Hour:
        """Both, as one of the first one's place."""
        return Hour(
            self.of,
            self.step,
            self.hour_ms,
            summed((self.ended, other.ended)),
            added((self.lateness, other.lateness)),
            added((self.duration, other.duration)),
            grouped((self.errors, other.errors)),
        )

    def as_json(self) -> dict[str, Any]:
        """All but its place; what is empty is left out."""
        said: dict[str, Any] = {
            "ended": dict(self.ended),
            "lateness": dict(self.lateness),
            "duration": dict(self.duration),
            "errors": dict(self.errors),
        }
        return {name: value for name, value in said.items() if value}

    @classmethod
    def from_json(cls, of: str, step: str, hour_ms: int, said: Mapping[str, Any]) -> Hour:
        """What `as_json` gave, of this or an earlier version. `ValueError`, `TypeError` where it is nothing of that."""
        return cls(
            of,
            step,
            hour_ms,
            {how: int(count) for how, count in dict(said.get("ended", {})).items()},
            {int(bucket): int(count) for bucket, count in dict(said.get("lateness", {})).items()},
            {int(bucket): int(count) for bucket, count in dict(said.get("duration", {})).items()},
            {text: int(count) for text, count in dict(said.get("errors", {})).items()},
        )


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """All of them as one."""
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def grouped(errors: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """All of them as one: the largest groups, largest first, and at the end how many the others are."""
    total = summed(errors)
    others = total.pop(OTHER_ERRORS, 0)
    if len(total) > 1:
        in_turn = sorted(total.items(), key=lambda group: (-group[1], group[0]))
        others += sum(count for _, count in in_turn[MOST_ERRORS:])
        total = dict(in_turn[:MOST_ERRORS])
    return {**total, OTHER_ERRORS: others} if others else total


# What tells two errors of one kind apart: ids, addresses and numbers.
_NUMBERS = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b0[xX][0-9a-fA-F]+\b|\d+(?:[.,:]\d+)*"
)


def masked(error: str | None) -> str:
    """The group of an error: the line that says what went wrong, in which `#` stands for every number."""
    return _NUMBERS.sub("#", telling_line(error)).strip() or "no message"
