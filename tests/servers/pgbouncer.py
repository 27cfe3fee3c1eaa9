"""A real PgBouncer in transaction mode before the shared PostgreSQL server, with few connections to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.servers.base import Server, running, unavailable

CONNECTIONS = 3
"""To the server, for all who ask: what one leaves in a session, another finds."""


class PgBouncer(Server):
    """Debian's, which refuses to run as root."""

    user = "postgres" if os.geteuid() == 0 else None
    behind: str
    """The URL of the server that it hands on to."""

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        parts = urlsplit(self.behind)
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={parts.hostname} port={parts.port or 5432} user={parts.username or 'postgres'}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {CONNECTIONS}\nmax_client_conn = 300\n"
        )

    def command(self) -> Sequence[str | Path]:
        return [_program() or "pgbouncer", self.folder / "pgbouncer.ini"]

    def answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False


def _program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def before(server: str) -> Iterator[PgBouncer]:
    """One that hands on to this server."""
    if _program() is None:
        unavailable("no PgBouncer here: apt-get install pgbouncer")
    with running(type("PgBouncer", (PgBouncer,), {"behind": server})) as bouncer:
        yield bouncer


@pytest.fixture(scope="session")
def pgbouncer(postgresql_15_server: str) -> Iterator[PgBouncer]:
    with before(postgresql_15_server) as bouncer:
        yield bouncer
