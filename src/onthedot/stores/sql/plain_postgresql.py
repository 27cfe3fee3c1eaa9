"""The short way of plain runs on PostgreSQL: one statement for a whole step, and so one round trip.

Its parts see the rows as they were when it began, and read anew what they lock: a node that is dead by then, and a run
that is no longer as it is asked for, fall out. Ends come first: they may wait for whoever has one of these runs locked,
and meanwhile nothing that is due may be locked by this statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, TextClause, text

from onthedot.stores import mapping
from onthedot.stores.lanes import lanes_of
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.sql import driver, places_postgresql, plain, tables
from onthedot.stores.sql.copying import name_in
from onthedot.stores.sql.given_rows import Unnest
from onthedot.stores.sql.places_postgresql import Words
from onthedot.stores.sql.postgres_batches import array_literal

_GIVEN = Unnest()
_SERVER_MS = "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)"
NOW_MS = f"COALESCE(CAST(:now_ms AS bigint), {_SERVER_MS})"
"""The store's time: that of the server where none is given."""


class OnPostgresql:
    """A statement of its own for each kind of step."""

    at_once = True
    hands_places_on = True

    def step(self, connection: Connection, asked: PlainStep, now_ms: int | None, floor_ms: int) -> PlainDone:
        lanes = 0 if asked.claim is None else len(lanes_of(asked.claim))
        of_pools = asked.claim is not None and asked.claim.pools is not None
        names = (*plain.names_in(connection), name_in(connection, tables.keys))
        in_places = bool(asked.limits)
        statement = _statement(names, lanes, ends=bool(asked.ends), of_pools=of_pools, in_places=in_places)
        found = driver.fetch(connection, statement, _values(asked, now_ms, floor_ms))
        rows: dict[str, list[Sequence[Any]]] = {"begun": [], "ended": [], "me": []}
        for what, *row in found:
            rows[what].append(row)
        return self._done(connection, asked, rows)

    def _done(self, connection: Connection, asked: PlainStep, rows: dict[str, list[Sequence[Any]]]) -> PlainDone:
        if not rows["me"]:  # it is dead, or was never there
            return PlainDone(0)
        told = dict(zip(mapping.BEGUN, rows["me"][0], strict=True))
        now_ms = int(told["started_ms"])
        said = {row[0]: row[mapping.BEGUN.index("reason")] for row in rows["ended"]}
        ended = tuple(plain.ended_runs(asked, said, now_ms))
        if asked.claim is None or told["attempt"]:
            return PlainDone(now_ms, ended)
        begun, unreadable = plain.begun_runs(rows["begun"], asked.node_id)
        if unreadable:
            self._set_aside(connection, asked, unreadable)
        return PlainDone(now_ms, ended, tuple(begun) if begun or not unreadable else None, passed_over=bool(unreadable))

    def _set_aside(self, connection: Connection, asked: PlainStep, unreadable: Sequence[str]) -> None:
        runs, keys = name_in(connection, tables.runs), name_in(connection, tables.keys)
        given = {"ids": array_literal(unreadable), "owner": asked.node_id}
        places = places_postgresql.values(asked) if asked.limits else {"place_keys": "{}"}
        driver.write(connection, _set_aside(runs, keys), {**given, "place_keys": places["place_keys"]})


def _values(asked: PlainStep, now_ms: int | None, floor_ms: int) -> dict[str, Any]:
    values: dict[str, Any] = {"owner": asked.node_id, "now_ms": now_ms}
    rows, limits = plain.ends_of(asked), asked.limits
    if limits:
        placed = {run.id for run, _ in asked.ends if run.policy.limit is not None}
        (given,) = _GIVEN.values(plain.ENDS_IN_PLACES, [(*row, int(row[0] in placed)) for row in rows])
        values |= given | places_postgresql.values(asked)
    elif rows:
        (given,) = _GIVEN.values(plain.ENDS, rows)
        values |= given
    if asked.claim is not None:
        values |= plain.claim_values(asked.claim, asked.most, floor_ms)
        values["tasks"] = array_literal(asked.claim.tasks)
        if asked.claim.pools is not None:
            values |= {"pools": array_literal(asked.claim.pools), "known": array_literal(asked.claim.known)}
    return values


