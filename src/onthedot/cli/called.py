"""Commands by the name under which this program was called: who typed `flask jobs status` can type `flask jobs run`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

NAME = "onthedot"


def typed(text: str) -> str:
    """A line of the command that runs now, whose commands can be typed as they stand there."""
    context = click.get_current_context(silent=True)
    root = None if context is None else context.find_root()
    if root is None or not isinstance(root.command, click.Group):
        return text  # in another thread, or in a shell of somebody else
    return as_called(text, root.info_name or NAME, root.command.list_commands(root))


def as_called(text: str, name: str, commands: Iterable[str]) -> str:
    """The text, in which each of these commands goes by this name."""
    if name == NAME:
        return text
    return re.sub(rf"\b{NAME} (?=(?:{'|'.join(commands)})\b)", f"{name} ", text)
