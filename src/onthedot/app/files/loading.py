"""A file of schedules in an app: its commands and HTTP calls become tasks, its schedules are declared."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, assert_never

from onthedot.app.alerting import AppAlerts, read_alert
from onthedot.app.declared_mail import mail_of
from onthedot.app.declared_targets import command_of, http_of
from onthedot.app.enabled import DECLARED_PAUSE
from onthedot.app.engines import Engines
from onthedot.app.files.engine_keys import engine_of
from onthedot.app.files.entry import (
    AlertEntry,
    Command,
    EngineEntry,
    Entry,
    Http,
    JobFile,
    Mail,
    NamedTask,
    Refused,
    Shell,
    Steps,
)
from onthedot.app.files.from_crontab import from_crontab
from onthedot.app.files.open import read_file
from onthedot.app.files.steps import flow_of, steps_of, without_flow
from onthedot.app.flows.drawing import Callee
from onthedot.app.flows.flow import PREFIX, Flow
from onthedot.app.flows.policies import check_flow
from onthedot.app.options import policy_of
from onthedot.app.pings import pings_of
from onthedot.app.schedules import Put, Schedules
from onthedot.app.sync import Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.app.values import DeclaredValue, Values
from onthedot.errors import Conflict, FileError, OnthedotError
from onthedot.execution.around import Around
from onthedot.execution.engines.engine import Elsewhere
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
        engines: Engines,
    ) -> None:
        self.path = Path(path)
        self._engines = engines
        self._engines_read: tuple[EngineEntry, ...] | None = None
        self._values = values
        self._uses: tuple[Use, ...] = ()
        self._tasks = tasks
        self._schedules = schedules
        self._declarations = declarations
        self._arounds = arounds
        self._alerts = alerts
        self._alert_names: tuple[str, ...] = ()
        self._task_names: tuple[str, ...] = ()
        self._flow_names: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        """The schedules that it declares."""
        self.files: tuple[Path, ...] = ()
        """Others that it is made of: when one of them changes, it has changed."""
        self.refused: tuple[str, ...] = ()
        """The lines of a crontab that were left out, each with its place and the reason."""
        declarations.origins.add("file")

    def load(self) -> JobFile:
        """Read it anew and declare what it says; `FileError` with all that is wrong.

        Of a crontab only the lines that are wrong are left out, and told: a schedule of such a line stays as it was.
        """
        read = read_file(self.path)
        self._take_engines(read.engines)
        with self._alerts_of(read):
            taken = self._taken(from_crontab(read) if read.is_crontab else read)
        job_file, own, declared = taken.job_file, taken.tasks, taken.declared
        stays = {each.name for each in job_file.refused} & {*self.names}
        self._declarations.replace_values(self._uses, self._shared(job_file))
        self._uses = tuple(each.use for each in job_file.shared)
        self._tasks.replace([name for name in self._task_names if name not in stays], own)
        self._tasks.replace_flows(self._flow_names, taken.flows.values())
        self._flow_names = (*taken.flows,)
        self._declarations.replace([name for name in self.names if name not in stays], declared)
        self._task_names = (*(task.name for task in own), *(name for name in self._task_names if name in stays))
        self.names = (*(each.put.name for each in declared), *(name for name in self.names if name in stays))
        self.refused = job_file.problems
        self.files = job_file.files
        for problem in self.refused:
            _log.error("%s; the other lines count", problem)
        return job_file

    def _take_engines(self, entries: tuple[EngineEntry, ...]) -> None:
        """Once: a node begins with the engines that it has."""
        if self._engines_read is None:
            for entry in entries:
                try:
                    self._engines.add(entry.name, engine_of(entry))
                except OnthedotError as error:
                    raise FileError(str(self.path), [f"[engines.{entry.name}] {error}"]) from None
            self._engines_read = entries
        elif entries != self._engines_read:
            raise FileError(str(self.path), ["engines: a node has those that it began with; start it again"])

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

    def _taken(self, job_file: JobFile) -> _Taken:
        """The file without what does not fit the app, and the tasks, flows and declarations of the rest."""
        taken = _Taken(job_file)
        wrong: list[tuple[Entry, str]] = []
        for engine in job_file.engines:
            for name in engine.tasks:
                self._refuse_taken(name, "leave it out here")
                taken.tasks.append(Task(name, Elsewhere(name), declared_in=str(self.path), engine=engine.name))
        for alert in job_file.alerts:
            if not isinstance(alert.work, NamedTask):
                taken.tasks.append(self._task_of(alert.task, alert.work))
        for entry in job_file.entries:
            try:
                self._take(entry, taken)
            except OnthedotError as error:
                wrong.append((entry, " ".join(without_flow(entry.template or entry.name, str(error)).split())))
            else:
                taken.entries.append(entry)
                taken.tasks += pings_of(entry.name, entry.options.get("ping"), str(self.path))
        if wrong and not (job_file.is_crontab and taken.entries):
            raise FileError(str(self.path), [f"[schedules.{entry.name}] {reason}" for entry, reason in wrong])
        refused = [Refused(entry.line or 0, reason, entry.name) for entry, reason in wrong]
        taken.job_file = replace(job_file, entries=tuple(taken.entries), refused=(*job_file.refused, *refused))
        return taken

    def _take(self, entry: Entry, taken: _Taken) -> None:
        """Declare a schedule with what it brings: a task, or a flow with those of its steps. Raises, and takes none."""
        match entry.work:
            case NamedTask():
                taken.declared.append(self._declared(entry, entry.work.name, entry.work.args, is_known=True))
            case Steps():
                flow, tasks = self._flow(entry.work, taken)
                check_flow(entry.name, flow, entry.options, policy_of(_without_enabled(entry)))
                args = flow.signature.check(flow.name, entry.work.own_args)
                taken.declared.append(self._declared(entry, flow, args))
                taken.tasks += tasks
                taken.flows[flow.name] = flow
            case _:
                self._refuse_taken(entry.name, "give the schedule another name")
                taken.declared.append(self._declared(entry, entry.name, {}))
                taken.tasks.append(self._task_of(entry.name, entry.work))

    def _flow(self, work: Steps, taken: _Taken) -> tuple[Flow[...], list[Task[..., Any]]]:
        """The flow that a schedule draws, and the tasks that its steps bring; those of one template share theirs."""
        if work.name in taken.flows:
            return taken.flows[work.name], []
        if work.name not in self._flow_names and self._tasks.find(work.name) is not None:
            raise Conflict("the app has a task or a flow of this name; give the schedule another name")
        brought: dict[str, Task[..., Any]] = {}
        for step in steps_of(work):
            if not isinstance(step.work, NamedTask):
                name = step.task_in(work.name)
                self._refuse_taken(name, f"name the step {step.name} otherwise")
                brought[name] = self._task_of(name, step.work)

        def find(name: str) -> Callee:
            return name if name in brought else self._callee(name, taken)

        return flow_of(work, find), [*brought.values()]

    def _callee(self, name: str, taken: _Taken) -> Callee:
        """What a step calls by its name: a flow must be known here, as its graph is part of the other."""
        flow = name.removeprefix(PREFIX)
        if flow in taken.flows:
            return taken.flows[flow]
        found = None if flow in self._flow_names else self._tasks.find(name)
        if found is None and name.startswith(PREFIX):
            raise OnthedotError(f"no flow {flow!r} is known here; draw it above, or name its app at the top: app = …")
        return name if found is None else found

    def _refuse_taken(self, name: str, remedy: str) -> None:
        if name not in self._task_names and self._tasks.lookup(name) is not None:
            raise Conflict(f"the app has a task of this name; {remedy}")

    def _task_of(self, name: str, work: Command | Shell | Http | Mail) -> Task[..., Any]:
        return _task_of(name, work, str(self.path), self._arounds)

    def _declared(
        self, entry: Entry, task: str | Flow[...], args: Mapping[str, Any], *, is_known: bool = False
    ) -> Declared:
        if entry.name not in self.names and entry.name in self._declarations:
            raise Conflict("a schedule of this name is declared elsewhere; give it another name")
        options = _without_enabled(entry)
        if "ping" in options:
            options["ping"] = [*options["ping"]]
        put = Put(entry.name, task, entry.trigger, args or None, options, entry.template)
        if is_known:  # what the file brings itself is not known yet
            self._schedules.define(put, origin="file", unchecked=True)
        note = None if entry.enabled else f"{DECLARED_PAUSE}{self.path.name}"
        return Declared(put, "file", note, unchecked=True)


@dataclass(slots=True)
class _Taken:
    """What is taken of a file."""

    job_file: JobFile
    entries: list[Entry] = field(default_factory=list)
    tasks: list[Task[..., Any]] = field(default_factory=list)
    flows: dict[str, Flow[...]] = field(default_factory=dict)
    declared: list[Declared] = field(default_factory=list)


def _without_enabled(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in entry.options.items() if key != "enabled"}


def _alert_of(entry: AlertEntry) -> Alert:
    options = {key: value for key, value in entry.options.items() if key != "default"}
    return read_alert({"name": entry.name, "task": entry.task, **options})


def _task_of(name: str, work: Command | Shell | Http | Mail, path: str, arounds: Sequence[Around]) -> Task[..., Any]:
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
        case _:
            assert_never(work)


def _beside(work: Command | Shell) -> dict[str, Any]:
    return {"env": work.environment, "cwd": None, "kill_after": "5s", **work.options}
