"""The newest PostgreSQL, put to the promises that another way of locking or planning could break.

To every one of them by `scripts/test-slow` (test_postgresql.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.patience import LONGEST_S
from tests.servers.emptying import empty
from tests.servers.postgresql import database_in

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import (
    START_MS,
    TestFinishingAndStarting,
    TestKeys,
    TestManyThreadsAtOnce,
    TestPlanningAhead,
)

__all__ = ["TestFinishingAndStarting", "TestKeys", "TestManyThreadsAtOnce", "TestPlanningAhead"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(scope="session")
def database(postgresql_18_server: str) -> Iterator[str]:
    """One for all tests, since making one takes longer than most of them; on a machine that may be starved."""
    with database_in(postgresql_18_server) as url:
        yield f"{url}?options=-c%20idle_in_transaction_session_timeout%3D60s"


@pytest.fixture
def store(database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", LONGEST_S * 1000)  # this machine may be starved
    store = open_store(database, create=True, now_ms=clock)
    yield store
    store.close()
    empty(database)
