"""The program `onthedot`: its commands, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from onthedot import __version__
from onthedot.cli import (
    alerts,
    backfill,
    calendars,
    changes,
    dashboard,
    demo,
    doctor,
    explain,
    files,
    flows,
    forecast,
    freezes,
    migrate,
    named_triggers,
    nodes,
    overview,
    prune,
    run,
    runs,
    schedules,
    stats,
    tokens,
    triggers,
    verify,
)
from onthedot.cli.failures import UsageError, exit_code, lines_of, show_error, usage_line
from onthedot.cli.texts import visible
from onthedot.errors import OnthedotError

FAILED, INTERRUPTED = 1, 130

program = typer.Typer(
    name="onthedot",
    help="Runs Python functions, shell commands and HTTP calls at the right moment, once, on the right machine.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.command("run")(run.run_app)
program.command("sync")(run.sync_app)
program.command("status")(overview.show_status)
program.command("explain")(explain.show_explanation)
program.command("backfill")(backfill.fill_in)
program.command("stats")(stats.show_statistics)
program.add_typer(schedules.group, name="schedules")
program.add_typer(runs.group, name="runs")
program.add_typer(calendars.group, name="calendars")
program.add_typer(named_triggers.group, name="triggers")
program.add_typer(flows.group, name="flows")
program.command("changes")(changes.show_changes)
program.add_typer(nodes.group, name="nodes")
program.add_typer(freezes.group, name="freezes")
program.add_typer(alerts.group, name="alerts")
program.add_typer(tokens.group, name="tokens")
program.command("dashboard")(dashboard.serve)
program.command("tasks")(overview.show_tasks)
program.command("migrate")(migrate.migrate)
program.command("prune")(prune.prune)
program.command("check")(files.check_file)
program.command("import")(files.import_file)
program.command("export")(files.export_file)
program.command("doctor")(doctor.show_findings)
program.command("verify")(verify.show_verdict)
program.command("next")(triggers.show_next)
program.command("describe")(triggers.show_description)
program.command("forecast")(forecast.show_forecast)
program.command("demo")(demo.show_demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"onthedot {__version__}")
        raise typer.Exit


@program.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 ended well, 1 failed, 2 was misused, 130 was interrupted."""
    try:
        code = _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_output()
    except UsageError as error:
        show_error(usage_line(error))
        return 2
    except OnthedotError as error:
        show_error(*lines_of(error))
        return exit_code(error)
    except OSError as error:  # a full disk, for one
        show_error(visible(str(error)))
        return _close_output()
    return code


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to fail
    command = typer.main.get_command(program)
    try:
        code = command.main(args=arguments, prog_name="onthedot", standalone_mode=False)
    except SystemExit as ended:  # how typer itself takes a broken pipe
        code = ended.code
    return code if isinstance(code, int) else 0


def _close_output() -> int:
    """What could not be written is lost; the interpreter must not complain about it again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
