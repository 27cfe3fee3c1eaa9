"""Arguments of tasks: checked when they are given, kept as JSON, handed over as the objects that annotations name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from onthedot.app.callables import underlying
from onthedot.durations import format_duration, to_duration_ms
from onthedot.errors import ArgumentsError, OnthedotError
from onthedot.execution.context import Context
from onthedot.storable import MOST_DEPTH, NotStorable, beginning, brief, json_size, label_problem, shown, text_problem

MISSING = inspect.Parameter.empty
_MOST_ANNOTATION_BYTES = 200
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
"""Arguments have names: what takes none is left as it is."""


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
        args = _read(f"{task!r}", args)
        self.check_names(task, args)
        for name, value in args.items():
            self.check_value(task, name, value)
        return {_name(name, task): to_json(value, f"{task!r}: {name}") for name, value in args.items()}

    def check_names(self, task: str, names: Collection[str]) -> None:
        """`ArgumentsError` if there are others than it takes, or one is missing that it needs."""
        known = [parameter.name for parameter in self.parameters]
        unknown = [name for name in names if name not in known]
        if unknown and not self.open:
            takes = ", ".join(known) or "none"
            raise ArgumentsError(f"task {task!r} has no parameter {unknown[0]!r}; it takes: {takes}")
        missing = [each.name for each in self.parameters if each.required and each.name not in names]
        if missing:
            raise ArgumentsError(f"task {task!r} needs {', '.join(missing)}; add it to args")

    def check_value(self, task: str, name: str, value: Any) -> None:
        """`ArgumentsError` if it is not what the annotation of that parameter says."""
        wanted = next((each.annotation for each in self.parameters if each.name == name), MISSING)
        if not _fits(value, wanted):
            raise ArgumentsError(f"task {task!r}: {name} must be {_named(wanted)}, not {brief(value)}")

    def objects(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """JSON values as the objects that the annotations name."""
        if not args:
            return {}
        annotations = {parameter.name: parameter.annotation for parameter in self.parameters}
        return {name: _to_object(value, annotations.get(name, MISSING)) for name, value in args.items()}


def _read(where: str, args: Any) -> dict[Any, Any]:
    """What was given, once and for all: a mapping of the user's own may raise, or answer otherwise the next time."""
    if not isinstance(args, Mapping):
        raise ArgumentsError(f"args of {where} map parameter names to values; {brief(args)} does not")
    try:
        return dict(args.items())
    except Exception as error:
        raise ArgumentsError(f"{where} cannot be read: {type(error).__name__}: {shown(error)}") from error


def check_size(task: str, args: Mapping[str, Any], most_bytes: int) -> None:
    """`ArgumentsError` if arguments, which are JSON values already, take more than that."""
    if not args:
        return
    try:
        size = json_size(args)
    except NotStorable as error:  # a number of more digits than Python writes
        raise ArgumentsError(f"args of {task!r} are no JSON value: {error}") from None
    if size > most_bytes:
        raise ArgumentsError(
            f"args of {task!r} have {size:,} bytes as JSON; the most is {most_bytes:,}. Keep what is large elsewhere"
            " and give its path or id, or raise max_args_bytes (ONTHEDOT_MAX_ARGS_BYTES)"
        )


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
        elif parameter.kind not in _BY_PLACE:
            parameters.append(Parameter(name, parameter.default is MISSING, annotation))
    return Signature(tuple(parameters), context, is_open)


def annotation_text(annotation: Any) -> str:
    """An annotation as nodes publish it."""
    if annotation is MISSING:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None)
    return beginning(shown(annotation) if text is None else text, _MOST_ANNOTATION_BYTES)


def to_json(value: Any, where: str, depth: int = 1) -> Any:
    """A JSON value for an argument, of Python's own classes; or `ArgumentsError`. It lies so deep in others."""
    match value:
        case None | bool():
            return value
        case Enum():
            return to_json(value.value, where, depth)
        case str():
            return _text(value, where)
        case int():
            return int(value)
        case float():
            return _number(float(value), where)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return format_duration(to_duration_ms(value))
        case UUID() | Decimal():
            return str(value)
        case Mapping() | list() | tuple() if depth >= MOST_DEPTH:
            raise ArgumentsError(f"{where} is nested deeper than {MOST_DEPTH} levels; flatten it, or give a path or id")
        case Mapping():
            pairs = _read(where, value).items()
            return {_text(str(name), where): to_json(each, where, depth + 1) for name, each in pairs}
        case list() | tuple():
            return [to_json(each, where, depth + 1) for each in value]
        case _:
            raise ArgumentsError(f"{where}: a {type(value).__name__} is no JSON value, date, duration, UUID or Decimal")


def _name(name: object, task: str) -> str:
    problem = label_problem(name)
    if problem is not None:
        raise ArgumentsError(f"args of {task!r}: {brief(name)} is no parameter's name: {problem}")
    return str(name)


def _text(text: str, where: str) -> str:
    text = str.__str__(text)
    problem = None if text.isascii() and "\0" not in text else text_problem(text, len(text) * 4)
    if problem is not None:
        raise ArgumentsError(f"{where}: {brief(text)} cannot be kept: {problem}")
    return text


def _number(number: float, where: str) -> float:
    if not isfinite(number):
        raise ArgumentsError(f"{where}: {number} is no number of JSON; give None, or a text")
    return number


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(underlying(function))
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
