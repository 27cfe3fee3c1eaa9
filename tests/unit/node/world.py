"""What node tests act on: a store, a clock that is moved by hand, an app, and nodes that make one pass at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.patience import LONGEST_S

from onthedot import App
from onthedot.clock import ManualClock
from onthedot.errors import StoreUnavailable
from onthedot.events import TOPICS, Emitter, Event
from onthedot.model.run import Run
from onthedot.moments import ceil_ms
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.rules.effects import Decide
from onthedot.stores.answers import Planned, Started
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store

START = ceil_ms("2026-11-15T12:00:00Z")
T = TypeVar("T")


class LossyStore(MemoryStore):
    """Commits, and loses the answer, as often as it is told to."""

    lose = 0
    away = False
    """It answers nothing at all."""

    @contextmanager
    def begin(self) -> Iterator[Any]:
        if self.away:
            raise StoreUnavailable("away")
        with super().begin() as tx:
            yield tx

    def plan_due(self, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        return self._answered(super().plan_due(node_id, limit, free_workers, decide))

    def start_due(self, node_id: str, tasks: Sequence[str], limit: int, **how: Any) -> Started:
        return self._answered(super().start_due(node_id, tasks, limit, **how))

    def _answered(self, answer: T) -> T:
        if self.lose and (getattr(answer, "effects", None) or getattr(answer, "runs", None)):
            self.lose -= 1
            raise ConnectionResetError("the answer was lost")
        return answer


class Place:
    """A store and a clock, and what may be done there."""

    def __init__(self, clock: ManualClock, store: Store) -> None:
        self.clock = clock
        self.app = App("memory://", store=store, clock=clock)
        self.events: list[Event] = []

    def node(
        self, name: str = "node", app: App | None = None, settings: NodeSettings | None = None, *, joined: bool = True
    ) -> NodeRunner:
        """A node that knows the tasks of the app."""
        emitter = Emitter(lambda event, error: None)
        for kind in TOPICS.values():
            emitter.subscribe(kind, self.events.append)
        tasks = (app or self.app).tasks
        runner = NodeRunner(
            self.app.open_store(),
            self.clock,
            emitter,
            tasks.lookup,
            lambda: (tasks.names(), tasks.infos()),
            settings=settings or NodeSettings(name=name),
        )
        if joined:
            runner.join()
        return runner

    def runs(self, schedule: str | None = None) -> list[Run]:
        return list(self.app.runs.list(schedule=schedule, limit=10_000).items)

    def settle(self, *nodes: NodeRunner) -> None:
        """Let the workers end, and write what came of it."""
        for node in nodes:
            assert node.worker._empty.wait(LONGEST_S)
            node.write_once()

    def pass_by(self, ms: int, *nodes: NodeRunner) -> None:
        """Let time pass, and each node make one pass."""
        self.clock.advance(ms)
        for node in nodes:
            node.heartbeat_once()
            node.plan_once()
        self.settle(*nodes)


class World(Place):
    """In memory."""

    def __init__(self) -> None:
        clock = ManualClock(START)
        self.store = LossyStore(clock.now_ms)
        super().__init__(clock, self.store)


class FileWorld(Place):
    """On an SQLite file."""

    def __init__(self, folder: Path) -> None:
        clock = ManualClock(START)
        self.file = folder / "jobs.db"
        self.url = f"sqlite:///{self.file}"
        self.store = open_store(self.url, create=True, now_ms=clock.now_ms)
        super().__init__(clock, self.store)

    def sql(self, text: str) -> None:
        """What somebody does to the file behind our back."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(text)
