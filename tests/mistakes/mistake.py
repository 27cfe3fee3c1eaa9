"""One mistake: what is typed, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "/srv"
"""How the folder in which a mistake is made is written in answers."""


@dataclass(frozen=True)
class Mistake:
    """A line of Python or of a shell, and the one line that says what is wrong, where, and what to do."""

    typed: str
    answered: str
    files: Mapping[str, str] = field(default_factory=dict)
    """What stands in the folder, by name."""
    given: str = ""
    """What else is so, in words; `prepare` makes it so."""
    prepare: Callable[[Path], None] | None = None
    read_only: str = ""
    """A file that may not be written."""
    without: str = ""
    """A package that is not installed."""
    code: int = 2
    """How a command ends: 2 where it can be written differently, 1 where it failed."""
    note: bool = False
    """It is no error, and only told: by a warning of `logging`, or a note on stderr."""


@dataclass(frozen=True)
class Section:
    """Mistakes of one kind, and what is said about them before the table."""

    title: str
    text: str
    mistakes: tuple[Mistake, ...]
