"""What the list of schedules shows: a page of them, those that need somebody first. It reads only what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.insight.failing import Failing, read_failing
from onthedot.model.schedule import Facet, Schedule
from onthedot.stores.base import Store
from onthedot.stores.counts import ScheduleCounts
from onthedot.stores.paging import place_of
from onthedot.web.dashboard.schedule_filter import Filter
from onthedot.web.dashboard.schedule_rows import Row, rows_of

PAGE = 25
_MOST_NEEDS = 20
_MOST_COUNTED = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """What is told about all schedules, read now and then for all who look."""

    counts: ScheduleCounts
    failing: Failing


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """One page of the list."""

    rows: list[Row]
    cursor: str | None
    standing: Standing


def read_standing(store: Store) -> Standing:
    """Four questions by index."""
    return Standing(store.count_schedules(), read_failing(store))


def read_page(store: Store, wanted: Filter, cursor: str, standing: Standing) -> SchedulePage:
    """Three or four questions by index, and one for the ticks of what is shown."""
    found, after = _found(store, wanted, cursor, standing)
    ticks = store.ticks([each.id for each in found], each=24) if found else None
    rows = [] if ticks is None else rows_of(found, ticks, store.now_ms())
    return SchedulePage(rows, after, standing)


def _found(store: Store, wanted: Filter, cursor: str, standing: Standing) -> tuple[list[Schedule], str | None]:
    if wanted.state == "failing":
        return _by_names(store, wanted, standing.failing.names)[: 4 * PAGE], None
    if wanted.sort != "need" or wanted.state in ("parked", "ended", "undeclared", "leaving_out", "frozen"):
        return _in_order(store, wanted, cursor, (), PAGE)
    first = _needing(store, wanted, standing)
    shown = [] if cursor else first
    rest, after = _in_order(store, wanted, cursor, {each.name for each in first}, PAGE - len(shown))
    return [*shown, *rest], after


def _needing(store: Store, wanted: Filter, standing: Standing) -> list[Schedule]:
    """Those that cannot be planned, those that nobody declares, those that failed, then those that left out ticks; only
    so many that others are seen too."""
    failed = _by_names(store, wanted, standing.failing.names[: 3 * _MOST_NEEDS])
    in_turn = [*_of(store, wanted, standing, "parked"), *_of(store, wanted, standing, "undeclared"), *failed]
    in_turn += _of(store, wanted, standing, "leaving_out")
    return list({each.name: each for each in in_turn}.values())[:_MOST_NEEDS]


def _of(store: Store, wanted: Filter, standing: Standing, facet: Facet) -> list[Schedule]:
    """Some of these; asked for only where there are any, and no other state is."""
    if wanted.state is not None or not getattr(standing.counts, facet):
        return []
    return store.schedules(**{**wanted.asked(), "state": facet}, limit=_MOST_NEEDS // 2)


def _by_names(store: Store, wanted: Filter, names: Sequence[str]) -> list[Schedule]:
    """Those of these that are wanted, in this order."""
    found = store.schedules(names=names, **wanted.asked(), limit=len(names)) if names else []
    by_name = {each.name: each for each in found}
    return [by_name[name] for name in names if name in by_name]


def _in_order(
    store: Store, wanted: Filter, cursor: str, but: Sequence[str] | set[str], count: int
) -> tuple[list[Schedule], str | None]:
    """So many after the cursor, and where the next page begins; those that stand elsewhere are passed over."""
    most = count + len(but) + 1
    page = store.schedules(**wanted.asked(), order=wanted.order, after=cursor, limit=most)
    kept = [each for each in page if each.name not in but]
    if len(kept) <= count and len(page) < most:
        return kept, None
    last = kept[:count][-1] if kept[:count] else page[-1]
    return kept[:count], place_of(last, wanted.order)


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that was asked for, and how many have it."""

    word: str
    filter: Filter
    count: int
    is_more: bool


def count_parts(store: Store, wanted: Filter, failing: Failing) -> list[Part]:
    """For a page on which nothing is found: which part of the filter to drop. Counting stops early."""
    return [_counted(store, word, alone, failing) for word, alone in wanted.parts()]


def _counted(store: Store, word: str, alone: Filter, failing: Failing) -> Part:
    if alone.state == "failing":
        return Part(word, alone, len(failing.names), is_more=not failing.is_whole)
    count = len(store.schedules(**alone.asked(), limit=_MOST_COUNTED))
    return Part(word, alone, count, is_more=count == _MOST_COUNTED)
