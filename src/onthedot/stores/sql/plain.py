"""The short way of plain runs (`rules.plain`) in SQL: what its statements have in common, whatever the database.

The conditions stand in the statements themselves, since a row is as they say when they lock it. The columns `plain` of
runs and `followed` of schedules say what the rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from onthedot.model.run import Run
from onthedot.model.values import replace
from onthedot.rules import end
from onthedot.rules.precedence import turn_of
from onthedot.stores import mapping
from onthedot.stores.json_text import clean, encode
from onthedot.stores.lanes import lanes_of
from onthedot.stores.plain import End, PlainStep
from onthedot.stores.sql import tables
from onthedot.stores.sql.copying import LATE, name_in
from onthedot.stores.sql.given_rows import Kinds
from onthedot.stores.transaction import Claim

LIVES = "state IN ('alive', 'draining')"
"""Of a node."""
ENDS: Kinds = {
    "id": "key",
    "claim_no": "number",
    "state": "key",
    "result": "text",
    "error": "text",
    "reason": "text",
    "kept_by": "key",
}
"""What is given of a run that ends."""
ENDS_IN_PLACES: Kinds = {**ENDS, "placed": "number"}
"""The same, and whether it holds a place of a group."""
GIVEN = ("state", "result", "error", "reason", "kept_by")
"""Of that what history gets."""


def still_ends_plainly(owner: str, schedules: str, besides: str = "") -> str:
    """A condition on `ours`, a live run, and what is `given` of it.

    It is its node's under this claim, nobody asked it to stop, and nothing follows its schedule's runs.
    """
    return (
        # One case, not conditions: PostgreSQL would take them for so rare that it reads all runs first, and looks for
        # each in all that is given. They are to be found by their ids.
        "ours.id = given.id AND CASE WHEN"
        f" ours.claim_no = given.claim_no AND ours.owner = {owner} AND ours.state = 'running'"
        f" AND ours.cancel_requested_ms IS NULL AND ours.remote IS NULL{besides} THEN NOT EXISTS"
        f" (SELECT 1 FROM {schedules} AS their WHERE their.id = ours.schedule_id AND their.followed = 1)"
        " ELSE FALSE END"
    )


def in_history(finished_ms: str, given_as: str = "given.") -> dict[str, str]:
    """The columns of its row in history, each with what it gets; before the names of those that are given, this."""
    given = {name: f"{given_as}{name}" for name in GIVEN}
    same = {name: f"ours.{name}" for name in mapping.RUN}
    return same | {"slot": "NULL", "finished_ms": finished_ms} | given | LATE


def begins(owner: str, now_ms: str) -> dict[str, str]:
    """What changes in the row of a run that begins plainly: the same as `rules.start.started` says."""
    return {
        "state": "'running'",
        "owner": owner,
        "claim_no": "claim_no + 1",
        "attempt": "attempt + 1",
        "fence": "0",
        "started_ms": now_ms,
    }


def due(now_ms: str, tasks: str) -> str:
    """A condition on runs: the foremost that a claim takes, where none has a priority or is routed."""
    return (
        f"state = 'waiting' AND lane = :lane_0 AND ranked = 0 AND due_ms BETWEEN :floor_ms AND {now_ms} AND ({tasks})"
    )


def others_are_due(runs: str, now_ms: str, lanes: int) -> str:
    """Whether anything is due that may come before those: in its other lanes, or with a priority."""
    # The second one in other words: else the index of levels would be taken, in which due moments do not come first.
    places = [(lane, ranked) for lane in range(lanes) for ranked in ("0", "(SELECT 1)")][1:]
    return " OR ".join(
        f"EXISTS (SELECT 1 FROM {runs} WHERE state = 'waiting' AND lane = :lane_{lane} AND ranked = {ranked}"
        f" AND due_ms BETWEEN :floor_ms AND {now_ms})"
        for lane, ranked in places
    )


def names_in(connection: Connection) -> tuple[str, str, str, str]:
    """Of runs, history, schedules and nodes."""
    found = (name_in(connection, each) for each in (tables.runs, tables.history, tables.schedules, tables.nodes))
    runs, history, schedules, nodes = found
    return runs, history, schedules, nodes


def ends_of(asked: PlainStep) -> list[tuple[Any, ...]]:
    """What is given of the runs that end, by id, so that two who end the same wait in one direction."""
    return [_given(each) for each in sorted(asked.ends, key=lambda each: each.run.id)]


def _given(each: End) -> tuple[Any, ...]:
    run, outcome = each
    result = None if outcome.result is None else encode(outcome.result)
    said = result, clean(outcome.error), clean(outcome.reason)
    return run.id, run.claim_no, outcome.ending, *said, mapping.kept_by(run)


def claim_values(claim: Claim, most: int, floor_ms: int) -> dict[str, Any]:
    """What such a condition is given; the lists of words apart, which each database reads in its own way."""
    lanes = {f"lane_{number}": lane for number, lane in enumerate(lanes_of(claim))}
    return {**lanes, "most": most, "floor_ms": floor_ms}


def ended_runs(asked: PlainStep, progress: Mapping[str, str | None], now_ms: int) -> Iterator[Run]:
    """Those that have ended: of each, by id, how far it had said that it was."""
    for run, outcome in asked.ends:
        if run.id in progress:
            said = progress[run.id]
            yield end.settle(run if said == run.progress else replace(run, progress=said), None, outcome, now_ms)


def begun_runs(rows: Sequence[Sequence[Any]], owner: str, begins_ms: int | None = None) -> tuple[list[Run], list[str]]:
    """The runs of rows of `mapping.BEGUN`, in turn; and the ids of those that cannot be read.

    With a moment the rows were read before, and the runs begin then.
    """
    read = [(row[0], mapping.begun_from(row, owner, begins_ms)) for row in rows]
    begun = sorted((run for _, run in read if run is not None), key=turn_of)
    return begun, [run_id for run_id, run in read if run is None]
