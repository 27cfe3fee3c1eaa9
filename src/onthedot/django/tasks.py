"""The backend of Django's tasks: `TASKS = {"default": {"BACKEND": "onthedot.django.tasks.OnthedotBackend"}}`.

A task becomes a run under the same id, and so everything that is known of runs is known of it. Works with Django's own
tasks (from 6.0 on), and with the package django-tasks where Django has none.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import update_wrapper
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.module_loading import import_string

try:
    from django.tasks import TaskContext, TaskResult, TaskResultStatus
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import DEFAULT_TASK_QUEUE_NAME, TaskError
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
except ImportError:
    try:
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.base import (
            DEFAULT_TASK_QUEUE_NAME,
            TaskContext,
            TaskError,
            TaskResult,
            TaskResultStatus,
        )
        from django_tasks.exceptions import TaskResultDoesNotExist
        from django_tasks.signals import task_enqueued, task_finished, task_started
        from django_tasks.utils import normalize_json
    except ImportError:
        raise ImproperlyConfigured(
            "this Django has no tasks of its own: use Django 6.0 or newer, or pip install django-tasks, and add"
            " 'django_tasks' to INSTALLED_APPS"
        ) from None

from onthedot.app.options import checked_for_runs
from onthedot.app.tasks import Task
from onthedot.django.scheduled_tasks import is_django_task
from onthedot.django.tracebacks import class_path
from onthedot.errors import RunNotFound
from onthedot.execution.context import Context, GiveUp
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import from_ms

POSITIONAL = "*args"
"""Under this name, which no parameter can have, a run keeps the arguments that were given without one."""

_STATUS = {State.WAITING: "READY", State.RUNNING: "RUNNING", State.SUCCEEDED: "SUCCESSFUL"}


class NotDone(Exception):
    """The task was cancelled, skipped or lost before it could end."""


class OnthedotBackend(BaseTaskBackend):
    """Tasks as runs. `OPTIONS` are policies of runs: `{"retries": 3, "timeout": "5m"}`."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True
    runs_on_nodes = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self._policies = checked_for_runs(self.options, f"TASKS[{alias!r}]: OPTIONS")

    def validate_task(self, task: Any) -> None:
        """Also makes it known to nodes: this is called where `@task` stands."""
        super().validate_task(task)
        from onthedot.django import app

        registered(app, task)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """In Django's transaction, where the store is that database; else when it is committed."""
        from onthedot.django import app

        self.validate_task(task)
        places = normalize_json(list(args))
        given = {POSITIONAL: places, **normalize_json(kwargs)} if places else normalize_json(kwargs)
        own: dict[str, Any] = {"priority": task.priority} if task.priority else {}
        if task.queue_name != DEFAULT_TASK_QUEUE_NAME:
            own["group"] = task.queue_name
        run = app.enqueue(registered(app, task), args=given, at=_aware(task.run_after), **{**self._policies, **own})
        result = result_of(task, run, self.alias)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """`TaskResultDoesNotExist` where there is no such run, or none any more, or it is of no task of Django's."""
        from onthedot.django import app

        try:
            run = app.runs.get(str(result_id))
        except RunNotFound:
            raise TaskResultDoesNotExist(result_id) from None
        task = _task_of(run)
        if task is None:
            raise TaskResultDoesNotExist(result_id)
        queue = run.policy.group or DEFAULT_TASK_QUEUE_NAME
        return result_of(task.using(priority=run.policy.priority, queue_name=queue), run, self.alias)


# what nodes call


def registered(app: Any, task: Any) -> Task[..., Any]:
    """The task of ours that stands for it, by its module and name; made when it is first seen."""
    held = app.tasks.lookup(task.module_path)
    if held is not None and getattr(held.function, "django_task", task).func is task.func:
        return held  # type: ignore[no-any-return]
    made: Task[..., Any] = app.task(name=task.module_path)(_work_of(task))
    return made


def _work_of(task: Any) -> Any:
    work: Any
    if inspect.iscoroutinefunction(task.func):

        async def work(ctx: Context, **given: Any) -> Any:
            return await call_task_async(task, ctx, given)

    else:

        def work(ctx: Context, **given: Any) -> Any:
            return call_task(task, ctx, given)

    own = inspect.signature(work)
    update_wrapper(work, task.func, updated=())
    del work.__wrapped__  # it takes what a run keeps, not what the function takes
    work.__annotations__ = {"ctx": Context}
    work.__signature__ = own.replace(parameters=[_CONTEXT, *_shown(task), _OTHERS])
    work.django_task = task
    return work


