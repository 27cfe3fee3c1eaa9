"""A file of schedules in an app: its commands and HTTP calls become tasks, its schedules are declared."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, assert_never

from onthedot.app.declared_targets import command_of, http_of
from onthedot.app.files.entry import Command, Entry, Http, JobFile, NamedTask, Shell
from onthedot.app.files.from_crontab import from_crontab
from onthedot.app.files.open import read_file
from onthedot.app.schedules import Put, Schedules
from onthedot.app.sync import DECLARED_PAUSE, Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.errors import Conflict, FileError, OnthedotError
from onthedot.execution.around import Around

_HTTP_TIMEOUT = {"timeout": "1m"}


class LoadedFile:
    """One file, as it was last read. `load` either takes all of it or raises, and nothing has changed."""

    def __init__(
        self,
        path: str | PathLike[str],
        tasks: Tasks,
        schedules: Schedules,
        declarations: Declarations,
        arounds: Sequence[Around],
    ) -> None:
        self.path = Path(path)
        self._tasks = tasks
        self._schedules = schedules
        self._declarations = declarations
        self._arounds = arounds
        self._task_names: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        """The schedules that it declares."""
        declarations.origins.add("file")

    def load(self) -> JobFile:
        """Read it anew and declare what it says; `FileError` with all that is wrong."""
        job_file = read_file(self.path)
        if job_file.is_crontab:
            job_file = from_crontab(job_file)
        problems: list[str] = []
        own: list[Task[..., Any]] = []
        declared: list[Declared] = []
        for entry in job_file.entries:
            try:
                task = self._task(entry)
                declared.append(self._declared(entry, task))
                own += [] if task is None else [task]
            except OnthedotError as error:
                problems.append(f"[schedules.{entry.name}] {' '.join(str(error).split())}")
        if problems:
            raise FileError(str(self.path), problems)
        self._tasks.replace(self._task_names, own)
        self._declarations.replace(self.names, declared)
        self._task_names = tuple(task.name for task in own)
        self.names = tuple(entry.name for entry in job_file.entries)
        return job_file

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
        named = entry.work if isinstance(entry.work, NamedTask) else NamedTask(entry.name)
        put = Put(entry.name, named.name, entry.trigger, named.args or None, options)
        if task is None:  # a command takes no arguments, and is not known yet
            self._schedules.define(put, origin="file", unchecked=True)
        note = None if entry.enabled else f"{DECLARED_PAUSE}{self.path.name}"
        return Declared(put, "file", note, unchecked=True)


def _task_of(entry: Entry, path: str, arounds: Sequence[Around]) -> Task[..., Any]:
    work = entry.work
    match work:
        case Command():
            command = command_of(entry.name, work.words, shell=False, **_beside(work))
            return Task(entry.name, command, declared_in=path, arounds=arounds)
        case Shell():
            command = command_of(entry.name, (), shell=work.text, **_beside(work))
            return Task(entry.name, command, declared_in=path, arounds=arounds)
        case Http():
            options = {"headers": None, "body": None, "json": None, "expect": (), **work.options}
            call = http_of(entry.name, work.method, work.url, **options)  # type: ignore[arg-type]  # checked when read
            return Task(entry.name, call, options=_HTTP_TIMEOUT, declared_in=path, arounds=arounds)
        case NamedTask():
            raise AssertionError(f"{entry.name} only names its task")
        case _:
            assert_never(work)


def _beside(work: Command | Shell) -> dict[str, Any]:
    return {"env": work.environment, "cwd": None, "kill_after": "5s", **work.options}
