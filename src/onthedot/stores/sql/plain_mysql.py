"""The short way of plain runs on MariaDB and MySQL: a few statements in one transaction, whatever they are given.

Neither has one statement that both changes and answers, on both of them. So a row is locked by the statement that reads
it, and then written by its id. Ends come first: they may wait for whoever has one of these runs locked, and meanwhile
nothing that is due may be locked here. What is due is read and locked in one go, by its index, and waits for nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, text

from onthedot.model.run import Run
from onthedot.stores import mapping
from onthedot.stores.lanes import lanes_of
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.sql import driver, plain
from onthedot.stores.sql.given_rows import JsonTable, Kinds
from onthedot.stores.transaction import Claim

_GIVEN = JsonTable()
_IDS: Kinds = {"id": "key"}
_CLAIMS: Kinds = {"id": "key", "claim_no": "number"}
_BY_DUE = "FORCE INDEX (onthedot_runs_waiting)"
"""In that of levels of priority due moments do not come first: what is due much later would be read, too."""
_LOCKING = "FOR UPDATE /*!80000 OF ours */"
"""MySQL locks no JSON_TABLE, and wants to be told which table; MariaDB has no OF, and passes by such a comment."""
SERVER_MS = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"
"""UNIX_TIMESTAMP() would read the moment in the session's zone. Never rounded up."""
NOW_MS = f"COALESCE(:now_ms, {SERVER_MS})"
"""The store's time: that of the server where none is given."""


class OnMysql:
    """One transaction for a node's whole step."""

    at_once = False
    hands_places_on = False

    def step(self, connection: Connection, asked: PlainStep, now_ms: int | None, floor_ms: int) -> PlainDone:
        names = plain.names_in(connection)
        given: dict[str, Any] = {"owner": asked.node_id, "now_ms": now_ms}
        lanes = 0
        if asked.claim is not None:
            lanes = len(lanes_of(asked.claim))
            given |= plain.claim_values(asked.claim, asked.most, floor_ms)
        found = driver.fetch(connection, _me(names, lanes), given)
        if not found:  # it is dead, or was never there
            return PlainDone(0)
        ((at_ms, others),) = found
        given["now_ms"] = at_ms
        ended = _end(connection, _ending(names), asked, at_ms)
        if asked.claim is None or others:
            return PlainDone(at_ms, ended)
        return PlainDone(at_ms, ended, _begin(connection, names[0], asked.claim, given))


def _end(connection: Connection, texts: _Ending, asked: PlainStep, now_ms: int) -> tuple[Run, ...]:
    rows = plain.ends_of(asked)
    said: dict[str, str | None] = {}
    for given in _GIVEN.values(_CLAIMS, [row[:2] for row in rows]):
        found = driver.fetch(connection, texts.lock, {**given, "owner": asked.node_id})
        said.update((row[0], row[1]) for row in found)
    for given in _GIVEN.values(plain.ENDS, [row for row in rows if row[0] in said]):
        driver.write(connection, texts.keep, {**given, "now_ms": now_ms})
    if said:
        driver.write(connection, texts.gone, _ids(said))
    return tuple(plain.ended_runs(asked, said, now_ms))


def _begin(connection: Connection, runs: str, claim: Claim, given: dict[str, Any]) -> tuple[Run, ...] | None:
    """What cannot be read, or is not plain, leaves all of it to the general way."""
    due = driver.fetch(connection, *_due(runs, claim, given))
    if not all(row[-1] for row in due):
        return None
    waiting, unreadable = plain.begun_runs([row[:-1] for row in due], claim.node_id, given["now_ms"])
    if unreadable:
        return None
    if waiting:
        driver.write(connection, _beginning(runs), {**given, **_ids(run.id for run in waiting)})
    return tuple(waiting)


def _ids(ids: Iterable[str]) -> dict[str, str]:
    return {"given": json.dumps([[each] for each in ids])}


@cache
def _me(names: Sequence[str], lanes: int) -> TextClause:
    """The store's time, and whether anything that is due comes first. Without lanes nothing is to begin."""
    runs, _, _, nodes = names
    others = plain.others_are_due(f"{runs} {_BY_DUE}", NOW_MS, lanes) if lanes else "0"
    return text(
        f"SELECT {NOW_MS}, {others} FROM {nodes} WHERE id = :owner AND {plain.LIVES} LOCK IN SHARE MODE",
    )


class _Ending(NamedTuple):
    lock: TextClause
    keep: TextClause
    gone: TextClause


@cache
def _ending(names: Sequence[str]) -> _Ending:
    runs, history, schedules, _ = names
    columns = plain.in_history(":now_ms")
    named = ", ".join(f"`{name}`" for name in columns)
    still = plain.still_ends_plainly(":owner", schedules)
    return _Ending(
        text(f"SELECT ours.id, ours.progress FROM {_GIVEN.beside(runs, _CLAIMS)} WHERE {still} {_LOCKING}"),
        text(
            f"INSERT INTO {history} ({named}) SELECT {', '.join(columns.values())}"
            f" FROM {_GIVEN.beside(runs, plain.ENDS)}"
        ),
        text(f"DELETE ours FROM {_GIVEN.beside(runs, _IDS)}"),
    )


def _due(runs: str, claim: Claim, given: dict[str, Any]) -> tuple[TextClause, dict[str, Any]]:
    words = {"task": claim.tasks}
    if claim.pools is not None:
        words |= {"pool": claim.pools, "known": claim.known}
    statement = _due_of(runs, *(len(words.get(name, ())) for name in ("task", "pool", "known")))
    values = {f"{name}_{place}": word for name, each in words.items() for place, word in enumerate(each)}
    return statement, {**given, **values}


@cache
def _due_of(runs: str, tasks: int, pools: int, known: int) -> TextClause:
    """A parameter for each word, since neither database looks up JSON by an index; a node's words are always as many.

    Without pools it asks for those of its tasks, whatever their pool.
    """
    suiting = _in("task", "task", tasks)
    if known:
        of_pools = f" OR ({_in('pool', 'pool', pools)} AND {_in('task', 'known', known)})" if pools else ""
        suiting = f"(pool IS NULL AND {suiting}){of_pools}"
    columns = ", ".join(f"`{name}`" for name in mapping.BEGUN)
    return text(
        f"SELECT {columns}, plain FROM {runs} {_BY_DUE}"
        f" WHERE {plain.due(':now_ms', suiting)} ORDER BY due_ms, id LIMIT :most FOR UPDATE SKIP LOCKED"
    )


def _in(column: str, name: str, count: int) -> str:
    return f"{column} IN ({', '.join(f':{name}_{place}' for place in range(count))})"


@cache
def _beginning(runs: str) -> TextClause:
    return text(_GIVEN.update(runs, _IDS, plain.begins(":owner", ":now_ms")))
