"""Documents in Redis or Valkey as a JobStore: each a hash, those with a moment in one sorted set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from onthedot.documents.jobs import Change, Fields, Job, Lock, as_utc, new_token, set_at, value_at
from onthedot.documents.redis_scripts import LOCK, LOCK_AGAIN, PUT, REMOVE, RENEW, UPDATE
from onthedot.errors import SettingsError
from onthedot.moments import ceil_ms, floor_ms, from_ms

_MOVING = ("sleep_until", "locked_by", "locked_until", "last_error")
"""Kept beside the document, where scripts read and write them; they count, not what its text says of them."""
_FAR_MS = floor_ms("9999-12-31T00:00Z")


class RedisJobStore:
    """Documents under their `id`, a text or a number, as JSON: a moment in them comes back as a text.

    `client` is a `redis.Redis`, and `name` what all keys begin with, as their hash tag. Due is what is due by the
    server's clock. Whether documents outlive the server is up to its settings (`appendonly yes`).
    """

    def __init__(self, client: Any, name: str, *, fields: Fields | None = None) -> None:
        if not name or set("{}") & set(name):
            raise SettingsError(f"the documents need a name without braces, like 'mails', not {name!r}")
        if not hasattr(client, "register_script"):
            raise SettingsError(f"client is a redis.Redis, like redis.Redis.from_url(…), not {client!r}")
        self._prefix = f"{{{name}}}:"
        self._client = client
        self._fields = fields or Fields()
        scripts = (PUT, LOCK, LOCK_AGAIN, RENEW, UPDATE, REMOVE)
        self._scripts = {text: client.register_script(text) for text in scripts}

    # the documents, for those who make and read them

    def put(self, document: Mapping[str, Any]) -> None:
        """Add a document, or replace the one with its `id`; whoever works that one can no longer write."""
        due, owner, until, error = (value_at(document, getattr(self._fields, name)) for name in _MOVING)
        try:
            body = json.dumps(document, default=_as_text, allow_nan=False)
        except ValueError as error:
            raise SettingsError(f"a document in Redis is kept as JSON: {error}") from None
        self._run(PUT, _key(document.get("id")), body, _ms(due), owner or "", _ms(until), error or "")

    def get(self, key: Any) -> dict[str, Any] | None:
        """The document with this id; `sleep_until` and `locked_until` are moments, None where there is nothing."""
        kept = self._client.hmget(f"{self._prefix}document:{_key(key)}", "body", "due", "owner", "until", "error")
        return None if kept[0] is None else self._document([_text(value) for value in kept])

    def delete(self, key: Any) -> None:
        """Forget a document; one that is not there is no error."""
        self._client.delete(f"{self._prefix}document:{_key(key)}")
        self._client.zrem(f"{self._prefix}free", _key(key))

    # what works them

    def lock_due(self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()) -> list[Job]:
        token = token or new_token()
        return self._jobs(self._run(LOCK, token, lock_ms, limit, *map(_key, skip)), token, lock_ms)

    def lock_again(self, token: str, lock_ms: int) -> list[Job]:
        return self._jobs(self._run(LOCK_AGAIN, token, lock_ms), token, lock_ms)

    def renew(self, jobs: Sequence[Job], lock_ms: int) -> list[Job]:
        values = [part for job in jobs for part in (_key(job.id), job.token)]
        return _lost(jobs, self._run(RENEW, lock_ms, *values))

    def update(self, changes: Sequence[Change]) -> list[Job]:
        values = [
            part
            for change in changes
            for part in (
                *_held(change.job),
                _ms(change.sleep_until),
                _ms(change.locked_until),
                change.last_error or "",
            )
        ]
        return _lost([change.job for change in changes], self._run(UPDATE, *values))

    def remove(self, jobs: Sequence[Job]) -> list[Job]:
        return _lost(jobs, self._run(REMOVE, *(part for job in jobs for part in _held(job))))

    def _jobs(self, answer: Sequence[Any], token: str, lock_ms: int) -> list[Job]:
        now_ms, *rows = answer
        lock = Lock(token, from_ms(int(now_ms)), from_ms(int(now_ms) + lock_ms))
        return [self._job(lock, [_text(value) for value in row]) for row in rows]

    def _job(self, lock: Lock, row: list[str | None]) -> Job:
        key = json.loads(row[0] or "null")
        try:
            return lock.job(self._document(row[1:]), key, self._fields)
        except ValueError as error:  # somebody else has written it
            return lock.unreadable({"id": key, "body": row[1]}, key, f"document {key!r} cannot be read: {error}")

    def _document(self, kept: Sequence[str | None]) -> dict[str, Any]:
        body, due, owner, until, error = kept
        document: Any = json.loads(body or "")
        if not isinstance(document, dict):
            raise ValueError(f"it is {document!r}")
        for name, value in zip(_MOVING, (_moment(due), owner, _moment(until), error), strict=True):
            set_at(document, getattr(self._fields, name), value or None)
        return document

    def _run(self, script: str, *values: str | int) -> Any:
        return self._scripts[script](keys=[self._prefix], args=values)


def _held(job: Job) -> tuple[str, str, int]:
    return _key(job.id), job.token, floor_ms(job.locked_at)


def _lost(jobs: Sequence[Job], answer: Iterable[Any]) -> list[Job]:
    keys = {_text(key) for key in answer}
    return [job for job in jobs if _key(job.id) in keys]


def _key(value: Any) -> str:
    """An id as it is kept: 1 and "1" are two."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise SettingsError(f"the id of a document in Redis is a text or a number, not {value!r}")
    return json.dumps(value)


def _text(value: Any) -> str | None:
    """The client may give bytes or texts."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _ms(moment: Any) -> int | str:
    """Never early: a part of a millisecond counts as a whole one."""
    return "" if moment is None else min(ceil_ms(as_utc(moment)), _FAR_MS)


def _moment(ms: str | None) -> datetime | None:
    return from_ms(int(ms)) if ms else None


def _as_text(value: Any) -> str:
    if isinstance(value, datetime):
        return as_utc(value).isoformat()
    raise SettingsError(f"a document in Redis is kept as JSON, which has nothing for {value!r}")
