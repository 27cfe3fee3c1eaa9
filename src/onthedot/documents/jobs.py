"""A document on its way through: the job that a store hands out, and what is to be written about it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

from onthedot.errors import MomentError
from onthedot.moments import floor_ms, from_ms, read_moment

_FIRST_MS, _LAST_MS = floor_ms("0001-01-01T00:00Z"), floor_ms("9999-12-31T00:00Z")


@dataclass(frozen=True, slots=True)
class Fields:
    """What the fields of a document are called; where documents have parts, a path with dots: "mail.send_at"."""

    sleep_until: str = "sleep_until"
    """When it is due; none: never."""
    interval: str = "interval"
    """A cron text or a duration; none: once."""
    repeat_until: str = "repeat_until"
    """The last moment at which it may be due again."""
    auto_remove: str = "auto_remove"
    """Whether it is deleted when it will not be due again."""
    locked_by: str = "locked_by"
    """The token of who has it, or had it last. Written by onthedot, as are the next two."""
    locked_until: str = "locked_until"
    """Until then nobody else may have it."""
    last_error: str = "last_error"
    """Why its last work failed, in one line; none after work that went well."""


@dataclass(frozen=True, slots=True)
class Job:
    """A document that this worker has locked, as it was then. All moments are aware and by the store's clock."""

    id: Any
    token: str
    """Who has it: made anew for each call of `lock_due`. Only its holder may write."""
    sleep_until: datetime
    """When it was due."""
    locked_at: datetime
    locked_until: datetime
    interval: Any = None
    """As it stands in the document: whoever works it judges whether it can be read."""
    repeat_until: Any = None
    auto_remove: bool = False
    document: Any = None
    """What the handler is given."""
    unreadable: str | None = None
    """What of it cannot be read: it is set aside with that error, and the others are worked."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a job: all three are written, `None` too."""

    job: Job
    sleep_until: datetime | None
    locked_until: datetime | None = None
    """Until then nobody may have it: for work that failed and must rest."""
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class Lock:
    """What a call of `lock_due` writes on each document that it takes."""

    token: str
    at: datetime
    until: datetime

    def job(self, document: Any, key: Any, fields: Fields) -> Job:
        """The job that a locked document is."""
        try:
            sleep_until = as_utc(value_at(document, fields.sleep_until))
        except MomentError as error:
            return self.unreadable(document, key, str(error))
        return Job(
            key,
            self.token,
            sleep_until,
            self.at,
            self.until,
            value_at(document, fields.interval),
            value_at(document, fields.repeat_until),
            bool(value_at(document, fields.auto_remove)),
            document,
        )

    def unreadable(self, document: Any, key: Any, why: str) -> Job:
        """One that can only be set aside."""
        return Job(key, self.token, self.at, self.at, self.until, document=document, unreadable=why)


def new_token() -> str:
    """A token that nobody else has; it says on which machine and in which process, for whoever reads the document."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path with dots; None where the path leads nowhere."""
    value: Any = document
    for name in _names(path):
        if type(value) is not dict and not isinstance(value, Mapping):  # asked that way, it costs a tenth
            return None
        value = value.get(name)
    return value


@cache
def _names(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def set_at(document: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path with dots; the parts on the way are made."""
    *parents, name = path.split(".")
    for parent in parents:
        document = document.setdefault(parent, {})
    document[name] = value


def as_utc(moment: Any) -> datetime:
    """An aware moment, from what a database gives: one without a zone is in UTC there."""
    if type(moment) is datetime and moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    if hasattr(moment, "as_datetime"):  # BSON's own class, for dates before the year 1 and after 9999
        return from_ms(min(max(int(moment), _FIRST_MS), _LAST_MS))
    if not isinstance(moment, datetime | str):
        raise MomentError(f"a moment is a date with a time, not {moment!r}")
    read = read_moment(moment)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
