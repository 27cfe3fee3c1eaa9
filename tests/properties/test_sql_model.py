"""The same random histories as for the rules themselves, with every row in an SQL database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.model.histories import ONE_OF_EACH, OTHERS, draw, violation, with_enqueued
from tests.servers.emptying import empty

from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store

FEW = {"sqlite": ONE_OF_EACH, "postgresql": ONE_OF_EACH[::2], "mariadb": ONE_OF_EACH[1::2]}
"""Each step is read back whole, which takes seconds for a history on a server."""


@pytest.fixture(params=["sqlite", "postgresql_15", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


@pytest.mark.parametrize("count", ["few", pytest.param("many", marks=pytest.mark.slow)])
def test_every_promise_holds_after_every_step_of_every_history(url: str, tmp_path: Path, count: str) -> None:
    opened: list[Engine] = []
    made = 0

    def make_store(now_ms: Callable[[], int]) -> Engine:
        nonlocal made
        made += 1
        on_file = url.startswith("sqlite")
        if not on_file and made > 1:
            empty(url)
        store = open_store(f"sqlite:///{tmp_path}/{made}.db" if on_file else url, create=True, now_ms=now_ms)
        assert isinstance(store, Engine)
        opened.append(store)
        return store

    for seed in FEW[url.partition(":")[0]] if count == "few" else (*ONE_OF_EACH, *OTHERS):
        history = with_enqueued(draw(seed), seed)
        broken = violation(history, make_store=make_store)
        opened.pop().close()
        if broken is not None:
            pytest.fail(f"seed {seed}\n{history}\n{broken}", pytrace=False)
