"""Schedules that are named alike, together: `backup-*`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

OTHERS = "others"
_FIRST_WORD = re.compile(r"([^-_./:\s0-9]+)([-_./:\s]|(?=\d))")
_MOST = 5
_LEAST = 2


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names with the same first word, and how often they stand there."""

    label: str
    count: int
    names: tuple[str, ...]
    """Each once, in order."""


def name_groups(names: Iterable[str], most: int = _MOST) -> list[NameGroup]:
    """The largest first, at most so many; what is left, and what stands alone, comes last as `others`."""
    counts = Counter(names)
    by_word: dict[str, list[str]] = {}
    for name in sorted(counts):
        by_word.setdefault(_label(name), []).append(name)
    groups = [NameGroup(label, _sum(counts, each), tuple(each)) for label, each in by_word.items()]
    large = sorted((each for each in groups if len(each.names) >= _LEAST), key=lambda each: (-each.count, each.label))
    if len(groups) <= most:
        return sorted((_alone(each) for each in groups), key=lambda each: (-each.count, each.label))
    shown = large[: most - 1]
    left = sorted(name for each in groups if each not in shown for name in each.names)
    return [*shown, NameGroup(OTHERS, _sum(counts, left), tuple(left))]


def _label(name: str) -> str:
    found = _FIRST_WORD.match(name)
    return f"{found[1]}{found[2]}*" if found else name


def _alone(group: NameGroup) -> NameGroup:
    """A group of one has its own name."""
    return NameGroup(group.names[0], group.count, group.names) if len(group.names) == 1 else group


def _sum(counts: Counter[str], names: Iterable[str]) -> int:
    return sum(counts[name] for name in names)
