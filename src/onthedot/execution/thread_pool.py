"""Where runs are executed: pools of threads made only when needed, and how much room there is in each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, get_ident
from time import sleep
from typing import Generic, Literal, NamedTuple, TypeVar

from onthedot.model.run import Run

Pool = Literal["fast", "slow", "loop", "process", "remote"]
POOLS: tuple[Pool, ...] = ("fast", "slow", "loop", "process", "remote")
REMOTE = 1000
"""How many runs a node watches at engines; they hold no thread."""
IDLE_S = 60.0
"""How long a thread waits for work before it ends."""
FEW = 4
"""So many threads are made without waiting whether fewer would do."""
MOMENT_S = 0.01
SHORT = 4
"""Where a thread does so many items in a moment, they are short."""
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
    remote: int = 0

    @classmethod
    def of(cls, workers: int, *, has_engines: bool = False) -> Sizes:
        """So many threads, as many on the event loop, half as many for what is slow, a process for each core."""
        remote = REMOTE if has_engines else 0
        return cls(workers, max(workers // 2, 1), workers, max(min(workers, os.cpu_count() or 1), 1), remote=remote)

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Those that there are: without an engine nothing is remote."""
        return POOLS if self.remote else tuple(pool for pool in POOLS if pool != "remote")

    def of_pool(self, pool: Pool) -> int:
        """How many runs the pool may have at once."""
        size: int = getattr(self, pool)
        return size

    def by_pool(self) -> dict[str, int]:
        """How many runs each pool may have at once."""
        return {pool: self.of_pool(pool) for pool in self.pools}

    def queue_of(self, pool: Pool) -> int:
        """How many more it may hold."""
        return self.fast_queue if pool == "fast" else self.slow_queue if pool == "slow" else 0


class ThreadPool(Generic[T]):
    """Does `work` with each item that is put, on at most `size` threads. Thread-safe.

    A few threads do what is short sooner than many, which would only wait for each other. Where items still wait
    after a moment in which each thread has done next to nothing, there are as many threads as items. What `work`
    raises is handed to `on_error`: a thread outlives its items.
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
        self._members: set[int] = set()
        self._made = self._done = 0
        self._too_few = Event()
        """Items wait for a thread; somebody looks whether they still do in a moment."""
        self._grows = False
        self._closed = False

    def put(self, *items: T) -> None:
        """Have them done, by threads that have nothing to do, new ones, or the next that are free.

        A thread of the pool that puts some is about to take one. `RuntimeError` if there is none, and the system gives
        none.
        """
        for item in items:
            self._queue.put(item)
        with self._lock:
            missing = self._missing(coming_back=get_ident() in self._members)
            if missing <= 0:
                return
            names = [self._one_more() for _ in range(min(missing, FEW - self._threads))]
        for name in names:
            self._start(name)
        if missing > len(names):
            self._look_again()

    def close(self) -> None:
        """End the threads, each when it has nothing to do."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):  # to each its own: older Pythons let a thread wait on after its time is over
                self._queue.put(None)
        self._too_few.set()

    def _missing(self, *, coming_back: bool = False) -> int:
        """How many more threads could be at work, where the one that asks takes an item itself, or not."""
        return min(self._queue.qsize() - self._idle - coming_back, self.size - self._threads)

    def _one_more(self) -> str:
        self._threads += 1
        self._made += 1
        return f"onthedot-{self._name}-{self._made}"

    def _start(self, name: str) -> None:
        try:
            Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    raise

    def _look_again(self) -> None:
        """In a moment, whether items still wait."""
        if self._too_few.is_set():
            return
        with self._lock:
            self._too_few.set()
            if self._grows or self._closed:
                return
            self._grows = True
        try:
            Thread(target=self._grow, name=f"onthedot-{self._name}-more", daemon=True).start()
        except RuntimeError:  # then there are no more for the items either
            self._grows = False
            self._too_few.clear()

    def _grow(self) -> None:
        while self._is_looking():
            done = self._done
            sleep(MOMENT_S)
            with self._lock:
                missing = self._missing()
                are_short = self._done - done >= SHORT * self._threads
                names = [self._one_more() for _ in range(0 if are_short else missing)]
                if missing <= 0:
                    self._too_few.clear()
            for name in names:
                self._start(name)

    def _is_looking(self) -> bool:
        """Wait for items that wait; False after a while without any."""
        self._too_few.wait(IDLE_S)
        with self._lock:
            self._grows = self._too_few.is_set() and not self._closed
            return self._grows

    def _run(self) -> None:
        with self._lock:
            self._idle += 1
            self._members.add(get_ident())
        while (item := self._next()) is not None:
            try:
                self._work(item)
            except BaseException as error:
                self._on_error(error)
            with self._lock:
                self._idle += 1
                self._done += 1

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
                    self._members.discard(get_ident())
                    return None
                too_few = self._missing() > 0  # it was idle for others who came while it had this item already
            if too_few:
                self._look_again()
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
    """What can begin now, pool by pool, counted down by whoever plans with it; and in a moment, of what is brief."""

    def __init__(
        self,
        free: Mapping[Pool, int],
        pool_of: Callable[[Run], Pool],
        soon: Mapping[Pool, int] | None = None,
        is_brief: Callable[[Run], bool] = lambda run: False,
    ) -> None:
        self._free = dict(free)
        self._pool_of = pool_of
        self._soon = dict(soon or {})
        self._is_brief = is_brief

    def take(self, run: Run) -> bool:
        """Whether the run can begin; if so, its place is taken."""
        pool = self._pool_of(run)
        if self._free[pool] <= 0 and not (self._soon.get(pool, 0) > 0 and self._is_brief(run)):
            return False
        self._free[pool] -= 1
        self._soon[pool] = self._soon.get(pool, 0) - 1
        return True
