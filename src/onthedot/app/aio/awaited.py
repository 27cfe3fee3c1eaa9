"""How a method of `app` becomes one that is awaited, without its signature being written twice."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from onthedot.app.aio.calls import Calls

P = ParamSpec("P")
R = TypeVar("R")


class Face(Protocol):
    """What stands for a part of `app`."""

    calls: Calls

    def part(self) -> Any:
        """The part of `app` as it is now: over HTTP, or inside a simulation, it is another one."""


class Awaited(Generic[P, R]):
    """In a class, a method with these parameters whose answer is awaited."""

    def __init__(self, method: Callable[..., Any], by: Callable[..., Any] | None = None) -> None:
        self.__doc__ = method.__doc__
        self._name = method.__name__
        self._by = by

    @overload
    def __get__(self, face: None, owner: type) -> Awaited[P, R]: ...

    @overload
    def __get__(self, face: Face, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def __get__(self, face: Face | None, owner: type) -> Any:
        if face is None:
            return self
        return partial(face.calls.call, _later(face, self._name)) if self._by is None else partial(self._by, face)


def awaited(method: Callable[Concatenate[Any, P], R]) -> Awaited[P, R]:
    """The same method, called in a thread of `app.aio`."""
    return Awaited(method)


def awaited_by(method: Callable[Concatenate[Any, P], R], by: Callable[..., Coroutine[Any, Any, R]]) -> Awaited[P, R]:
    """The same to who calls it, done by another one."""
    return Awaited(method, by)


def _later(face: Face, name: str) -> Callable[..., Any]:
    """Looked up in the thread: what is asked of a store is asked there."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(face.part(), name)(*args, **options)

    return call
