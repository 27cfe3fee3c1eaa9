"""What the user sees when something is wrong: one line with the remedy, never a stack trace."""

from __future__ import annotations

import os
from difflib import get_close_matches

import click

from onthedot.cli.texts import visible
from onthedot.errors import (
    ArgumentsError,
    DriverMissing,
    DurationError,
    ExtraMissing,
    FileError,
    ForecastTooLarge,
    MomentError,
    OnthedotError,
    SettingsError,
    TriggerError,
)

_MISUSE = (
    TriggerError,
    DurationError,
    MomentError,
    FileError,
    ForecastTooLarge,
    ArgumentsError,
    SettingsError,
    DriverMissing,
    ExtraMissing,
)


def exit_code(error: OnthedotError) -> int:
    """2 where the user can write it differently, 1 where it simply failed."""
    return 2 if isinstance(error, _MISUSE) else 1


def lines_of(error: OnthedotError) -> tuple[str, ...]:
    """The lines to show; one, unless a file has several problems or a text is shown with its caret."""
    match error:
        case FileError():
            return tuple(visible(line) for line in error.lines)
        case TriggerError():
            picture = tuple(error.picture.split("\n")) if error.picture else ()
            return (visible(error.line), *(_indented(line) for line in picture))
        case _:
            return (visible(str(error)),)


def usage_line(error: click.UsageError) -> str:
    """What click says about misuse, in one line, with the way to the help."""
    said = _no_such_option(error) if isinstance(error, click.NoSuchOption) else error.format_message()
    where = error.ctx.command_path if error.ctx else "onthedot"
    return f"{visible(said).rstrip('.')} ({_remedy(said)}see {where} --help)"


def show_error(*lines: str) -> None:
    """On stderr, `error:` before each line that is not indented."""
    word = "error:" if "NO_COLOR" in os.environ else click.style("error:", fg="red", bold=True)
    for line in lines:
        click.echo(line if line.startswith(" ") else f"{word} {line}", err=True)


def _no_such_option(error: click.NoSuchOption) -> str:
    """In our own words: click's differ from version to version."""
    near = get_close_matches(error.option_name, error.possibilities or (), n=1, cutoff=0.5)
    return f"No such option: {error.option_name}" + (f"; did you mean {near[0]}?" if near else "")


def _remedy(said: str) -> str:
    return "quote the text so that it is one; " if "unexpected extra argument" in said else ""


def _indented(line: str) -> str:
    return "  " + "".join(letter if letter.isprintable() else " " for letter in line.removeprefix("  "))
