"""SQLite, put to every promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import LONGEST_S

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import *  # noqa: F403  (the tests themselves)
from onthedot.testing.conformance import START_MS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("onthedot.stores.sql.store._WAIT_MS", LONGEST_S * 1000)  # this machine may be starved
    store = open_store(f"sqlite:///{tmp_path}/store.db", create=True, now_ms=clock)
    yield store
    store.close()
