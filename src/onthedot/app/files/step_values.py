"""What stands in the steps of jobs.toml for values that are known only when a step begins, and the conditions on them.

`{ result = "load" }` is what a step returned, `{ item = true }` the item of a map, `{ arg = "day" }` an argument of the
flow; with `path` a part of it. A table that only looks so stands in `{ literal = … }`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from onthedot.app.flows.references import Condition, Reference, condition_of, item, of_arg, of_step
from onthedot.app.remedies import did_you_mean
from onthedot.storable import brief

LITERAL, PATH = "literal", "path"
_ROOTS = ("result", "item", "arg")
_COMPARED: Mapping[str, Callable[[Any, Any], Condition]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}
_WHEN_KEYS = (*_ROOTS, PATH, *_COMPARED, "all", "any", "not")
_COMPARE = f'compare what a step returns: {{ result = "total", {PATH} = "rows", gt = 0 }}'


class Unreadable(Exception):
    """What is wrong with a value, in one line."""


@dataclass(frozen=True, slots=True)
class StepValues:
    """Reads the values of one step."""

    steps: Collection[str]
    """The names of all steps of the flow."""
    args: Collection[str]
    """Those of the flow's arguments."""
    used: list[str] = field(default_factory=list)
    """The steps whose results were referred to."""

    def value(self, said: Any) -> Any:
        """A value with references in it; `Unreadable`."""
        match said:
            case {"literal": inner} if len(said) == 1:
                return inner
            case dict() if _is_reference(said):
                return self.reference(said)
            case dict():
                self._refuse_slip(said)
                return {name: self.value(each) for name, each in said.items()}
            case list():
                return [self.value(each) for each in said]
            case _:
                return said

    def reference(self, said: Mapping[str, Any]) -> Reference:
        """What it stands for; `Unreadable`."""
        root = next(each for each in _ROOTS if each in said)
        found = self._root(root, said[root])
        path = said.get(PATH, [])
        for key in path if isinstance(path, list) else [path]:
            if isinstance(key, bool) or not isinstance(key, str | int):
                raise Unreadable(f'{PATH}: {brief(key)} is neither a name nor a number; write ["rows", 0]')
            found = found[key]
        return found

    def _root(self, root: str, name: Any) -> Reference:
        if root == "item":
            if name is not True:
                raise Unreadable(f'item: write {{ item = true }}, and for a part of it {PATH} = "name" beside it')
            return item
        known = self.steps if root == "result" else self.args
        if not isinstance(name, str) or name not in known:
            raise Unreadable(f"{root}: {_unknown(root, name, known)}")
        if root == "arg":
            return of_arg(name)
        self.used.append(name)
        return of_step(name)

    def _refuse_slip(self, said: Mapping[str, Any]) -> None:
        """A misspelt reference would be given to the task as it is."""
        for name, each in said.items():
            near = get_close_matches(name, _ROOTS, n=1)
            if len(said) == 1 and near and isinstance(each, str) and each in {*self.steps, *self.args}:
                raise Unreadable(
                    f"{name}: did you mean {near[0]}? A value that only looks so stands in literal = {{ … }}"
                )

    def condition(self, said: Any) -> Condition:
        """What `when` says; `Unreadable`."""
        if not isinstance(said, dict) or not said:
            raise Unreadable(f"{brief(said)} is no condition; {_COMPARE}")
        for key in said:
            if key not in _WHEN_KEYS:
                raise Unreadable(f"{key}: unknown key; {did_you_mean(key, _WHEN_KEYS)}")
        joined = [key for key in ("all", "any", "not") if key in said]
        if joined:
            return self._joined(joined[0], said)
        if not _is_reference({key: each for key, each in said.items() if key not in _COMPARED}):
            raise Unreadable(f"nothing is compared here; {_COMPARE}")
        compared = [key for key in _COMPARED if key in said]
        left = self.reference(said)
        if not compared:
            return condition_of(left)
        if len(compared) > 1:
            raise Unreadable(f"{' and '.join(compared)}: join them with all = [{{ … }}, {{ … }}]")
        return _COMPARED[compared[0]](left, self.value(said[compared[0]]))

    def _joined(self, how: str, said: Mapping[str, Any]) -> Condition:
        if len(said) > 1:
            raise Unreadable(f"{how}: it stands alone, without {' and '.join(each for each in said if each != how)}")
        if how == "not":
            return ~self.condition(said["not"])
        parts = said[how]
        if not isinstance(parts, list) or not parts:
            raise Unreadable(f"{how}: write a list of conditions, [{{ … }}, {{ … }}]")
        first, *others = (self.condition(each) for each in parts)
        for each in others:
            first = first & each if how == "all" else first | each
        return first

    def over(self, said: Any) -> Any:
        """What a step is mapped over; `Unreadable`."""
        if isinstance(said, list):
            return said
        if isinstance(said, dict) and _is_reference(said):
            return self.reference(said)
        meant = f'; write map = {{ result = "{said}" }}' if isinstance(said, str) and said in self.steps else ""
        remedy = meant or ': { result = "STEP" }, { arg = "NAME" } or a list'
        raise Unreadable(f"a map goes over a list, not over {brief(said)}{remedy}")


def _is_reference(said: Mapping[str, Any]) -> bool:
    """One of the roots, and nothing beside it but a path: all else is data."""
    return sum(each in said for each in _ROOTS) == 1 and all(each in (*_ROOTS, PATH) for each in said)


def _unknown(root: str, name: Any, known: Collection[str]) -> str:
    if root == "result":
        return f"there is no step {brief(name)}" + nearest(name, known)
    return f"the flow has no argument {brief(name)}" + (nearest(name, known) or "; say it in args of the schedule")


def nearest(name: Any, known: Collection[str]) -> str:
    """The one that was probably meant, if one is near."""
    near = get_close_matches(str(name), [*known], n=1)
    return f"; did you mean {near[0]}?" if near else ""
