"""From a URL to a client: with bounds on every wait, and only to a server that has transactions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pymongo
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import PyMongoError, ServerSelectionTimeoutError

from onthedot.errors import StoreError
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.abandoned import AbandonedTransactions
from onthedot.stores.mongo.errors import TURN_INTO_REPLICA_SET, in_our_words
from onthedot.stores.mongo.mapping import Document

DATABASE = "onthedot"
"""Where the URL names none."""
FIRST_ANSWER_S = 5
_OLDEST_WIRE = 13
_OLDEST = "5.0"
_BOUNDS = {
    "serverSelectionTimeoutMS": 15_000,  # an election takes 12 s at most by default; half a lease is left to renew in
    "connectTimeoutMS": 5_000,
    "socketTimeoutMS": 15_000,
    "waitQueueTimeoutMS": 15_000,
    # A server that hangs is given up after this and `connectTimeoutMS`, with all that waits for it.
    "heartbeatFrequencyMS": 1_000,
}
"""So that nothing waits for ever; the URL may say otherwise."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What one process has open."""

    client: MongoClient[Document]
    database: Database[Document]
    abandoned: AbandonedTransactions
    gates: list[int] = field(default_factory=lambda: list(range(schema.GATES_EACH)))
    """Those that no transaction of this process passes just now."""


def connect(url: str) -> MongoClient[Document]:
    """A client that has opened no connection yet."""
    given = url.partition("?")[2].lower()
    bounds = {name: ms for name, ms in _BOUNDS.items() if f"{name.lower()}=" not in given}
    options: dict[str, Any] = {
        **bounds,
        "w": "majority",  # also if the URL says less: what a minority has can be rolled back
        "retryWrites": True,
        "readPreference": "primary",
        "appname": app_name(url),
        "tz_aware": True,
        "connect": False,
    }
    return MongoClient(url, **options)


def database_of(client: MongoClient[Document]) -> Database[Document]:
    """The one that the URL names, or ours."""
    return client.get_default_database(DATABASE)


def app_name(url: str) -> str:
    """What our connections are called on the server, so that their transactions can be told from others'."""
    path = url.partition("://")[2].rpartition("@")[2].partition("?")[0].partition("/")[2]
    return f"onthedot {path or DATABASE}"[:128]


def check(client: MongoClient[Document], url: str, place: str) -> None:
    """`StoreError` with the remedy, unless the server is of a kind that can keep our promises."""
    try:
        with in_our_words(place), pymongo.timeout(FIRST_ANSWER_S):
            hello = client.admin.command("hello")
    except StoreError as error:
        if isinstance(error.__cause__, ServerSelectionTimeoutError) and _waits_to_be_initiated(url):
            raise StoreError(f"{place} is not a replica set yet: run once: mongosh --eval 'rs.initiate()'") from None
        raise
    if "setName" not in hello and hello.get("msg") != "isdbgrid":
        raise StoreError(f"{place} is a stand-alone server, which has no transactions: {TURN_INTO_REPLICA_SET}")
    if hello["maxWireVersion"] < _OLDEST_WIRE:
        raise StoreError(f"{place} is older than MongoDB {_OLDEST}; upgrade it")


def _waits_to_be_initiated(url: str) -> bool:
    """Whether the server was started as a member of a replica set that nobody has made yet."""
    try:
        with closing(connect(url)) as given:
            hosts = sorted(given.topology_description.server_descriptions())
        for host, port in hosts:
            direct: MongoClient[Document] = MongoClient(
                host, port, directConnection=True, serverSelectionTimeoutMS=1000
            )
            with closing(direct):
                if direct.admin.command("hello").get("isreplicaset"):
                    return True
    except PyMongoError:
        return False
    return False
