"""What people may ask a list for, checked, and as the store takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from onthedot.app.remedies import did_you_mean
from onthedot.errors import SettingsError
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Order
from onthedot.model.states import State
from onthedot.stores.base import Store

STATES: tuple[Facet, ...] = get_args(Facet)
ORDERS: tuple[Order, ...] = get_args(Order)
_MOST_INCARNATIONS = 20


def state_of(text: str | None) -> Facet | None:
    """A state of schedules, or what else they may be asked for by; `SettingsError`."""
    if text is None:
        return None
    for state in STATES:
        if state == text:
            return state
    raise SettingsError(f"no state {text!r} of schedules; {did_you_mean(text, STATES)}")


def order_of(text: str) -> Order:
    """An order of schedules; `SettingsError`."""
    for order in ORDERS:
        if order == text:
            return order
    raise SettingsError(f"schedules are sorted by {' or '.join(ORDERS)}, not by {text!r}")


def state_of_run(text: str | None) -> State | None:
    """A state of runs; `SettingsError`."""
    if text is not None and text not in set(State):
        raise SettingsError(f"no state {text!r}; there are {', '.join(State)}")
    return None if text is None else State(text)


def read_runs(store: Store, node: str | None, limit: int, **wanted: Any) -> list[Run]:
    """As `Store.runs` takes it; of a node by its id, or by its name: then of its newest incarnations."""
    if node is None:
        return store.runs(limit=limit, **wanted)
    found = [run for each in _incarnations(store, node) for run in store.runs(node=each, limit=limit, **wanted)]
    return sorted(found, key=lambda run: run.id, reverse=True)[:limit]


def _incarnations(store: Store, node: str) -> Sequence[str]:
    known = [*store.nodes(), *store.gone_nodes()]
    named = [each.id for each in known if each.name == node]
    return [node] if any(each.id == node for each in known) or not named else named[:_MOST_INCARNATIONS]
