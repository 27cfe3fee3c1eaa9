"""Pools: how much can begin where, and threads that are made only when needed."""

from __future__ import annotations

from threading import Event, Lock, Semaphore, active_count, get_ident

import pytest
from tests.patience import LONGEST_S

from onthedot.clock import ManualClock
from onthedot.execution import thread_pool as pools
from onthedot.execution.pools import Pools
from onthedot.execution.thread_pool import FEW, Opening, Pool, Room, Sizes, ThreadPool, openings
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


def test_what_is_brief_may_be_planned_for_places_that_come_free_in_a_moment() -> None:
    places = Pools(lambda task: None, ManualClock(0), Sizes(2, 1, 2, 1))
    places.note("brief", 0)
    places.note("long", 3)
    for _ in range(2):
        assert places.take("fast")
    room = places.room_soon()
    assert [room.take(run(task)) for task in ("long", "brief", "brief", "brief")] == [False, True, True, False]
    assert not places.room().take(run("brief")), "what is planned at its moment begins, or waits in the store"
    places.note("brief", 3)
    assert not places.room_soon().take(run("brief")), "it is brief no more"


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


def test_a_thread_that_puts_an_item_into_its_own_pool_takes_it_itself() -> None:
    took: list[int] = []
    all_done = Event()

    def work(item: int) -> None:
        took.append(get_ident())
        if item:
            pool.put(item - 1)
        else:
            all_done.set()

    pool: ThreadPool[int] = ThreadPool("test", 50, work)
    pool.put(20)
    assert all_done.wait(LONGEST_S)
    pool.close()
    assert len(set(took)) == 1


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


def test_few_threads_do_what_is_short() -> None:
    done = Semaphore(0)
    pool: ThreadPool[int] = ThreadPool("test", 100, lambda item: done.release())
    for _ in range(20):
        for number in range(FEW):
            pool.put(number)
        for _ in range(FEW):
            assert done.acquire(timeout=LONGEST_S)
    assert pool._made <= FEW
    pool.close()


def test_as_many_threads_as_the_pool_has_do_what_stays() -> None:
    inside, go = Semaphore(0), Event()

    def stay(item: int) -> None:
        inside.release()
        go.wait(LONGEST_S)

    pool: ThreadPool[int] = ThreadPool("test", 40, stay)
    for number in range(50):
        pool.put(number)
    for _ in range(40):
        assert inside.acquire(timeout=LONGEST_S), "an item waits for others that stay, though there is room for it"
    assert pool._threads == 40
    go.set()
    for _ in range(10):
        assert inside.acquire(timeout=LONGEST_S)
    pool.close()


def test_an_item_that_comes_while_an_idle_thread_takes_another_does_not_wait_for_it() -> None:
    go, inside = Event(), Semaphore(0)

    def stay(item: int) -> None:
        inside.release()
        go.wait(LONGEST_S)

    for _ in range(50):
        go.clear()
        pool: ThreadPool[int] = ThreadPool("test", 2, stay)
        pool.put(1)
        pool.put(2)
        assert inside.acquire(timeout=LONGEST_S)
        assert inside.acquire(timeout=LONGEST_S), "the second waits for the first"
        go.set()
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


def test_a_pool_is_brisk_while_its_runs_are_short_and_no_longer_when_it_is_stuck() -> None:
    clock = ManualClock(0)
    places = Pools(lambda task: None, clock, Sizes(1, 1, 1, 1))
    assert places.brisk(50) is None, "nothing has run yet"
    assert places.take("fast")
    assert places.brisk(50) == "fast", "full, but only just"
    clock.advance(50)
    assert places.brisk(50) is None, "full, and nothing moves"
    places.give_back("fast")
    places.note("task", 50)
    assert places.brisk(50) is None, "its runs are long"
    places.note("task", 49)
    clock.advance(1000)
    assert places.brisk(50) == "fast", "it has room, and its runs are short"
