"""MariaDB, put to every promise; MySQL 9 to all of them by `scripts/test-slow` (test_mysql_9.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.patience import LONGEST_S
from tests.servers.emptying import empty
from tests.servers.mariadb import database_in

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import *  # noqa: F403  (the tests themselves)
from onthedot.testing.conformance import START_MS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=["mariadb", pytest.param("mysql_9", marks=pytest.mark.slow)], scope="session")
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """One for all tests, since making one takes longer than most of them."""
    with database_in(request.getfixturevalue(f"{request.param}_server")) as url:
        yield url


@pytest.fixture
def store(database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("onthedot.stores.sql.mysql.IDLE_IN_TRANSACTION_S", 60)
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", LONGEST_S * 1000)  # this machine may be starved
    store = open_store(database, create=True, now_ms=clock)
    yield store
    store.close()
    empty(database)
