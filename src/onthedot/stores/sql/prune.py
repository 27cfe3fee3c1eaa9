"""Forgetting what is old: searched without a lock, then deleted in short transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from onthedot.stores.base import Pruned, Retention
from onthedot.stores.prune import BATCH, Groups, Kind, Pruner, Surplus, Walk, is_needed
from onthedot.stores.sql import statements
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.statements import Aging, Crowd
from onthedot.stores.sql.transaction import in_chunks

T = TypeVar("T")
Row = tuple[Any, int]
"""The key of a row, and the moment by which it is old: so it was found, and so it must still be."""

_PAGE = 200
_TOMBSTONES_AT_ONCE = 100
"""For each of them the keys of its ticks are looked for."""


class Read(Protocol):
    """How a store reads, by itself."""

    def __call__(self, work: Callable[[Connection], T], /) -> T: ...


class SqlPruner:
    """Of one store; it remembers how far it has come round."""

    def __init__(self, read: Read, write: Callable[[], AbstractContextManager[Connection]], dialect: Dialect) -> None:
        self._read = read
        self._write = write
        self._dialect = dialect
        self._pruner = Pruner()
        self._runs, self._decisions = Surplus(), Surplus()
        self._revisions = Walk(0)
        self._from_ms: dict[Aging, int] = {}

    def prune(self, now_ms: int, keep: Retention, limit: int, *, thorough: bool) -> Pruned:
        """See `Store.prune`."""
        history_ms = now_ms - keep.history_ms
        forgotten_ms = now_ms - max(keep.tombstones_ms, keep.history_ms)

        def surplus(which: Surplus, crowd: Crowd, most_kept: int) -> Callable[[int], list[Row]]:
            return lambda most: which.find(self._groups(crowd), most_kept, most, thorough=thorough)

        kinds: list[Kind[Any]] = [
            Kind("run", self._oldest(statements.ENDED, history_ms), self._forget_runs),
            Kind("run too many", surplus(self._runs, statements.ENDED_CROWD, keep.per_schedule), self._forget_runs),
            Kind("decision", self._oldest(statements.DECIDED, history_ms), self._forget_decisions),
            Kind(
                "decision too many",
                surplus(self._decisions, statements.DECIDED_CROWD, keep.decisions_per_schedule),
                self._forget_decisions,
            ),
            Kind("key", self._oldest(statements.EXPIRED, now_ms), self._forget_keys),
            Kind("change", self._oldest(statements.CHANGED, now_ms - keep.changes_ms), self._forget_changes),
            Kind("change too many", lambda most: self._changes_beyond(keep.most_changes, most), self._forget_changes),
            Kind(
                "revision",
                lambda most: self._revisions.find(
                    lambda after: self._replaced(after, history_ms), most, thorough=thorough
                ),
                self._forget_revisions,
            ),
            Kind(
                "tombstone",
                self._oldest(statements.TOMBSTONES, forgotten_ms),
                self._forget_tombstones,
                _TOMBSTONES_AT_ONCE,
            ),
            Kind("node", self._oldest(statements.GONE, now_ms - keep.nodes_ms), self._forget_nodes),
        ]
        return self._pruner.prune(kinds, limit)

    # finding

    def _oldest(self, aging: Aging, before_ms: int) -> Callable[[int], list[Row]]:
        """While there is more than asked for, from where the last search began: what was deleted since the first one
        may still be there for an old transaction of somebody else's, and be read again each time."""

        def find(most: int) -> list[Row]:
            found = self._rows(aging.oldest, from_ms=self._from_ms.get(aging, 0), before_ms=before_ms, most=most)
            self._from_ms[aging] = found[0][1] if aging.in_order and len(found) >= most else 0
            return found

        return find

    def _groups(self, crowd: Crowd) -> Groups[Row]:
        def following(after: str) -> str | None:
            found = self._rows(crowd.following, after=after)
            return found[0][0] if found else None

        return Groups(
            newest=lambda most: (group for (group,) in self._rows(crowd.newest, most=most)),
            following=following,
            beyond=lambda group, keep, most: self._rows(crowd.beyond, group=group, keep=keep, most=most),
        )

    def _changes_beyond(self, keep: int, most: int) -> list[Row]:
        """All are counted only if there may be too many of them."""
        enough = keep + keep // 10
        ((span,),) = self._rows(statements.CHANGED_SPAN)
        if span is None or span < enough:
            return []
        beyond = self._rows(statements.CHANGED_CROWD, keep=keep, most=max(most, enough - keep + 1))
        return beyond[:most] if len(beyond) > enough - keep else []

    def _replaced(self, after: int, before_ms: int) -> tuple[list[Row], int | None]:
        """A page of definitions: those that were replaced so long ago, and that nothing needs any more."""
        page = sorted(self._rows(statements.REVISIONS_PAGE, after=after, most=_PAGE))
        replaced = [row for row in page if row[4] is not None and row[4] <= before_ms]
        oldest = {schedule_id: self._oldest_of(schedule_id) for schedule_id in {row[2] for row in replaced}}
        items = [
            (seq, made_ms)
            for seq, made_ms, schedule_id, revision, replaced_ms in replaced
            if not is_needed(revision, replaced_ms, *oldest[schedule_id])
        ]
        ended = len(page) < _PAGE or page[-1][1] > before_ms
        return items, None if ended else page[-1][0]

    def _oldest_of(self, schedule_id: str) -> tuple[int | None, int | None]:
        ((ended, live, decision_ms),) = self._rows(statements.OLDEST_OF, schedule_id=schedule_id)
        return min((each for each in (ended, live) if each is not None), default=None), decision_ms

    def _rows(self, statement: Any, **parameters: Any) -> list[Any]:
        return self._read(lambda connection: list(connection.execute(statement, parameters).fetchall()))

    # forgetting: each in one transaction

    def _forget_runs(self, rows: Sequence[Row]) -> Pruned:
        """Their logs go first, so many lines at once; runs that have more of them wait for the next time."""
        with self._write() as connection:
            runs = self._still(connection, statements.ENDED, rows)
            lines: list[Any] = []
            for part in self._parts(runs):
                lines += connection.execute(statements.LINES, {"among": part, "most": BATCH - len(lines)}).fetchall()
                if len(lines) >= BATCH:
                    break
            statements.DELETE_LINES.run(connection, [tuple(line) for line in lines])
            full = len(lines) >= BATCH
            if full:
                wait = {run_id for (run_id,) in self._among(connection, statements.WITH_LINES, runs)}
                runs = [run_id for run_id in runs if run_id not in wait]
            self._delete(connection, statements.ENDED, runs)
        return Pruned(runs=len(runs), logs=len(lines), more=full)

    def _forget_decisions(self, rows: Sequence[Row]) -> Pruned:
        return Pruned(decisions=self._forget(statements.DECIDED, rows))

    def _forget_keys(self, rows: Sequence[Row]) -> Pruned:
        return Pruned(keys=self._forget(statements.EXPIRED, rows))

    def _forget_changes(self, rows: Sequence[Row]) -> Pruned:
        return Pruned(changes=self._forget(statements.CHANGED, rows))

    def _forget_revisions(self, rows: Sequence[Row]) -> Pruned:
        return Pruned(revisions=self._forget(statements.REVISED, rows))

    def _forget_nodes(self, rows: Sequence[Row]) -> Pruned:
        with self._write() as connection:
            nodes = self._still(connection, statements.GONE, rows)
            statements.DELETE_TASKS.run(connection, [(node_id,) for node_id in nodes])
            self._delete(connection, statements.GONE, nodes)
        return Pruned(nodes=len(nodes))

    def _forget_tombstones(self, rows: Sequence[Row]) -> Pruned:
        """The keys of their ticks go first, so many at once; tombstones that have more of them wait."""
        with self._write() as connection:
            tombstones = self._still(connection, statements.TOMBSTONES, rows)
            keys: list[Any] = []
            bare = 0
            for schedule_id in tombstones:
                span = {"first": f"t:{schedule_id}:", "last": f"t:{schedule_id};", "most": BATCH - len(keys)}
                keys += connection.execute(statements.KEYS_BETWEEN, span).fetchall()
                if len(keys) >= BATCH:
                    break
                bare += 1
            statements.EXPIRED.delete.run(connection, [tuple(key) for key in keys])
            gone = tombstones[:bare]
            revisions = statements.DELETE_REVISIONS_OF.run(connection, [(each,) for each in gone])
            self._delete(connection, statements.TOMBSTONES, gone)
        return Pruned(tombstones=bare, keys=len(keys), revisions=revisions, more=bare < len(tombstones))

    def _forget(self, aging: Aging, rows: Sequence[Row]) -> int:
        with self._write() as connection:
            keys = self._still(connection, aging, rows)
            self._delete(connection, aging, keys)
        return len(keys)

    def _still(self, connection: Connection, aging: Aging, rows: Sequence[Row]) -> list[Any]:
        """The keys of those that are still as they were found, locked."""
        found = dict(rows)
        return [key for key, moment in self._among(connection, aging.locked, found) if found[key] == moment]

    @staticmethod
    def _delete(connection: Connection, aging: Aging, keys: Iterable[Any]) -> None:
        aging.delete.run(connection, [(key,) for key in keys])

    def _among(self, connection: Connection, statement: Any, keys: Iterable[Any]) -> Iterable[Sequence[Any]]:
        return in_chunks(connection, statement, list(keys), most=self._dialect.most_values)

    def _parts(self, keys: Sequence[Any]) -> Iterable[Sequence[Any]]:
        return (
            keys[start : start + self._dialect.most_values] for start in range(0, len(keys), self._dialect.most_values)
        )
