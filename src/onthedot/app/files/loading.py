"""A file of schedules in an app: its commands and HTTP calls become tasks, its schedules are declared."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, assert_never

from onthedot.app.files.entry import Command, Entry, Http, JobFile, NamedTask, Shell
from onthedot.app.files.open import read_file
from onthedot.app.schedules import Put, Schedules
from onthedot.app.sync import DECLARED_PAUSE, Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.app.works import command_of, http_of
from onthedot.errors import FileError, OnthedotError
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
        problems: list[str] = []
        works = [self._task(entry, problems) for entry in job_file.entries]
        declared = [self._declared(entry, task, problems) for entry, task in zip(job_file.entries, works, strict=True)]
        if problems:
            raise FileError(str(self.path), problems)
        own = [task for task in works if task is not None]
        self._tasks.replace(self._task_names, own)
        self._declarations.replace(self.names, [each for each in declared if each is not None])
        self._task_names = tuple(task.name for task in own)
        self.names = tuple(entry.name for entry in job_file.entries)
        return job_file

    def _task(self, entry: Entry, problems: list[str]) -> Task[..., Any] | None:
        """The task that an entry brings with it; none where it only names one."""
        if isinstance(entry.work, NamedTask):
            return None
        if entry.name not in self._task_names and self._tasks.lookup(entry.name) is not None:
            problems.append(f"{_place(entry)} the app has a task of this name; give the schedule another name")
            return None
        try:
            return _task_of(entry, str(self.path), self._arounds)
        except OnthedotError as error:
            problems.append(f"{_place(entry)} {error}")
            return None

    def _declared(self, entry: Entry, task: Task[..., Any] | None, problems: list[str]) -> Declared | None:
        if entry.name not in self.names and entry.name in self._declarations:
            problems.append(f"{_place(entry)} a schedule of this name is declared elsewhere; give it another name")
            return None
        options = {key: value for key, value in entry.options.items() if key != "enabled"}
        named = entry.work if isinstance(entry.work, NamedTask) else None
        put = Put(
            entry.name,
            entry.name if named is None else named.name,
            entry.trigger,
            None if named is None else named.args,
            options,
        )
        note = None if entry.enabled else f"{DECLARED_PAUSE}{self.path.name}"
        try:
            self._schedules.define(put if task is None else _with_task(put, task), origin="file", unchecked=True)
        except OnthedotError as error:
            problems.append(f"{_place(entry)} {' '.join(str(error).split())}")
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


def _with_task(put: Put, task: Task[..., Any]) -> Put:
    return Put(put.name, task, put.trigger, put.args, put.options)


def _place(entry: Entry) -> str:
    return f"[schedules.{entry.name}]"
