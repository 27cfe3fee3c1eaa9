"""What stands in a flow for values that nobody has yet. It can be passed on and compared; all else is refused.

A flow is drawn before anything of it runs. Python that looks at such a value would look at nothing, so each way to do
that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from onthedot.app.arguments import to_json
from onthedot.errors import ArgumentsError, SettingsError
from onthedot.model.references import ALL, ANY, NOT, TRUE, Path, arg_of, item_of, literal, result_of, value_text

_MOST_PATH = 20


class Reference:
    """What a step will return, the item of a map, or an argument of the flow; with `[…]` a part of it.

    `==`, `<` and the others give conditions for `when=`; `&`, `|` and `~` join them.
    """

    __slots__ = ("_made", "_path", "_step")

    def __init__(self, made: Callable[[Path], dict[str, Any]], path: Path = (), step: str | None = None) -> None:
        self._made = made
        self._path = tuple(path)
        self._step = step

    def __getitem__(self, key: str | int) -> Reference:
        if isinstance(key, bool) or not isinstance(key, str | int):
            self._refuse(f"[{key!r}]", "a part of it is named by a text or a whole number; a step can do the rest")
        if len(self._path) >= _MOST_PATH:
            self._refuse("[…]", f"a path has at most {_MOST_PATH} parts; let a step find it")
        return Reference(self._made, (*self._path, key), self._step)

    @property
    def result(self) -> Reference:
        """Itself: what a step is and what it returns are one in arguments and in `after=`."""
        return self

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compared("$eq", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compared("$ne", other)

    def __lt__(self, other: object) -> Condition:
        return self._compared("$lt", other)

    def __le__(self, other: object) -> Condition:
        return self._compared("$le", other)

    def __gt__(self, other: object) -> Condition:
        return self._compared("$gt", other)

    def __ge__(self, other: object) -> Condition:
        return self._compared("$ge", other)

    def __and__(self, other: Any) -> Condition:
        return condition_of(self) & condition_of(other)

    def __or__(self, other: Any) -> Condition:
        return condition_of(self) | condition_of(other)

    def __invert__(self) -> Condition:
        return ~condition_of(self)

    def _compared(self, name: str, other: object) -> Condition:
        return Condition({name: [written(self), written(other)]})

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{self._told()}>"

    def _told(self) -> str:
        return value_text(self._made(self._path))

    # what Python would have to know now

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        self._refuse("if, and, or, not", "a step is left out by when=: task.options(when=…)(…)")

    def __iter__(self) -> NoReturn:
        self._refuse("for … in", "one run for each item is task.map(…)")

    def __len__(self) -> NoReturn:  # noqa: PLE0303
        self._refuse("len()", "let a step count it")

    def __contains__(self, value: object) -> NoReturn:
        self._refuse("in", "let a step look, or compare: (a == 1) | (a == 2)")

    def __str__(self) -> NoReturn:  # noqa: PLE0307
        self._refuse("a text of it", "pass it on as an argument, and let the step write the text")

    def __format__(self, spec: str) -> NoReturn:
        self._refuse("a text of it", "pass it on as an argument, and let the step write the text")

    def __int__(self) -> NoReturn:
        self._refuse("int()", "let a step do it")

    def __float__(self) -> NoReturn:
        self._refuse("float()", "let a step do it")

    def __index__(self) -> NoReturn:  # noqa: PLE0305
        self._refuse("range() or an index", "one run for each item is task.map(…)")

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self._refuse("a call of it", "let a step do it")

    def __await__(self) -> NoReturn:
        self._refuse("await", "leave it out: a task called in a flow is a step")

    def _calculated(self, *others: object) -> NoReturn:
        self._refuse("calculating with it", "let a step do it")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _calculated
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _calculated

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)  # what copy, pickle and others ask of anything
        self._refuse(f".{name}", f'a part of it is ["{name}"]; let a step do the rest')

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise SettingsError(f"a flow is drawn before it runs, and {self._told()} is not known yet: {what}; {remedy}")


class Condition:
    """What `when=` takes. Joined by `&`, `|` and `~`."""

    __slots__ = ("said",)

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said

    def __and__(self, other: Any) -> Condition:
        return Condition({ALL: [self.said, condition_of(other).said]})

    def __or__(self, other: Any) -> Condition:
        return Condition({ANY: [self.said, condition_of(other).said]})

    def __invert__(self) -> Condition:
        return Condition({NOT: self.said})

    def __bool__(self) -> NoReturn:
        raise SettingsError(
            "a flow is drawn before it runs, and what is compared is not known yet: if, and, or, not;"
            " give it to a step: task.options(when=(a > 0) & (b > 0))(…)"
        )


def of_step(name: str) -> Reference:
    """What a step will return."""
    return Reference(lambda path: result_of(name, path), step=name)


def of_arg(name: str) -> Reference:
    """An argument of the flow."""
    return Reference(lambda path: arg_of(name, path))


item = Reference(item_of)
"""The item of a map, for maps over more than one argument: `load.map(files, path=item["path"])`."""


def step_of(reference: Reference) -> str | None:
    """The step that it refers to, if it is one."""
    return reference._step


def is_whole(reference: Reference) -> bool:
    """Whether it is all of it, and no part."""
    return not reference._path


def condition_of(value: Any) -> Condition:
    """What was given as a condition; a reference alone holds where it is true in Python's sense."""
    if isinstance(value, Condition):
        return value
    if isinstance(value, Reference):
        return Condition({TRUE: written(value)})
    raise SettingsError(
        f"when: {value!r} is known now, and no condition; compare what a step returns: when=total['rows'] > 0"
    )


def written(value: Any, where: str = "when") -> Any:
    """A value as the graph keeps it: references where there are some, all else as JSON; `ArgumentsError`."""
    match value:
        case Reference():
            return value._made(value._path)
        case dict() if has_reference(value):
            return {_key(name, where): written(each, f"{where}[{name!r}]") for name, each in value.items()}
        case list() | tuple() if has_reference(value):
            return [written(each, f"{where}[{number}]") for number, each in enumerate(value)]
        case Condition():
            raise SettingsError(f"{where}: a condition is for when=; let a step decide")
        case _:
            return literal(to_json(value, where))


def _key(name: object, where: str) -> str:
    if str(name).startswith("$"):
        raise ArgumentsError(f"{where}: a key {name!r} cannot stand beside what steps return; let a step make it")
    return str(name)


def has_reference(value: Any) -> bool:
    """Whether a reference stands in it anywhere."""
    match value:
        case Reference() | Condition():
            return True
        case dict():
            return any(has_reference(each) for each in value.values())
        case list() | tuple():
            return any(has_reference(each) for each in value)
        case _:
            return False
