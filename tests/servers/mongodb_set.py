"""Databases for single tests on the shared MongoDB server, and a set of three servers that can lose its primary."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

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
