"""What commands are made of: click's, with help for arguments, and groups that import a command when asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any] | click.Command)


class Argument(click.Argument):
    """An argument that is described in the help, as options are; click itself has that only from 8.5 on."""

    def __init__(self, *names: Any, meaning: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.meaning = meaning


class Command(click.Command):
    """A command whose help lists its arguments before its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The arguments first."""
        rows = [(each.human_readable_name, each.meaning) for each in self.get_params(ctx) if isinstance(each, Argument)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)


class Group(click.Group):
    """Commands in the order in which they were added.

    `places` names some by module:attribute, which are imported when needed; `default` is the one that is meant where
    none is named.
    """

    command_class = Command

    def __init__(
        self, name: str, *, places: Mapping[str, str] | None = None, default: str | None = None, **settings: Any
    ) -> None:
        super().__init__(name, no_args_is_help=False, **settings)
        self._places = dict(places or {})
        self._default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, without importing anything."""
        return [*self._places, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; its module is imported now, if it has not been."""
        place = self._places.get(cmd_name)
        if place is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = place.partition(":")
        found = getattr(import_module(module), attribute)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; a name that is unknown is answered with the one that is near, whichever click there is."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, known, n=1)
            ctx.fail(f"No such command {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Where no command is named: the default one, or a line that says which there are."""
        if not args and self._default is not None:
            args = [self._default]
        elif not args and not self.invoke_without_command and not ctx.resilient_parsing:
            ctx.fail(f"Missing command: {', '.join(self.list_commands(ctx))}")
        return super().parse_args(ctx, args)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a function a command; its docstring is its help."""
    return click.command(name, cls=Command)


def argument(name: str, *, help: str, **settings: Any) -> Callable[[Function], Function]:  # noqa: A002 (as of options)
    """An argument of a command, and what it means."""
    return click.argument(name, cls=Argument, meaning=help, **settings)
