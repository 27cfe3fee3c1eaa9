"""How many runs began and ended in each minute, and how late they began: what all nodes have counted, added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from onthedot.model.histogram import added, percentile
from onthedot.model.minute import MINUTE_MS, Minute
from onthedot.stores.base import Store


@dataclass(frozen=True, slots=True)
class MinuteCounts:
    """One minute of all nodes. Percentiles are known to a fifth of themselves; None where nothing began."""

    minute_ms: int
    begun: int
    ended: Mapping[str, int]
    """By how they ended."""
    p50_ms: int | None
    p99_ms: int | None
    latest_ms: int
    latest_run: str | None
    latest_name: str | None
    """The latest of them, with its schedule or task."""


def read_minutes(store: Store, first_ms: int, last_ms: int) -> tuple[MinuteCounts, ...]:
    """The minutes that touch [first, last) and in which anything began or ended, oldest first."""
    found = store.minutes(first_ms // MINUTE_MS * MINUTE_MS, max(last_ms - 1, 0))
    return tuple(add_up(each) for _, each in groupby(found, key=lambda minute: minute.minute_ms))


def add_up(of_nodes: Iterable[Minute]) -> MinuteCounts:
    """The same minute of several nodes as one."""
    minutes = [*of_nodes]
    lateness = added(each.lateness for each in minutes)
    latest = max(minutes, key=lambda each: each.latest_ms)
    ended: Counter[str] = Counter()
    for each in minutes:
        ended.update(each.ended)
    return MinuteCounts(
        minutes[0].minute_ms,
        sum(each.begun for each in minutes),
        dict(ended),
        _at_most(percentile(lateness, 0.5), latest.latest_ms),
        _at_most(percentile(lateness, 0.99), latest.latest_ms),
        latest.latest_ms,
        latest.latest_run,
        latest.latest_name,
    )


def _at_most(value_ms: int | None, most_ms: int) -> int | None:
    """A bucket is told by its upper end, which may lie beyond the latest of all."""
    return None if value_ms is None else min(value_ms, most_ms)
