"""Your own collection or table as a queue: 100 workers on 10,000 documents that are due, and none worked twice."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from typing import Any

import pymongo
import sqlalchemy as sa
from tests.servers import mongodb

from bench.report import Report
from onthedot.documents import Documents, MemoryJobStore

Say = Callable[[str], None]
WORKERS, DOCUMENTS, TURNS = 100, 10_000, 3
PUBLISHED = {"MongoDB": 4757, "in memory": 4519, "PostgreSQL": 1224}
"""What the scheduler that this part descends from says of itself, in the same shape: documents a second."""


@dataclass(frozen=True, slots=True)
class Place:
    """Documents to be filled in anew, and the options to work them with."""

    fill: Callable[[], Any]
    options: dict[str, Any]


def run(report: Report, say: Say) -> None:
    """One table."""
    section = report.section(
        f"{WORKERS} workers on {DOCUMENTS:,} documents",
        f"The handler only notes each document; worked by one process; documents a second, best of {TURNS}. "
        "Published: the figures of the scheduler that this part descends from, on its own machine.",
        *("where", "a second", "published", "worked", "twice"),
    )
    for name, opened in PLACES.items():
        say(f"{name}: {DOCUMENTS:,} documents, {TURNS} times")
        with opened() as place:
            if place is None:
                say(f"{name}: no server here, left out")
                continue
            rate, worked, twice = max(_work(place) for _ in range(TURNS))
        published = PUBLISHED.get(name)
        section.rows.append((name, rate, published or "", worked, twice))
        report.goal(f"{name}: none missed, none twice", f"{worked:,} and {twice}", (worked, twice) == (DOCUMENTS, 0))
        if published:
            goal = f"{name}: twice the published figure"
            report.goal(goal, f"{rate / published:.1f} times", rate >= 2 * published)
    say("MongoDB, one document for each lock")
    _one_by_one(section.rows)


def _work(place: Place) -> tuple[float, int, int]:
    """Documents a second, how many were worked, and how many more than once."""
    source = place.fill()
    worked: list[Any] = []
    idle = Event()
    documents = Documents(
        source, workers=WORKERS, on_document=lambda document: worked.append(document["id"]), **place.options
    )
    documents.on_idle(idle.set)
    start = time.perf_counter()
    documents.start()
    idle.wait()
    taken = time.perf_counter() - start  # nothing is due and all is written
    documents.stop()
    return len(worked) / taken, len(set(worked)), len(worked) - len(set(worked))


def _due() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=1)


@contextmanager
def _memory() -> Iterator[Place]:
    yield Place(lambda: MemoryJobStore({"id": key, "sleep_until": _due()} for key in range(DOCUMENTS)), {})


@contextmanager
def _mongodb() -> Iterator[Place | None]:
    if mongodb.find_program() is None:
        yield None
        return
    with mongodb.running(replica_set=False) as server, pymongo.MongoClient[Any](server.url) as client:
        yield Place(lambda: _filled(client.bench.mails), {})


def _filled(collection: Any) -> Any:
    collection.drop()
    collection.create_index("sleep_until")
    collection.insert_many([{"id": key, "sleep_until": _due()} for key in range(DOCUMENTS)])
    return collection


@contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        engine = sa.create_engine(f"sqlite:///{folder}/mails.db")
        yield Place(lambda: _filled_table(engine), {"engine": engine})
        engine.dispose()


@contextmanager
def _postgresql() -> Iterator[Place | None]:
    if find_spec("tests.servers.postgresql") is None:
        yield None
        return
    servers = import_module("tests.servers.postgresql")
    if servers.version(15) is None:
        yield None
        return
    with servers.server_of(15) as server, servers.database_in(server) as url:
        engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        yield Place(lambda: _filled_table(engine), {"engine": engine})
        engine.dispose()


_TABLE = sa.Table(
    "mails",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("sleep_until", sa.DateTime, index=True),
    sa.Column("locked_by", sa.String(200)),
    sa.Column("locked_until", sa.DateTime),
    sa.Column("last_error", sa.String(2000)),
)


def _filled_table(engine: sa.Engine) -> sa.Table:
    _TABLE.metadata.drop_all(engine)
    _TABLE.metadata.create_all(engine)
    due = _due().replace(tzinfo=None)
    with engine.begin() as connection:
        connection.execute(_TABLE.insert(), [{"id": key, "sleep_until": due} for key in range(DOCUMENTS)])
    return _TABLE


PLACES: dict[str, Callable[[], Any]] = {
    "in memory": _memory,
    "MongoDB": _mongodb,
    "PostgreSQL": _postgresql,
    "SQLite": _sqlite,
}


# the way of the ancestor: each worker locks one document at a time


def _one_by_one(rows: list[tuple[Any, ...]]) -> None:
    if mongodb.find_program() is None:
        return
    with mongodb.running(replica_set=False) as server, pymongo.MongoClient[Any](server.url) as client:
        collection = _filled(client.bench.mails)
        worked: list[Any] = []

        def work(_: int) -> None:
            while document := collection.find_one_and_update(
                {"sleep_until": {"$lte": datetime.now(UTC)}},
                {"$set": {"sleep_until": datetime.now(UTC) + timedelta(minutes=10)}},
            ):
                worked.append(document["id"])
                collection.update_one({"_id": document["_id"]}, {"$set": {"sleep_until": None}})

        start = time.perf_counter()
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(work, range(WORKERS)))
        rate = len(worked) / (time.perf_counter() - start)
    rows.append(("MongoDB, one lock for each document", rate, "", len(set(worked)), len(worked) - len(set(worked))))
