"""The same random histories as for the rules themselves, with every row in Redis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.model.histories import ONE_OF_EACH, OTHERS, draw, violation
from tests.servers.redis import fresh

from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store


@pytest.mark.parametrize("seeds", [ONE_OF_EACH, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["few", "many"])
def test_every_promise_holds_after_every_step_of_every_history(seeds: Sequence[int], redis_server: str) -> None:
    opened: list[Engine] = []

    def make_store(now_ms: Callable[[], int]) -> Engine:
        store = open_store(fresh(redis_server), create=True, now_ms=now_ms)
        assert isinstance(store, Engine)
        opened.append(store)
        return store

    for seed in seeds:
        history = draw(seed)
        broken = violation(history, make_store=make_store)
        opened.pop().close()
        if broken is not None:
            pytest.fail(f"seed {seed}\n{history}\n{broken}", pytrace=False)
