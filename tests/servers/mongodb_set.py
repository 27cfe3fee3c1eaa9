"""Databases for single tests on the shared MongoDB server, and a set of three servers that can lose its primary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pymongo
import pytest

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
        client.drop_database(name)
