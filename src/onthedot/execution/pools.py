"""Which pool a run goes to, and how much room there is."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.clock import Clock
from onthedot.execution.slowness import SLOW_MS, Slowness
from onthedot.execution.targets import Lookup, Target
from onthedot.execution.thread_pool import PLENTY, POOLS, Opening, Pool, Room, Sizes, openings
from onthedot.model.run import Run

BRIEF_MS = 3
"""A run that takes less is over before anybody could be told that it waits."""
_WITH_A_QUEUE: tuple[Pool, ...] = ("fast", "loop")


def pool_by_rule(target: Target, chosen: str | None = None) -> Pool:
    """Where runs of the target go, whatever was chosen for them, as long as it has not been found to be slow."""
    if target.engine is not None:
        return "remote"
    chosen = chosen or target.pool
    if chosen == "process" and not target.stops_itself:
        return "process"
    if target.is_async:
        return "loop"
    return "slow" if chosen == "slow" else "fast"


def _goes_by_rule(target: Target) -> bool:
    return target.pool is None and pool_by_rule(target) == "fast"


class Pools:
    """The places of one worker. Taken and given back under the worker's lock; asked by anybody."""

    def __init__(self, lookup: Lookup, clock: Clock, sizes: Sizes) -> None:
        self._lookup = lookup
        self._clock = clock
        self.sizes = sizes
        self._slowness = Slowness()
        self._taken: dict[Pool, int] = dict.fromkeys(POOLS, 0)
        self._named: set[Pool] = set()
        """The pools that runs were seen to ask for by name."""
        self._brief: set[str] = set()
        """The tasks that took next to no time when they were last done here."""
        self._moved: Pool | None = None
        self._moved_ms = self._took_ms = 0
        """Where a place was taken or given back last, and when; and how long the last run took."""
        self._given_back_ms: dict[Pool, int] = {}

    @property
    def free(self) -> int:
        """How many more runs can begin now, in all pools together."""
        return sum(max(self.free_in(pool), 0) for pool in self.sizes.pools)

    @property
    def is_full(self) -> bool:
        """Whether there is a pool in which nothing more can begin now."""
        return any(self.free_in(pool) <= 0 for pool in self.sizes.pools)

    def free_in(self, pool: Pool) -> int:
        """How many more runs can begin in the pool; less than none if some wait in its queue."""
        return self.sizes.of_pool(pool) - self._taken[pool]

    def room(self) -> Room:
        """What can begin now, for a planner to count down."""
        return Room({pool: self.free_in(pool) for pool in POOLS}, self.pool_of)

    def room_soon(self) -> Room:
        """The same, and as many places again for what is brief: it begins before another could take it."""
        free = {pool: self.free_in(pool) for pool in POOLS}
        soon = {pool: free[pool] + self.sizes.of_pool(pool) for pool in _WITH_A_QUEUE}
        return Room(free, self.pool_of, soon, self.is_brief)

    def is_brief(self, run: Run) -> bool:
        """Whether its task took next to no time when it was last done here."""
        return run.task in self._brief

    def openings(self, tasks: Sequence[str], *, every_pool: bool = False) -> list[Opening]:
        """What can be started now of these tasks.

        A schedule may name a pool that no task goes to by itself. Such a pool is among them if it has plenty of room,
        if it was named before, or if all are asked for.
        """
        by_pool: dict[Pool, list[str]] = {}
        for task in tasks:
            by_pool.setdefault(self.pool_for(task, self._lookup(task), None), []).append(task)
        for pool in POOLS if by_pool else ():
            if every_pool or pool in self._named or self.free_in(pool) >= PLENTY:
                by_pool.setdefault(pool, [])
        return openings(by_pool, {pool: self.free_in(pool) for pool in by_pool})

    def pool_of(self, run: Run) -> Pool:
        """Where the run is to be executed."""
        return self.pool_for(run.task, self._lookup(run.task), run.policy.pool)

    def pool_for(self, task: str, target: Target | None, chosen: str | None) -> Pool:
        """Where runs of the task are executed, whatever pool was chosen for them, or none."""
        if target is None:
            return "fast"
        if chosen is not None and chosen not in self._named and chosen in POOLS:
            self._named.add(chosen)
        pool = pool_by_rule(target, chosen)
        if chosen is None and self._slowness.is_watching and _goes_by_rule(target):
            return "slow" if self._slowness.is_slow(task, self._clock.monotonic_ms()) else "fast"
        return pool

    def found_slow(self) -> list[str]:
        """The tasks whose runs go to the slow pool because of what they took, by name."""
        now_ms = self._clock.monotonic_ms()
        found = (task for task in self._slowness.noted() if self._slowness.is_slow(task, now_ms))
        return sorted(task for task in found if (target := self._lookup(task)) and _goes_by_rule(target))

    def take(self, pool: Pool) -> bool:
        """Take a place, if need be in the queue; False if that is full too. What the store holds for this node anyway
        has its place on the loop and before the processes, however many there are.
        """
        if pool in ("fast", "slow") and -self.free_in(pool) >= self.sizes.queue_of(pool):
            return False
        self._move(pool, 1)
        return True

    def give_back(self, pool: Pool) -> None:
        """Nothing of the run is there any more."""
        self._move(pool, -1)
        self._given_back_ms[pool] = self._moved_ms

    def gave_back_within(self, pool: Pool, ms: int) -> bool:
        """Whether a place of the pool has come free lately."""
        return self._clock.monotonic_ms() - self._given_back_ms.get(pool, -ms) < ms

    def _move(self, pool: Pool, by: int) -> None:
        self._taken[pool] += by
        self._moved, self._moved_ms = pool, self._clock.monotonic_ms()

    def brisk(self, within_ms: int) -> Pool | None:
        """The pool whose runs take less than that, as far as is known: its places come free all the time. None if there
        is none; one that is full, and has not moved for as long, is none either.
        """
        pool = self._moved
        if pool is None or self._took_ms >= within_ms:
            return None
        moves = self.free_in(pool) > 0 or self._clock.monotonic_ms() - self._moved_ms < within_ms
        return pool if moves else None

    def note(self, task: str, took_ms: int) -> None:
        """A run of the task has ended after so long."""
        self._took_ms = took_ms
        if took_ms < BRIEF_MS:
            self._brief.add(task)
        else:
            self._brief.discard(task)
        if took_ms > SLOW_MS:
            self._slowness.note(task, took_ms, self._clock.monotonic_ms())
