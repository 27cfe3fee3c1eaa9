"""What is worth knowing though nothing failed: on stderr, `note:` before it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from onthedot.cli.called import typed
from onthedot.cli.texts import visible

_log = logging.getLogger("onthedot.schedules")


def show_note(text: str) -> None:
    """One line."""
    click.echo(f"note: {visible(typed(text))}", err=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Inside, what the library warns of about schedules is shown as notes, and not once more by `logging`."""
    handler = _Notes(logging.WARNING)
    propagated, _log.propagate = _log.propagate, False
    _log.addHandler(handler)
    try:
        yield
    finally:
        _log.removeHandler(handler)
        _log.propagate = propagated


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        show_note(record.getMessage())
