"""What a trigger names becomes the latest revision of it when a schedule is put."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from onthedot.app.ends import check_fires
from onthedot.errors import ValueMoved, ValueNotFound
from onthedot.model.schedule import Definition
from onthedot.stores.base import Store
from onthedot.stores.known_values import learn_triggers
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode
from onthedot.triggers.combine import uses_of
from onthedot.triggers.pinned import Pin, Use, remember

P = ParamSpec("P")
T = TypeVar("T")
_TRIES = 20


def with_the_latest(act: Callable[P, T]) -> Callable[P, T]:
    """The act, once more where a calendar or named trigger was changed while it went on."""

    @wraps(act)
    def acted(*given: P.args, **named: P.kwargs) -> T:
        for _ in range(_TRIES):
            try:
                return act(*given, **named)
            except ValueMoved:
                continue
        return act(*given, **named)

    return acted


def names_nothing(trigger: Trigger) -> bool:
    """Whether it can be judged without a store."""
    return not uses_of(trigger)


def pinned_definitions(store: Store, definitions: Mapping[str, Definition[Trigger]]) -> dict[str, Definition[Trigger]]:
    """These, each with the latest revisions; `ValueNotFound` for a name that there is not, `TriggerError` for a trigger
    that can never fire by them."""
    triggers = pinned_triggers(store, {name: each.trigger for name, each in definitions.items()})
    return {name: replace(each, trigger=triggers[name]) for name, each in definitions.items()}


def pinned_triggers(store: Store, triggers: Mapping[str, Trigger]) -> dict[str, Trigger]:
    """By the names of their schedules; nothing is asked of the store where they name nothing."""
    needs = {name: uses for name, each in triggers.items() if (uses := uses_of(each))}
    pins = latest_pins(store, {use for uses in needs.values() for use in uses})
    found = dict(triggers)
    for name, uses in needs.items():
        for use in uses:
            if use not in pins:
                known = tuple(each.name for each in store.values() if each.kind == use.kind)
                raise ValueNotFound(use.kind, use.name, known, where=name)
        found[name] = triggers[name].with_pins(pins)
    learn_triggers(store, [encode(found[name]) for name in needs])
    for name in needs:
        check_fires(name, found[name].with_key(name))
    return found


def latest_pins(store: Store, uses: Iterable[Use]) -> dict[Use, Pin]:
    """The last revisions of those that there are; what they say is known here from then on."""
    values = [value for use in sorted(set(uses)) for value in store.values(use)]
    for value in values:
        remember(value.pinned, value.content)
    return {value.use: value.pin for value in values}
