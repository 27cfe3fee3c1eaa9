"""A MongoDB collection as a JobStore. A stand-alone server is enough: no write concerns more than one document."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from bson.codec_options import CodecOptions, DatetimeConversion
from pymongo import DeleteMany, ReadPreference, UpdateMany
from pymongo.collection import Collection
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from onthedot.documents.jobs import Change, Fields, Job, Lock, as_utc, new_token, value_at
from onthedot.errors import SettingsError

_TRIES = 20
_WIDEST = 4096
_THROUGH_ARRAY = "leads to or through an array"
_AT_THE_TOP = "last_error"
"""Where the error is kept if its own path leads through an array."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Until then those are locked that cannot be."""


class MongoJobStore:
    """Due is what is due by the server's clock, in the statement that finds and in the one that locks."""

    def __init__(self, collection: Collection[Any], fields: Fields, condition: Mapping[str, Any] | None = None) -> None:
        # A lock that a fail-over could roll back, or that is read from a secondary, is none.
        self._collection: Collection[Any] = collection.with_options(
            read_preference=ReadPreference.PRIMARY,
            read_concern=ReadConcern("local"),
            write_concern=WriteConcern("majority"),
            codec_options=_lenient(collection.codec_options),
        )
        self._fields = fields
        self._due, self._seen = _filters(fields, condition)
        self._spread = 0
        """How far behind the longest due one may begin, to find documents that no other worker is after."""

    def lock_due(self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()) -> list[Job]:
        token = token or new_token()
        for _ in range(_TRIES):
            keys, broken = self._find(limit, list(skip))
            jobs = self._lock(keys, token, lock_ms) if keys else []
            # There is no SKIP LOCKED: workers that look at the same head of the queue take from each other.
            if len(jobs) * 2 < len(keys):
                self._spread = min(2 * max(self._spread, limit), _WIDEST)
            elif len(jobs) == len(keys):
                self._spread //= 2
            jobs += self._unreadable(broken, token)
            if jobs or not keys:  # else others were faster with all that we found
                return jobs
        return []

    def lock_again(self, token: str, lock_ms: int) -> list[Job]:
        fields = self._fields
        held = {"$expr": {"$gt": [f"${fields.locked_until}", "$$NOW"]}}
        taken = {"$and": [*_come(fields), {fields.locked_by: token}, held]}
        self._collection.update_many(taken, [{"$set": {fields.locked_until: _in(lock_ms)}}])
        return self._read(taken, token, lock_ms)

    def renew(self, jobs: Sequence[Job], lock_ms: int) -> list[Job]:
        operations = []
        for token in {job.token for job in jobs}:
            held = self._held([job for job in jobs if job.token == token])
            there = {self._fields.locked_until: {"$type": "date"}}
            operations.append(UpdateMany({**held, **there}, [{"$set": {self._fields.locked_until: _in(lock_ms)}}]))
        return self._write(operations, jobs)

    def update(self, changes: Sequence[Change]) -> list[Job]:
        locked = [change for change in changes if _is_locked(change.job)]
        for change in changes:
            if not _is_locked(change.job):
                self._mark(change)
        operations = []
        for same in _alike(locked):
            held = self._held([each.job for each in same])
            operations.append(UpdateMany(held, self._ended(same[0])))
        return self._write(operations, [change.job for change in locked]) if operations else []

    def remove(self, jobs: Sequence[Job]) -> list[Job]:
        operations: list[DeleteMany | UpdateMany] = []
        for same in _alike([Change(job, None) for job in jobs]):
            change = same[0]
            held = self._held([each.job for each in same])
            operations.append(DeleteMany({**held, self._fields.sleep_until: {"$lte": change.job.locked_at}}))
            operations.append(UpdateMany(held, self._ended(change)))
        return self._write(operations, jobs)

    def _find(self, limit: int, skip: list[Any]) -> tuple[list[Any], list[Any]]:
        """Some keys that are due, and those where an array is in the way; none at all only where nothing is."""
        wanted = {"$and": [self._seen, {"_id": {"$nin": skip}}]} if skip else self._seen
        passed_over = random.randint(0, self._spread)
        while True:
            order = [(self._fields.sleep_until, 1)]
            has_array = {"_id": True, "has_array": _has_array(self._fields)}
            places: dict[str, Any] = {"sort": order, "skip": passed_over, "limit": limit, "batch_size": limit}
            found = list(self._collection.find(wanted, has_array, **places))
            if found or not passed_over:
                broken = [document["_id"] for document in found if document["has_array"]]
                return [document["_id"] for document in found if not document["has_array"]], broken
            self._spread = passed_over = passed_over // 2

    def _lock(self, keys: list[Any], token: str, lock_ms: int) -> list[Job]:
        fields = self._fields
        self._collection.update_many(
            {"$and": [{"_id": {"$in": keys}}, self._due]},
            [{"$set": {fields.locked_by: {"$literal": token}, fields.locked_until: _in(lock_ms)}}],
        )
        return self._read({"_id": {"$in": keys}, fields.locked_by: token}, token, lock_ms)

    def _read(self, locked: Mapping[str, Any], token: str, lock_ms: int) -> list[Job]:
        found = self._collection.find(locked, batch_size=_WIDEST)
        jobs = [self._job(document, token, lock_ms) for document in found]
        return sorted(jobs, key=lambda job: job.sleep_until)

    def _job(self, document: Any, token: str, lock_ms: int) -> Job:
        until = as_utc(value_at(document, self._fields.locked_until))
        lock = Lock(token, until - timedelta(milliseconds=lock_ms), until)
        due = value_at(document, self._fields.sleep_until)
        if isinstance(due, datetime) or hasattr(due, "as_datetime"):
            return lock.job(document, document["_id"], self._fields)
        # Even a text that could be read: to the server, every text is less than every date.
        return lock.unreadable(document, document["_id"], f"{self._fields.sleep_until} is {due!r}, which is no date")

    # documents with an array on the path of a field: what is written there would go into each of its elements

    def _unreadable(self, keys: list[Any], token: str) -> list[Job]:
        """They cannot be locked, so that two may say it; it is written once all the same."""
        documents = self._collection.find({"_id": {"$in": keys}}) if keys else ()
        lock = Lock(token, _NEVER, _NEVER)
        return [
            lock.unreadable(document, document["_id"], f"{self._array_in(document)} {_THROUGH_ARRAY}")
            for document in documents
        ]

    def _array_in(self, document: Any) -> str | None:
        paths = _paths(self._fields)
        return next((path for path in paths if isinstance(document, Mapping) and _is_array_on(document, path)), None)

    def _mark(self, change: Change) -> None:
        """Keep the error, and leave everything else as it is."""
        path = self._fields.last_error
        place = _AT_THE_TOP if _is_array_on(change.job.document, path) else path
        self._collection.update_one({"_id": change.job.id}, [{"$set": {place: {"$literal": change.last_error}}}])

    def _held(self, jobs: Sequence[Job]) -> dict[str, Any]:
        return {"_id": {"$in": [job.id for job in jobs]}, self._fields.locked_by: jobs[0].token}

    def _ended(self, change: Change) -> list[dict[str, Any]]:
        fields, path = self._fields, f"${self._fields.sleep_until}"
        # Texts and numbers sort before every date, so that they go when the document is set aside; null stays null.
        still_due = {"$and": [{"$gt": [path, None]}, {"$lte": [path, change.job.locked_at]}]}
        values = {
            fields.sleep_until: {"$cond": [still_due, change.sleep_until, path]},
            fields.locked_until: _or_removed(change.locked_until),
            fields.last_error: _or_removed(change.last_error),
        }
        return [{"$set": values}]

    def _write(self, operations: Sequence[Any], jobs: Sequence[Job]) -> list[Job]:
        written = self._collection.bulk_write(operations)
        if written.matched_count + written.deleted_count == len(jobs):
            return []
        return self._lost(jobs)

    def _lost(self, jobs: Sequence[Job]) -> list[Job]:
        """Those which are still there but with another's token."""
        lost = []
        for job in jobs:
            mine = {"_id": job.id, self._fields.locked_by: {"$ne": job.token}}
            if self._collection.find_one(mine, {"_id": True}) is not None:
                lost.append(job)
        return lost


