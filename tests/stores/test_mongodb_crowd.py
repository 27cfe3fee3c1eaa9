"""Many nodes on the same documents at once: they share them, though nobody can lock one."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tests.patience import LONGEST_S
from tests.stores.crowd import START_MS, Crowd

from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock


def test_ten_nodes_on_the_same_documents_share_them_without_an_error(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in ("_WAIT_MS", "_LONGEST_MS"):
        monkeypatch.setattr(f"onthedot.stores.mongo.store.{bound}", LONGEST_S * 1000)  # this machine may be starved
    clock = ManualClock(START_MS)
    with ExitStack() as stack:
        stores = [open_store(mongodb_url, create=True, now_ms=clock) for _ in range(10)]
        for store in stores:
            stack.callback(store.close)
        crowd = Crowd(stores, clock, 1000, schedules=6)
        crowd.put_schedules()
        crowd.work()
        crowd.settle()
        crowd.check()
        assert crowd.failures == 0
