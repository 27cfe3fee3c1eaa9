"""Arguments of tasks: checked when they are given, kept as JSON, handed over as the objects that annotations name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from onthedot.durations import format_duration, to_duration_ms
from onthedot.errors import ArgumentsError, OnthedotError
from onthedot.execution.context import Context

MISSING = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a task, other than its context."""

    name: str
    required: bool
    annotation: Any = MISSING
    """The type itself where this process could find it, else its text."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a task takes."""

    parameters: tuple[Parameter, ...]
    context: str | None = None
    """The name of the parameter that gets the context."""
    open: bool = False
    """It has `**kwargs`: other names are welcome."""

    def check(self, task: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as JSON values; `ArgumentsError` if they do not fit."""
        if not isinstance(args, Mapping):
            raise ArgumentsError(f"args of {task!r} map parameter names to values; {args!r} does not")
        known = {parameter.name: parameter for parameter in self.parameters}
        unknown = [name for name in args if name not in known]
        if unknown and not self.open:
            takes = ", ".join(known) or "none"
            raise ArgumentsError(f"task {task!r} has no parameter {unknown[0]!r}; it takes: {takes}")
        missing = [each.name for each in self.parameters if each.required and each.name not in args]
        if missing:
            raise ArgumentsError(f"task {task!r} needs {', '.join(missing)}; add it to args")
        for name, value in args.items():
            if name in known and not _fits(value, known[name].annotation):
                wanted = _named(known[name].annotation)
                raise ArgumentsError(f"task {task!r}: {name} must be {wanted}, not {value!r}")
        return {name: to_json(value, f"{task!r}: {name}") for name, value in args.items()}

    def objects(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """JSON values as the objects that the annotations name."""
        annotations = {parameter.name: parameter.annotation for parameter in self.parameters}
        return {name: _to_object(value, annotations.get(name, MISSING)) for name, value in args.items()}


def signature_of(function: Callable[..., Any]) -> Signature:
    """What a function takes. Annotations that cannot be imported here are left unchecked."""
    hints = _hints(function)
    parameters: list[Parameter] = []
    context: str | None = None
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = hints.get(name, parameter.annotation)
        if _is_context(annotation):
            context = name
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            parameters.append(Parameter(name, parameter.default is MISSING, annotation))
    return Signature(tuple(parameters), context, is_open)


def to_json(value: Any, where: str) -> Any:
    """A JSON value for the value, or `ArgumentsError`."""
    match value:
        case None | bool() | int() | float() | str():
            return value.value if isinstance(value, Enum) else value
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return format_duration(to_duration_ms(value))
        case UUID() | Decimal():
            return str(value)
        case Enum():
            return to_json(value.value, where)
        case Mapping():
            return {str(name): to_json(each, where) for name, each in value.items()}
        case list() | tuple():
            return [to_json(each, where) for each in value]
        case _:
            raise ArgumentsError(f"{where}: a {type(value).__name__} is no JSON value, date, duration, UUID or Decimal")


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # an annotation may name what is imported only for type checkers
        return {}


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.strip("\"' ").rpartition(".")[2] == "Context"
    return annotation is Context


_CONVERTERS: dict[type, Callable[[Any], Any]] = {
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    timedelta: lambda text: timedelta(milliseconds=to_duration_ms(text)),
    UUID: UUID,
    Decimal: Decimal,
}


def _to_object(value: Any, annotation: Any) -> Any:
    for kind in _choices(annotation):
        try:
            if isinstance(kind, type) and issubclass(kind, Enum):
                return kind(value)
            if kind in _CONVERTERS and isinstance(value, str):
                return _CONVERTERS[kind](value)
        except (ValueError, TypeError, ArithmeticError, OnthedotError):
            continue
    return value


def _choices(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (annotation,)


def _fits(value: Any, annotation: Any) -> bool:
    return any(_fits_one(value, kind) for kind in _choices(annotation))


def _fits_one(value: Any, kind: Any) -> bool:
    kind = get_origin(kind) or kind
    if not isinstance(kind, type) or kind is MISSING:
        return kind is not None or value is None
    if issubclass(kind, Enum):
        return isinstance(value, kind) or value in {member.value for member in kind}
    if kind in _CONVERTERS:
        return isinstance(value, kind) or (isinstance(value, str) and isinstance(_to_object(value, kind), kind))
    if kind in (int, float):
        return isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    if kind in (str, bool, dict):
        return isinstance(value, Mapping if kind is dict else kind)
    if kind in (list, tuple, set, frozenset):
        return isinstance(value, (list, tuple))
    return kind is not type(None) or value is None


def _named(annotation: Any) -> str:
    return " or ".join(getattr(kind, "__name__", str(kind)) for kind in _choices(annotation))
