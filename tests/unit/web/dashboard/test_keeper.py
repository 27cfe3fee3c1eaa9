"""What all pages tell is read seldom, and nobody waits for it but the first."""

from __future__ import annotations

from threading import Event

import pytest
from tests.patience import LONGEST_S

from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock
from onthedot.web.dashboard.keeper import Keeper


class _Reading:
    """Takes as long as it is told to, by the clock; counts how often it is asked."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.takes_ms = 0
        self.times = 0
        self.done = Event()

    def __call__(self, _store: Store) -> str:
        self.times += 1
        self.clock.pass_by(self.takes_ms)
        self.done.set()
        return f"reading {self.times}"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000_000)


@pytest.fixture
def reading(clock: ManualClock) -> _Reading:
    return _Reading(clock)


def test_it_is_read_once_a_second_whoever_asks(clock: ManualClock, reading: _Reading) -> None:
    keeper, store = Keeper("it", reading, clock), MemoryStore(clock)
    for _ in range(5):
        keeper.read(store)
    assert reading.times == 1

    clock.pass_by(1000)
    assert keeper.read(store) == "reading 2"


def test_what_takes_long_is_read_behind_and_more_seldom(clock: ManualClock, reading: _Reading) -> None:
    keeper, store = Keeper("it", reading, clock), MemoryStore(clock)
    reading.takes_ms = 500
    keeper.read(store)
    clock.pass_by(9000)
    assert keeper.read(store) == "reading 1"
    assert reading.times == 1

    reading.done.clear()
    clock.pass_by(1000)
    assert keeper.read(store) == "reading 1"
    assert reading.done.wait(LONGEST_S)
