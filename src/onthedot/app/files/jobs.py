"""Reads jobs.toml: a store, a zone, and schedules with their trigger, their work and their policies."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onthedot.app.alerting import read_alert
from onthedot.app.files.declared_targets import WORK_KEYS, read_work
from onthedot.app.files.engine_keys import read_engines
from onthedot.app.files.entry import AlertEntry, Entry, JobFile, NamedTask, Steps, Work
from onthedot.app.files.shared_values import files_named, pins_of, read_shared
from onthedot.app.files.steps import read_flow
from onthedot.app.files.trigger_keys import TRIGGER_KEYS, ZONE_KEYS, read_trigger, read_zone
from onthedot.app.names import name_problem
from onthedot.app.policies import POLICIES
from onthedot.app.remedies import did_you_mean
from onthedot.app.templates import items_of
from onthedot.errors import FileError, SettingsError
from onthedot.triggers import Trigger

Table = dict[str, Any]

ALERT_KEYS = (*WORK_KEYS, "on", "after", "every", "overdue", "default")
SCHEDULE_KEYS = (*TRIGGER_KEYS, *ZONE_KEYS, *WORK_KEYS, *POLICIES, "each", "steps")
TOP_KEYS = ("store", "timezone", "app", "engines", "alerts", "calendars", "triggers", "schedules")

_PLACE = re.compile(r"(.*) \(at (line \d+, column \d+|end of document)\)")
_HEADING = re.compile(
    r"""^[ \t]*\[[ \t]*schedules[ \t]*\.[ \t]*(?:"([^"]+)"|'([^']+)'|([\w-]+))[ \t]*\]""", re.MULTILINE
)


