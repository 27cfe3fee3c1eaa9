"""Stores in memory that show what the engine does with a transaction, or let something happen between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from onthedot.model.log_line import LogLine
from onthedot.model.run import Run
from onthedot.stores.memory import MemoryStore, _MemoryTransaction

SCHEDULES, NODES, RUNS = "schedules", "nodes", "runs"
_LOCKS = {
    "due_schedules": (SCHEDULES, False),
    "schedules_named": (SCHEDULES, True),
    "lock_schedules": (SCHEDULES, True),
    "schedules_if_free": (SCHEDULES, False),
    "node": (NODES, True),
    "node_shared": (NODES, True),
    "live_runs": (RUNS, True),
    "live_runs_if_free": (RUNS, False),
}
"""What each method of a transaction locks, and whether it waits for others."""

Lock = tuple[str, bool]


class RecordingStore(MemoryStore):
    """Keeps what each transaction locked, in its order."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms)
        self.transactions: list[list[Lock]] = []

    @contextmanager
    def begin(self) -> Iterator[Any]:
        with super().begin() as tx:
            self.transactions.append([])
            yield _Recording(tx, self.transactions[-1])


class _Recording:
    def __init__(self, tx: _MemoryTransaction, locks: list[Lock]) -> None:
        self._tx = tx
        self._locks = locks

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._tx, name)
        return partial(self._locking, _LOCKS[name], value) if name in _LOCKS else value

    def _locking(self, lock: Lock, method: Callable[..., Any], *args: Any) -> Any:
        if lock[0] is not RUNS or args[0]:  # asking for no runs locks none
            self._locks.append(lock)
        return method(*args)


class InterruptedStore(MemoryStore):
    """Lets something happen in the midst of a transaction, as another process would make it."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms)
        self.before: dict[str, Callable[[], None]] = {}
        """What happens once, before a transaction calls the method of this name with something."""

    @contextmanager
    def begin(self) -> Iterator[Any]:
        with super().begin() as tx:
            yield _Interrupted(tx, self.before)

    def write(self, *runs: Run) -> None:
        """Another process has written these."""
        with super().begin() as tx:
            tx.save_runs(runs)


class _Interrupted:
    def __init__(self, tx: _MemoryTransaction, before: dict[str, Callable[[], None]]) -> None:
        self._tx = tx
        self._before = before

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._tx, name)
        return partial(self._call, name, value) if name in self._before else value

    def _call(self, name: str, method: Callable[..., Any], *args: Any) -> Any:
        if args[0]:
            self._before.pop(name)()
        return method(*args)


class RefusingStore(MemoryStore):
    """Refuses to write some runs, as a database does that has no such character."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__(now_ms)
        self.refuses: Callable[[Run], bool] = lambda run: False
        self.refused_text = "never said"
        """Lines of this text, too."""
        self.error: Exception = ValueError("no such character in this database")

    @contextmanager
    def begin(self) -> Iterator[Any]:
        with super().begin() as tx:
            yield _Refusing(tx, self)


class _Refusing:
    def __init__(self, tx: _MemoryTransaction, store: RefusingStore) -> None:
        self._tx = tx
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def save_runs(self, runs: Sequence[Run]) -> None:
        self._check(runs)
        self._tx.save_runs(runs)

    def end_runs(self, runs: Sequence[Run]) -> None:
        self._check(runs)
        self._tx.end_runs(runs)

    def add_log(self, lines: Sequence[LogLine]) -> None:
        if any(line.text == self._store.refused_text for line in lines):
            raise self._store.error
        self._tx.add_log(lines)

    def _check(self, runs: Sequence[Run]) -> None:
        if any(map(self._store.refuses, runs)):
            raise self._store.error
