"""What tasks are made of: functions, partials, methods, objects that can be called. Their names, and their places."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from onthedot.errors import SettingsError
from onthedot.storable import brief


def underlying(function: Any) -> Any:
    """The function or method that is called in the end: inside partials, decorators and objects that can be called."""
    while True:
        function = inspect.unwrap(function) if callable(function) else function
        if isinstance(function, partial):
            function = function.func
        elif _is_object(function):
            return type(function).__call__
        else:
            return function


def name_of(function: Any) -> str | None:
    """What it is called; None for a lambda and for an object, which have no name of their own."""
    name = getattr(function.func if isinstance(function, partial) else function, "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else None


def described(value: Any) -> str:
    """What somebody gave in place of something else, for a message."""
    if getattr(value, "__name__", "") == "<lambda>":
        return "a lambda"
    name = name_of(value) if callable(value) else None
    return brief(value) if name is None else f"the function {name}"


def place_of(function: Any) -> str | None:
    """Where it is written, as file:line; None for what is not written in Python."""
    code = getattr(underlying(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}{_beforehand(function)}" if code else None


def identity_of(function: Any) -> tuple[str, ...]:
    """What stays the same when its module is loaded anew.

    `partial(f, 1)` is not `partial(f, 2)`, nor `a.run` `b.run`, nor one lambda another: only where somebody sits at a
    prompt or a notebook, and does it again, the later takes the place of the earlier.
    """
    inner = underlying(function)
    module = getattr(inner, "__module__", None) or ""
    name = getattr(inner, "__qualname__", "")
    bound = "" if hasattr(sys, "ps1") else _bound_to(function)
    return "" if module == "__main__" else module, name, bound


def is_async(function: Any) -> bool:
    """Whether it is to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(underlying(function))


def is_importable(function: Any) -> bool:
    """Whether another process can find it by its module and its name."""
    inner = underlying(function)
    if _is_object(inspect.unwrap(function.func if isinstance(function, partial) else function)):
        return False
    if inspect.ismethod(inner) and not inspect.isclass(inner.__self__):
        return False
    return "<" not in getattr(inner, "__qualname__", "<")


def check_callable(function: Any, where: str) -> None:
    """`SettingsError` for what can be no task, or would do nothing when it is called."""
    problem = _problem(function)
    if problem is not None:
        raise SettingsError(f"{where}: {problem}")


def check_hook(function: Any, where: str) -> None:
    """`SettingsError` for what cannot be called with an event."""
    if not callable(function):
        raise SettingsError(f"{where}: {brief(function)} is no function")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        name = getattr(function, "__name__", None) or brief(function)
        raise SettingsError(f"{where}: {name} is called with the event, and must take it as its one argument") from None
    except ValueError:  # of a builtin: nobody can tell
        return


def _problem(function: Any) -> str | None:
    if isinstance(function, str):
        return f"{function!r} is no function; to name a task write @app.task(name={function!r})"
    if not callable(function):
        return f"{brief(function)} is no function"
    if inspect.isclass(function):
        name = function.__name__
        return f"{name} is a class, and calling it does no work; give a method of an object, such as {name}().run"
    inner = underlying(function)
    name = getattr(inner, "__name__", type(function).__name__)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        return f"{name} has a yield, so that calling it does no work; return what came of it instead"
    return _parameter_problem(function, name)


def _parameter_problem(function: Callable[..., Any], name: str) -> str | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # of many that are not written in Python
        return f"nobody can tell what {name} takes; call it from a function of your own"
    if parameters and parameters[0].name == "self" and inspect.isfunction(function):
        owner = function.__qualname__.rpartition(".")[0]
        return f"{name} is a method without its object; register that of an object: app.task({owner or '…'}().{name})"
    by_place = [each for each in parameters if each.kind is each.POSITIONAL_ONLY and each.default is each.empty]
    if by_place:
        return f"{name} takes {by_place[0].name} by its place only, and arguments have names; remove the / behind it"
    return None


def _bound_to(function: Any) -> str:
    """What it has been given beforehand, or what else tells it from others of its name."""
    if isinstance(function, partial):
        return f"{_whole(function.args)} {_whole(function.keywords)} {_bound_to(function.func)}"
    if inspect.ismethod(function) and not inspect.isclass(function.__self__):
        return f"{id(function.__self__)}"
    if getattr(function, "__name__", "") == "<lambda>":
        return f"{place_of(function)}"
    return f"{id(function)}" if _is_object(function) else ""


def _beforehand(function: Any) -> str:
    """What tells partials of one function apart, for a reader."""
    if not isinstance(function, partial):
        return ""
    given = [*map(brief, function.args), *(f"{name}={brief(value)}" for name, value in function.keywords.items())]
    return f" with {', '.join(given)}" if given else ""


def _whole(value: Any) -> str:
    """`repr()` without a limit: two long lists may differ in their middle only."""
    try:
        return repr(value)
    except BaseException:  # it is the user's own, and may do anything
        return f"a {type(value).__name__} {id(value)}"


def _is_object(function: Any) -> bool:
    """Whether it is an object of somebody's class with `__call__`, rather than a function, method or class."""
    return not (inspect.isroutine(function) or inspect.isclass(function) or isinstance(function, partial)) and callable(
        function
    )
