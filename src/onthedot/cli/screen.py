"""What is drawn for people: texts with colours, and tables. It imports rich: commands import it where they draw."""

from __future__ import annotations

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
