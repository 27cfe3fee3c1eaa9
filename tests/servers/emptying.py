"""Tables that several tests use one after the other are emptied between them."""

from __future__ import annotations

import sqlalchemy
from sqlalchemy import delete

from onthedot.stores.sql import tables

_DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "mysql": "mysql+pymysql"}


def empty(url: str) -> None:
    """Remove every row of ours but the version."""
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=_DRIVERS[parsed.drivername]))
    with engine.begin() as connection:
        for table in tables.metadata.sorted_tables:
            if table is not tables.meta:
                connection.execute(delete(table))
    engine.dispose()