@cache
def _statement(names: Sequence[str], lanes: int, *, ends: bool, of_pools: bool, in_places: bool = False) -> TextClause:
    """Without lanes nothing is to begin. In places: some of those that end hold places of groups."""
    runs, history, schedules, nodes, keys = names
    of_tasks = _of_tasks(of_pools=of_pools)
    words = Words(runs, keys, NOW_MS, of_tasks, plain.due(NOW_MS, of_tasks)) if in_places else None
    parts = [f"me AS (SELECT id, {NOW_MS} AS now_ms FROM {nodes} WHERE id = :owner AND {plain.LIVES} FOR SHARE)"]
    answers = [_row("me", {"id": "id", "started_ms": "now_ms", "attempt": "0"}, "me")]
    if lanes:
        care = [] if words is None else words.needs_care()
        parts += [] if words is None else [words.groups()]
        parts.append(f"others AS (SELECT {' OR '.join((plain.others_are_due(runs, NOW_MS, lanes), *care))} AS any_due)")
    if ends:
        parts += _ending(runs, history, schedules, in_places=in_places)
        answers.insert(0, _row("ended", {"id": "id", "reason": "progress"}, "kept"))
    if lanes:
        parts += _beginning(runs, of_tasks, words, ends=ends)
        others = (
            "CASE WHEN (SELECT any_due FROM others) OR EXISTS (SELECT 1 FROM due WHERE plain = 0) THEN 1 ELSE 0 END"
        )
        answers[-1] = _row("me", {"id": "id", "started_ms": "now_ms", "attempt": others}, "me")
        answers.insert(0, _row("begun", {name: f'"{name}"' for name in mapping.BEGUN}, "begun"))
    return text(f"WITH {', '.join(parts)} {' UNION ALL '.join(answers)}")


def _row(what: str, values: dict[str, str], source: str) -> str:
    """A row of the answer: what it is, and the columns of `mapping.BEGUN`."""
    columns = (values.get(name, f"CAST(NULL AS {_KINDS.get(name, 'text')})") for name in mapping.BEGUN)
    return f"SELECT '{what}', {', '.join(columns)} FROM {source}"


_KINDS = {
    **dict.fromkeys(("scheduled_ms", "due_ms", "cancel_requested_ms", "created_ms", "started_ms"), "bigint"),
    **dict.fromkeys(("claim_no", "attempt"), "integer"),
    "exempt": "smallint",
}


def _ending(runs: str, history: str, schedules: str, *, in_places: bool) -> list[str]:
    """What is given goes with the deleted row: to join both again, row by row, would cost the square of a batch."""
    columns = plain.in_history("(SELECT now_ms FROM me)", "ours.given_")
    names = ", ".join(f'"{name}"' for name in columns)
    besides = " AND NOT (given.placed = 1 AND (SELECT any_due FROM others))" if in_places else ""
    still = plain.still_ends_plainly("(SELECT id FROM me)", schedules, besides)
    given = ", ".join(f"given.{name} AS given_{name}" for name in plain.GIVEN)
    table = _GIVEN.table(plain.ENDS_IN_PLACES if in_places else plain.ENDS)
    gone = f"DELETE FROM {runs} AS ours USING {table} WHERE {still} RETURNING ours.*, {given}"
    kept = f"INSERT INTO {history} ({names}) SELECT {', '.join(columns.values())} FROM ours RETURNING id, progress"
    return [f"ours AS ({gone})", f"kept AS ({kept})"]


def _of_tasks(*, of_pools: bool) -> str:
    of_tasks = "task = ANY(CAST(:tasks AS text[]))"
    if not of_pools:
        return of_tasks
    return (
        f"(pool IS NULL AND {of_tasks}) OR (pool = ANY(CAST(:pools AS text[])) AND task = ANY(CAST(:known AS text[])))"
    )


def _beginning(runs: str, of_tasks: str, words: Words | None, *, ends: bool) -> list[str]:
    after_ends = " AND (SELECT count(*) FROM ours) >= 0" if ends else ""
    changes = plain.begins(":owner", "(SELECT now_ms FROM me)") | ({} if words is None else _NO_LONGER_BEHIND)
    sets = ", ".join(f"{name} = {value}" for name, value in changes.items())
    due = (
        f"SELECT id, plain FROM {runs} WHERE {plain.due(NOW_MS, of_tasks)} AND EXISTS (SELECT 1 FROM me){after_ends}"
        " AND NOT (SELECT any_due FROM others) ORDER BY due_ms, id LIMIT :most FOR NO KEY UPDATE SKIP LOCKED"
    )
    heirs = "" if words is None else " UNION ALL SELECT id FROM behind"
    begun = (
        f"UPDATE {runs} SET {sets} WHERE id = ANY(ARRAY(SELECT id FROM due{heirs}))"
        " AND NOT EXISTS (SELECT 1 FROM due WHERE plain = 0) RETURNING *"
    )
    handing_on = [] if words is None else words.handing_on()
    return [f"due AS ({due})", *handing_on, f"begun AS ({begun})"]


_NO_LONGER_BEHIND = {
    "waits_for": "NULL",
    "lane": ":lane_0",
    "plain": "CASE WHEN waits_for IS NULL THEN plain ELSE 0 END",
}


@cache
def _set_aside(runs: str, keys: str) -> TextClause:
    """Runs that have just begun and cannot be read: they wait as before, and the general way sees to them."""
    return text(
        f"WITH places AS ({places_postgresql.set_aside(keys)})"
        f" UPDATE {runs} SET state = 'waiting', owner = NULL, claim_no = claim_no + 1, attempt = attempt - 1,"
        " started_ms = NULL, plain = 0 WHERE id = ANY(CAST(:ids AS text[])) AND owner = :owner AND state = 'running'"
    )
