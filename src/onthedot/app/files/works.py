"""The keys of a schedule in jobs.toml that say what to run."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from onthedot.app.files.entry import Command, Http, NamedTask, Shell, Work
from onthedot.app.remedies import did_you_mean, exactly_one

Table = dict[str, Any]

HTTP_KEYS = ("method", "url", "headers", "body", "json", "expect")


class _Wrong(Exception):
    """What is wrong with a value, in one line."""


def read_work(table: Table, problems: list[str]) -> Work | None:
    """What a schedule runs; or None, and the problems are told."""
    kinds = [key for key in _READERS if key in table]
    if len(kinds) != 1:
        problems.append(exactly_one(kinds, tuple(_READERS)))
        return None
    kind = kinds[0]
    if "args" in table and kind != "task":
        problems.append(f"args: they go with task, not with {kind}")
    try:
        return _READERS[kind](table[kind], table)
    except _Wrong as wrong:
        problems.append(f"{kind}: {wrong}")
        return None


def _command(value: object, table: Table) -> Work:
    if isinstance(value, str):
        raise _Wrong(f'write its words as a list, ["pg_dump", "shop"]; a line for the shell is shell = {value!r}')
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value) or not value[0]:
        raise _Wrong(f'{value!r} is no list of words; write ["pg_dump", "shop"]')
    return Command(tuple(value))


def _shell(value: object, table: Table) -> Work:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{value!r} is no line for the shell")
    return Shell(value)


def _task(value: object, table: Table) -> Work:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{value!r} is no task's name")
    args = table.get("args", {})
    if not isinstance(args, dict):
        raise _Wrong(f'args map parameter names to values: write {{ audience = "eu" }}, not {args!r}')
    return NamedTask(value, MappingProxyType(args))


def _http(value: object, table: Table) -> Work:
    if not isinstance(value, dict):
        raise _Wrong('write { method = "POST", url = "https://…" }')
    for key in value:
        if key not in HTTP_KEYS:
            raise _Wrong(f"{key}: unknown key; {did_you_mean(key, HTTP_KEYS)}")
    method, url = value.get("method", "GET"), value.get("url")
    if not isinstance(method, str) or not method.isalpha():
        raise _Wrong(f"method: {method!r} is none; write GET, POST, PUT, PATCH, DELETE or HEAD")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        raise _Wrong("url: it begins with https:// or http://" + ("" if url is None else f", unlike {url!r}"))
    options = {key: item for key, item in value.items() if key not in {"method", "url"}}
    return Http(method.upper(), url, MappingProxyType(options))


_READERS: dict[str, Callable[[object, Table], Work]] = {
    "command": _command,
    "shell": _shell,
    "http": _http,
    "task": _task,
}
WORK_KEYS = (*_READERS, "args")
