"""Schedules of another scheduler as a program of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from onthedot.app.moving.report import Move, Report
from onthedot.durations import format_duration, to_duration_ms

_TRIGGERS = re.compile(r"\b(at|cron|every)\(")
_WIDTH = 100


def program_of(report: Report, heading: str, preamble: Sequence[str], task: Callable[[Move], str]) -> str:
    """Python that declares them all: the heading as its docstring, what must stand before them, then each of them for
    the task that this variable holds."""
    names = sorted({name for move in report.moves for name in _TRIGGERS.findall(str(move.trigger))})
    title = heading.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'"""{title}"""', "", f"from onthedot import {', '.join(['App', *names])}", *preamble]
    lines += [line for each in report.refused for line in ("", f"# left out: {' '.join(str(each).split())}")]
    for move in report.moves:
        lines += ["", *_declared(move, task(move))]
    return "\n".join(lines) + "\n"


def _declared(move: Move, task: str) -> Iterator[str]:
    paused = {} if move.paused is None else {"enabled": False}
    if move.paused is not None:
        yield f"# {move.paused}"
    yield "app.schedule("
    yield f"    {move.trigger},"
    for name, value in {"name": move.name, "args": move.args, **_plain(move.options), **paused}.items():
        yield from _argument(name, value)
    yield f")({task})"


def _argument(name: str, value: Any) -> Iterator[str]:
    line = f"    {name}={literal(value)},"
    if len(line) <= _WIDTH or not isinstance(value, Mapping):
        yield line
        return
    yield f"    {name}={{"
    yield from (f"        {literal(key)}: {literal(item)}," for key, item in value.items())
    yield "    },"


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: format_duration(to_duration_ms(value)) if isinstance(value, timedelta) else value
        for name, value in options.items()
    }


def literal(value: Any) -> str:
    """As Python writes it, with the quotes that most people take."""
    match value:
        case str():
            return repr(value) if '"' in value or "\\" in repr(value) else f'"{value}"'
        case Mapping():
            return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
        case _:
            return repr(value)
