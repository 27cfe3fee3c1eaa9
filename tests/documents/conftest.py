"""A test that asks for `place` runs on every kind of place."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.documents.places import InMemory, InMongo, InRedis, InSql, InTheGuide, Place

SQL = {"postgresql_15": "postgresql+psycopg", "mariadb": "mariadb+pymysql"}
MODULES = {"postgresql_15": "tests.servers.postgresql", "mariadb": "tests.servers.mariadb"}
THERE = [name for name, module in MODULES.items() if find_spec(module)]


@pytest.fixture(params=["memory", "guide", "sqlite", *THERE, "mongodb", "mongodb_standalone", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made: Place
    match request.param:
        case "memory":
            made = InMemory()
        case "guide":
            made = InTheGuide(tmp_path)
        case "sqlite":
            made = InSql(f"sqlite:///{tmp_path}/mails.db")
        case "redis":
            made = InRedis(request.getfixturevalue("redis_server"))
        case server if server in SQL:
            made = InSql(f"{SQL[server]}{request.getfixturevalue(server).lstrip('abcdefghijklmnopqrstuvwxyz+')}")
        case server:
            made = InMongo(request.getfixturevalue(server))
    yield made
    made.close()
