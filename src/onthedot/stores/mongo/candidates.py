"""What a transaction could take: looked up before it begins, since its snapshot must have the reservations that follow.

Where others are about, it reserves what it takes, half as much after each clash; and the more crowded it is, the more
it looks at, to begin anywhere in it. Whatever it takes it reads again, in the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import randrange

from pymongo.cursor import Cursor
from pymongo.database import Database

from onthedot.stores.mongo import schema
from onthedot.stores.mongo.levels import foremost_of
from onthedot.stores.mongo.mapping import ANYBODY, AT_ONCE, Document, Queue, queue_from
from onthedot.stores.mongo.reservations import Reservations
from onthedot.stores.transaction import Claim

IN_TURN = [("next_run_ms", 1), ("_id", 1)]
OLDEST = [("due_ms", 1), ("_id", 1)]
_WHOSE = {"busy_ms": 1, "busy_by": 1}
_QUEUES_AT_ONCE = 90
"""The server merges what lies sorted in up to 200 places of an index, two of each queue; more it would sort."""


@dataclass(slots=True)
class Manners:
    """How a transaction treats the others."""

    gate: int
    """Which of its node's gates it passes."""
    reserves: bool
    """Others are about: reserve what is taken."""
    waits: bool
    """For those who have reserved what it needs; else it is left to the clash."""
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
    waited: bool = False
    """It came again because others worked on what it needed."""
    committed: bool = False


class Candidates:
    """Of one transaction."""

    def __init__(
        self,
        database: Database[Document],
        reservations: Reservations,
        manners: Manners,
        now_ms: Callable[[], int],
    ) -> None:
        self._database = database
        self._reservations = reservations
        self._manners = manners
        self._now_ms = now_ms

    def schedules(self, filters: Sequence[Document], limit: int) -> tuple[list[str], bool]:
        """Reserved ids of due schedules, those of the first filter first; and whether more are due."""
        most = max(limit >> self._manners.tries, 1)
        window = most << self._manners.crowd
        seen: list[Document] = []
        for each in filters:
            seen += self._due_schedules(each, 2 * window - len(seen))
        free = [each for each in seen if self._reservations.is_free(each)]
        others = len(free) < len(seen)
        if len(free) < most and len(seen) >= 2 * window:  # so many are being worked on that they hide the rest
            free = []
            for each in filters:
                free += self._due_schedules({**each, **self._reservations.free}, window - len(free))
        self._manners.lapsed = any(self._reservations.has_lapsed(each) for each in free)
        ids = [each["_id"] for each in _anywhere(free[:window], most)]
        self._reservations.take(schema.SCHEDULES, ids)
        return ids, others or most < min(limit, len(free))

    def runs(self, claim: Claim, limit: int) -> list[Document]:
        """The same, looked up before the transaction begins, and reserved."""
        most = max(limit >> self._manners.tries, 1)
        free = self.foremost(claim, most << self._manners.crowd, self._outside)
        chosen = _anywhere(free, most)
        ids = [each["_id"] for each in chosen]
        if self._reservations.take(schema.RUNS, ids) == len(ids):
            return chosen
        self._manners.lost = True
        wanted = {"_id": {"$in": ids}, **schema.READY, **self._reservations.mine}
        mine = {each["_id"]: each for each in self._database[schema.RUNS].find(wanted, batch_size=AT_ONCE)}
        return [mine[each] for each in ids if each in mine]

    def _due_schedules(self, due: Document, most: int) -> list[Document]:
        if most <= 0:
            return []
        found = self._database[schema.SCHEDULES].find(due, _WHOSE, batch_size=AT_ONCE).sort(IN_TURN)
        return list(found.limit(most).hint(schema.SCHEDULES_DUE))

    def _outside(self, wanted: Document) -> Cursor[Document]:
        return self._database[schema.RUNS].find(wanted, batch_size=AT_ONCE)

    def foremost(self, claim: Claim, most: int, find: Callable[[Document], Cursor[Document]]) -> list[Document]:
        """The foremost of the due runs that the claim takes and nobody else works on, in turn."""
        mine = {"ready_for": {"$in": [ANYBODY, claim.node_id]}}
        queues = self._queues(claim, mine)

        def oldest(priority: int, until_ms: int, most: int) -> Iterator[Document]:
            for some in _parts(queues[priority]):
                due = {**mine, "queue": {"$in": some}, "due_ms": {"$lte": until_ms}, **self._reservations.free}
                yield from find(due).sort(OLDEST).limit(most).hint(schema.RUNS_DUE)

        return foremost_of(queues, oldest, self._now_ms(), most)

    def _queues(self, claim: Claim, mine: Document) -> dict[int, list[str]]:
        """Those of the claim in which any run waits, by priority: the runs of all others are not read, nor counted."""
        own, known = frozenset(claim.tasks), frozenset(claim.known)

        def takes(queue: Queue) -> bool:
            if queue.group not in (None, claim.group):
                return False
            if claim.pools is None or queue.pool is None:
                return queue.task in own
            return queue.pool in claim.pools and queue.task in known

        found: dict[int, list[str]] = {}
        for text in self._database[schema.RUNS].distinct("queue", mine):
            queue = queue_from(text)
            if takes(queue):
                found.setdefault(queue.priority, []).append(text)
        return found


def _parts(queues: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(queues), _QUEUES_AT_ONCE):
        yield queues[first : first + _QUEUES_AT_ONCE]


def _anywhere(found: list[Document], most: int) -> list[Document]:
    """So many in a row, from any place in them."""
    first = randrange(max(len(found) - most, 0) + 1)
    return found[first : first + most]
