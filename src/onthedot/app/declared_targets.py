"""Commands and HTTP calls as users declare them, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, SettingsError
from onthedot.execution.targets.command import Command
from onthedot.execution.targets.http import HttpCall, require_httpx
from onthedot.storable import NotStorable, brief, json_size


def command_of(
    name: str,
    command: Sequence[str] | str,
    *,
    shell: bool | str,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    kill_after: timedelta | str,
) -> Command:
    """A command: words without a shell, or a line with one."""
    line = command if isinstance(command, str) else None
    if isinstance(shell, str):
        if command:
            raise SettingsError(f"{name!r}: give a command or shell=, not both")
        line, shell = shell, True
    if shell and (line is None or not line.strip()):
        raise SettingsError(f'{name!r}: shell=True takes one line: app.command({name!r}, "a | b", shell=True)')
    if not shell and line is not None:
        raise SettingsError(
            f"{name!r}: write the words of a command as a list, {line.split()!r}; for a shell's line add shell=True"
        )
    words = (line,) if line is not None else tuple(command)
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise SettingsError(f'{name!r}: {list(words)!r} is no list of words; write ["pg_dump", "shop"]')
    given = _texts(name, "env", env)
    if not isinstance(cwd, str | os.PathLike | None):
        raise SettingsError(f"{name!r}: cwd: {brief(cwd)} is no path")
    folder = None if cwd is None else os.fspath(cwd)
    try:
        kill_after_ms = to_duration_ms(kill_after)
    except DurationError as error:
        raise SettingsError(f"{name!r}: kill_after: {error}") from None
    return Command(words, shell, given, folder, kill_after_ms)


def http_of(
    name: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None,
    body: str | bytes | None,
    json: Any,
    expect: Iterable[int] | int,
    sign: str | None = None,
) -> HttpCall:
    """An HTTP call."""
    if not isinstance(method, str) or not method.isalpha():
        raise SettingsError(f"{name!r}: method {method!r} is none; write GET, POST, PUT, PATCH, DELETE or HEAD")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://", "env:")):
        raise SettingsError(f"{name!r}: a url begins with https:// or http://, or is env:NAME, unlike {url!r}")
    if body is not None and json is not None:
        raise SettingsError(f"{name!r}: give body= or json=, not both")
    try:
        json_size(json)
    except NotStorable as error:
        raise SettingsError(f"{name!r}: json: it is no JSON value: {error}") from None
    codes = (expect,) if isinstance(expect, int) else tuple(expect)
    if not all(isinstance(code, int) and 100 <= code <= 599 for code in codes):
        raise SettingsError(f"{name!r}: expect takes status codes, like [200, 204], not {expect!r}")
    if sign is not None and (not isinstance(sign, str) or not sign):
        raise SettingsError(f"{name!r}: sign takes the name of a secret, 'env:HOOK_SECRET', not {brief(sign)}")
    require_httpx(name)
    return HttpCall(method.upper(), url, _texts(name, "headers", headers), body, json, codes, sign)


def _texts(name: str, what: str, given: Mapping[str, str] | None) -> dict[str, str]:
    """Names with texts; `SettingsError` for anything else."""
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError(f"{name!r}: {what}: {brief(given)} does not map names to texts")
    texts = dict(given or {})
    for key, value in texts.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise SettingsError(f"{name!r}: {what}: {key!r} = {brief(value)} is not text")
    return texts
