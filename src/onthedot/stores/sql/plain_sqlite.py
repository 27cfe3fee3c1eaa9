"""The short way of plain runs on SQLite: a few statements in one transaction, which has the file to itself.

What is due is read before it is taken, so a row that cannot be read leaves all of it to the general way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, text

from onthedot.model.run import Run
from onthedot.stores import mapping
from onthedot.stores.lanes import lanes_of
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.sql import driver, plain
from onthedot.stores.transaction import Claim


class _Texts(NamedTuple):
    lives: TextClause
    lives_alone: TextClause
    """The same, where nothing is to begin."""
    keep: TextClause
    gone: TextClause
    due_of_tasks: TextClause
    due_of_pools: TextClause
    begin: TextClause


class OnSqlite:
    """One transaction for a node's whole step."""

    at_once = False
    hands_places_on = False

    def step(self, connection: Connection, asked: PlainStep, now_ms: int | None, floor_ms: int) -> PlainDone:
        assert now_ms is not None, "this machine's clock is the store's"
        texts = _texts(plain.names_in(connection), 1 if asked.claim is None else len(lanes_of(asked.claim)))
        given: dict[str, Any] = {"owner": asked.node_id, "now_ms": now_ms}
        if asked.claim is None:
            lives, others = driver.fetch(connection, texts.lives_alone, given), True
        else:
            given |= plain.claim_values(asked.claim, asked.most, floor_ms)
            lives = driver.fetch(connection, texts.lives, given)
            others = bool(lives and lives[0][0])
        if not lives:
            return PlainDone(now_ms)
        ended = self._end(connection, texts, asked, now_ms)
        return PlainDone(now_ms, ended, None if others else self._begin(connection, texts, asked, given))

    def _end(self, connection: Connection, texts: _Texts, asked: PlainStep, now_ms: int) -> tuple[Run, ...]:
        if not asked.ends:
            return ()
        given = {"given": json.dumps(plain.ends_of(asked)), "owner": asked.node_id, "now_ms": now_ms}
        found = driver.fetch(connection, texts.keep, given)
        kept: dict[str, str | None] = {row[0]: row[1] for row in found}
        if kept:
            driver.write(connection, texts.gone, {"ids": json.dumps([*kept])})
        return tuple(plain.ended_runs(asked, kept, now_ms))

    def _begin(
        self, connection: Connection, texts: _Texts, asked: PlainStep, given: dict[str, Any]
    ) -> tuple[Run, ...] | None:
        assert asked.claim is not None
        due = driver.fetch(connection, *_due(texts, asked.claim, given))
        if not all(row[-1] for row in due):
            return None
        waiting, unreadable = plain.begun_runs([row[:-1] for row in due], asked.node_id, given["now_ms"])
        if unreadable:
            return None
        if waiting:
            driver.write(connection, texts.begin, {**given, "ids": json.dumps([run.id for run in waiting])})
        return tuple(waiting)


def _due(texts: _Texts, claim: Claim, given: dict[str, Any]) -> tuple[TextClause, dict[str, Any]]:
    words = {"tasks": json.dumps(claim.tasks)}
    if claim.pools is None:
        return texts.due_of_tasks, given | words
    return texts.due_of_pools, given | words | {"pools": json.dumps(claim.pools), "known": json.dumps(claim.known)}


@cache
def _texts(names: Sequence[str], lanes: int) -> _Texts:
    runs, history, schedules, nodes = names
    node = f"FROM {nodes} WHERE id = :owner AND {plain.LIVES}"
    columns = plain.in_history(":now_ms")
    given = ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(plain.ENDS))
    keep = (
        f"INSERT INTO {history} ({', '.join(_quoted(columns))}) SELECT {', '.join(columns.values())}"
        f" FROM (SELECT {given} FROM json_each(:given)) AS given CROSS JOIN {runs} AS ours"  # in this order
        f" ON {plain.still_ends_plainly(':owner', schedules)} RETURNING id, progress"
    )
    sets = ", ".join(f"{name} = {value}" for name, value in plain.begins(":owner", ":now_ms").items())
    found = f"SELECT {', '.join(_quoted(mapping.BEGUN))}, plain FROM {runs} WHERE"
    in_turn = "ORDER BY due_ms, id LIMIT :most"
    of_tasks = "task IN (SELECT value FROM json_each(:tasks))"
    of_pools = (
        f"(pool IS NULL AND {of_tasks}) OR (pool IN (SELECT value FROM json_each(:pools))"
        " AND task IN (SELECT value FROM json_each(:known)))"
    )
    return _Texts(
        text(f"SELECT {plain.others_are_due(runs, ':now_ms', lanes)} {node}"),
        text(f"SELECT 1 {node}"),
        text(keep),
        text(f"DELETE FROM {runs} WHERE id IN (SELECT value FROM json_each(:ids))"),
        text(f"{found} {plain.due(':now_ms', of_tasks)} {in_turn}"),
        text(f"{found} {plain.due(':now_ms', of_pools)} {in_turn}"),
        text(f"UPDATE {runs} SET {sets} WHERE id IN (SELECT value FROM json_each(:ids))"),
    )


def _quoted(names: Sequence[str] | dict[str, str]) -> list[str]:
    return [f'"{name}"' for name in names]
