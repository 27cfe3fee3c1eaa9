"""Writes the pages of docs/reference that follow from the code: commands, settings, routes. `scripts/docs` calls it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from onthedot import settings
from onthedot.cli.program import program

PLACE = Path(__file__).resolve().parents[1] / "docs" / "reference"
_NOTE = "<!-- Written by scripts/docs from the code; what is typed here is lost. -->"
_SHOWN = ("get", "post", "put", "patch", "delete")


def pages() -> dict[str, str]:
    """The text of each page, by its file."""
    return {"command-line.md": _commands(), "settings.md": _settings(), "http.md": _routes()}


# commands


def _commands() -> str:
    context = click.Context(program, info_name="onthedot", color=False, **program.context_settings)
    context.max_content_width = 100
    lines = ["# The command line", "", _NOTE, "", *_help(program, context)]
    for path, command, own in _walk(program, context, ()):
        lines += ["", f"## onthedot {' '.join(path)}" if len(path) == 1 else f"### onthedot {' '.join(path)}", ""]
        lines += _help(command, own)
    return "\n".join(lines) + "\n"


def _walk(
    group: click.Group, context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = click.Context(command, parent=context, info_name=name, color=False)
        yield (*path, name), command, own
        if isinstance(command, click.Group):
            yield from _walk(command, own, (*path, name))


def _help(command: click.Command, context: click.Context) -> list[str]:
    formatter = click.HelpFormatter(width=100, max_width=100)
    command.format_help(context, formatter)
    return ["```text", *formatter.getvalue().rstrip().splitlines(), "```"]


# settings


def _settings() -> str:
    meanings = _meanings(settings.Settings)
    lines = [
        "# Settings",
        "",
        _NOTE,
        "",
        "What the code or the command line says counts first, then the environment, then `onthedot.toml`, then",
        "`[tool.onthedot]` of `pyproject.toml`. An unknown name is an error, with the nearest one.",
        "",
        "| name | environment | default | what it is |",
        "|---|---|---|---|",
    ]
    for each in fields(settings.Settings):
        default = "" if each.default in ("", None) else f"`{each.default}`"
        lines.append(f"| `{each.name}` | `ONTHEDOT_{each.name.upper()}` | {default} | {meanings.get(each.name, '')} |")
    return "\n".join(lines) + "\n"


def _meanings(kind: type) -> dict[str, str]:
    """What stands below each field; for durations, below the property that reads it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for each, following in zip(body.body, [*body.body[1:], None], strict=True):
        match each, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = _cell(text)
            case ast.FunctionDef(name=name), _ if name.endswith("_ms"):
                found.setdefault(name.removesuffix("_ms"), _cell(ast.get_docstring(each) or ""))
    return found


# routes


def _routes() -> str:
    from onthedot import App

    app = App("memory://")
    described: dict[str, Any] = app.web().openapi()
    app.close()
    lines = [
        "# Routes of the HTTP API",
        "",
        _NOTE,
        "",
        "All stand below `/api/v1`. The [guide](../guides/http.md) says how to sign in, page and retry;",
        "`/openapi.json` of a running server has every field, with examples.",
        "",
        "| method | path | what it does |",
        "|---|---|---|",
    ]
    for path, methods in sorted(described["paths"].items()):
        for method in (each for each in _SHOWN if each in methods):
            said = methods[method].get("description") or methods[method].get("summary", "")
            shown = path.removeprefix("/api/v1").replace("|", "\\|")
            lines.append(f"| {method.upper()} | `{shown}` | {_cell(said)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    first = text.strip().split("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


def main() -> int:
    for name, text in pages().items():
        (PLACE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
