"""Names of schedules: what is allowed, and how lines of a crontab get theirs."""

from __future__ import annotations

import re
import unicodedata

from onthedot.storable import MOST_CHARACTERS, brief

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CHANGE_FOLDER = re.compile(r"\s*\(?\s*cd\s+[^;&]*(?:&&|;)\s*")
_INTERPRETER = re.compile(r"(?:.*/)?(?:(?:ba|z|da|)sh|python[\d.]*|perl|php|ruby|node)")
_ROUGH = re.compile(r"[^\w.+@-]+")


def name_problem(name: object) -> str | None:
    """What is wrong with a name, in one line, or None."""
    if not isinstance(name, str):
        return f"a name is text, not {brief(name)}"
    if not name.strip():
        return "a name is missing"
    if name != name.strip():
        return f"the name {name!r} begins or ends with a blank, which nobody would see; write {name.strip()!r}"
    if len(name) > MOST_CHARACTERS:
        return f"the name has {len(name)} characters; the most is {MOST_CHARACTERS}"
    if "/" in name:
        return f"'/' cannot stand in a name; write {name.replace('/', '-')!r}"
    if not name.isprintable():
        return f"the name {name!r} has characters that cannot be seen; remove them"
    if not unicodedata.is_normalized("NFC", name):
        return f"the name {name!r} is not in Unicode form NFC; write its letters and accents as single characters"
    return None


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
