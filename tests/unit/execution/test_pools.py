"""Pools: how much can begin where, and threads that are made only when needed."""

from __future__ import annotations

from threading import Event, Lock, Semaphore, active_count

import pytest
from tests.patience import LONGEST_S

from onthedot.execution import thread_pool as pools
from onthedot.execution.thread_pool import Opening, Pool, Room, Sizes, ThreadPool, openings
from onthedot.model.run import Run


def run(task: str) -> Run:
    return Run(task, task, "enqueue", 0, 0)


def test_pools_with_plenty_of_room_are_filled_together_and_scarce_ones_by_themselves() -> None:
    tasks: dict[Pool, list[str]] = {"fast": ["a", "b"], "loop": ["c"], "slow": ["d"], "process": ["e"]}
    free: dict[Pool, int] = {"fast": 200, "loop": 150, "slow": 3, "process": 0}
    assert openings(tasks, free) == [Opening(("a", "b", "c"), ("fast", "loop"), 150), Opening(("d",), ("slow",), 3)]


def test_a_full_pool_is_no_opening() -> None:
    assert openings({"fast": ["a"]}, {"fast": 0}) == []
    assert openings({"fast": ["a"]}, {"fast": -5}) == []


def test_room_is_counted_down_pool_by_pool() -> None:
    places: dict[str, Pool] = {"quick": "fast", "long": "slow"}
    room = Room({"fast": 2, "slow": 1}, lambda run: places[run.task])
    assert [room.take(run(task)) for task in ("long", "long", "quick", "quick", "quick")] == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_the_sizes_are_those_of_the_design_by_default() -> None:
    sizes = Sizes.of(200)
    assert (sizes.fast, sizes.fast_queue, sizes.slow, sizes.slow_queue) == (200, 2000, 100, 5000)


def test_one_thread_serves_what_comes_one_after_the_other() -> None:
    before, done = active_count(), Semaphore(0)
    pool: ThreadPool[int] = ThreadPool("test", 50, lambda item: done.release())
    for number in range(100):
        pool.put(number)
        assert done.acquire(timeout=LONGEST_S)
    assert active_count() - before <= 3
    pool.close()


def test_no_more_threads_are_made_than_the_pool_has_and_all_items_are_done() -> None:
    inside, most, lock, left = [0], [0], Lock(), Semaphore(0)

    def work(item: int) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        Event().wait(0.001)
        with lock:
            inside[0] -= 1
        left.release()

    pool: ThreadPool[int] = ThreadPool("test", 4, work)
    for number in range(200):
        pool.put(number)
    for _ in range(200):
        assert left.acquire(timeout=LONGEST_S)
    assert 1 < most[0] <= 4
    pool.close()


def test_threads_that_have_nothing_to_do_end_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_S", 0.001)
    done = Semaphore(0)
    pool: ThreadPool[int] = ThreadPool("test", 4, lambda item: done.release())
    for number in range(300):  # again and again just when a thread is about to end
        pool.put(number)
        if number % 3 == 0:
            Event().wait(0.001)
    for _ in range(300):
        assert done.acquire(timeout=LONGEST_S), "an item was left in the queue without a thread"
    assert pool._made > pool.size, "no thread ended"
    pool.close()
    while pool._threads:
        Event().wait(0.01)
