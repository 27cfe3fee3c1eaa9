"""The tables as people read them: moments as timestamps in UTC, JSON as JSON where a database has it, names of nodes.

Nothing of onthedot reads them. They hold nothing, and are made anew with every version of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import OperationalError

from onthedot.model.definition_json import DEFAULTS
from onthedot.stores.sql import PREFIX, tables
from onthedot.stores.sql.tables import qualified

SCHEDULES = f"{PREFIX}schedules_view"
RUNS = f"{PREFIX}runs_view"
_DENIED = 1142
"""MySQL's number for a missing right; that to make views is another than that to make tables."""


class _Words(NamedTuple):
    """How a database says it; `{}` is the column, or a field of the definition."""

    moment: str
    within: str
    """A field of the definition as JSON; and as text."""
    within_text: str
    json: str = "{}"


_ADDED = "TIMESTAMPADD(MICROSECOND, {} * 1000, TIMESTAMP '1970-01-01 00:00:00')"  # FROM_UNIXTIME is in local time
# What cannot be read must not make the whole view unreadable.
_FIELD = "CASE WHEN JSON_VALID(definition) THEN JSON_EXTRACT(definition, '$.{}') END"
_MYSQL = _Words(_ADDED, _FIELD, f"JSON_UNQUOTE({_FIELD})")
_WORDS = {
    "sqlite": _Words("strftime('%Y-%m-%d %H:%M:%f', {} / 1000.0, 'unixepoch')", _FIELD, _FIELD),
    # json, since jsonb refuses \u0000.
    "postgresql": _Words(
        "to_timestamp({} / 1000.0)",
        "CAST(definition AS json) -> '{}'",
        "CAST(definition AS json) ->> '{}'",
        "CASE WHEN {} <> 'unreadable' THEN CAST({} AS json) END",
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
_STATE = "CASE WHEN error IS NOT NULL THEN 'parked' WHEN enabled = 0 THEN 'paused' ELSE 'active' END"


def create(connection: Connection) -> None:
    """Make the views, in the place of those that are there. Where this user has no right to, there are none."""
    drop(connection)
    for statement in _made_by(connection).values():
        try:
            connection.exec_driver_sql(statement)
        except OperationalError as error:
            if error.orig is None or error.orig.args[:1] != (_DENIED,):
                raise


def drop(connection: Connection) -> None:
    """So that the tables can be changed."""
    for name in (SCHEDULES, RUNS):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {qualified(connection, name)}")


def missing(connection: Connection, in_schema: str | None) -> dict[str, str]:
    """Those that are not there, and what makes them."""
    there = inspect(connection).get_view_names(in_schema)
    return {name: statement for name, statement in _made_by(connection).items() if name not in there}


def statements(database: str, qualify: Callable[[str], str] = lambda name: name) -> dict[str, str]:
    """By name what makes a view, in the database's own words."""
    words = _WORDS[database]
    nodes = qualify(tables.nodes.name)
    schedules = f"SELECT {', '.join(_of_schedules(words))} FROM {qualify(tables.schedules.name)} WHERE deleted = 0"
    runs = (
        f"SELECT {', '.join(_of_runs(words))} FROM {qualify(table.name)} AS run "
        f"LEFT JOIN {nodes} AS node ON node.id = run.owner"
        for table in (tables.runs, tables.history)
    )
    return {
        SCHEDULES: f"CREATE VIEW {qualify(SCHEDULES)} AS {schedules}",
        RUNS: f"CREATE VIEW {qualify(RUNS)} AS {' UNION ALL '.join(runs)}",
    }


def _made_by(connection: Connection) -> dict[str, str]:
    return statements(connection.dialect.name, lambda name: qualified(connection, name))


def _of_schedules(words: _Words) -> Iterator[str]:
    kind = f"COALESCE({words.within_text.format('kind')}, '{DEFAULTS['kind']}') AS kind"
    yield from ("id", "name", "task", kind, "mode", f"{_STATE} AS state")
    for name in ("next_run", "last_run", "created", "updated"):
        yield f"{words.moment.format(f'{name}_ms')} AS {name}_at"
    yield f"{words.moment.format('settled_ms')} AS settled_through"
    yield f"{words.within.format('trigger')} AS trigger_json"
    for name in ("args", "policy", "tags"):
        yield f"{words.json.format(name, name)} AS {name}"
    yield from ("priority", "paused_note", "error", "planned_runs", "revision", "version", "fence")


def _of_runs(words: _Words) -> Iterator[str]:
    for name in ("id", "task", "schedule", "cause", "state"):
        yield f"run.{name}"
    for name in ("scheduled", "due", "created", "started", "finished"):
        yield f"{words.moment.format(f'run.{name}_ms')} AS {name}_at"
    yield "run.started_ms - run.due_ms AS late_ms"
    yield "run.finished_ms - run.started_ms AS took_ms"
    yield from ("node.name AS node", "run.owner", "run.attempt", "run.crashes", "run.fence", "run.revision")
    for name in ("args", "policy", "result"):
        column = f"run.{name}"
        yield f"{words.json.format(column, column)} AS {name}"
    yield from ("run.progress", "run.error", "run.reason", "run.waits_for", "run.parent_id")
    yield from ("run.step", "run.item", "run.graph")