_CONTEXT = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
_OTHERS = inspect.Parameter("given", inspect.Parameter.VAR_KEYWORD)


def _shown(task: Any) -> list[inspect.Parameter]:
    """Its parameters, for whoever fills in a form; none is needed by name, since all may be given by place."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = [each for each in inspect.signature(task.func).parameters.values() if each.kind in named]
    own = found[1:] if task.takes_context else found
    return [inspect.Parameter(each.name, each.KEYWORD_ONLY, default=None) for each in own if each.name != "ctx"]


def call_task(task: Any, ctx: Context, given: Mapping[str, Any]) -> Any:
    """One attempt in this thread."""
    with _told(task, ctx) as result:
        args, kwargs = _arguments(task, given, result)
        object.__setattr__(result, "_return_value", normalize_json(inspect.unwrap(task.func)(*args, **kwargs)))
    return result._return_value


async def call_task_async(task: Any, ctx: Context, given: Mapping[str, Any]) -> Any:
    """One attempt on this event loop."""
    with _told(task, ctx) as result:
        args, kwargs = _arguments(task, given, result)
        object.__setattr__(result, "_return_value", normalize_json(await inspect.unwrap(task.func)(*args, **kwargs)))
    return result._return_value


def _arguments(task: Any, given: Mapping[str, Any], result: Any) -> tuple[list[Any], dict[str, Any]]:
    kwargs = dict(given)
    places = kwargs.pop(POSITIONAL, [])
    return [TaskContext(task_result=result), *places] if task.takes_context else places, kwargs


@contextmanager
def _told(task: Any, ctx: Context) -> Iterator[Any]:
    """Django's signals: that it began, and that it ended, unless it will be tried again."""
    result = result_of(task, ctx.run, task.backend)
    sender = type(task.get_backend())
    task_started.send(sender, task_result=result)
    try:
        yield result
    except BaseException as error:
        if isinstance(error, GiveUp) or ctx.run.attempt > ctx.run.policy.retries:
            _end(result, "FAILED")
            result.errors.append(_error_of(error))
            task_finished.send(sender, task_result=result)
        raise
    _end(result, "SUCCESSFUL")
    task_finished.send(sender, task_result=result)


def _end(result: Any, status: str) -> None:
    object.__setattr__(result, "status", TaskResultStatus[status])
    object.__setattr__(result, "finished_at", timezone.now())


def _error_of(error: BaseException) -> Any:
    import traceback

    kind = type(error)
    return TaskError(
        exception_class_path=f"{kind.__module__}.{kind.__qualname__}",
        traceback="".join(traceback.format_exception(error)),
    )


# what is told of a run


def result_of(task: Any, run: Run, backend: str) -> Any:
    """The run in Django's words."""
    attempts, kwargs = run.attempts, dict(run.args)
    result = TaskResult(
        task=task,
        id=run.id,
        status=TaskResultStatus[_STATUS.get(run.state, "FAILED")],
        enqueued_at=_moment(run.created_ms or None),
        started_at=_moment(attempts[0].started_ms if attempts else None),
        last_attempted_at=_moment(attempts[-1].started_ms if attempts else None),
        finished_at=_moment(run.finished_ms if run.is_final else None),
        args=kwargs.pop(POSITIONAL, []),
        kwargs=kwargs,
        backend=backend,
        errors=_errors(run),
        worker_ids=[each.node for each in attempts],
    )
    if run.state is State.SUCCEEDED:
        object.__setattr__(result, "_return_value", run.result)
    return result


def _errors(run: Run) -> list[Any]:
    """What each attempt raised, as far as it is kept: of the last one all, of those before the last line."""
    told = [each.error for each in run.earlier if each.error]
    if run.is_final and run.state is not State.SUCCEEDED:
        told.append(run.error or f"{NotDone.__module__}.{NotDone.__qualname__}: {run.reason or run.state}")
    nobody = f"{NotDone.__module__}.{NotDone.__qualname__}"
    return [TaskError(exception_class_path=class_path(each) or nobody, traceback=each) for each in told]


def _task_of(run: Run) -> Any:
    from onthedot.django import app

    held = app.tasks.lookup(run.task)
    found = getattr(getattr(held, "function", None), "django_task", None)
    if found is None:
        try:
            found = import_string(run.task)
        except ImportError:
            return None
    return found if is_django_task(found) else None


def _moment(ms: int | None) -> datetime | None:
    if ms is None:
        return None
    return from_ms(ms) if settings.USE_TZ else timezone.make_naive(from_ms(ms))


def _aware(moment: datetime | None) -> datetime | None:
    return timezone.make_aware(moment) if moment is not None and timezone.is_naive(moment) else moment
