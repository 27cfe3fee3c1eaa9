"""What is printed: tables for people, JSON for programs."""

from __future__ import annotations

import json

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from onthedot.app.json_documents import finite


class Screen(Console):
    """A console that shows texts as they are: names such as [red] or :smile: mean nothing special in them."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Leaves it to `main`, as for output that is not rich's."""
        raise BrokenPipeError


def plain_table() -> Table:
    """A table with a line below its headings, and no other."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)


def show_json(document: object) -> None:
    """One JSON document."""
    typer.echo(json_text(document, indent=2))


def json_text(document: object, *, indent: int | None = None) -> str:
    """Strict JSON: numbers that it does not have, which a row written by others may hold, are null."""
    try:
        return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(document), indent=indent, ensure_ascii=False, allow_nan=False)
