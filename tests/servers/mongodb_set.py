"""Databases for single tests on the shared MongoDB server, and a set of three servers that can lose its primary."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pymongo
import pytest
from pymongo.errors import PyMongoError
from tests.patience import LONGEST_S
from tests.servers.mongodb import MongoServer, program_or_skip

Document = dict[str, Any]


def client_of(url: str) -> pymongo.MongoClient[Document]:
    """A client of the tests' own, to look at what is there or to break it."""
    return pymongo.MongoClient(url, serverSelectionTimeoutMS=10_000)


def with_database(url: str, name: str) -> str:
    """The URL with this database in its path."""
    place, _, options = url.partition("?")
    return f"{place.rstrip('/')}/{name}?{options}"


def emptied(url: str) -> str:
    """The URL, after everything in its database was removed. Collections stay: making them takes longest."""
    with closing(client_of(url)) as client:
        database = client.get_default_database()
        for name in database.list_collection_names():
            if name != "onthedot_meta":
                database[name].delete_many({})
    return url


@pytest.fixture
def mongodb_url(mongodb: str) -> str:
    """The URL of an empty database, where our collections may be."""
    return emptied(with_database(mongodb, f"onthedot_test_{os.getpid()}"))


@pytest.fixture
def mongodb_new_url(mongodb: str) -> Iterator[str]:
    """The URL of a database that does not exist."""
    name = f"onthedot_test_{uuid4().hex}"
    yield with_database(mongodb, name)
    with closing(client_of(mongodb)) as client:
        _end_transactions(client, f"onthedot {name}")
        client.drop_database(name)


def _end_transactions(client: pymongo.MongoClient[Document], app_name: str) -> None:
    """Those of processes that a test has killed: the database could not be dropped for a minute."""
    idle = client.admin.aggregate(
        [{"$currentOp": {"idleSessions": True}}, {"$match": {"type": "idleSession", "appName": app_name}}]
    )
    sessions = [{"id": each["lsid"]["id"]} for each in idle]
    if sessions:
        client.admin.command({"killSessions": sessions})


class Member(MongoServer):
    """One server of a set; it takes writes only while the others have chosen it."""

    def prepare(self) -> None:
        (self.folder / "data").mkdir(parents=True)

    def answers(self) -> bool:
        try:
            return bool(self.ask("ping"))
        except PyMongoError:
            return False

    def ask(self, command: str, value: Any = 1) -> Document:
        """Of this server, whatever the others say."""
        with closing(pymongo.MongoClient[Document]("127.0.0.1", self.port, directConnection=True)) as client:
            return client.admin.command(command, value)

    @property
    def leads(self) -> bool:
        return bool(self.ask("hello")["isWritablePrimary"])


class ReplicaSet:
    """Three servers, of which two are enough."""

    def __init__(self, folder: Path) -> None:
        program = program_or_skip()
        self.members = [Member(program, folder / str(number), replica_set=True) for number in range(3)]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        return f"mongodb://{hosts}/onthedot?replicaSet=rs0"

    def start(self) -> None:
        for member in self.members:
            member.prepare()
            member.start()
        hosts = [{"_id": number, "host": f"127.0.0.1:{each.port}"} for number, each in enumerate(self.members)]
        # Elections begin after 2 s without the primary instead of 10.
        soon = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 300}
        self.members[0].ask("replSetInitiate", {"_id": "rs0", "members": hosts, "settings": soon})
        end = time.monotonic() + LONGEST_S
        while not any(member.leads for member in self.members):
            assert time.monotonic() < end, "none of them leads"
            time.sleep(0.02)

    def kill_primary(self) -> Member:
        """SIGKILL, in the middle of whatever it does."""
        (primary,) = (member for member in self.members if member.leads)
        primary.kill()
        return primary

    def freeze_primary(self) -> Member:
        """It does not know, when it is thawed, that another was chosen meanwhile."""
        (primary,) = (member for member in self.members if member.leads)
        primary.freeze()
        return primary

    def promoted_after(self, old: Member) -> Member:
        """Wait until another leads, whatever the old one says of itself."""
        end = time.monotonic() + LONGEST_S
        while True:
            for member in self.members:
                if member is not old and member.leads:
                    return member
            assert time.monotonic() < end, "nobody was promoted"
            time.sleep(0.02)

    def stop(self) -> None:
        for member in self.members:
            member.kill()


@pytest.fixture
def mongodb_set() -> Iterator[ReplicaSet]:
    """Three servers of the test's own."""
    with tempfile.TemporaryDirectory(prefix="onthedot-mongodb-set-") as folder:
        servers = ReplicaSet(Path(folder))
        try:
            servers.start()
            yield servers
        finally:
            servers.stop()
