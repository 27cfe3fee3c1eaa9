"""The part of an app in which tasks and schedules are declared: functions, commands, HTTP calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, ParamSpec, TypeVar, overload

from onthedot.app.alerting import AppAlerts, alert
from onthedot.app.callables import check_callable, described, is_importable, name_of
from onthedot.app.declared_mail import mail_of
from onthedot.app.declared_targets import command_of, http_of
from onthedot.app.enabled import DECLARED_PAUSE
from onthedot.app.engines import Engines
from onthedot.app.flows.declaring import FlowDeclaring
from onthedot.app.flows.flow import Flow
from onthedot.app.options import checked, checked_for_runs, trigger_of
from onthedot.app.pings import with_pings
from onthedot.app.schedules import Put, template_puts
from onthedot.app.sync import Declarations, Declared
from onthedot.app.tasks import Task, Tasks
from onthedot.app.templates import Each
from onthedot.errors import SettingsError
from onthedot.execution.around import Around, around_of
from onthedot.execution.engines.engine import Elsewhere, Engine
from onthedot.execution.targets.command import Command
from onthedot.execution.targets.http import HttpCall
from onthedot.execution.targets.mail import Mail
from onthedot.model.alert import Alert
from onthedot.triggers.base import Trigger

P = ParamSpec("P")
R = TypeVar("R")
AroundT = TypeVar("AroundT", bound=Callable[..., Any])


class Declaring:
    """What an app declares is kept in memory; nothing here touches a store."""

    tasks: Tasks
    engines: Engines
    _alerts: AppAlerts
    _declared: Declarations
    _arounds: list[Around]

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self, /, *, name: str | None = None, aliases: Sequence[str] = (), engine: str | None = None, **options: Any
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        aliases: Sequence[str] = (),
        engine: str | None = None,
        **options: Any,
    ) -> Any:
        """Register a function as a task. What it gives can still be called as the function.

        With `engine`, its runs are executed by that engine (`app.engine`), and nodes only watch them.
        """

        def register(plain: Callable[..., Any]) -> Task[..., Any]:
            task = self._task(plain, name, checked_aliases(aliases), options)
            return task if engine is None else self._elsewhere(task, engine)

        return register if function is None else register(function)

    def engine(self, name: str, engine: Engine) -> Engine:
        """Declare where runs are executed that no node executes itself; reaches for nothing. Tasks name it."""
        self.engines.add(name, engine)
        return engine

    def remote(self, name: str, engine: str, *, aliases: Sequence[str] = (), **options: Any) -> Task[..., Any]:
        """Register a task that only an engine knows: Celery's by its name, Dask's as module.function of its workers."""
        given = checked_for_runs(options, name)
        work = Elsewhere(name)
        task: Task[..., Any] = Task(name, work, checked_aliases(aliases), given, declared_in=_caller())
        return self._elsewhere(task, engine)

    def _elsewhere(self, task: Task[P, R], engine: str) -> Task[P, R]:
        self.engines.check(engine, repr(task.name))
        problem = _why_not_elsewhere(task)
        if problem is not None:
            raise SettingsError(f"{task.name!r}: engine={engine!r}: {problem}")
        made = replace(task, engine=engine)
        self.tasks.add(made)
        return made

    def schedule(
        self,
        trigger: Trigger,
        *,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        each: Each | None = None,
        **options: Any,
    ) -> Callable[[Callable[P, R]], Task[P, R]]:
        """Declare a schedule for a function, which becomes a task. It is written to the store by `sync`, not here.

        `enabled=False` declares it paused: until the code says otherwise, or somebody resumes it. `each` declares a
        template: see `schedules.put`; what it no longer has is undeclared.
        """
        trigger_of(trigger, name or "@app.schedule")

        def declare(function: Callable[P, R]) -> Task[P, R]:
            if isinstance(function, str):
                raise SettingsError(f"{function!r} is no function; app.schedules.put schedules a task by its name")
            own_name = isinstance(function, Task) or name_of(function) is not None
            task = self._task(function, None if own_name else name, (), {})
            schedule_name = task.name if name is None else name
            if schedule_name in self._declared and name is None and isinstance(function, Task):
                raise SettingsError(f"{task.name!r} has a schedule already; give the second one a name=")
            given, module = checked(options, schedule_name), _caller()
            paused = f"{DECLARED_PAUSE}code" if given.pop("enabled", True) is False else None
            put = Put(schedule_name, task, trigger, args, given)
            for one in [put] if each is None else template_puts(put, each):
                pinging = with_pings(self.tasks, one.name, dict(one.options), module)
                self._declared.add(Declared(replace(one, options=pinging), paused=paused))
            return task

        return declare

    @overload
    def flow(self, function: Callable[P, Any], /) -> Flow[P]: ...

    @overload
    def flow(self, name: str, trigger: Trigger | None = None, /, **options: Any) -> Flow[...]: ...

    @overload
    def flow(
        self,
        trigger: Trigger | None = None,
        /,
        *,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Callable[[Callable[P, Any]], Flow[P]]: ...

    def flow(
        self,
        first: Any = None,
        trigger: Trigger | None = None,
        /,
        *,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Declare a flow: a function that is called once, now, and whose calls of tasks become steps; with a trigger
        also a schedule of it. `app.flow("name")` gives one to which steps are added: `flow.step(…)`, `flow.map(…)`."""
        flows = FlowDeclaring(self.tasks, self._declared)
        if isinstance(first, str):
            return flows.declare(first, None, trigger, args, options)
        if first is not None and not isinstance(first, Trigger) and callable(first):
            return flows.declare(name, first, None, args, options)
        return lambda function: flows.declare(name, function, first, args, options)

    def command(
        self,
        name: str,
        command: Sequence[str] | str = (),
        *,
        shell: bool | str = False,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        kill_after: timedelta | str = "5s",
        aliases: Sequence[str] = (),
        **options: Any,
    ) -> Task[..., dict[str, Any]]:
        """Register a command as a task: its words, or one line with `shell=True` (or `shell="a | b"`).

        `env` is added to the environment of the node; a value `env:NAME` is read there when the command runs, and is
        masked wherever it would show. On a time-out or cancel the whole process group gets SIGTERM, then SIGKILL.
        """
        work = command_of(name, command, shell=shell, env=env, cwd=cwd, kill_after=kill_after)
        return self._work(name, work, aliases, options)

    def http(
        self,
        name: str,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: str | bytes | None = None,
        json: Any = None,
        expect: Sequence[int] | int = (),
        sign: str | None = None,
        aliases: Sequence[str] = (),
        **options: Any,
    ) -> Task[..., Any]:
        """Register an HTTP call as a task. It succeeds if the status is one of `expect` (200 to 299 if none is named).

        `env:NAME` in the url, in headers and in `sign` is read from the node's environment at each run, and masked
        wherever it would show. `sign` is the secret with which requests are signed, in the header Onthedot-Signature.
        What an alert tells is sent as JSON where no body is named. Its time-out is one minute unless another is named.
        """
        work = http_of(name, method, url, headers=headers, body=body, json=json, expect=expect, sign=sign)
        return self._work(name, work, aliases, {"timeout": "1m"} | options)

    def mail(
        self,
        name: str,
        to: Sequence[str] | str,
        *,
        sender: str,
        host: str,
        port: int | None = None,
        security: str = "starttls",
        user: str | None = None,
        password: str | None = None,
        subject: str | None = None,
        text: str | None = None,
        aliases: Sequence[str] = (),
        **options: Any,
    ) -> Task[..., Any]:
        """Register a mail as a task. `security` is starttls (port 587), tls (465) or none (25).

        `env:NAME` in user and password is read from the node's environment at each run, and masked wherever it would
        show. Where no subject or text is named, the mail says what an alert tells. Its time-out is one minute.
        """
        given = {"port": port, "security": security, "user": user, "password": password}
        work = mail_of(name, to, sender=sender, host=host, subject=subject, text=text, **given)
        return self._work(name, work, aliases, {"timeout": "1m"} | options)

    def alert(
        self,
        name: str,
        *,
        task: str | Task[..., Any],
        on: Sequence[str] | str = "failure",
        after: int = 1,
        every: timedelta | str = "1h",
        overdue: timedelta | str | None = None,
        default: bool = True,
    ) -> Alert:
        """Tell somebody when schedules of this app go wrong: all those that name no `alerts` of their own.

        With `default=False` only those that name it: `alerts=["ops"]`. See `onthedot.alert` for the rest.
        """
        made = alert(name, task=task, on=on, after=after, every=every, overdue=overdue)
        self._alerts.add(made, default=default)
        return made

    def _work(
        self, name: str, work: Command | HttpCall | Mail, aliases: Sequence[str], options: Mapping[str, Any]
    ) -> Task[..., Any]:
        given = checked_for_runs(options, name)
        if given.get("pool") == "process":
            raise SettingsError(f"{name!r}: pool='process' is for Python functions; leave it out here")
        others = checked_aliases(aliases)
        task: Task[..., Any] = Task(name, work, others, given, declared_in=_caller(), arounds=self._arounds)
        self.tasks.add(task)
        return task

    def _task(
        self,
        function: Callable[P, R] | Task[P, R],
        name: str | None,
        aliases: Sequence[str],
        options: Mapping[str, Any],
    ) -> Task[P, R]:
        if isinstance(function, Task):
            task: Task[P, R] = function
            if options:
                task = replace(task, policies={**task.policies, **checked_for_runs(options, task.name)})
        else:
            plain = _without_task(function)
            check_callable(plain, name or "@app.task")
            task_name = name_of(plain) if name is None else name
            if task_name is None:
                raise SettingsError(f'{described(plain)} has no name of its own; give it one: app.task(name="…")(…)')
            task = Task(task_name, plain, tuple(aliases), checked_for_runs(options, task_name), arounds=self._arounds)
        if task.pool == "process" and not is_importable(task.function):
            raise SettingsError(f"{task.name!r}: pool='process' needs a function at the top of a module")
        self.tasks.add(task)
        return task

    def around(self, generator: AroundT) -> AroundT:
        """Call the generator around every run, in the run's thread or loop: up to its `yield` before, the rest after.

        It gets the run's context if it asks for one. What the task raises is raised at the `yield`, and cannot be
        swallowed there; what the generator raises fails the run.
        """
        self._arounds.append(around_of(generator))
        return generator


def _why_not_elsewhere(task: Task[..., Any]) -> str | None:
    """Why no engine can execute it."""
    if task.signature.context is not None:
        return "a run elsewhere has no Context; take it out of the parameters, and give what is needed as arguments"
    if task.is_async:
        return "an engine calls plain functions, and this is an async def; wrap it: asyncio.run(…)"
    if task.pool is not None:
        return f"pool={task.pool!r} is for what a node executes itself; leave one of them out"
    return None


def checked_aliases(aliases: Sequence[str]) -> tuple[str, ...]:
    """The other names of a task; `SettingsError` for a text, whose letters would be taken for names."""
    if isinstance(aliases, str):
        raise SettingsError(f"aliases: write a list, [{aliases!r}]")
    return tuple(aliases)


def _without_task(function: Callable[P, R]) -> Callable[P, R]:
    """A partial of a task as one of its function, whose parameters can be told."""
    if isinstance(function, partial) and isinstance(function.func, Task):
        return partial(function.func.function, *function.args, **function.keywords)
    return function


def _caller() -> str:
    """The module that declares a task: the nearest one on the stack that is not this."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
