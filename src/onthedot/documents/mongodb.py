"""A MongoDB collection as a JobStore. A stand-alone server is enough: no write concerns more than one document."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
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
        self._due = _due(fields, condition)
        self._spread = 0
        """How far behind the longest due one may begin, to find documents that no other worker is after."""

    def lock_due(self, limit: int, lock_ms: int) -> list[Job]:
        for _ in range(_TRIES):
            keys = self._find(limit)
            jobs = self._lock(keys, lock_ms) if keys else []
            # There is no SKIP LOCKED: workers that look at the same head of the queue take from each other.
            if len(jobs) * 2 < len(keys):
                self._spread = min(2 * max(self._spread, limit), _WIDEST)
            elif len(jobs) == len(keys):
                self._spread //= 2
            if jobs or not keys:  # else others were faster with all that we found
                return jobs
        return []

    def update(self, changes: Sequence[Change]) -> list[Job]:
        operations = []
        for same in _alike(changes):
            change = same[0]
            held = self._held([each.job for each in same])
            operations.append(UpdateMany(held, self._ended(change)))
        return self._write(operations, [change.job for change in changes])

    def remove(self, jobs: Sequence[Job]) -> list[Job]:
        operations: list[DeleteMany | UpdateMany] = []
        for same in _alike([Change(job, None) for job in jobs]):
            change = same[0]
            held = self._held([each.job for each in same])
            operations.append(DeleteMany({**held, self._fields.sleep_until: {"$lte": change.job.locked_at}}))
            operations.append(UpdateMany(held, self._ended(change)))
        return self._write(operations, jobs)

    def _find(self, limit: int) -> list[Any]:
        """Some keys that are due; none at all only where nothing is."""
        skipped = random.randint(0, self._spread)
        while True:
            order = [(self._fields.sleep_until, 1)]
            found = self._collection.find(self._due, {"_id": True}, sort=order, skip=skipped, limit=limit)
            keys = [document["_id"] for document in found]
            if keys or not skipped:
                return keys
            self._spread = skipped = skipped // 2

    def _lock(self, keys: list[Any], lock_ms: int) -> list[Job]:
        fields, token = self._fields, new_token()
        until = {"$add": ["$$NOW", lock_ms]}
        self._collection.update_many(
            {"$and": [{"_id": {"$in": keys}}, self._due]},
            [{"$set": {fields.locked_by: {"$literal": token}, fields.locked_until: until}}],
        )
        documents = self._collection.find({"_id": {"$in": keys}, fields.locked_by: token})
        jobs = [self._job(document, token, lock_ms) for document in documents]
        return sorted(jobs, key=lambda job: job.sleep_until)

    def _job(self, document: Any, token: str, lock_ms: int) -> Job:
        until = as_utc(value_at(document, self._fields.locked_until))
        return Lock(token, until - timedelta(milliseconds=lock_ms), until).job(document, document["_id"], self._fields)

    def _held(self, jobs: Sequence[Job]) -> dict[str, Any]:
        return {"_id": {"$in": [job.id for job in jobs]}, self._fields.locked_by: jobs[0].token}

    def _ended(self, change: Change) -> list[dict[str, Any]]:
        fields, path = self._fields, f"${self._fields.sleep_until}"
        # Null and missing sort before every date: only a date can be one that is still due.
        still_due = {"$and": [{"$eq": [{"$type": path}, "date"]}, {"$lte": [path, change.job.locked_at]}]}
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


def _due(fields: Fields, condition: Mapping[str, Any] | None) -> dict[str, Any]:
    """Due and held by nobody. The type keeps null and missing out, and gives the index its bounds."""
    filters: list[Mapping[str, Any]] = [
        {fields.sleep_until: {"$type": "date"}},
        {"$expr": {"$lte": [f"${fields.sleep_until}", "$$NOW"]}},
        {"$expr": {"$lte": [f"${fields.locked_until}", "$$NOW"]}},  # missing and null are less than any date
    ]
    if condition is not None and not isinstance(condition, Mapping):
        raise SettingsError(f'condition is a filter of MongoDB, like {{"approved": True}}, not {condition!r}')
    return {"$and": [*filters, condition] if condition else filters}


def _or_removed(value: datetime | str | None) -> Any:
    return "$$REMOVE" if value is None else {"$literal": value}


def _alike(changes: Iterable[Change]) -> list[list[Change]]:
    """Changes that one statement can write."""

    def what(change: Change) -> tuple[str, str, str, str]:
        return change.job.token, str(change.sleep_until), str(change.locked_until), change.last_error or ""

    return [list(same) for _, same in groupby(sorted(changes, key=what), key=what)]
