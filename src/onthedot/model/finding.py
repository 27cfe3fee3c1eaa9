"""What an examination found: one line for people, one object for programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """A warning is worth a look; a problem breaks a promise, or soon will."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    about: str
    """The kind of thing, in one word: clock, node, zones, schema, index, ..."""
    what: str
    remedy: str = ""
    """What to do; empty where nothing is to be done."""
