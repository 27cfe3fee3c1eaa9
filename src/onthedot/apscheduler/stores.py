"""Reads the job stores of APScheduler 3: a table, a hash in Redis, a collection in MongoDB. Nothing is written.

Its own store classes are not used: they delete what they cannot load.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onthedot.app.moving.reading import reading_engine
from onthedot.errors import DriverMissing, SettingsError, StoreUnavailable
from onthedot.stores.open import mask_url

_PACKAGES = {"pymongo": "mongodb", "redis": "redis"}

Pickles = Iterator[tuple[str, Any]]
"""By its id, what stands where the pickle of a job should be."""


def read_pickles(url: str, *, table: str = "", database: str = "") -> Pickles:
    """The ids and pickles of all jobs.

    `table` is that of an SQL store (`apscheduler_jobs`), the key of a Redis hash (`apscheduler.jobs`) or a collection
    of MongoDB (`jobs`); `database` that of MongoDB (`apscheduler`).
    """
    scheme = url.partition("://")[0].lower()
    if not scheme or "://" not in url:
        raise SettingsError(f"{mask_url(url)} is no URL of a job store; write it like sqlite:///jobs.sqlite")
    read: Any = {"redis": _redis, "rediss": _redis, "mongodb": _mongodb, "mongodb+srv": _mongodb}.get(scheme, _sql)
    try:
        yield from read(url, table, database)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        raise DriverMissing(scheme, package, _PACKAGES[package]) from None


def _sql(url: str, table: str, _: str) -> Pickles:
    import sqlalchemy
    from sqlalchemy.exc import DBAPIError

    name = table or "apscheduler_jobs"
    engine = reading_engine(url, "a job store")
    schema, _dot, plain = name.rpartition(".")
    jobs = sqlalchemy.table(plain, sqlalchemy.column("id"), sqlalchemy.column("job_state"), schema=schema or None)
    statement = sqlalchemy.select(jobs.c.id, jobs.c.job_state).order_by(jobs.c.id)
    try:
        with engine.connect() as connection:
            for job_id, state in connection.execute(statement):
                yield str(job_id), state
    except DBAPIError as error:
        raise StoreUnavailable(f"{mask_url(url)}: jobs cannot be read from the table {name}: {error.orig}") from None
    finally:
        engine.dispose()


def _redis(url: str, table: str, _: str) -> Pickles:
    from redis import Redis, RedisError

    try:
        with Redis.from_url(url) as client:
            found = client.hgetall(table or "apscheduler.jobs")
    except (RedisError, ValueError, TypeError) as error:  # the last for an option that it does not know
        raise StoreUnavailable(f"{mask_url(url)}: jobs cannot be read: {error}") from None
    assert isinstance(found, dict)
    yield from sorted((key.decode(errors="replace"), bytes(value)) for key, value in found.items())


def _mongodb(url: str, table: str, database: str) -> Pickles:
    from pymongo import MongoClient
    from pymongo.errors import PyMongoError

    try:
        with MongoClient[dict[str, Any]](url, serverSelectionTimeoutMS=5000) as client:
            jobs = client[database or "apscheduler"][table or "jobs"]
            found = [(str(each["_id"]), each.get("job_state")) for each in jobs.find().sort("_id")]
    except PyMongoError as error:
        raise StoreUnavailable(f"{mask_url(url)}: jobs cannot be read: {error}") from None
    yield from found
