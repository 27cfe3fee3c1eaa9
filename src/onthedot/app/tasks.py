"""The tasks that this process knows: by name, never by module."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from onthedot.app.arguments import MISSING, Parameter, Signature, signature_of
from onthedot.errors import ArgumentsError, Conflict, TaskNotFound
from onthedot.execution.context import Context
from onthedot.stores.base import Store, TaskInfo

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class Task(Generic[P, R]):
    """A registered function. It can still be called as the plain function."""

    name: str
    function: Callable[P, R]
    aliases: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """The policies that were named for the task."""
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        self.signature = signature_of(self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def is_async(self) -> bool:
        """Whether it is an `async def`."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def place(self) -> str:
        """Where it is written."""
        code = getattr(self.function, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else f"{self.function!r}"

    def call(self, context: Context, args: Mapping[str, Any]) -> Any | Awaitable[Any]:
        """Call it for a run: with its context if it asks for one, and arguments as objects."""
        values = self.signature.objects(args)
        if self.signature.context is not None:
            values[self.signature.context] = context
        call: Callable[..., Any] = self.function
        return call(**values)

    def info(self) -> TaskInfo:
        """What a node publishes of it."""
        parameters = tuple(
            {"name": each.name, "required": each.required, "annotation": _annotation_text(each.annotation)}
            for each in self.signature.parameters
        )
        return TaskInfo(self.name, parameters, inspect.getdoc(self.function) or "", dict(self.options))


class Tasks:
    """The registry of one app; and, through the store, what live nodes have published."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._by_name: dict[str, Task[..., Any]] = {}
        self._aliases: dict[str, str] = {}

    def add(self, task: Task[..., Any]) -> None:
        """Register. The same function again (a reloaded module, a notebook cell) replaces itself."""
        held = self._by_name.get(task.name)
        if held is not None and _identity(held) != _identity(task):
            raise Conflict(
                f"two tasks are named {task.name!r}: {held.place} and {task.place}; give one of them a name="
            )
        self._by_name[task.name] = task
        self._aliases.update(dict.fromkeys(task.aliases, task.name))

    def lookup(self, name: str) -> Task[..., Any] | None:
        """The task of that name or alias, if this process has it."""
        return self._by_name.get(self._aliases.get(name, name))

    def __len__(self) -> int:
        return len(self._by_name)

    def names(self) -> tuple[str, ...]:
        """All names and aliases that this process can run."""
        return tuple(sorted({*self._by_name, *self._aliases}))

    def infos(self) -> list[TaskInfo]:
        """What this process publishes."""
        return [self._by_name[name].info() for name in sorted(self._by_name)]

    def list(self) -> tuple[TaskInfo, ...]:
        """All tasks that live nodes publish, and those of this process."""
        known = {info.name: info for info in (*self._open_store().tasks(), *self.infos())}
        return tuple(known[name] for name in sorted(known))

    def checked(
        self, task: str | Task[..., Any], args: Mapping[str, Any] | None, *, unchecked: bool
    ) -> tuple[str, dict[str, Any]]:
        """The task's name and its arguments as JSON, checked against the function here, else the published one."""
        name = task if isinstance(task, str) else task.name
        args = {} if args is None else args
        local = self.lookup(name)
        if local is not None:
            return local.name, local.signature.check(name, args)
        if not isinstance(args, Mapping):
            raise ArgumentsError(f"args of {name!r} map parameter names to values; {args!r} does not")
        if unchecked:
            return name, Signature((), open=True).check(name, args)
        published = {info.name: info for info in self._open_store().tasks()}
        if name not in published:
            raise TaskNotFound(name, tuple(sorted({*published, *self._by_name})))
        parameters = (Parameter(str(each["name"]), bool(each["required"])) for each in published[name].parameters)
        return name, Signature(tuple(parameters)).check(name, args)


def _identity(task: Task[..., Any]) -> tuple[str, str]:
    function = inspect.unwrap(task.function)
    module = getattr(function, "__module__", "")
    return ("" if module == "__main__" else module, getattr(function, "__qualname__", ""))


def _annotation_text(annotation: Any) -> str:
    if annotation is MISSING:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
