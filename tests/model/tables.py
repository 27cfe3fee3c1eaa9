"""The rows of a store, tombstones and dead nodes included: all that the promises are checked on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import LIVE
from onthedot.stores.engine import Engine
from onthedot.stores.memory import MemoryStore
from onthedot.stores.transaction import Transaction

MakeStore = Callable[[Callable[[], int]], Engine]
"""An empty store that goes by this clock."""
_ALL = 100_000


class Tables(Protocol):
    """By id; decisions by schedule, in the order in which they were made."""

    @property
    def schedules(self) -> Mapping[str, Schedule]: ...
    @property
    def runs(self) -> Mapping[str, Run]: ...
    @property
    def history(self) -> Mapping[str, Run]: ...
    @property
    def nodes(self) -> Mapping[str, Node]: ...
    @property
    def decisions(self) -> Mapping[str, Sequence[Decision]]: ...


@dataclass(frozen=True, slots=True)
class _Read:
    schedules: Mapping[str, Schedule]
    runs: Mapping[str, Run]
    history: Mapping[str, Run]
    nodes: Mapping[str, Node]
    decisions: Mapping[str, Sequence[Decision]]


def tables_of(
    store: Engine, names: Collection[str], begin: Callable[[], AbstractContextManager[Transaction]]
) -> Tables:
    """The store's own tables where it has them in memory, else everything read from it."""
    if isinstance(store, MemoryStore):
        return store._tables
    runs = sorted(store.runs(limit=_ALL), key=lambda run: run.fence)  # in the order in which they were started
    owners = {run.owner for run in runs if run.owner is not None}
    with begin() as tx:
        schedules = {row.id: row for row in tx.schedules_named(names).values()}
        nodes = [tx.node(each) for each in sorted(owners)]
    return _Read(
        schedules,
        {run.id: run for run in runs if run.state in LIVE},
        {run.id: run for run in runs if run.state not in LIVE},
        {node.id: node for node in nodes if node is not None},
        {each: store.decisions(each, limit=_ALL)[::-1] for each in schedules},
    )
