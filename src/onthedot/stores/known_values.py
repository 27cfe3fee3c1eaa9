"""Whoever reads schedules can read their triggers: what these name is read with them, once in a process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any, Protocol, TypeVar

from onthedot.model.schedule import Schedule
from onthedot.model.value import Value, value_id
from onthedot.triggers.pinned import Content, remember, unknown_in

AskT = TypeVar("AskT", bound=Callable[..., list[Schedule]])


class _Values(Protocol):
    """A store, or a transaction of one."""

    def values_at(self, ids: Collection[str]) -> list[Value]: ...


def with_values(ask: AskT) -> AskT:
    """The same question; what the triggers of the answer name is known here from then on."""

    @wraps(ask)
    def asked(store: Any, *given: Any, **named: Any) -> list[Schedule]:
        found = ask(store, *given, **named)
        learn(store, found)
        return found

    return asked  # type: ignore[return-value]


def learn(values: _Values, schedules: Iterable[Schedule]) -> None:
    """What these schedules rest on; nothing is asked where they name nothing, or all of it is known."""
    using = [each.trigger for each in schedules if each.uses]
    if using:
        learn_triggers(values, using)


def learn_triggers(values: _Values, triggers: Collection[Content]) -> None:
    """First the named triggers, then the calendars that these name."""
    for _ in range(2):
        unknown = unknown_in(triggers)
        if not unknown:
            return
        for value in values.values_at({value_id(use, pin.rev) for use, pin in unknown}):
            remember(value.pinned, value.content)
