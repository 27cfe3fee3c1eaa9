"""The same documents in memory, in SQL, in MongoDB and in Redis, so that one test can ask for all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pymongo
import redis
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from tests.patience import LONGEST_S

from onthedot.clock import SystemClock
from onthedot.documents import Documents, JobStore, MemoryJobStore
from onthedot.documents.jobs import Fields, as_utc
from onthedot.documents.mongodb import MongoJobStore
from onthedot.documents.redis import RedisJobStore
from onthedot.documents.sql import SqlJobStore

Document = dict[str, Any]


def ago(seconds: float) -> datetime:
    """A moment in the past, in whole milliseconds, as MongoDB keeps them."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


class Place(Protocol):
    """Documents by their id, and workers on them."""

    def put(self, *documents: Document) -> None:
        """Add documents with an `id`."""

    def get(self, key: Any) -> Document | None:
        """The document, with aware moments; no entry where there is nothing."""

    def set(self, key: Any, **values: Any) -> None:
        """Change a document behind the worker's back."""

    def delete(self, key: Any) -> None: ...

    def store(self) -> JobStore: ...

    def documents(self, **options: Any) -> Documents: ...

    def close(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self._store = MemoryJobStore()

    def put(self, *documents: Document) -> None:
        for document in documents:
            self._store.put(document)

    def get(self, key: Any) -> Document | None:
        return _tidy(self._store.get(key))

    def set(self, key: Any, **values: Any) -> None:
        document = self._store.get(key)
        assert document is not None
        self._store.put({**document, **values})

    def delete(self, key: Any) -> None:
        self._store.delete(key)

    def store(self) -> JobStore:
        return self._store

    def documents(self, **options: Any) -> Documents:
        return Documents(self._store, **options)

    def close(self) -> None:
        pass


METADATA = sa.MetaData()
MOMENT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
WITH_ZONE = sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
TABLE = sa.Table(
    "mails",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sleep_until", MOMENT, index=True),
    sa.Column("interval", sa.String(100)),
    sa.Column("repeat_until", MOMENT),
    sa.Column("auto_remove", sa.Boolean),
    sa.Column("locked_by", sa.String(200)),
    sa.Column("locked_until", WITH_ZONE),
    sa.Column("last_error", sa.String(60)),
    sa.Column("to", sa.String(60)),
)


class InSql:
    def __init__(self, url: str) -> None:
        patient = {"timeout": LONGEST_S} if url.startswith("sqlite") else {}  # in a crowd, on a machine that is starved
        self.engine = sa.create_engine(url, connect_args=patient)
        METADATA.create_all(self.engine)

    def put(self, *documents: Document) -> None:
        rows = [{column.key: _stored(document.get(column.key)) for column in TABLE.c} for document in documents]
        with self.engine.begin() as connection:
            connection.execute(TABLE.insert(), rows)

    def get(self, key: Any) -> Document | None:
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(TABLE).where(TABLE.c.id == key)).mappings().one_or_none()
        return None if row is None else _tidy(dict(row))

    def set(self, key: Any, **values: Any) -> None:
        stored = {name: _stored(value) for name, value in values.items()}
        with self.engine.begin() as connection:
            connection.execute(TABLE.update().where(TABLE.c.id == key).values(stored))

    def delete(self, key: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(TABLE.delete().where(TABLE.c.id == key))

    def store(self) -> JobStore:
        return SqlJobStore(TABLE, self.engine, Fields(), None, SystemClock())

    def documents(self, **options: Any) -> Documents:
        return Documents(TABLE, engine=self.engine, **options)

    def close(self) -> None:
        self.engine.dispose()


class InRedis:
    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)
        self.name = f"documents-{uuid4().hex[:12]}"
        self._store = RedisJobStore(self.client, self.name)

    def put(self, *documents: Document) -> None:
        for document in documents:
            self._store.put(document)

    def get(self, key: Any) -> Document | None:
        return _tidy(self._store.get(key))

    def set(self, key: Any, **values: Any) -> None:
        self._store.put({**(self._store.get(key) or {}), **values})

    def delete(self, key: Any) -> None:
        self._store.delete(key)

    def store(self) -> JobStore:
        return RedisJobStore(self.client, self.name)

    def documents(self, **options: Any) -> Documents:
        return Documents(self._store, **options)

    def close(self) -> None:
        for key in self.client.scan_iter(f"{{{self.name}}}:*", count=1000):
            self.client.delete(key)
        self.client.close()


