"""The program `onthedot`: its commands, and how it ends."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from onthedot.cli.called import NAME, as_called
from onthedot.cli.commands import Group
from onthedot.cli.failures import exit_code, lines_of, show_error, usage_line
from onthedot.cli.texts import visible
from onthedot.errors import OnthedotError

FAILED, INTERRUPTED = 1, 130
_STORE = "ONTHEDOT_STORE"

_PLACES = {
    "run": "run:run_app",
    "sync": "run:sync_app",
    "enqueue": "enqueue:enqueue",
    "status": "overview:show_status",
    "top": "top:show_top",
    "explain": "explain:show_explanation",
    "schedules": "schedules:group",
    "runs": "runs:group",
    "flows": "flows:group",
    "backfill": "backfill:fill_in",
    "stats": "stats:show_statistics",
    "forecast": "forecast:show_forecast",
    "changes": "changes:show_changes",
    "nodes": "nodes:group",
    "tasks": "overview:show_tasks",
    "calendars": "calendars:group",
    "triggers": "named_triggers:group",
    "freezes": "freezes:group",
    "alerts": "alerts:group",
    "tokens": "tokens:group",
    "dashboard": "dashboard:serve",
    "check": "files:check_file",
    "import": "files:import_file",
    "export": "files:export_file",
    "migrate": "migrate:migrate",
    "prune": "prune:prune",
    "doctor": "doctor:show_findings",
    "verify": "verify:show_verdict",
    "next": "triggers:show_next",
    "describe": "triggers:show_description",
    "init": "init:init",
    "completion": "completion:show_completion",
    "demo": "demo:show_demo",
}
"""In the order of the help; a command is imported when it is asked for."""

_HELP = "Runs Python functions, shell commands and HTTP calls at the right moment, once, on the right machine."


def _show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from onthedot import __version__

        click.echo(f"onthedot {__version__}")
        context.exit()


def _start(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(2)


_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)


program = Group(
    "onthedot",
    places={name: f"onthedot.cli.{place}" for name, place in _PLACES.items()},
    help=_HELP,
    callback=click.pass_context(_start),
    params=[_VERSION],
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)


def main(argv: Sequence[str] | None = None, *, name: str = NAME, store: str | None = None) -> int:
    """Runs one command and returns its exit code: 0 ended well, 1 failed, 2 was misused, 130 was interrupted.

    `name` is how the program was called: its help and its lines name commands so. `store` is
    the one that is meant where none is named.
    """
    if argv is None:
        _open_closed_streams()
        _spare_collections()
        if completion := os.environ.get("_ONTHEDOT_COMPLETE"):
            from click.shell_completion import shell_complete

            return shell_complete(program, {}, name, "_ONTHEDOT_COMPLETE", completion)
    try:
        with _meaning(store):
            code = _run(sys.argv[1:] if argv is None else list(argv), name)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_output()
    except click.UsageError as error:
        show_error(usage_line(error))
        return 2
    except OnthedotError as error:
        show_error(*(as_called(line, name, _PLACES) for line in lines_of(error)))
        return exit_code(error)
    except OSError as error:  # a full disk, for one
        show_error(visible(str(error)))
        return _close_output()
    return code


@contextmanager
def _meaning(store: str | None) -> Iterator[None]:
    """In the environment, where processes of this command find it too; after that it is as it was."""
    before = os.environ.get(_STORE)
    if store is not None:
        os.environ[_STORE] = store
    try:
        yield
    finally:
        if store is not None:
            os.environ.pop(_STORE)
        if before is not None:
            os.environ[_STORE] = before


def _run(arguments: list[str], name: str) -> int:
    """Not by click's own `main`, which would answer signals and broken pipes in its way."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to fail
    try:
        with program.make_context(name, arguments) as context:
            program.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0


def _open_closed_streams() -> None:
    """A shell may close them (`>&-`): what is read then is empty, what is said is lost, and no other file gets their
    numbers, where a child process would write into it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _spare_collections() -> None:
    """For a process of its own: most of what is imported lives as long as it does.

    To look through all of that for garbage, again and again and once more at the end, took a fifth of a command's time.
    """
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)


def _close_output() -> int:
    """What could not be written is lost; the interpreter must not complain about it again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
