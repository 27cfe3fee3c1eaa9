"""The same random histories as for the rules themselves, with every row in Redis."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.model.histories import draw, violation
from tests.servers.redis import fresh

from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store

HISTORIES = 12
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_every_promise_holds_after_every_step_of_every_history(part: int, redis_server: str) -> None:
    opened: list[Engine] = []

    def make_store(now_ms: Callable[[], int]) -> Engine:
        store = open_store(fresh(redis_server), create=True, now_ms=now_ms)
        assert isinstance(store, Engine)
        opened.append(store)
        return store

    for seed in range(part, HISTORIES, PARTS):
        history = draw(seed)
        broken = violation(history, make_store=make_store)
        opened.pop().close()
        if broken is not None:
            pytest.fail(f"seed {seed}\n{history}\n{broken}", pytrace=False)