class InTheGuide:
    """The store that the guide shows, as an example of one's own."""

    def __init__(self, folder: Path) -> None:
        self._store = _from_the_guide()(folder / "jobs.db")

    def put(self, *documents: Document) -> None:
        rows = []
        for document in documents:
            body = {name: str(value) if isinstance(value, datetime) else value for name, value in document.items()}
            rows.append((document["id"], json.dumps(body), _iso(document.get("sleep_until"))))
        with self._store.transaction() as db:
            db.executemany("INSERT INTO jobs (id, body, due) VALUES (?, ?, ?)", rows)

    def get(self, key: Any) -> Document | None:
        with self._store.transaction() as db:
            row = db.execute("SELECT body, due, owner, until, error FROM jobs WHERE id = ?", (key,)).fetchone()
        if row is None:
            return None
        due, until = (None if moment is None else datetime.fromisoformat(moment) for moment in (row[1], row[3]))
        moments = {"sleep_until": due, "locked_until": until}
        return _tidy({**json.loads(row[0]), **moments, "locked_by": row[2], "last_error": row[4]})

    def set(self, key: Any, **values: Any) -> None:
        document = {**(self.get(key) or {}), **values}
        due, until = document.pop("sleep_until", None), document.pop("locked_until", None)
        owner, error = document.pop("locked_by", None), document.pop("last_error", None)
        with self._store.transaction() as db:
            db.execute(
                "UPDATE jobs SET body = ?, due = ?, owner = ?, until = ?, error = ? WHERE id = ?",
                (json.dumps(document), _iso(due), owner, _iso(until), error, key),
            )

    def delete(self, key: Any) -> None:
        with self._store.transaction() as db:
            db.execute("DELETE FROM jobs WHERE id = ?", (key,))

    def store(self) -> JobStore:
        store: JobStore = self._store
        return store

    def documents(self, **options: Any) -> Documents:
        return Documents(self._store, **options)

    def close(self) -> None:
        pass


def _from_the_guide() -> Any:
    page = Path(__file__).parents[2] / "docs" / "guides" / "your-own-collection.md"
    (block,) = re.findall(r"^```python\n(import json.*?)^store = ", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    return names["FileJobStore"]


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="milliseconds")


class InMongo:
    def __init__(self, url: str) -> None:
        self.url = url
        self._client: pymongo.MongoClient[Document] = pymongo.MongoClient(url)
        self.database = f"documents_{uuid4().hex[:12]}"
        self.collection = self._client[self.database].mails
        self.collection.create_index("sleep_until")

    def put(self, *documents: Document) -> None:
        self.collection.insert_many([{"_id": each["id"], **each} for each in documents])

    def get(self, key: Any) -> Document | None:
        found = self.collection.find_one({"_id": key}, {"_id": False})
        return None if found is None else _tidy(found)

    def set(self, key: Any, **values: Any) -> None:
        self.collection.update_one({"_id": key}, {"$set": values})

    def delete(self, key: Any) -> None:
        self.collection.delete_one({"_id": key})

    def store(self) -> JobStore:
        return MongoJobStore(self.collection, Fields())

    def documents(self, **options: Any) -> Documents:
        return Documents(self.collection, **options)

    def close(self) -> None:
        self._client.drop_database(self.database)
        self._client.close()


def mails(keys: Iterable[int], **values: Any) -> list[Document]:
    """Documents that have been due for a minute, unless said otherwise."""
    return [{"id": key, "sleep_until": ago(60), **values} for key in keys]


def _stored(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def _tidy(document: Document | None) -> Document | None:
    if document is None:
        return None
    aware = {name: as_utc(value) if isinstance(value, datetime) else value for name, value in document.items()}
    return {name: value for name, value in aware.items() if value is not None}
