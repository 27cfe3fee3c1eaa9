"""Real MySQL 9 servers for the tests: one a process, and a database of its own for every test.

`scripts/mysql-9 FOLDER` fetches one; it is looked for in $ONTHEDOT_MYSQL_9, or in `mysql-9` of the virtual environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pymysql
import pytest
from tests.servers.base import Server, running
from tests.servers.mariadb import connect, database_in


class MySQL(Server):
    """Debian unstable's, with the C library that came with it."""

    installed: Path

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/"

    def prepare(self) -> None:
        self.run(*self._program(), "--initialize-insecure", f"--lc-messages-dir={self._messages}")

    def command(self) -> Sequence[str | Path]:
        return [
            *(*self._program(), f"--lc-messages-dir={self._messages}", f"--port={self.port}"),
            *("--bind-address=127.0.0.1", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"),
            *("--mysqlx=OFF", "--skip-log-bin", "--max-connections=300", "--default-time-zone=+05:45"),
            # What is committed outlives the server, but not the machine, which does not lose its power in a test.
            *("--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF"),
            *("--innodb-print-all-deadlocks=1", "--secure-file-priv=NULL"),
        ]

    def answers(self) -> bool:
        try:
            connect(self.url).close()
        except pymysql.OperationalError:
            return False
        return True

    @property
    def _messages(self) -> Path:
        return self.installed / "share" / "mysql"

    def _program(self) -> Sequence[str | Path]:
        loader = next(self.installed.glob("lib/*/ld-linux-*.so.*"))
        return [
            *(loader, "--library-path", loader.parent, self.installed / "sbin" / "mysqld", "--no-defaults"),
            *(f"--basedir={self.installed}", f"--datadir={self.folder / 'data'}", "--user=root"),
        ]


def kind_or_skip() -> type[MySQL]:
    """MySQL 9; without one the test is skipped, always: its packages change from day to day."""
    folder = Path(os.environ.get("ONTHEDOT_MYSQL_9") or Path(sys.prefix) / "mysql-9")
    if not (folder / "usr" / "sbin" / "mysqld").exists():
        pytest.skip(f"no MySQL 9 here: scripts/mysql-9 {folder}")
    return type("MySQL9", (MySQL,), {"installed": folder / "usr"})


@pytest.fixture(scope="session")
def mysql_9_server() -> Iterator[str]:
    with running(kind_or_skip()) as server:
        yield server.url


@pytest.fixture
def mysql_9(mysql_9_server: str) -> Iterator[str]:
    """The URL of an empty database."""
    with database_in(mysql_9_server) as url:
        yield url
