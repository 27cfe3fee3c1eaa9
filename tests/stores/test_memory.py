"""The store in memory, put to every promise."""

from __future__ import annotations

import pytest

from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import *  # noqa: F403  (the tests themselves)
from onthedot.testing.conformance import START_MS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)
