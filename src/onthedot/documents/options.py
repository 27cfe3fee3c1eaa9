"""What can be said about a queue of documents, read and checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, TypedDict

from onthedot.documents.jobs import Fields
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, SettingsError


class Options(TypedDict, total=False):
    """Names of fields (see `Fields`), and how fast to work."""

    sleep_until: str
    interval: str
    repeat_until: str
    auto_remove: str
    locked_by: str
    locked_until: str
    last_error: str
    next_delay: timedelta | str
    """Each worker rests so long after a document (0s)."""
    reprocess_delay: timedelta | str
    """A recurring document rests at least so long after its work: ticks that come sooner are passed over (0s)."""
    idle_delay: timedelta | str
    """How long to wait before looking again when nothing is due (1s)."""
    lock_duration: timedelta | str
    """How long a document belongs to who locked it; renewed while it is worked, so that it is how long the documents
    of a dead process wait (10m)."""
    workers: int
    """How many documents are worked at once in this process (10)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast to work, in milliseconds."""

    next_delay: int = 0
    reprocess_delay: int = 0
    idle_delay: int = 1000
    lock_duration: int = 600_000
    workers: int = 10


_FIELDS = {field.name for field in fields(Fields)}
_PACE = {field.name for field in fields(Pace)}


def read_options(options: Any) -> tuple[Fields, Pace]:
    """Both parts; an unknown name or a value that cannot be is a SettingsError."""
    for name in options:
        if name not in _FIELDS | _PACE:
            near = get_close_matches(name, sorted(_FIELDS | _PACE), n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there is {', '.join(sorted(_FIELDS | _PACE))}"
            raise SettingsError(f"Documents has no option {name!r}{hint}")
    names = {name: _path(name, value) for name, value in options.items() if name in _FIELDS}
    pace = {name: _pace(name, value) for name, value in options.items() if name in _PACE}
    _refuse_one_name_for_two(Fields(**names))
    return Fields(**names), Pace(**pace)


def _path(name: str, value: Any) -> str:
    if not isinstance(value, str) or not all(value.split(".")) or value.startswith("$"):
        raise SettingsError(f'{name} is the name of a field, or a path like "mail.send_at", not {value!r}')
    return value


def _refuse_one_name_for_two(names: Fields) -> None:
    paths: dict[str, str] = {}
    for field in fields(Fields):
        path = getattr(names, field.name)
        if path in paths:
            raise SettingsError(f"{field.name} and {paths[path]} cannot both be kept in {path!r}")
        paths[path] = field.name


def _pace(name: str, value: Any) -> int:
    if name == "workers":
        if not isinstance(value, int) or value < 1:
            raise SettingsError(f"workers is how many work at once, 1 or more, not {value!r}")
        return value
    try:
        ms = to_duration_ms(value)
    except DurationError as error:
        raise SettingsError(f"{name}: {error}") from None
    if ms == 0 and name in ("lock_duration", "idle_delay"):
        raise SettingsError(f"{name} must be longer than 0s")
    return ms
