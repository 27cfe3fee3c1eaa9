"""Schedules that are named alike, together: `backup-*`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

OTHERS = "others"
_FIRST_WORD = re.compile(r"([^-_./:\s0-9\[]+)([-_./:\s\[]|(?=[0-9]))")
_LAST = "\U0010ffff"
_MOST = 5
_LEAST = 2


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names with the same first word, and how often they stand there."""

    label: str
    count: int
    names: tuple[str, ...]
    """Each once, in order."""


def name_groups(counts: Mapping[str, int], most: int = _MOST) -> list[NameGroup]:
    """The largest first, at most so many; what is left, and what stands alone, comes last as `others`.

    `counts`: how often each name stands there.
    """
    by_label: dict[str, list[str]] = {}
    for label, names in _alike(sorted(counts)):
        by_label.setdefault(label, []).extend(names)
    groups = [NameGroup(label, _sum(counts, each), tuple(each)) for label, each in by_label.items()]
    large = sorted((each for each in groups if len(each.names) >= _LEAST), key=lambda each: (-each.count, each.label))
    if len(groups) <= most:
        return sorted((_alone(each) for each in groups), key=lambda each: (-each.count, each.label))
    shown = large[: most - 1]
    left = sorted(name for each in groups if each not in shown for name in each.names)
    return [*shown, NameGroup(OTHERS, _sum(counts, left), tuple(left))]


def _alike(names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Labels, and names in order that have them. Names that begin alike stand together: one of them is looked at,
    however many they are."""
    first = 0
    while first < len(names):
        found, last = _FIRST_WORD.match(names[first]), first + 1
        if found is not None:
            beginning = names[first][: found.end() + (not found[2])]  # with the digit, if that ends the word
            last = max(bisect_left(names, beginning + _LAST, first), last)
        closing = "]" if found is not None and found[2] == "[" else ""  # those of a template: digest[*]
        yield (f"{found[1]}{found[2]}*{closing}" if found else names[first]), names[first:last]
        first = last


def _alone(group: NameGroup) -> NameGroup:
    """A group of one has its own name."""
    return NameGroup(group.names[0], group.count, group.names) if len(group.names) == 1 else group


def _sum(counts: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(map(counts.__getitem__, names))
