"""Real MariaDB servers for the tests: one a process, and a database of its own for every test.

ONTHEDOT_MYSQL_URL names a MariaDB or MySQL server that somebody already runs; it is then used instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pymysql
import pytest
from tests.servers.base import Server, running, unavailable

_numbers = count(1)


class MariaDB(Server):
    """Debian's, as the user `mysql` where the tests run as root."""

    user = "mysql"

    @property
    def url(self) -> str:
        return f"mariadb://root@127.0.0.1:{self.port}/"

    def prepare(self) -> None:
        """Twice if need be: where several begin at once, its script fails now and then."""
        try:
            self._install()
        except RuntimeError:
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            self._install()

    def _install(self) -> None:
        self.run(
            *("mariadb-install-db", "--no-defaults", f"--datadir={self.folder / 'data'}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
        )

    def command(self) -> Sequence[str | Path]:
        return [
            *(_program() or "mariadbd", "--no-defaults", f"--datadir={self.folder / 'data'}", f"--port={self.port}"),
            *("--bind-address=127.0.0.1", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"),
            *("--skip-log-bin", "--max-connections=300", "--default-time-zone=+05:45"),
            # What is committed outlives the server, but not the machine, which does not lose its power in a test.
            *("--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--innodb-doublewrite=0"),
            "--innodb-print-all-deadlocks=1",
        ]

    def answers(self) -> bool:
        try:
            connect(self.url).close()
        except pymysql.OperationalError:
            return False
        return True


def _program() -> str | None:
    return shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def connect(url: str) -> pymysql.Connection:
    """A plain connection, whose every statement is committed."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or "root"),
        password=unquote(parts.password or ""),
        database=parts.path.strip("/") or None,
        connect_timeout=2,
        autocommit=True,
    )


def kind_or_skip() -> type[MariaDB]:
    """MariaDB; without one the test is skipped, or fails where servers are required."""
    if _program() is None:
        unavailable("no MariaDB here: apt-get install mariadb-server")
    return MariaDB


@contextmanager
def database_in(server: str) -> Iterator[str]:
    """The URL of an empty database, dropped at the end."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with closing(connect(server)) as connection:
        connection.cursor().execute(f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        with closing(connect(server)) as connection:
            connection.cursor().execute(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[str]:
    given = os.environ.get("ONTHEDOT_MYSQL_URL")
    if given:
        yield given
        return
    with running(kind_or_skip()) as server:
        assert isinstance(server, MariaDB)
        yield server.url


@pytest.fixture
def mariadb(mariadb_server: str) -> Iterator[str]:
    """The URL of an empty database."""
    with database_in(mariadb_server) as url:
        yield url
