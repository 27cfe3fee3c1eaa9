"""How much a store holds: rows of each table (documents, keys) and bytes on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import sqlalchemy
from sqlalchemy import func, select, text

from bench.filling import server_engine
from onthedot.stores.sql import PREFIX, tables


class Sizes(Protocol):
    """Asked again and again, by one thread."""

    def rows(self) -> dict[str, int]:
        """By table, without the prefix that all have."""
        ...

    def size(self) -> int:
        """Bytes that the data takes, indexes and what is dead but not yet cleared included."""
        ...


@contextmanager
def sizes_of(kind: str, url: str) -> Iterator[Sizes]:
    """What this kind of store holds at this URL."""
    if kind == "mongodb":
        yield _Mongo(url)
    elif kind == "redis":
        yield _Redis(url)
    elif kind == "sqlite":
        path = Path(url.removeprefix("sqlite:///"))
        with closing(sqlalchemy.create_engine(url).connect()) as connection:
            yield _SQLite(connection, path)
    else:
        with server_engine(url) as engine, engine.connect() as connection:
            yield _Server(connection.execution_options(isolation_level="AUTOCOMMIT"), _BYTES[kind])


class _SQLite:
    """Read by a connection that holds no snapshot in between: it would keep the log from being written back."""

    def __init__(self, connection: sqlalchemy.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self) -> dict[str, int]:
        try:
            return _counted(self._connection)
        finally:
            self._connection.rollback()

    def size(self) -> int:
        parts = (self._path.with_name(self._path.name + suffix) for suffix in ("", "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())


_BYTES = {
    "postgresql": "SELECT pg_database_size(current_database())",
    "mariadb": "SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = database()",
}


class _Server:
    def __init__(self, connection: sqlalchemy.Connection, size: str) -> None:
        self._connection = connection
        self._size = size

    def rows(self) -> dict[str, int]:
        return _counted(self._connection)

    def size(self) -> int:
        return int(self._connection.execute(text(self._size)).scalar_one())


def _counted(connection: sqlalchemy.Connection) -> dict[str, int]:
    names = [table.name for table in tables.metadata.tables.values()]
    counts = [select(func.count()).select_from(text(name)).scalar_subquery().label(name) for name in names]
    row = connection.execute(select(*counts)).one()
    return {name.removeprefix(PREFIX): number for name, number in zip(names, row, strict=True)}


class _Mongo:
    def __init__(self, url: str) -> None:
        import pymongo

        self._database = pymongo.MongoClient[dict[str, object]](url).get_default_database()

    def rows(self) -> dict[str, int]:
        names = sorted(self._database.list_collection_names())
        return {name.removeprefix(PREFIX): self._database[name].estimated_document_count() for name in names}

    def size(self) -> int:
        stats = self._database.command("dbStats")
        return int(stats["storageSize"] + stats["indexSize"])


class _Redis:
    """Its keys are counted together: a table is several of them."""

    def __init__(self, url: str) -> None:
        import redis

        self._server = redis.Redis.from_url(urlsplit(url)._replace(query="").geturl())

    def rows(self) -> dict[str, int]:
        return {"keys of all tables": int(self._server.dbsize())}

    def size(self) -> int:
        memory: dict[str, int] = self._server.info("memory")
        return int(memory["used_memory"])
