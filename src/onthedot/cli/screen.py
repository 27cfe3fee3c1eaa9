"""What is printed: tables for people, JSON for programs."""

from __future__ import annotations

import json

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


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
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
