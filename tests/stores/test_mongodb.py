"""MongoDB, put to every promise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import *  # noqa: F403  (the tests themselves)
from onthedot.testing.conformance import START_MS

NEVER_WRITTEN = "test_no_two_live_runs_have_one_slot_whoever_writes_them"
"""It is tried for as long as what others are in the way of: in this test not a minute."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(
    clock: ManualClock, mongodb_url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Store]:
    for bound in ("_WAIT_MS", "_LONGEST_MS"):
        monkeypatch.setattr(f"onthedot.stores.mongo.store.{bound}", 60_000)  # this machine may be starved
    if request.node.name == NEVER_WRITTEN:
        monkeypatch.setattr("onthedot.stores.mongo.store._WAIT_MS", 500)
    store = open_store(mongodb_url, create=True, now_ms=clock)
    yield store
    store.close()
