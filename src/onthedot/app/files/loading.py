"""A file of schedules in an app: its commands and HTTP calls become tasks, its schedules are declared."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, assert_never

from onthedot.app.alerting import AppAlerts, read_alert
from onthedot.app.declared_mail import mail_of
from onthedot.app.declared_targets import command_of, http_of
from onthedot.app.enabled import DECLARED_PAUSE
from onthedot.app.files.entry import AlertEntry, Command, Entry, Http, JobFile, Mail, NamedTask, Refused, Shell
from onthedot.app.files.from_crontab import from_crontab
from onthedot.app.files.open import read_file
from onthedot.app.pings import pings_of
from onthedot.app.schedules import Put, Schedules
from onthedot.app.sync import Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.app.values import DeclaredValue, Values
from onthedot.errors import Conflict, FileError, OnthedotError
from onthedot.execution.around import Around
from onthedot.model.alert import Alert
from onthedot.triggers.pinned import Use, ValueKind

_log = logging.getLogger("onthedot.files")

_ALONE = {"timeout": "1m"}


class LoadedFile:
    """One file, as it was last read. `load` either takes all of it or raises, and nothing has changed."""

    def __init__(
        self,
        path: str | PathLike[str],
        tasks: Tasks,
        schedules: Schedules,
        declarations: Declarations,
        *,
        arounds: Sequence[Around],
        alerts: AppAlerts,
        values: Mapping[ValueKind, Values[Any]],
    ) -> None:
        self.path = Path(path)
        self._values = values
        self._uses: tuple[Use, ...] = ()
        self._tasks = tasks
        self._schedules = schedules
        self._declarations = declarations
        self._arounds = arounds
        self._alerts = alerts
        self._alert_names: tuple[str, ...] = ()
        self._task_names: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        """The schedules that it declares."""
        self.refused: tuple[str, ...] = ()
        """The lines of a crontab that were left out, each with its place and the reason."""
        declarations.origins.add("file")

    def load(self) -> JobFile:
        """Read it anew and declare what it says; `FileError` with all that is wrong.

        Of a crontab only the lines that are wrong are left out, and told: a schedule of such a line stays as it was.
        """
        read = read_file(self.path)
        with self._alerts_of(read):
            job_file, own, declared = self._taken(from_crontab(read) if read.is_crontab else read)
        stays = {each.name for each in job_file.refused} & {*self.names}
        self._declarations.replace_values(self._uses, self._shared(job_file))
        self._uses = tuple(each.use for each in job_file.shared)
        self._tasks.replace([name for name in self._task_names if name not in stays], own)
        self._declarations.replace([name for name in self.names if name not in stays], declared)
        self._task_names = (*(task.name for task in own), *(name for name in self._task_names if name in stays))
        self.names = (*(each.put.name for each in declared), *(name for name in self.names if name in stays))
        self.refused = job_file.problems
        for problem in self.refused:
            _log.error("%s; the other lines count", problem)
        return job_file

    @contextmanager
    def _alerts_of(self, job_file: JobFile) -> Iterator[None]:
        """Its alerts are the app's while it is taken, and stay so if it is."""
        before = self._alerts.copy()
        made = [(_alert_of(each), bool(each.options["default"])) for each in job_file.alerts]
        try:
            self._alerts.replace(self._alert_names, made)
            yield
        except BaseException:
            self._alerts.restore(before)
            raise
        self._alert_names = tuple(each.name for each in job_file.alerts)

    def _shared(self, job_file: JobFile) -> list[DeclaredValue]:
        return [DeclaredValue(self._values[each.kind], each.name, each.content, each.said) for each in job_file.shared]

    def _taken(self, job_file: JobFile) -> tuple[JobFile, list[Task[..., Any]], list[Declared]]:
        """The file without what does not fit the app, and the tasks and declarations of the rest."""
        entries: list[Entry] = []
        own: list[Task[..., Any]] = []
        declared: list[Declared] = []
        wrong: list[tuple[Entry, str]] = []
        own += [_task_of(each, str(self.path), self._arounds) for each in job_file.alerts if _brings_task(each)]
        for entry in job_file.entries:
            try:
                task = self._task(entry)
                declared.append(self._declared(entry, task))
            except OnthedotError as error:
                wrong.append((entry, " ".join(str(error).split())))
            else:
                entries.append(entry)
                own += [] if task is None else [task]
                own += pings_of(entry.name, entry.options.get("ping"), str(self.path))
        if wrong and not (job_file.is_crontab and entries):
            raise FileError(str(self.path), [f"[schedules.{entry.name}] {reason}" for entry, reason in wrong])
        refused = [Refused(entry.line or 0, reason, entry.name) for entry, reason in wrong]
        return replace(job_file, entries=tuple(entries), refused=(*job_file.refused, *refused)), own, declared

    def _task(self, entry: Entry) -> Task[..., Any] | None:
        """The task that an entry brings with it; none where it only names one."""
        if isinstance(entry.work, NamedTask):
            return None
        if entry.name not in self._task_names and self._tasks.lookup(entry.name) is not None:
            raise Conflict("the app has a task of this name; give the schedule another name")
        return _task_of(entry, str(self.path), self._arounds)

    def _declared(self, entry: Entry, task: Task[..., Any] | None) -> Declared:
        if entry.name not in self.names and entry.name in self._declarations:
            raise Conflict("a schedule of this name is declared elsewhere; give it another name")
        options = {key: value for key, value in entry.options.items() if key != "enabled"}
        if "ping" in options:
            options["ping"] = [*options["ping"]]  # type: ignore[misc]  # checked when read
        named = entry.work if isinstance(entry.work, NamedTask) else NamedTask(entry.name)
        put = Put(entry.name, named.name, entry.trigger, named.args or None, options, entry.template)
        if task is None:  # a command takes no arguments, and is not known yet
            self._schedules.define(put, origin="file", unchecked=True)
        note = None if entry.enabled else f"{DECLARED_PAUSE}{self.path.name}"
        return Declared(put, "file", note, unchecked=True)


def _alert_of(entry: AlertEntry) -> Alert:
    options = {key: value for key, value in entry.options.items() if key != "default"}
    return read_alert({"name": entry.name, "task": entry.task, **options})


def _brings_task(entry: AlertEntry) -> bool:
    return not isinstance(entry.work, NamedTask)


def _task_of(entry: Entry | AlertEntry, path: str, arounds: Sequence[Around]) -> Task[..., Any]:
    work, name = entry.work, entry.name if isinstance(entry, Entry) else entry.task
    match work:
        case Command():
            command = command_of(name, work.words, shell=False, **_beside(work))
            return Task(name, command, declared_in=path, arounds=arounds)
        case Shell():
            command = command_of(name, (), shell=work.text, **_beside(work))
            return Task(name, command, declared_in=path, arounds=arounds)
        case Http():
            options = {"headers": None, "body": None, "json": None, "expect": (), **work.options}
            call = http_of(name, work.method, work.url, **options)  # type: ignore[arg-type]  # checked when read
            return Task(name, call, policies=_ALONE, declared_in=path, arounds=arounds)
        case Mail():
            return Task(name, mail_of(name, **work.options), policies=_ALONE, declared_in=path, arounds=arounds)
        case NamedTask():
            raise AssertionError(f"{name} only names its task")
        case _:
            assert_never(work)


def _beside(work: Command | Shell) -> dict[str, Any]:
    return {"env": work.environment, "cwd": None, "kill_after": "5s", **work.options}
