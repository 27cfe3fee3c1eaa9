"""How lines of a crontab get the names of their schedules."""

from __future__ import annotations

import re
import unicodedata

from onthedot.storable import MOST_CHARACTERS

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CHANGE_FOLDER = re.compile(r"\s*\(?\s*cd\s+[^;&]*(?:&&|;)\s*")
_INTERPRETER = re.compile(r"(?:.*/)?(?:(?:ba|z|da|)sh|python[\d.]*|perl|php|ruby|node)")
_ROUGH = re.compile(r"[^\w.+@-]+")


def name_from_command(command: str) -> str:
    """A name for a line of shell: the program or script that it starts, without its folder."""
    rest = command
    while found := _CHANGE_FOLDER.match(rest):
        rest = rest[found.end() :]
    words = [word for word in rest.split() if not _ASSIGNMENT.match(word)]
    if len(words) > 1 and _INTERPRETER.fullmatch(words[0]):
        words = [word for word in words[1:] if not word.startswith("-")] or words
    program = words[0].rstrip("/;&|)\"'").rpartition("/")[2] if words else ""
    plain = _ROUGH.sub("-", unicodedata.normalize("NFC", program)).strip("-")
    return plain[: MOST_CHARACTERS - 10] or "command"


def unique(name: str, taken: set[str]) -> str:
    """The name, or the name with the first free number behind it: backup, backup-2, backup-3."""
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
