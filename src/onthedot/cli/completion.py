"""`onthedot completion`: what a shell is told so that it completes commands, options and the names of schedules."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.cli.commands import argument, command
from onthedot.errors import SettingsError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_ONTHEDOT_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_MOST = 100


@command("completion")
@argument("shell", metavar="bash|zsh|fish", help="For which shell.")
def show_completion(shell: str) -> None:
    """Print what a shell needs to complete: eval "$(onthedot completion bash)" in ~/.bashrc."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise SettingsError(f"completion: no shell {shell!r}; there are {', '.join(SHELLS)}")
    root = click.get_current_context().find_root()
    source = kind(root.command, {}, "onthedot", VARIABLE)
    click.echo(source.source_template % source.source_vars())


def schedule_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names that begin so, where there is a store that answers; else none: a shell is no place for errors."""
    from click.shell_completion import CompletionItem

    from onthedot.cli.apps import open_app

    try:
        with closing(open_app(context.params.get("store"))) as app:
            found = app.schedules.list(q=begun, limit=_MOST)
    except Exception:
        return []
    return [CompletionItem(each.name) for each in found if each.name.startswith(begun)]
