"""Where it is measured: a file, or a server started for it, that keeps what it has committed when the power goes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.servers import base, mariadb, mongodb, postgresql, redis

STORES = ("sqlite", "postgresql", "mariadb", "mongodb", "redis")
NAMES = {
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "mariadb": "MariaDB",
    "mongodb": "MongoDB",
    "redis": "Redis",
}
DURABILITY = {
    "sqlite": "WAL, synchronous FULL",
    "postgresql": "fsync and synchronous_commit on, shared_buffers 512 MB",
    "mariadb": "innodb_flush_log_at_trx_commit 1, doublewrite on, a buffer pool of 512 MB",
    "mongodb": "a replica set of one node, write concern majority with the journal",
    "redis": "appendonly yes, appendfsync everysec",
}
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """A server, and how to get an empty store on it."""

    kind: str
    fresh: Callable[[], str]
    """The URL of a store that nobody has used."""
    programs: Path | None = None
    """Where the server's own programs are, for PostgreSQL."""

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @property
    def how(self) -> str:
        """What it promises about a commit, for the page."""
        return DURABILITY[self.kind]


@contextmanager
def opened(kind: str) -> Iterator[Place]:
    """A place of this kind, stopped and removed at the end; where there is no such server, the bench ends with why."""
    try:
        with _OPENERS[kind]() as place:
            yield place
    except pytest.skip.Exception as reason:
        raise SystemExit(f"error: {reason}") from None


@contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Place("sqlite", lambda: f"sqlite:///{Path(folder) / f'bench-{next(_numbers)}.db'}")


@contextmanager
def _postgresql() -> Iterator[Place]:
    kind = postgresql.version_or_skip(15)

    class Durable(kind):  # type: ignore[misc,valid-type]
        def command(self) -> Sequence[str | Path]:
            settings = ("fsync=on", "synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=4GB")
            options = [part for each in settings for part in ("-c", each)]
            return [*super().command(), *options]  # the last one counts

    with base.running(Durable) as server, ExitStack() as databases:
        yield Place("postgresql", lambda: databases.enter_context(postgresql.database_in(server.url)), Path(kind.bin))


class _DurableMariaDB(mariadb.MariaDB):
    def command(self) -> Sequence[str | Path]:
        durable = ("--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=fsync", "--innodb-doublewrite=1")
        memory = ("--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M")
        return [*super().command(), *durable, *memory]  # the last one counts


@contextmanager
def _mariadb() -> Iterator[Place]:
    mariadb.kind_or_skip()
    with base.running(_DurableMariaDB) as server, ExitStack() as databases:
        yield Place("mariadb", lambda: databases.enter_context(mariadb.database_in(server.url)))


@contextmanager
def _mongodb() -> Iterator[Place]:
    with mongodb.running(replica_set=True) as server:
        yield Place("mongodb", lambda: urlsplit(server.url)._replace(path=f"/bench_{next(_numbers)}").geturl())


@contextmanager
def _redis() -> Iterator[Place]:
    with redis.running() as server:
        yield Place("redis", lambda: redis.fresh(server.url))


_OPENERS = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "mariadb": _mariadb,
    "mongodb": _mongodb,
    "redis": _redis,
}
