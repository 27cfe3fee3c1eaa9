"""Rolling up: what ended is counted into hours, each end once, before it may be forgotten; the same way in every store.

A store reads ends without a lock, and keeps the hours in one short transaction that moves `rolled_through`, if that is
still where it was when the ends were read. Of two who roll up at once one finds it moved, and has written nothing.
See docs/decisions/0056-statistics.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from onthedot.model.hour import HOUR_MS, Hour
from onthedot.model.run import Run
from onthedot.rules.counting import FINISHED, End, counted
from onthedot.stores.answers import RolledUp
from onthedot.stores.retention import ROLL_UP_AFTER_MS
from onthedot.stores.transaction import TryAgain, once_more_if_cut_off

STEP = "//"
"""Before the id of its flow: of whom a step is, until its flow is asked."""
_NOBODY = Run("", "", "step", 0, 0)
Known = tuple[Hour, Any]
"""An hour that is kept, and by what the store finds it again."""


Flows = Callable[[Sequence[str]], Sequence[Run]]
"""See `Rolling.flows`."""


class Rolling(Protocol):
    """How a store reads ends, and keeps hours."""

    def rolled_through(self) -> int:
        """The moment up to which ends are counted; 0 where none are."""

    def ends(self, after_ms: int, last_ms: int, most: int) -> Sequence[End]:
        """The first of what ended after one moment, up to the other, in order; 0 is all of it. A step is of `STEP` and
        its flow's id. It only reads."""

    def flows(self, ids: Sequence[str]) -> Sequence[Run]:
        """The runs of these ids, live or ended. It only reads."""

    def hours_at(self, hour_ms: int, places: Sequence[tuple[str, str]]) -> Sequence[Known]:
        """What is kept of that hour of these (whom, and which step), and perhaps of others. It only reads."""

    def keep(self, before_ms: int, through_ms: int, new: Sequence[Hour], changed: Sequence[Known]) -> bool:
        """Move `rolled_through` from one moment to the other, and write these hours. All or nothing: False if it is no
        longer where it was."""


@dataclass(frozen=True, slots=True)
class _Page:
    ends: Sequence[End]
    through_ms: int
    more: bool


def roll_up(rows: Rolling, now_ms: int, most: int, oldest_ms: int = -1) -> RolledUp:
    """See `Store.roll_up`. Hours of `oldest_ms` and before are too old to be kept."""
    before_ms = rows.rolled_through()
    page = _whole_moments(rows, before_ms, now_ms - ROLL_UP_AFTER_MS, most)
    if not page.ends:
        return RolledUp()
    hours = [each for each in counted(_named(rows, page.ends)) if each.hour_ms > oldest_ms]
    new, changed = _merged(rows, before_ms, hours)
    try:
        moved = once_more_if_cut_off(lambda: rows.keep(before_ms, page.through_ms, new, changed))
    except TryAgain:
        moved = False
    # Somebody else has counted them, or is at it: there may be more, but not for who only waits for it.
    return RolledUp(len(page.ends), page.more) if moved else RolledUp(0, page.more)


def _whole_moments(rows: Rolling, after_ms: int, last_ms: int, most: int) -> _Page:
    """Up to so many ends, but all that ended at one moment, since a moment is all that `rolled_through` tells."""
    if last_ms <= after_ms:
        return _Page((), after_ms, more=False)
    found = rows.ends(after_ms, last_ms, most)
    if not found or len(found) < most:
        return _Page(found, found[-1][FINISHED] if found else after_ms, more=False)
    through_ms: int = found[-1][FINISHED]
    whole = [end for end in found if end[FINISHED] < through_ms]
    if whole:
        return _Page(whole, whole[-1][FINISHED], more=True)
    return _Page(rows.ends(through_ms - 1, through_ms, 0), through_ms, more=True)


def _named(rows: Rolling, ends: Sequence[End]) -> Sequence[End]:
    """The same, each step as one of what its flow is counted as: of a sub-flow, what the outermost one is."""
    parents = {end[0][2:] for end in ends if end[1]}
    if not parents:
        return ends
    known: dict[str, Run] = {}
    while (
        missing := {*parents, *(run.parent_id or "" for run in known.values() if run.is_kept_by_flow)}
        - known.keys()
        - {""}
    ):
        found = {run.id: run for run in rows.flows(sorted(missing))}
        known |= {each: found.get(each, _NOBODY) for each in missing}
    return [(_outermost(end[0][2:], known), *end[1:]) if end[1] else end for end in ends]


def _outermost(run_id: str, known: Mapping[str, Run]) -> str:
    run = known[run_id]
    while run.is_kept_by_flow:
        run = known[run.parent_id or ""]
    return f"/{run.task}" if run.schedule is None else run.schedule


def _merged(rows: Rolling, before_ms: int, hours: Sequence[Hour]) -> tuple[list[Hour], list[Known]]:
    """The hours that are new, and the known ones as they will be. Ends come in order: of all hours only the one in
    which the last ones ended can be known."""
    hour_ms = before_ms // HOUR_MS * HOUR_MS
    places = sorted((each.of, each.step) for each in hours if each.hour_ms == hour_ms)
    known = {_place(each): (each, handle) for each, handle in rows.hours_at(hour_ms, places)} if places else {}
    new = [each for each in hours if _place(each) not in known]
    added = [(each, known[_place(each)]) for each in hours if _place(each) in known]
    return new, [(before + each, handle) for each, (before, handle) in added]


def _place(hour: Hour) -> tuple[str, str, int]:
    return hour.of, hour.step, hour.hour_ms
