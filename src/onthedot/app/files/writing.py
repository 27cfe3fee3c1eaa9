"""Writes a jobs.toml that reads back as the same schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onthedot.app.files.entry import AlertEntry, Command, Entry, Http, JobFile, Mail, NamedTask, Shell, Steps
from onthedot.errors import OnthedotError
from onthedot.triggers.codec import encode

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_KEYS = {"text": "cron", "interval": "every", "at": "at", "tz": "timezone"}
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def write_jobs(job_file: JobFile) -> str:
    """The whole file; its notes, and what was refused, stand as comments at the top."""
    refused = [f"left out: {each}" for each in job_file.refused]
    lines = [f"# {' '.join(note.split())}" for note in (*refused, *job_file.notes)]
    if lines:
        lines.append("")
    tops = {"store": job_file.store, "timezone": job_file.timezone, "app": job_file.app}
    lines += [f"{key} = {_value(value)}" for key, value in tops.items() if value is not None]
    for alert in job_file.alerts:
        lines += ["", f"[alerts.{_key(alert.name)}]"]
        lines += [f"{_key(key)} = {_value(value)}" for key, value in {**_work(alert), **alert.options}.items()]
    for entry in job_file.entries:
        lines += ["", *_entry(entry, job_file.timezone)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _entry(entry: Entry, zone: str | None) -> Iterator[str]:
    yield f"[schedules.{_key(entry.name)}]"
    pairs = {**_trigger(entry, zone), **_work(entry), **entry.options}
    for key, value in pairs.items():
        yield f"{_key(key)} = {_value(value)}"
    for table in entry.work.tables if isinstance(entry.work, Steps) else ():
        yield f"\n[[schedules.{_key(entry.name)}.steps]]"
        yield from (f"{_key(key)} = {_value(value)}" for key, value in table.items())


def _trigger(entry: Entry, zone: str | None) -> dict[str, Any]:
    fields = encode(entry.trigger)
    kind = fields.pop("type")
    if kind not in ("cron", "every", "at"):
        raise OnthedotError(f"{entry.name}: a {kind} of triggers cannot be written in jobs.toml; declare it in code")
    named = {_KEYS.get(key, key): value for key, value in fields.items() if key not in ("v", "key")}
    if named.get("timezone") == zone:
        named.pop("timezone", None)
    return named


def _work(entry: Entry | AlertEntry) -> dict[str, Any]:
    work = entry.work
    match work:
        case Command():
            return {"command": work.words, **_environment(work.environment), **work.options}
        case Shell():
            return {"shell": work.text, **_environment(work.environment), **work.options}
        case Http():
            return {"http": {"method": work.method, "url": work.url, **work.options}}
        case Mail():
            return {"mail": work.options}
        case NamedTask():
            return {"task": work.name, **({"args": work.args} if work.args else {})}
        case Steps():
            return {"args": work.own_args} if work.own_args else {}


def _environment(values: Mapping[str, str]) -> dict[str, Any]:
    return {"env": values} if values else {}


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return str(value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value) + "]"
        case _:  # dates and times, which TOML writes as ISO 8601 does
            return str(value.isoformat())


def _text(text: str) -> str:
    """In quotes; a text of several lines keeps them, where it can."""
    if "\n" in text and "'''" not in text and all(letter.isprintable() or letter in "\n\t" for letter in text):
        return f"'''\n{text}'''" if not text.endswith("'") else f'"{_escaped(text)}"'
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter) or (letter if letter.isprintable() else _code(letter)) for letter in text)


def _code(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _key(key: str) -> str:
    return key if key and set(key) <= _BARE else f'"{_escaped(key)}"'
