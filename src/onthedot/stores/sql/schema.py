"""The version of the tables: read by one SELECT, made from the declared tables, upgraded by Alembic only when older."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert
from sqlalchemy.exc import DBAPIError

from onthedot.errors import SchemaError
from onthedot.stores.sql import statements, tables
from onthedot.stores.sql.dialects import Dialect, Fault

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0001"
"""The version of `tables`; the last file in migrations/versions has the same."""


def version_of(connection: Connection, dialect: Dialect) -> str | None:
    """The version of the tables that are there; None where there are none."""
    try:
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


def create(connection: Connection) -> None:
    """All tables, in the transaction of the connection; without Alembic, which takes longer to load than to create."""
    tables.metadata.create_all(connection)
    connection.execute(insert(tables.meta), {"version_num": HEAD})


def upgrade(connection: Connection) -> None:
    """From whatever version is there (or none) to the latest, in the transaction of the connection."""
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's settings for our own migrations; `env.py` finds the connection in its attributes."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "onthedot.stores.sql:migrations")
    return config