def read_jobs(text: str, *, path: str, timezone: str | None = None, folder: Path | None = None) -> JobFile:
    """All schedules of a jobs.toml; `FileError` with every problem of it. `timezone` counts where the file has none.

    In the folder are the files that it names; without one, it may name none.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(path, [_syntax_problem(str(error))]) from None
    reader = _Reader(_lines(text))
    job_file = reader.read(document, path, timezone, folder)
    if reader.problems:
        raise FileError(path, reader.problems)
    return job_file


def _syntax_problem(message: str) -> str:
    """The place first, as everywhere."""
    found = _PLACE.fullmatch(message)
    return f"{found[2]}: {found[1]}" if found else message


def _lines(text: str) -> dict[str, int]:
    """The line of each heading [schedules.NAME]; tomllib does not tell."""
    return {
        found[1] or found[2] or found[3]: text.count("\n", 0, found.start()) + 1 for found in _HEADING.finditer(text)
    }


class _Reader:
    """Gathers problems while it reads, so that all of them can be told at once."""

    def __init__(self, lines: dict[str, int]) -> None:
        self.lines = lines
        self.problems: list[str] = []

    def read(self, document: Table, path: str, timezone: str | None, folder: Path | None = None) -> JobFile:
        """The whole document; worthless if there were problems."""
        self.problems += [
            f"{key}: unknown key; {did_you_mean(key, TOP_KEYS)}" for key in document if key not in TOP_KEYS
        ]
        store, app = self._text(document, "store"), self._text(document, "app")
        zone = self._zone(document, timezone)
        schedules = document.get("schedules", {})
        if not isinstance(schedules, dict):
            self.problems.append("schedules: write each as a table, [schedules.NAME]")
            schedules = {}
        entries = [entry for name, table in schedules.items() for entry in self._entries(name, table, zone)]
        shared = read_shared(document, zone, folder=folder, problems=self.problems)
        pins = pins_of(shared)
        pinned = tuple(replace(entry, trigger=entry.trigger.with_pins(pins)) for entry in entries)
        alerts = self._alerts(document.get("alerts", {}))
        files, engines = files_named(document, folder), read_engines(document.get("engines", {}), self.problems)
        return JobFile(path, pinned, store, app, zone, shared=shared, alerts=alerts, files=files, engines=engines)

    def _alerts(self, tables: object) -> tuple[AlertEntry, ...]:
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            self.problems.append("alerts: write each as a table, [alerts.NAME]")
            return ()
        found = [self._alert(name, table) for name, table in tables.items()]
        return tuple(each for each in found if each is not None)

    def _alert(self, name: str, table: Table) -> AlertEntry | None:
        found = [f"{key}: unknown key; {did_you_mean(key, ALERT_KEYS)}" for key in table if key not in ALERT_KEYS]
        work = read_work(table, found)
        options: Table = {key: table[key] for key in ("on", "after", "every", "overdue") if key in table}
        if not isinstance(table.get("default", True), bool):
            found.append(f"default: {table['default']!r} is neither true nor false")
        try:
            read_alert({"name": name, "task": "any", **options})
        except SettingsError as error:
            found.append(str(error).removeprefix(f"alert {name!r}: "))
        self.problems += [f"[alerts.{name}] {' '.join(problem.split())}" for problem in found]
        default = {"default": table.get("default", True)}
        return None if work is None else AlertEntry(name, work, MappingProxyType({**options, **default}))

    def _text(self, document: Table, key: str) -> str | None:
        value = document.get(key)
        if isinstance(value, str | None):
            return value
        self.problems.append(f"{key}: {value!r} is not text")
        return None

    def _zone(self, document: Table, timezone: str | None) -> str | None:
        name, problem = read_zone(document.get("timezone", timezone))
        if problem:
            self.problems.append(f"timezone: {problem}")
        return name

    def _entries(self, name: str, table: object, zone: str | None) -> list[Entry]:
        """One, or with `each` one for each of its keys."""
        entry = self._entry(name, table, zone)
        if entry is None or not isinstance(table, dict) or "each" not in table:
            return [] if entry is None else [entry]
        if not isinstance(entry.work, NamedTask | Steps):
            self.problems.append(f"[schedules.{name}] each: it is about arguments, which go with task and steps")
            return []
        try:
            items = [*items_of(name, table["each"], entry.work.args)]
        except SettingsError as error:
            self.problems.append(f"[schedules.{name}] {str(error).removeprefix(f'{name}: ')}")
            return []
        works = ((item, _with_args(entry.work, args)) for item, args in items)
        trigger = read_trigger(table, zone, [])
        assert trigger is not None
        return [
            replace(entry, name=item, trigger=trigger.with_key(item), work=work, template=name) for item, work in works
        ]

    def _entry(self, name: str, table: object, zone: str | None) -> Entry | None:
        place = f"[schedules.{name if name.isprintable() else repr(name)}]"
        if not isinstance(table, dict):
            self.problems.append(f'{place} {table!r} is no table; write {place} and below it cron = "…" and the like')
            return None
        problem = name_problem(name)
        found = [problem] if problem else []
        found += [
            f"{key}: unknown key; {did_you_mean(key, SCHEDULE_KEYS)}" for key in table if key not in SCHEDULE_KEYS
        ]
        found += [f"{key}: {wrong}" for key, value in table.items() if (wrong := _policy_problem(key, value))]
        trigger = read_trigger(table, zone, found)
        work = self._work(name, table, found)
        self.problems += [f"{place} {' '.join(problem.split())}" for problem in found]
        return self._made(name, table, trigger, work)

    @staticmethod
    def _work(name: str, table: Table, problems: list[str]) -> Work | Steps | None:
        if "steps" in table:
            return read_flow(name, table, problems)
        return read_work(table, problems, instead=("steps",))

    def _made(self, name: str, table: Table, trigger: Trigger | None, work: Work | Steps | None) -> Entry | None:
        if trigger is None or work is None:
            return None
        options = MappingProxyType({key: value for key, value in table.items() if key in POLICIES})
        return Entry(name, trigger.with_key(name), work, options, self.lines.get(name))


def _with_args(work: NamedTask | Steps, args: Table) -> NamedTask | Steps:
    kept = MappingProxyType(args)
    return replace(work, args=kept) if isinstance(work, NamedTask) else replace(work, own_args=kept)


def _policy_problem(key: str, value: object) -> str | None:
    return POLICIES[key](value) if key in POLICIES else None