def _lenient(options: CodecOptions[Any]) -> CodecOptions[Any]:
    """As the user has set it, but that a date which Python does not know spoils no whole batch."""
    if options.datetime_conversion is DatetimeConversion.DATETIME:
        return options.with_options(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
    return options


def _filters(fields: Fields, condition: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is due and held by nobody; and with it the documents where an array is in the way, until they say so."""
    if condition is not None and not isinstance(condition, Mapping):
        raise SettingsError(f'condition is a filter of MongoDB, like {{"approved": True}}, not {condition!r}')
    free = {"$expr": {"$lte": [f"${fields.locked_until}", "$$NOW"]}}  # missing and null are less than any date
    due = [*_come(fields), free, *([condition] if condition else [])]
    is_plain = {"$expr": {"$not": [_has_array(fields)]}}
    unsaid = [{path: {"$not": {"$regex": _THROUGH_ARRAY}}} for path in {fields.last_error, _AT_THE_TOP}]
    return {"$and": [*due, is_plain]}, {"$and": [*due, {"$or": [is_plain, {"$and": unsaid}]}]}


def _come(fields: Fields) -> list[Mapping[str, Any]]:
    """`sleep_until` has come, or is no date at all: texts, numbers and arrays are less than any date.

    Null and missing are less as well: the first condition keeps them out, and both give the index its bounds.
    """
    return [{fields.sleep_until: {"$ne": None}}, {"$expr": {"$lte": [f"${fields.sleep_until}", "$$NOW"]}}]


def _has_array(fields: Fields) -> dict[str, Any]:
    """Where an array lies anywhere on a path, the path's value is one."""
    return {"$or": [{"$isArray": f"${path}"} for path in _paths(fields)]}


def _is_locked(job: Job) -> bool:
    """Not where an array is in the way."""
    return job.locked_until != _NEVER


def _paths(fields: Fields) -> list[str]:
    return [getattr(fields, field.name) for field in dataclasses.fields(fields)]


def _is_array_on(document: Mapping[str, Any], path: str) -> bool:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, list):
            return True
    return False


def _in(lock_ms: int) -> dict[str, Any]:
    """That much after now."""
    return {"$add": ["$$NOW", lock_ms]}


def _or_removed(value: datetime | str | None) -> Any:
    return "$$REMOVE" if value is None else {"$literal": value}


def _alike(changes: Iterable[Change]) -> list[list[Change]]:
    """Changes that one statement can write."""

    def what(change: Change) -> tuple[str, str, str, str]:
        return change.job.token, str(change.sleep_until), str(change.locked_until), change.last_error or ""

    return [list(same) for _, same in groupby(sorted(changes, key=what), key=what)]
