"""A crontab as the jobs.toml that does the same: what cron does to a command, written out."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from onthedot.app.files.entry import Command, Entry, JobFile, Shell

_END = "END_OF_INPUT"
_OF_CRON = ("MAILTO", "MAILFROM", "SHELL")
"""What cron itself obeys, and a command need not see."""


def from_crontab(crontab: JobFile) -> JobFile:
    """The same schedules with commands that mean here what they meant there, and notes on what cannot be kept."""
    notes = list(crontab.notes)
    told: set[str] = set()
    entries = []
    for entry in crontab.entries:
        notes += _notes(entry, told)
        entries.append(_converted(entry))
    in_order = sorted(notes, key=lambda note: int(note.removeprefix("line ").partition(":")[0]))
    return replace(crontab, entries=tuple(entries), notes=tuple(in_order))


def shell_line(command: str) -> str:
    """What cron gives to the shell: an unescaped % ends the command, and the rest is its input, one line for each %."""
    parts, rest = [""], iter(command)
    for letter in rest:
        if letter == "%":
            parts.append("")
        elif letter == "\\":
            following = next(rest, "")
            parts[-1] += "%" if following == "%" else letter + following
        else:
            parts[-1] += letter
    line, *given = parts
    if not given:
        return line
    end = _END
    while end in given:
        end += "_"
    return "\n".join(["{", line, f"}} <<'{end}'", *given, end])


def _converted(entry: Entry) -> Entry:
    work = entry.work
    if not isinstance(work, Shell):
        return entry
    line, shell = shell_line(work.text), work.environment.get("SHELL", "/bin/sh")
    environment = MappingProxyType({key: value for key, value in work.environment.items() if key not in _OF_CRON})
    if shell in ("", "/bin/sh"):
        return replace(entry, work=Shell(line, environment))
    return replace(entry, work=Command((shell, "-c", line), environment))


def _notes(entry: Entry, told: set[str]) -> list[str]:
    """What cron does and onthedot does not; the same thing is told once."""
    work = entry.work
    assert isinstance(work, Shell)
    mail_to = work.environment.get("MAILTO")
    found = {
        f"MAILTO={mail_to}": f"nothing is mailed to {mail_to}: what a command says is kept with its run"
        if mail_to
        else "",
        f"user {work.user}": f"cron runs it as {work.user}; here it runs as the user of the node" if work.user else "",
    }
    new = [text for key, text in found.items() if text and key not in told]
    told.update(found)
    return [f"line {entry.line}: {text}" for text in new]
