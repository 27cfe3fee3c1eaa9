"""Whether `onthedot` is just importing the module of an app: then nothing in it may start a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onthedot.errors import SettingsError


class _Importing:
    is_on = False


class StartedByImport(SettingsError):
    """A module that a command imports has started a node."""


@contextmanager
def importing() -> Iterator[None]:
    """Inside, modules are imported for the apps in them, by one thread."""
    _Importing.is_on = True
    try:
        yield
    finally:
        _Importing.is_on = False


def refuse_while_importing(what: str) -> None:
    """Raise where a module is being imported for its app."""
    if _Importing.is_on:
        raise StartedByImport(
            f"{what} was reached while onthedot imports the module, and onthedot starts the app itself:"
            ' put it under `if __name__ == "__main__":`'
        )
