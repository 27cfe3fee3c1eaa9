"""The keys of a schedule in jobs.toml that say what to run."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from onthedot.app.arguments import Signature
from onthedot.app.declared_mail import MAIL_KEYS, mail_of
from onthedot.app.files.entry import Command, Http, Mail, NamedTask, Shell, Work
from onthedot.app.names import name_problem
from onthedot.app.remedies import did_you_mean, exactly_one
from onthedot.durations import to_duration_ms
from onthedot.errors import ArgumentsError, DurationError, SettingsError
from onthedot.storable import NotStorable, brief, json_size

Table = dict[str, Any]

HTTP_KEYS = ("method", "url", "headers", "body", "json", "expect", "sign")
_BESIDE_COMMANDS = ("env", "cwd", "kill_after")


class _Wrong(Exception):
    """What is wrong with a value, in one line."""


def read_work(
    table: Table, problems: list[str], *, is_step: bool = False, instead: tuple[str, ...] = ()
) -> Work | None:
    """What a schedule runs; or None, and the problems are told. The arguments of a step go with every kind; `instead`
    are the other keys that may stand in the place of these."""
    kinds = [key for key in _READERS if key in table]
    if len(kinds) != 1:
        problems.append(exactly_one(kinds, (*_READERS, *instead)))
        return None
    kind = kinds[0]
    if "args" in table and kind != "task" and not is_step:
        problems.append(f"args: they go with task, not with {kind}")
    if kind not in ("command", "shell"):
        problems += [
            f"{key}: it goes with command and shell, not with {kind}" for key in _BESIDE_COMMANDS if key in table
        ]
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
    return Command(tuple(value), *_beside(table))


def _shell(value: object, table: Table) -> Work:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{value!r} is no line for the shell")
    environment, options = _beside(table)
    return Shell(value, environment, options=options)


def _beside(table: Table) -> tuple[MappingProxyType[str, str], MappingProxyType[str, Any]]:
    """The environment of a command, and what else stands beside it."""
    environment = _texts(table.get("env", {}), "env", '{ PATH = "/usr/bin" }')
    options = {key: table[key] for key in ("cwd", "kill_after") if key in table}
    for key, value in options.items():
        if not isinstance(value, str) or not value:
            raise _Wrong(f"{key}: {value!r} is not text")
    if "kill_after" in options:
        try:
            to_duration_ms(options["kill_after"])
        except DurationError as error:
            raise _Wrong(f"kill_after: {error}") from None
    return environment, MappingProxyType(options)


def _texts(value: object, key: str, example: str) -> MappingProxyType[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _Wrong(f"{key}: {value!r} does not map names to texts; write {example}")
    return MappingProxyType(value)


def _task(value: object, table: Table) -> Work:
    if not isinstance(value, str) or (problem := name_problem(value)):
        raise _Wrong(f"{brief(value)} is no task's name" + (f": {problem}" if isinstance(value, str) else ""))
    args = table.get("args", {})
    problem = args_problem(value, args)
    if problem is not None:
        raise _Wrong(problem)
    return NamedTask(value, MappingProxyType(Signature((), open=True).check(value, args)))


def args_problem(name: str, args: object) -> str | None:
    """What is wrong with arguments, as far as the file can tell."""
    if not isinstance(args, dict):
        return f'args map parameter names to values: write {{ audience = "eu" }}, not {args!r}'
    try:
        Signature((), open=True).check(name, args)
    except ArgumentsError as error:
        return f"args: {error}"
    return None


def _http(value: object, table: Table) -> Work:
    if not isinstance(value, dict):
        raise _Wrong('write { method = "POST", url = "https://…" }')
    for key in value:
        if key not in HTTP_KEYS:
            raise _Wrong(f"{key}: unknown key; {did_you_mean(key, HTTP_KEYS)}")
    method, url = value.get("method", "GET"), value.get("url")
    if not isinstance(method, str) or not method.isalpha():
        raise _Wrong(f"method: {method!r} is none; write GET, POST, PUT, PATCH, DELETE or HEAD")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://", "env:")):
        raise _Wrong("url: it begins with https:// or http://" + ("" if url is None else f", unlike {url!r}"))
    _texts(value.get("headers", {}), "headers", '{ Accept = "text/plain" }')
    if not isinstance(value.get("body", ""), str):
        raise _Wrong(f"body: {value['body']!r} is not text")
    if "body" in value and "json" in value:
        raise _Wrong("body and json: only one of them can stand here")
    try:
        json_size(value.get("json"))
    except NotStorable as error:
        raise _Wrong(f"json: it is no JSON value: {error}") from None
    if not isinstance(value.get("sign", ""), str):
        raise _Wrong(f'sign: {value["sign"]!r} is not text; write the name of a secret, "env:HOOK_SECRET"')
    _expect(value.get("expect", []))
    options = {key: item for key, item in value.items() if key not in {"method", "url"}}
    return Http(method.upper(), url, MappingProxyType(options))


def _mail(value: object, table: Table) -> Work:
    if not isinstance(value, dict) or "to" not in value:
        raise _Wrong('write { to = "ops@example.org", sender = "jobs@example.org", host = "smtp.example.org" }')
    for key in value:
        if key not in MAIL_KEYS:
            raise _Wrong(f"{key}: unknown key; {did_you_mean(key, MAIL_KEYS)}")
    try:
        mail_of("mail", **value)
    except SettingsError as error:
        raise _Wrong(str(error).removeprefix("'mail': ")) from None
    return Mail(MappingProxyType(value))


def _expect(value: object) -> None:
    codes = value if isinstance(value, list) else [value]
    if not all(isinstance(code, int) and 100 <= code <= 599 for code in codes):
        raise _Wrong(f"expect: {value!r} are no status codes; write [200, 204]")


_READERS: dict[str, Callable[[object, Table], Work]] = {
    "command": _command,
    "shell": _shell,
    "http": _http,
    "mail": _mail,
    "task": _task,
}
WORK_KEYS = (*_READERS, "args", *_BESIDE_COMMANDS)
