"""The same random histories as for the rules themselves, with every row in MongoDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.model.histories import ONE_OF_EACH, OTHERS, draw, violation
from tests.servers.mongodb_set import emptied

from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store

FEW, MANY = ONE_OF_EACH[:3], (*ONE_OF_EACH[3:], *OTHERS)
"""A history takes several seconds here."""


@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_every_promise_holds_after_every_step_of_every_history(seeds: Sequence[int], mongodb_url: str) -> None:
    opened: list[Engine] = []

    def make_store(now_ms: Callable[[], int]) -> Engine:
        store = open_store(emptied(mongodb_url), create=True, now_ms=now_ms)
        assert isinstance(store, Engine)
        opened.append(store)
        return store

    for seed in seeds:
        history = draw(seed)
        broken = violation(history, make_store=make_store)
        opened.pop().close()
        if broken is not None:
            pytest.fail(f"seed {seed}\n{history}\n{broken}", pytrace=False)
