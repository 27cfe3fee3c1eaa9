"""Forgetting what is old: searched without a lock, then deleted in short transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from onthedot.stores.prune import BATCH, Groups, Surplus, Walk, is_needed
from onthedot.stores.retention import Pruned
from onthedot.stores.sql import statements
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.statements import CHUNK, Aging, Crowd
from onthedot.stores.sql.transaction import in_chunks

T = TypeVar("T")
Row = tuple[Any, int]
"""The key of a row, and the moment by which it is old: so it was found, and so it must still be."""

_PAGE = 200


class Read(Protocol):
    """How a store reads, by itself."""

    def __call__(self, work: Callable[[Connection], T], /) -> T: ...


class SqlForgetting:
    """Of one store; it remembers how far it has come round."""

    def __init__(self, read: Read, write: Callable[[], AbstractContextManager[Connection]], dialect: Dialect) -> None:
        self._read = read
        self._write = write
        self._dialect = dialect
        self._runs, self._decisions = Surplus(), Surplus()
        self._revisions = Walk(0)
        self._graphs = Walk("")
        self._from_ms: dict[Aging, int] = {}

    # runs

    def old_runs(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.ENDED, before_ms, most)

    def surplus_runs(self, keep: int, most: int, *, thorough: bool, before_ms: int) -> list[Row]:
        def may_go(row: Row) -> bool:
            return (row[1] or 0) <= before_ms

        return self._runs.find(self._groups(statements.ENDED_CROWD), keep, most, thorough=thorough, may_go=may_go)

    def forget_runs(self, items: Sequence[Row]) -> Pruned:
        """Their logs go first, so many lines at once; runs that have more of them wait for the next time."""
        with self._write() as connection:
            runs = self._still(connection, statements.ENDED, items)
            lines = self._lines(connection, runs)
            statements.DELETE_LINES.run(connection, lines)
            full = len(lines) >= BATCH
            if full:
                wait = {run_id for (run_id,) in self._among(connection, statements.WITH_LINES, runs)}
                runs = [run_id for run_id in runs if run_id not in wait]
            flows = [(flow_id,) for (flow_id,) in self._among(connection, statements.FLOWS_AMONG, runs)]
            statements.FORGET_FLOWS.run(connection, flows)
            self._delete(connection, statements.ENDED, runs)
        return Pruned(runs=len(runs), logs=len(lines), more=full or bool(flows))

    def _lines(self, connection: Connection, runs: Sequence[str]) -> list[Any]:
        lines: list[Any] = []
        at_once = self._dialect.most_values
        for start in range(0, len(runs), at_once):
            asked = {"ids": runs[start : start + at_once], "most": BATCH - len(lines)}
            lines += [tuple(line) for line in connection.execute(statements.LINES, asked)]
            if len(lines) >= BATCH:
                break
        return lines

    # flows

    def steps_left(self, most: int) -> list[Row]:
        flows = [flow_id for (flow_id,) in self._rows(statements.FORGOTTEN, most=BATCH)]
        found: list[Row] = []
        for start in range(0, len(flows), CHUNK):
            if len(found) < most:
                asked = {"ids": flows[start : start + CHUNK], "most": most - len(found)}
                found += [tuple(row) for row in self._rows(statements.STEPS_LEFT, **asked)]
        return found

    def bare_flows(self, most: int) -> list[str]:
        return [flow_id for (flow_id,) in self._rows(statements.BARE_FLOWS, most=most)]

    def forget_flows(self, items: Sequence[str]) -> Pruned:
        with self._write() as connection:
            statements.DELETE_FORGOTTEN.run(connection, [(flow_id,) for flow_id in items])
        return Pruned()

    def unused_graphs(self, before_ms: int, most: int, *, thorough: bool) -> list[Row]:
        return self._graphs.find(lambda after: self._unused(after, before_ms), most, thorough=thorough)

    def _unused(self, after: str, before_ms: int) -> tuple[list[Row], str | None]:
        page = sorted(self._rows(statements.GRAPHS_PAGE, after=after, most=_PAGE))
        old = [(graph, seen_ms) for graph, seen_ms, is_used in page if seen_ms <= before_ms and not is_used]
        unused = [row for row in old if not self._rows(statements.OTHERS_WITH, of=row[0], part=f"%{row[0]}%")]
        return unused, page[-1][0] if len(page) == _PAGE else None

    def forget_graphs(self, items: Sequence[Row]) -> Pruned:
        return Pruned(graphs=self._forget(statements.SEEN, items))

    # decisions

    def old_decisions(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.DECIDED, before_ms, most)

    def surplus_decisions(self, keep: int, most: int, *, thorough: bool) -> list[Row]:
        return self._decisions.find(self._groups(statements.DECIDED_CROWD), keep, most, thorough=thorough)

    def forget_decisions(self, items: Sequence[Row]) -> Pruned:
        return Pruned(decisions=self._forget(statements.DECIDED, items))

    # keys, and the audit

    def expired_keys(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.EXPIRED, before_ms, most)

    def forget_keys(self, items: Sequence[Row]) -> Pruned:
        return Pruned(keys=self._forget(statements.EXPIRED, items))

    def old_changes(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.CHANGED, before_ms, most)

    def surplus_changes(self, keep: int, most: int) -> list[Row]:
        """They are counted only if there may be too many of them."""
        tenth = keep // 10
        ((span,),) = self._rows(statements.CHANGED_SPAN)
        if span is None or span < keep + tenth:
            return []
        beyond = self._rows(statements.CHANGED_CROWD, keep=keep, most=max(most, tenth + 1))
        return beyond[:most] if len(beyond) > tenth else []

    def forget_changes(self, items: Sequence[Row]) -> Pruned:
        return Pruned(changes=self._forget(statements.CHANGED, items))

    # schedules: what they were, and what is left of them

    def replaced_revisions(self, before_ms: int, most: int, *, thorough: bool) -> list[Row]:
        return self._revisions.find(lambda after: self._replaced(after, before_ms), most, thorough=thorough)

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

    def forget_revisions(self, items: Sequence[Row]) -> Pruned:
        return Pruned(revisions=self._forget(statements.REVISED, items))

    def bare_tombstones(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.TOMBSTONES, before_ms, most)

    def forget_tombstones(self, items: Sequence[Row]) -> Pruned:
        """The keys of their ticks go first, so many at once; tombstones that have more of them wait."""
        with self._write() as connection:
            tombstones = self._still(connection, statements.TOMBSTONES, items)
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

    # nodes

    def gone_nodes(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.GONE, before_ms, most)

    def forget_nodes(self, items: Sequence[Row]) -> Pruned:
        with self._write() as connection:
            nodes = self._still(connection, statements.GONE, items)
            statements.DELETE_TASKS.run(connection, [(node_id,) for node_id in nodes])
            self._delete(connection, statements.GONE, nodes)
        return Pruned(nodes=len(nodes))

    # statistics

    def old_hours(self, before_ms: int, most: int) -> list[Row]:
        return self._oldest(statements.COUNTED, before_ms, most)

    def forget_hours(self, items: Sequence[Row]) -> Pruned:
        return Pruned(hours=self._forget(statements.COUNTED, items))

    # of any table

    def _oldest(self, aging: Aging, before_ms: int, most: int) -> list[Row]:
        """While there is more than asked for, from where the last search began: what was deleted since the first one
        may still be there for an old transaction of somebody else's, and be read again each time."""
        found = self._rows(aging.oldest, from_ms=self._from_ms.get(aging, 0), before_ms=before_ms, most=most)
        self._from_ms[aging] = found[0][1] if aging.in_order and len(found) >= most else 0
        return found

    def _groups(self, crowd: Crowd) -> Groups[Row]:
        def following(after: str) -> str | None:
            found = self._rows(crowd.following, after=after)
            return found[0][0] if found else None

        return Groups(
            newest=lambda most: (group for (group,) in self._rows(crowd.newest, most=most)),
            following=following,
            beyond=lambda group, keep, most: self._rows(crowd.beyond, group=group, keep=keep, most=most),
        )

    def _rows(self, statement: Any, **parameters: Any) -> list[Any]:
        return self._read(lambda connection: list(connection.execute(statement, parameters).fetchall()))

    def _forget(self, aging: Aging, items: Sequence[Row]) -> int:
        with self._write() as connection:
            keys = self._still(connection, aging, items)
            self._delete(connection, aging, keys)
        return len(keys)

    def _still(self, connection: Connection, aging: Aging, items: Sequence[Row]) -> list[Any]:
        """The keys of those that are still as they were found, locked."""
        found = dict(items)
        return [key for key, moment in self._among(connection, aging.locked, found) if found[key] == moment]

    @staticmethod
    def _delete(connection: Connection, aging: Aging, keys: Iterable[Any]) -> None:
        aging.delete.run(connection, [(key,) for key in keys])

    def _among(self, connection: Connection, statement: Any, keys: Iterable[Any]) -> Iterable[Sequence[Any]]:
        return in_chunks(connection, statement, list(keys), most=self._dialect.most_values)
