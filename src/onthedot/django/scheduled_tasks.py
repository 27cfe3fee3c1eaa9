"""Schedules over tasks of Django's, on whatever backend: `@app.schedule(…)` above its `@task`, or below.

Nothing here imports Django's tasks: Django 5.2 has none, and a task can only be given where they are loaded.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.conf import settings

from onthedot.app.flows import drawing
from onthedot.app.tasks import Task
from onthedot.execution.context import current

if TYPE_CHECKING:
    from onthedot.django.site_app import SiteApp

_KINDS = {"django.tasks.base.Task", "django_tasks.base.Task"}
OUR_BACKENDS = "onthedot.django.tasks."


def is_django_task(value: object) -> bool:
    """Whether `@task` of Django, or of the package django-tasks, has made it."""
    return any(f"{kind.__module__}.{kind.__qualname__}" in _KINDS for kind in type(value).__mro__)


def has_our_backend() -> bool:
    """Whether tasks of this project run on nodes."""
    given = getattr(settings, "TASKS", None) or {}
    return any(str(each.get("BACKEND", "")).startswith(OUR_BACKENDS) for each in given.values())


def scheduled_task(app: SiteApp, task: Any) -> Task[..., Any]:
    """What a tick of it does: the task itself where nodes run it, else a word to its backend."""
    if _is_ours(task):
        from onthedot.django.tasks import registered

        return registered(app, task)
    work = _named_after(task.func, lambda **given: _hand_over(task, given))
    made: Task[..., Any] = app.task(name=task.module_path)(work)
    return made


def through_its_backend(function: Any) -> Any:
    """The same for a function that may have a `@task` above it, which is seen only when it runs."""
    if not (tasks_are_here() and inspect.isfunction(function)) or "<" in function.__qualname__:
        return function

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(**given: Any) -> Any:
            task = _task_over(function)
            if task is None:
                return await function(**given)
            return await _run_async(task, given) if _is_ours(task) else await _hand_over_async(task, given)

        return _without_context(call_async)

    @wraps(function)
    def call(**given: Any) -> Any:
        task = _task_over(function)
        if task is None:
            return function(**given)
        return _run(task, given) if _is_ours(task) else _hand_over(task, given)

    return _without_context(call)


def as_function(task: Task[..., Any], plain: Any) -> Any:
    """A function in the place of a task: Django's `@task` above it takes nothing else."""
    if not (tasks_are_here() and inspect.isfunction(plain)):
        return task

    @wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs) if drawing.current() is None else task(*args, **kwargs)

    found: Any = call
    if inspect.iscoroutinefunction(plain):
        found = _awaiting(call, plain)
    found.onthedot_task, found.options, found.map = task, task.options, task.map
    return found


def tasks_are_here() -> bool:
    """Whether Django has tasks, or the package that brings them to older ones is loaded."""
    return "django_tasks" in sys.modules or find_spec("django.tasks") is not None


def _awaiting(call: Callable[..., Any], plain: Any) -> Any:
    if sys.version_info >= (3, 12):
        return inspect.markcoroutinefunction(call)

    @wraps(plain)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    return awaited


def _is_ours(task: Any) -> bool:
    return bool(getattr(task.get_backend(), "runs_on_nodes", False))


def _task_over(function: Any) -> Any:
    """The task of Django's that stands in its module in its place."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found if is_django_task(found) and inspect.unwrap(found.func) is function else None


def _run(task: Any, given: dict[str, Any]) -> Any:
    from onthedot.django.tasks import call_task

    return call_task(task, current(), given)


async def _run_async(task: Any, given: dict[str, Any]) -> Any:
    from onthedot.django.tasks import call_task_async

    return await call_task_async(task, current(), given)


def _hand_over(task: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The backend makes an id of its own: it is kept as what came of the run."""
    result = task.enqueue(**given)
    return {"backend": task.backend, "task_result": str(result.id)}


async def _hand_over_async(task: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = await task.aenqueue(**given)
    return {"backend": task.backend, "task_result": str(result.id)}


def _named_after(function: Any, work: Callable[..., Any]) -> Any:
    """Another function that takes what this one does, apart from Django's context, and goes by its name."""
    wraps(function)(work)
    return _without_context(work)


def _without_context(work: Any) -> Any:
    """Django hands over its context by itself: nobody gives it as an argument."""
    signature = inspect.signature(work)
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "context" and parameters[0].default is inspect.Parameter.empty:
        work.__signature__ = signature.replace(parameters=parameters[1:])
    return work
