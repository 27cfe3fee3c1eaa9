"""Where runs are executed: pools of threads made only when needed, and how much room there is in each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, Literal, NamedTuple, TypeVar

from onthedot.model.run import Run

Pool = Literal["fast", "slow", "loop", "process"]
POOLS: tuple[Pool, ...] = ("fast", "slow", "loop", "process")
IDLE_S = 60.0
"""How long a thread waits for work before it ends."""
PLENTY = 64
"""Pools with so much room are filled together, in one transaction."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many runs each pool may have at once, and how many more may wait in its queue."""

    fast: int = 200
    slow: int = 100
    loop: int = 200
    process: int = 1
    fast_queue: int = 2000
    slow_queue: int = 5000

    @classmethod
    def of(cls, workers: int) -> Sizes:
        """So many threads, as many on the event loop, half as many for what is slow, a process for each core."""
        return cls(workers, max(workers // 2, 1), workers, max(min(workers, os.cpu_count() or 1), 1))

    def of_pool(self, pool: Pool) -> int:
        """How many runs the pool may have at once."""
        size: int = getattr(self, pool)
        return size

    def queue_of(self, pool: Pool) -> int:
        """How many more it may hold."""
        return self.fast_queue if pool == "fast" else self.slow_queue if pool == "slow" else 0


class ThreadPool(Generic[T]):
    """Does `work` with each item that is put, on at most `size` threads. Thread-safe.

    What `work` raises is handed to `on_error`: a thread outlives its items.
    """

    def __init__(
        self,
        name: str,
        size: int,
        work: Callable[[T], None],
        on_error: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self.size = size
        self._name = name
        self._work = work
        self._on_error = on_error
        self._lock = Lock()
        self._queue: SimpleQueue[T | None] = SimpleQueue()
        self._threads = 0
        self._idle = 0
        self._made = 0

    def put(self, item: T) -> None:
        """Have it done, by a thread that has nothing to do, a new one, or the next that is free.

        `RuntimeError` if there is none, and the system gives none.
        """
        self._queue.put(item)
        with self._lock:
            if self._idle >= self._queue.qsize() or self._threads >= self.size:
                return
            self._threads += 1
            self._made += 1
            number = self._made
        try:
            Thread(target=self._run, name=f"onthedot-{self._name}-{number}", daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    raise

    def close(self) -> None:
        """End the threads, each when it has nothing to do."""
        with self._lock:
            for _ in range(self._threads):  # to each its own: older Pythons let a thread wait on after its time is over
                self._queue.put(None)

    def _run(self) -> None:
        with self._lock:
            self._idle += 1
        while (item := self._next()) is not None:
            try:
                self._work(item)
            except BaseException as error:
                self._on_error(error)
            with self._lock:
                self._idle += 1

    def _next(self) -> T | None:
        """The next item, for a thread that is no longer idle; None for one that is no longer there."""
        while True:
            in_vain = False
            try:
                item = self._queue.get(timeout=IDLE_S)
            except Empty:
                item, in_vain = None, True
            with self._lock:
                if in_vain and not self._queue.empty():
                    continue  # it came just now
                self._idle -= 1
                if item is None:
                    self._threads -= 1
                return item


class Counts(NamedTuple):
    """How full a pool is: how many runs it may have at once, how many more can begin, are inside, and wait."""

    size: int
    free: int
    running: int
    queued: int


class Opening(NamedTuple):
    """Pools in which so many more runs can begin now, and the tasks whose runs go there unless they say otherwise."""

    tasks: tuple[str, ...]
    pools: tuple[Pool, ...]
    room: int


def openings(tasks: Mapping[Pool, Sequence[str]], free: Mapping[Pool, int]) -> list[Opening]:
    """What to start together: pools with plenty of room at once, up to the least of it; the others one by one."""
    ample = [pool for pool in tasks if free[pool] >= PLENTY]
    scarce = [pool for pool in tasks if 0 < free[pool] < PLENTY]
    found = [Opening(tuple(tasks[pool]), (pool,), free[pool]) for pool in scarce]
    if ample:
        together = tuple(task for pool in ample for task in tasks[pool])
        found.insert(0, Opening(together, tuple(ample), min(free[pool] for pool in ample)))
    return found


class Room:
    """What can begin now, pool by pool, counted down by whoever plans with it."""

    def __init__(self, free: Mapping[Pool, int], pool_of: Callable[[Run], Pool]) -> None:
        self._free = dict(free)
        self._pool_of = pool_of

    def take(self, run: Run) -> bool:
        """Whether the run can begin; if so, its place is taken."""
        pool = self._pool_of(run)
        if self._free[pool] <= 0:
            return False
        self._free[pool] -= 1
        return True
