"""What stands in the arguments of a step for values that are known only when it begins, and how it gets them.

A reference is a JSON object with one of these names in it: `$result`, `$item`, `$arg`; beside it may stand a `path` of
keys and indexes. A condition, which `when` keeps, has one of `OPERATORS`. What a user wrote and looks like one of them
stands inside `$value`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from onthedot.errors import OnthedotError
from onthedot.storable import brief

RESULT, ITEM, ARG, VALUE, PATH = "$result", "$item", "$arg", "$value", "path"
ALL, ANY, NOT, TRUE = "$all", "$any", "$not", "$true"
COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$lt": operator.lt,
    "$le": operator.le,
    "$gt": operator.gt,
    "$ge": operator.ge,
}
SIGNS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
OPERATORS = frozenset({ALL, ANY, NOT, TRUE, *SIGNS})
_REFERENCES = (RESULT, ITEM, ARG)
_MARKED = frozenset({*_REFERENCES, VALUE, *OPERATORS})

Path = Sequence[str | int]


class Unresolved(OnthedotError):
    """A reference that leads nowhere, or a condition that cannot be judged; says why in one line."""


class Known(Protocol):
    """What a step may refer to, found when it is asked for."""

    def result(self, step: str) -> Any:
        """What the step returned; of a map the list of all, in order. None where it has no good end."""

    def item(self) -> Any:
        """The item that this run of a map is for."""

    def arg(self, name: str) -> Any:
        """An argument of the flow."""


# writing


def result_of(step: str, path: Path = ()) -> dict[str, Any]:
    """What the step will return, or a part of it."""
    return _reference(RESULT, step, path)


def item_of(path: Path = ()) -> dict[str, Any]:
    """The item of a map, or a part of it."""
    return _reference(ITEM, [], path)


def arg_of(name: str, path: Path = ()) -> dict[str, Any]:
    """An argument of the flow, or a part of it."""
    return _reference(ARG, name, path)


def literal(value: Any) -> Any:
    """A JSON value so that nobody takes it, or anything in it, for a reference."""
    return {VALUE: value} if _looks_marked(value) else value


def with_item(value: Any, item: Any) -> Any:
    """Arguments, or a condition, with this item in the place of each reference to it; other references stay."""
    match value:
        case {"$item": _}:
            return literal(at_path(item, value.get(PATH, ()), "the item"))
        case Mapping() if VALUE not in value:
            return {name: with_item(each, item) for name, each in value.items()}
        case list() | tuple():
            return [with_item(each, item) for each in value]
        case _:
            return value


def _reference(kind: str, name: Any, path: Path) -> dict[str, Any]:
    return {kind: name, PATH: list(path)} if path else {kind: name}


def _looks_marked(value: Any) -> bool:
    match value:
        case Mapping():
            return not _MARKED.isdisjoint(value) or any(_looks_marked(each) for each in value.values())
        case list() | tuple():
            return any(_looks_marked(each) for each in value)
        case _:
            return False


# reading


def is_reference(value: Any) -> bool:
    """Whether it stands for a value, and is none itself."""
    return isinstance(value, Mapping) and any(kind in value for kind in _REFERENCES)


def references_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All references in arguments or in a condition."""
    match value:
        case Mapping() if VALUE in value:
            return
        case Mapping() if is_reference(value):
            yield value
        case Mapping():
            for each in value.values():
                yield from references_in(each)
        case list() | tuple():
            for each in value:
                yield from references_in(each)


def results_in(value: Any) -> list[str]:
    """The steps whose results are used, each once, in order."""
    return list(dict.fromkeys(each[RESULT] for each in references_in(value) if RESULT in each))


def resolve(value: Any, known: Known) -> Any:
    """The value with what its references stand for; `Unresolved`."""
    match value:
        case {"$value": inner}:
            return inner
        case {"$result": step}:
            return at_path(known.result(step), value.get(PATH, ()), f"what {step} returned")
        case {"$item": _}:
            return at_path(known.item(), value.get(PATH, ()), "the item")
        case {"$arg": name}:
            return at_path(known.arg(name), value.get(PATH, ()), f"the flow's argument {name}")
        case Mapping():
            return {name: resolve(each, known) for name, each in value.items()}
        case list() | tuple():
            return [resolve(each, known) for each in value]
        case _:
            return value


def at_path(value: Any, path: Path, what: str) -> Any:
    """What lies there, inside the value; `Unresolved` if nothing does."""
    for key in path:
        is_key = isinstance(value, Mapping) if isinstance(key, str) else isinstance(value, list | tuple)
        if is_key:
            try:
                value = value[key]
                what = f"{what}[{key!r}]"
                continue
            except LookupError:
                pass
        raise Unresolved(f"{what} has no [{key!r}]: it is {brief(value)}")
    return value


# judging


def holds(condition: Any, known: Known) -> bool:
    """Whether a condition is true now; `Unresolved` if it cannot be judged."""
    match condition:
        case {"$all": parts}:
            return all(holds(part, known) for part in parts)
        case {"$any": parts}:
            return any(holds(part, known) for part in parts)
        case {"$not": part}:
            return not holds(part, known)
        case {"$true": value}:
            return bool(resolve(value, known))
    for name, compare in COMPARED.items():
        if name in condition:
            left, right = (resolve(each, known) for each in condition[name])
            return _judged(name, compare, left, right)
    raise Unresolved(f"{brief(condition)} is no condition that this version knows")


def _judged(name: str, compare: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    try:
        return bool(compare(left, right))
    except TypeError:
        raise Unresolved(f"{brief(left)} {SIGNS[name]} {brief(right)} cannot be judged") from None


def condition_text(condition: Any) -> str:
    """A condition as it might be written, for people."""
    match condition:
        case {"$all": parts}:
            return " and ".join(condition_text(part) for part in parts)
        case {"$any": parts}:
            return "(" + " or ".join(condition_text(part) for part in parts) + ")"
        case {"$not": part}:
            return f"not ({condition_text(part)})"
        case {"$true": value}:
            return value_text(value)
    for name, sign in SIGNS.items():
        if name in condition:
            left, right = condition[name]
            return f"{value_text(left)} {sign} {value_text(right)}"
    return brief(condition)


def value_text(value: Any) -> str:
    """A reference, or a value, as it might be written."""
    if not is_reference(value):
        return brief(value[VALUE] if isinstance(value, Mapping) and VALUE in value else value)
    root = value.get(RESULT) or value.get(ARG) or "item"
    return root + "".join(f"[{key!r}]" for key in value.get(PATH, ()))
