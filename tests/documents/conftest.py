"""A test that asks for `place` runs on every kind of place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.documents.places import InMemory, InMongo, InSqlite, Place


@pytest.fixture(params=["memory", "sqlite", "mongodb", "mongodb_standalone"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made: Place
    match request.param:
        case "memory":
            made = InMemory()
        case "sqlite":
            made = InSqlite(tmp_path)
        case server:
            made = InMongo(request.getfixturevalue(server))
    yield made
    made.close()
