"""The version of the tables: read by one SELECT, made from the declared tables, upgraded by Alembic only when older."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, inspect, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema

from onthedot.errors import SchemaError, StoreUnavailable
from onthedot.stores.sql import statements, tables, views
from onthedot.stores.sql.dialect import Dialect, Fault

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0001"
"""The version of `tables`; the last file in migrations/versions has the same."""

LONGEST_CREATION_S = 60
"""How long to wait for another process that makes the tables."""


def version_of(connection: Connection, dialect: Dialect) -> str | None:
    """The version of the tables that are there; None where there are none."""
    try:
        with connection.begin_nested():  # a statement that fails would take the whole transaction with it
            return connection.execute(statements.VERSION).scalar_one_or_none()
    except DBAPIError as error:
        if dialect.fault(error) is Fault.NO_TABLES:
            return None
        raise


def is_current(version: str, place: str) -> bool:
    """Whether nothing is to be done; `SchemaError` if a newer version of onthedot made these tables."""
    if int(version) > int(HEAD):
        raise SchemaError(
            f"{place} has the tables of a newer onthedot (schema {version}, known here: {HEAD}); upgrade onthedot here"
        )
    return version == HEAD


@contextmanager
def being_made(connection: Connection, dialect: Dialect, place: str) -> Iterator[None]:
    """Nobody else makes or changes the tables of this place meanwhile."""
    _wait_for_turn(connection, dialect, place)
    if dialect.let_go_of_creation is None:
        yield
        return
    try:
        yield
        dialect.let_go_of_creation(connection)
    except DBAPIError:
        connection.invalidate()  # it would take the lock along, into the pool
        raise


def _wait_for_turn(connection: Connection, dialect: Dialect, place: str) -> None:
    """Ask again and again: a statement that waited in the server would be cut off by the URL's own time-out."""
    if dialect.hold_creation is None:
        return
    give_up_at = time.monotonic() + LONGEST_CREATION_S
    while not dialect.hold_creation(connection):
        if time.monotonic() > give_up_at:
            raise StoreUnavailable(f"{place}: another process has been making the tables for {LONGEST_CREATION_S} s")
        time.sleep(0.05)


def create(connection: Connection, schema: str | None = None) -> None:
    """All tables, in the transaction of the connection; without Alembic, which takes longer to load than to create.

    Where tables are no part of a transaction (MariaDB), it goes on where one that was killed has stopped.
    """
    if schema is not None:
        connection.execute(CreateSchema(schema, if_not_exists=True))
    if not tables.metadata.tables.keys() & set(inspect(connection).get_table_names(schema)):
        tables.metadata.create_all(connection, checkfirst=False)
    else:
        tables.complete()
        for table in tables.metadata.sorted_tables:
            table.create(connection, checkfirst=True)
            for index in table.indexes:
                index.create(connection, checkfirst=True)
        connection.execute(delete(tables.meta))
    views.create(connection)
    connection.execute(insert(tables.meta), {"version_num": HEAD})


def upgrade(connection: Connection, schema: str | None = None) -> None:
    """From whatever version is there (or none) to the latest, in the transaction of the connection."""
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    config.attributes["schema"] = schema
    views.drop(connection)
    command.upgrade(config, "head")
    views.create(connection)


def show_sql(dialect: str, schema: str | None = None) -> None:
    """Print the SQL that makes all tables in this database's own words."""
    from alembic import command

    config = alembic_config()
    config.attributes["dialect"] = dialect
    if schema is not None:
        name = make_url(f"{dialect}://").get_dialect()().identifier_preparer.quote_schema(schema)
        config.print_stdout(f"CREATE SCHEMA IF NOT EXISTS {name};\n\nSET search_path TO {name};\n")
    command.upgrade(config, "head", sql=True)
    for statement in views.statements(dialect).values():
        config.print_stdout(f"{statement};\n")


def alembic_config() -> Config:
    """Alembic's settings for our own migrations; `env.py` finds the connection in its attributes."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "onthedot.stores.sql:migrations")
    return config
