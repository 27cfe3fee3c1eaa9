"""A PostgreSQL server and its standby, of which each commit has reached both before it is answered."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from tests.patience import LONGEST_S
from tests.servers.base import running
from tests.servers.postgresql import PostgreSQL, version_or_skip

_FOLLOWERS = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"


class Pair:
    """Two servers; the second only copies the first until it is promoted."""

    def __init__(self, primary: PostgreSQL, standby: PostgreSQL) -> None:
        self.primary, self.standby = primary, standby

    @property
    def url(self) -> str:
        """Of whichever can be written; the standby first, so that all pass it by."""
        return f"postgresql://postgres@127.0.0.1:{self.standby.port},127.0.0.1:{self.primary.port}/postgres"

    def wait_for_each_other(self) -> None:
        """From now on, and not before the standby hears: a commit would hang."""
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            end = time.monotonic() + LONGEST_S
            while connection.execute(_FOLLOWERS).fetchone() == (0,):
                assert time.monotonic() < end, "the standby does not follow"
                time.sleep(0.02)
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
            connection.execute("SELECT pg_reload_conf()")

    def kill_primary(self) -> None:
        """SIGKILL to all of it at once, in the middle of whatever it does."""
        children = self.primary._children()
        self.primary.kill()
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def promote(self) -> None:
        self.standby.run(self.standby.bin / "pg_ctl", "promote", "-w", "-D", self.standby.folder / "data")


@contextmanager
def pair_of(number: int) -> Iterator[Pair]:
    kind = version_or_skip(number)
    with ExitStack() as servers:
        primary = servers.enter_context(running(kind))

        class Standby(kind):  # type: ignore[valid-type, misc]
            def prepare(self) -> None:
                self.bin = primary.bin
                self.run(
                    *(self.bin / "pg_basebackup", "-D", self.folder / "data", "-h", "127.0.0.1"),
                    *("-p", str(primary.port), "-U", "postgres", "-X", "stream", "-c", "fast", "-R", "-N"),
                )

        def make(folder: Path) -> PostgreSQL:
            standby: PostgreSQL = Standby(folder)
            return standby

        pair = Pair(primary, servers.enter_context(running(make)))
        pair.wait_for_each_other()
        yield pair


@pytest.fixture
def postgresql_pair() -> Iterator[Pair]:
    """Two servers of the test's own."""
    with pair_of(15) as pair:
        yield pair
