"""What a transaction could take: looked up before it begins, since its snapshot must have the hints that follow.

Where others are about, it marks what it takes, half as much after each clash; and the more crowded it is, the more it
looks at, to begin anywhere in it. Whatever it takes it reads again, in the transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import randrange

from pymongo.database import Database

from onthedot.rules.precedence import Turn, foremost, precedence_ms
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.mapping import AT_ONCE, Document
from onthedot.stores.mongo.reservations import Reservations

IN_TURN = [("next_run_ms", 1), ("_id", 1)]
OLDEST = [("due_ms", 1), ("_id", 1)]
_BY_LEVEL = [("priority", 1), *OLDEST]
_MARKS = {"busy_ms": 1, "busy_by": 1}


@dataclass(slots=True)
class Manners:
    """How a transaction treats the others."""

    gate: int
    """Which of its node's gates it passes."""
    hints: bool
    """Others are about: mark what is taken."""
    tries: int = 0
    """How often it was thrown out already: it takes half as much each time."""
    crowd: int = 0
    """How crowded it is: it looks at 2 ** crowd times as much as it takes, and begins anywhere in it."""
    lost: bool = False
    """Others were faster with some of it."""
    lapsed: bool = False
    """Somebody has left work behind."""
    nodes: int | None = None
    """How many live, if that was read."""


class Candidates:
    """Of one transaction."""

    def __init__(self, database: Database[Document], hints: Reservations, manners: Manners) -> None:
        self._database = database
        self._hints = hints
        self._manners = manners

    def schedules(self, filters: Sequence[Document], limit: int) -> tuple[list[str], bool]:
        """Marked ids of due schedules, those of the first filter first; and whether more are due that were left out."""
        most = max(limit >> self._manners.tries, 1)
        window = most << self._manners.crowd
        seen: list[Document] = []
        for each in filters:
            seen += self._due_schedules(each, 2 * window - len(seen))
        free = [each for each in seen if self._hints.is_free(each)]
        others = len(free) < len(seen)
        if len(free) < most and len(seen) >= 2 * window:  # so many are being worked on that they hide the rest
            free = []
            for each in filters:
                free += self._due_schedules({**each, **self._hints.free}, window - len(free))
        self._manners.lapsed = any(self._hints.has_lapsed(each) for each in free)
        ids = [each["_id"] for each in _anywhere(free[:window], most)]
        self._hints.take(schema.SCHEDULES, ids)
        return ids, others or most < min(limit, len(free))

    def runs(self, due: Document, limit: int) -> list[Document]:
        """The foremost of the due runs, in turn, marked where others are about."""
        if not self._manners.hints:
            return self._foremost(due, limit)
        most = max(limit >> self._manners.tries, 1)
        chosen = _anywhere(self._foremost({**due, **self._hints.free}, most << self._manners.crowd), most)
        ids = [each["_id"] for each in chosen]
        if self._hints.take(schema.RUNS, ids) == len(ids):
            return chosen
        self._manners.lost = True
        mine = self._due_runs({"_id": {"$in": ids}, **due, **self._hints.mine}, most)
        return foremost(mine, _turn_of, most)

    def _due_schedules(self, due: Document, most: int) -> list[Document]:
        if most <= 0:
            return []
        found = self._database[schema.SCHEDULES].find(due, _MARKS, batch_size=AT_ONCE).sort(IN_TURN)
        return list(found.limit(most).hint(schema.SCHEDULES_DUE))

    def _foremost(self, due: Document, most: int) -> list[Document]:
        """Asks once where all that are due fit, and for each level only where more with a priority are due."""
        found = self._due_runs(due, most)
        if len(found) < most:
            return foremost(found, _turn_of, most)
        ranked = self._due_runs({**due, "ranked": 1}, most)
        if not ranked:
            return found
        found = ranked + self._due_runs({**due, "ranked": 0}, most)
        levels = self._levels(due["due_ms"]) if len(ranked) >= most else ()
        return foremost(found, _turn_of, most, levels, lambda priority: self._of_level(due, priority, most))

    def _due_runs(self, due: Document, most: int) -> list[Document]:
        found = self._database[schema.RUNS].find({**schema.ANY_RANK, **due}, batch_size=AT_ONCE).sort(OLDEST)
        return list(found.limit(most).hint(schema.RUNS_DUE))

    def _levels(self, due_ms: Document) -> Iterator[tuple[int, int]]:
        """Every priority of due runs but 0, and its earliest moment: from one to the next, however many share it."""
        last: Document = {}
        while True:
            found = self._database[schema.RUNS].find({**schema.RANKED, **last}, {"priority": 1, "due_ms": 1})
            first = next(found.sort(_BY_LEVEL).limit(1).hint(schema.RUNS_LEVELS), None)
            if first is None:
                return
            if first["due_ms"] <= due_ms["$lte"]:
                yield first["priority"], first["due_ms"]
            last = {"priority": {"$gt": first["priority"]}}

    def _of_level(self, due: Document, priority: int, most: int) -> list[Document]:
        level = {**due, "ranked": 1, "priority": priority}
        found = self._database[schema.RUNS].find(level, batch_size=AT_ONCE).sort(OLDEST)
        return list(found.limit(most).hint(schema.RUNS_LEVELS))


def _turn_of(run: Document) -> Turn:
    return precedence_ms(run["due_ms"], run.get("priority") or 0), run["_id"]


def _anywhere(found: list[Document], most: int) -> list[Document]:
    """So many in a row, from any place in them."""
    first = randrange(max(len(found) - most, 0) + 1)
    return found[first : first + most]
