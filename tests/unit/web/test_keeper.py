"""What is kept is read seldom, and nobody waits for it but the first."""

from __future__ import annotations

from threading import Event, Semaphore, Thread

import pytest
from tests.patience import LONGEST_S

from onthedot.errors import StoreUnavailable
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock
from onthedot.web import keeper
from onthedot.web.keeper import OLD_MS, Keeper


class _Reading:
    """Takes as long as it is told to, by the clock; counts how often it is asked."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.takes_ms = 0
        self.times = 0
        self.fails = False
        self.done = Event()

    def __call__(self, _store: Store) -> str:
        self.times += 1
        self.clock.pass_by(self.takes_ms)
        self.done.set()
        if self.fails:
            raise StoreUnavailable("gone")
        return f"reading {self.times}"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000_000)


@pytest.fixture
def reading(clock: ManualClock) -> _Reading:
    return _Reading(clock)


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


def test_it_is_read_once_while_it_is_fresh_whoever_asks(
    clock: ManualClock, reading: _Reading, store: MemoryStore
) -> None:
    kept = Keeper(reading, clock, 900)
    assert {kept.read(store) for _ in range(5)} == {"reading 1"}

    clock.pass_by(900)
    assert kept.read(store) == "reading 2"


def test_what_is_never_fresh_is_read_for_each_while_that_is_quick(
    clock: ManualClock, reading: _Reading, store: MemoryStore
) -> None:
    kept = Keeper(reading, clock, 0)
    reading.takes_ms = 40
    assert [kept.read(store) for _ in range(3)] == ["reading 1", "reading 2", "reading 3"]

    reading.takes_ms = 41
    assert [kept.read(store) for _ in range(3)] == ["reading 4"] * 3


def test_what_takes_long_is_read_behind_and_more_seldom(
    clock: ManualClock, reading: _Reading, store: MemoryStore
) -> None:
    kept = Keeper(reading, clock, 900)
    reading.takes_ms = 500
    kept.read(store)
    clock.pass_by(9000)
    assert (kept.read(store), reading.times) == ("reading 1", 1)

    reading.done.clear()
    clock.pass_by(1000)
    assert kept.read(store) == "reading 1"
    assert reading.done.wait(LONGEST_S)


def test_who_looks_after_a_long_while_waits_for_what_is_true_now(
    clock: ManualClock, reading: _Reading, store: MemoryStore
) -> None:
    kept = Keeper(reading, clock, 900)
    reading.takes_ms = 500
    kept.read(store)
    clock.pass_by(OLD_MS)
    assert kept.read(store) == "reading 2"


def test_a_reading_that_fails_lets_others_read(clock: ManualClock, reading: _Reading, store: MemoryStore) -> None:
    kept = Keeper(reading, clock, 0)
    reading.fails = True
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            kept.read(store)
    reading.fails = False
    assert kept.read(store) == "reading 3"


def test_a_thread_that_cannot_be_had_keeps_nobody_from_reading(
    clock: ManualClock, reading: _Reading, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Keeper(reading, clock, 0)
    reading.takes_ms = 100
    kept.read(store)
    clock.pass_by(2_000)
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", _no_thread)
        assert kept.read(store) == "reading 1"
    clock.pass_by(OLD_MS)
    assert kept.read(store) == "reading 2"


def _no_thread(_self: Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_one_of_all_keepers_reads_behind_at_a_time(
    clock: ManualClock, reading: _Reading, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Thread] = []
    monkeypatch.setattr(keeper, "_behind", Semaphore(1))
    keepers = [Keeper(reading, clock, 0) for _ in range(4)]
    reading.takes_ms = 100
    assert [each.read(store) for each in keepers] == [f"reading {number}" for number in (1, 2, 3, 4)]
    clock.pass_by(2_500)
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", lambda thread: begun.append(thread))  # noqa: PLW0108  (bound to the thread)
        assert [each.read(store) for each in keepers] == [f"reading {number}" for number in (1, 2, 3, 4)]
    assert len(begun) == 1, "each would keep a connection"
    begun[0].run()
    assert [each.read(store) for each in keepers[:1]] == ["reading 5"]
