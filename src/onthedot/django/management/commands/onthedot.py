"""`manage.py onthedot …`: the whole command line, on the store and with the tasks of this project."""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, SystemCheckError

from onthedot.errors import OnthedotError

_NAME = "manage.py onthedot"
_OF_AN_APP = ("run", "sync")
_ALONE = ("demo", "init", "next", "describe")
"""Commands that need no store."""


class Command(BaseCommand):
    """What follows is read by onthedot itself: `manage.py onthedot --help`."""

    help = "The command line of onthedot: run, status, schedules, runs, explain and all others."
    requires_system_checks: list[str] = []  # noqa: RUF012 (Django's own)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """All of it."""
        parser.add_argument("words", nargs=REMAINDER)

    def run_from_argv(self, argv: list[str]) -> None:
        """Ends with the exit code of the command; what is wrong with the project is told in a few lines."""
        try:
            sys.exit(self._run(_without_djangos(argv[2:])))
        except (OnthedotError, SystemCheckError) as error:
            self.stderr.write(f"error: {error}")
            sys.exit(2 if isinstance(error, OnthedotError) else 1)

    def handle(self, *_args: Any, **options: Any) -> None:
        """For `call_command("onthedot", "sync")`."""
        code = self._run([str(word) for word in options["words"]])
        if code != 0:
            raise CommandError(f"onthedot ended with {code}", returncode=code)

    def _run(self, words: list[str]) -> int:
        from onthedot.cli import main

        command = words[0] if words else ""
        if command in _OF_AN_APP:
            self.check()  # which imports the URLs, and so the tasks that views enqueue
            return main(_with_app(words), name=_NAME)
        if not command or command.startswith("-") or command in _ALONE:
            return main(words, name=_NAME)
        from onthedot.django import app

        return main(words, name=_NAME, store=app.url)


def _with_app(words: Sequence[str]) -> list[str]:
    """`run` is that of this project, unless it names another app, or only asks for help."""
    named = len(words) > 1 and not words[1].startswith("-")
    return list(words) if named or {"-h", "--help"} & set(words) else [words[0], "onthedot.django:app", *words[1:]]


def _without_djangos(words: Sequence[str]) -> list[str]:
    """Django has read `--settings` and `--pythonpath` already."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith(("--settings=", "--pythonpath=")):
            skip = False
        elif word in ("--settings", "--pythonpath"):
            skip = True
        else:
            kept.append(word)
    return kept
