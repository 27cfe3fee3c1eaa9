"""Are the tables of this version, and are all indexes there?"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Index, Table, inspect
from sqlalchemy.schema import CreateIndex

from onthedot.model.finding import Finding, Level
from onthedot.stores.sql import schema, tables, views
from onthedot.stores.sql.dialect import Dialect


def examine(connection: Connection, dialect: Dialect, in_schema: str | None, old_ms: int) -> list[Finding]:
    """What every SQL database is asked, and what only this one is."""
    return [
        _version(connection, dialect),
        *(
            Finding(Level.PROBLEM, "schema", f"the table {table.name} is missing", "bring it back from a backup")
            for table in _missing_tables(connection, in_schema)
        ),
        *_indexes(connection, in_schema),
        *(
            Finding(Level.WARNING, "view", f"{name} is missing: only people read it", statement)
            for name, statement in views.missing(connection, in_schema).items()
        ),
        *(dialect.examine(connection, old_ms) if dialect.examine is not None else ()),
    ]


def _version(connection: Connection, dialect: Dialect) -> Finding:
    version = schema.version_of(connection, dialect)
    if version == schema.HEAD:
        return Finding(Level.OK, "schema", f"version {version}")
    what = f"version {version}, needed here: {schema.HEAD}"
    return Finding(Level.PROBLEM, "schema", what, "run `onthedot migrate`, or upgrade onthedot here")


def _indexes(connection: Connection, in_schema: str | None) -> Iterator[Finding]:
    """Nothing else makes a missing one again: `migrate` goes by the version."""
    tables.complete()
    missing = sorted(_missing(connection, in_schema), key=lambda each: str(each.name))
    if not missing:
        yield Finding(Level.OK, "index", "all are there")
    for index in missing:
        meant = "two runs of one tick or slot are no longer kept out" if index.unique else "what it served is now slow"
        yield Finding(
            Level.PROBLEM, "index", f"{index.name} is missing: {meant}", _statement(connection, index, in_schema)
        )


def _missing(connection: Connection, in_schema: str | None) -> Iterator[Index]:
    inspector = inspect(connection)
    for table in set(tables.metadata.sorted_tables) - set(_missing_tables(connection, in_schema)):
        there = {each["name"] for each in inspector.get_indexes(table.name, in_schema)}
        yield from (each for each in table.indexes if each.name not in there and _belongs(each, connection))


def _missing_tables(connection: Connection, in_schema: str | None) -> list[Table]:
    there = inspect(connection).get_table_names(in_schema)
    return [table for table in tables.metadata.sorted_tables if table.name not in there]


def _belongs(index: Index, connection: Connection) -> bool:
    """Whether this database is meant to have it."""
    condition = index._ddl_if  # SQLAlchemy has no public way to ask
    return condition is None or condition._should_execute(CreateIndex(index), index, connection)


def _statement(connection: Connection, index: Index, in_schema: str | None) -> str:
    made = CreateIndex(index).compile(
        dialect=connection.dialect, schema_translate_map={None: in_schema}, render_schema_translate=True
    )
    return " ".join(str(made).split())
