"""Reads crontabs: the user's format, and the system's with a user before the command."""

from __future__ import annotations

import re
from types import MappingProxyType

from onthedot.app.files.entry import Entry, JobFile, Refused, Shell
from onthedot.app.files.names import name_from_command, unique
from onthedot.errors import FileError, TriggerError
from onthedot.triggers import Trigger, cron
from onthedot.triggers.zones import get_zone

_SETTING = re.compile(r"""(?P<quote>["']?)(?P<name>[A-Za-z_]\w*)(?P=quote)\s*=\s*(?P<value>.*)""")
_WHEN = re.compile(r"(@every\s+\S+|@\S+|\S+(?:\s+\S+){4})(?:\s+(.*))?", re.IGNORECASE)
_USER = re.compile(r"(\S+)(?:\s+(.*))?")
_INPUT = re.compile(r"(?<!\\)%")
"""What cron ends a command at; the rest is its input."""
_ZONES = ("CRON_TZ", "TZ")


def read_crontab(text: str, *, path: str, timezone: str, system: bool = False) -> JobFile:
    """All entries of a crontab. A line that cannot be honoured is refused alone; `FileError` where no line is left.

    `timezone` counts until CRON_TZ or TZ is set.
    """
    reader = _Reader(timezone, system)
    for number, line in enumerate(text.split("\n"), 1):
        reader.begin(number)
        try:
            reader.read(line.strip())
        except TriggerError as error:
            reader.refuse(error.line)
    if reader.refused and not reader.entries:
        raise FileError(path, [str(each) for each in reader.refused])
    return JobFile(
        path,
        tuple(reader.entries),
        timezone=timezone,
        notes=tuple(reader.notes),
        refused=tuple(reader.refused),
        is_crontab=True,
    )


class _Reader:
    """What has been read so far; `line` is the number of the line being read, `name` what it is called."""

    def __init__(self, timezone: str, system: bool) -> None:
        self.timezone = timezone
        self.system = system
        self.line = 0
        self.name: str | None = None
        self.environment: dict[str, str] = {}
        self.unknown_zones: dict[str, int] = {}
        """The zones that are set and cannot be read, each with its line: no moment can be told below them."""
        self.names: set[str] = set()
        self.entries: list[Entry] = []
        self.refused: list[Refused] = []
        self.notes: list[str] = []

    def begin(self, number: int) -> None:
        """The line of this number is read next."""
        self.line, self.name = number, None

    def refuse(self, reason: str) -> None:
        """Leave out the line that is being read; its name stays taken, so that the lines below it keep theirs."""
        self.refused.append(Refused(self.line, reason, self.name))

    def read(self, line: str) -> None:
        """One line, without blanks around it."""
        if not line or line.startswith("#"):
            return
        if setting := _SETTING.fullmatch(line):
            self._set(setting["name"], _unquoted(setting["value"].strip()))
        else:
            self._add(line)

    def _set(self, name: str, value: str) -> None:
        if name in _ZONES and value:
            self._check_zone(name, value)
        self.unknown_zones.pop(name, None)
        self.environment[name] = value

    def _check_zone(self, name: str, value: str) -> None:
        if " " in value:
            raise TriggerError(f"{name} stands on a line of its own", hint="move the fields and the command below it")
        try:
            get_zone(value)
        except TriggerError as error:
            self.unknown_zones[name] = self.line
            raise TriggerError(f"{name}: {error.reason}", hint=error.hint) from None
        if name == "TZ":
            self.notes.append(
                f"line {self.line}: TZ is taken as the zone of the lines below; some crons give it to the commands only"
            )

    def _add(self, line: str) -> None:
        when, user, command = self._split(line)
        if when.lower() == "@reboot":
            self.notes.append(f"line {self.line}: @reboot names no moment; run {command!r} when the machine starts")
            return
        self.name = name = unique(name_from_command(_INPUT.split(command)[0]), self.names)
        self.names.add(name)
        work = Shell(command, self._command_environment(), user)
        self.entries.append(Entry(name, self._trigger(when, line).with_key(name), work, line=self.line))

    def _split(self, line: str) -> tuple[str, str | None, str]:
        """When, who (in the system format) and what."""
        found = _WHEN.fullmatch(line)
        if found is None:
            raise TriggerError(
                "5 fields (minute hour day month weekday) and a command are wanted",
                hint="a comment begins with #, a setting is NAME=value",
            )
        when, rest = found[1], found[2] or ""
        if not self.system:
            self._note_user(rest)
            return when, None, self._command(rest, "behind the fields")
        who = _USER.fullmatch(rest)
        if who is None:
            raise TriggerError("a user and a command are missing behind the fields")
        return when, who[1], self._command(who[2] or "", f"behind the user {who[1]!r}")

    @staticmethod
    def _command(text: str, where: str) -> str:
        if not text:
            raise TriggerError(f"a command is missing {where}")
        return text

    def _note_user(self, rest: str) -> None:
        if rest.startswith("root "):
            self.notes.append(f"line {self.line}: 'root' is read as the command; is this the system's format?")

    def _trigger(self, when: str, line: str) -> Trigger:
        try:
            trigger = cron(when)
        except TriggerError as error:
            if error.text != when or error.column is None:
                raise
            raise TriggerError(error.reason, line, error.column, error.hint) from None
        return trigger.with_default_zone(self._zone())

    def _zone(self) -> str:
        """The zone that counts here; a line below one that cannot be read would run at another hour than was meant."""
        for name in _ZONES:
            if name in self.unknown_zones:
                raise TriggerError("its zone cannot be told", hint=f"mend {name} in line {self.unknown_zones[name]}")
            if self.environment.get(name):
                return self.environment[name]
        return self.timezone

    def _command_environment(self) -> MappingProxyType[str, str]:
        return MappingProxyType({name: value for name, value in self.environment.items() if name != "CRON_TZ"})


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
