"""Flows under random histories: crashes between any two commits, lost answers, rows that others hold, retries, stops.

What is checked stands in `tests.model.flow_oracle`. A broken history says its seed, which gives the same one again.
That each rule matters is shown by `scripts/sabotage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.model.flow_oracle import Broken, FlowOracle
from tests.model.flows import history

from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store

PART = 40
PARTS = [*range(4), *(pytest.param(part, marks=pytest.mark.slow) for part in range(4, 100))]


@pytest.mark.parametrize("part", PARTS)
def test_every_promise_holds_after_every_commit(part: int) -> None:
    for seed in range(part * PART, (part + 1) * PART):
        try:
            history(seed)
        except Broken as broken:
            pytest.fail(str(broken), pytrace=False)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 60))])
def test_every_promise_holds_with_every_row_in_a_database(seed: int, tmp_path: Path) -> None:
    def on_file(now_ms: Callable[[], int]) -> Engine:
        store = open_store(f"sqlite:///{tmp_path}/jobs.db", create=True, now_ms=now_ms)
        assert isinstance(store, Engine)
        return store

    try:
        history(seed, on_file, steps=120)
    except Broken as broken:
        pytest.fail(str(broken), pytrace=False)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 50))])
def test_every_promise_holds_of_broadcasts(part: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(part * PART, (part + 1) * PART):
        try:
            met += history(seed, broadcast=True).oracle.counts
        except Broken as broken:
            pytest.fail(str(broken), pytrace=False)
    assert all(met[f"flow {state}"] for state in ("succeeded", "failed", "cancelled")), met
    assert met["started"] > 5 * PART


def test_histories_meet_what_they_are_meant_to_meet() -> None:
    met: Counter[str] = Counter()
    for seed in range(30):
        met += history(seed).oracle.counts
    assert all(met[f"flow {state}"] for state in ("succeeded", "failed", "cancelled", "timed_out")), met
    assert met["started"] > 10 * 30


def test_a_history_is_the_same_in_each_replay() -> None:
    assert history(7).log == history(7).log


@pytest.mark.parametrize("error", [Broken("a promise"), KeyError("a mistake of its own")], ids=["promise", "mistake"])
@pytest.mark.parametrize("check", ["_opened", "_started", "_check_made", "_ended"])
def test_nothing_swallows_what_the_oracle_says(
    check: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(*_: object) -> None:
        raise error

    monkeypatch.setattr(FlowOracle, check, says)
    for seed in range(5):
        with pytest.raises(Broken, match=r"a promise|a mistake"):
            history(seed)


def test_a_flow_that_cannot_be_moved_breaks_a_history(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise LookupError("a mistake of the engine's")

    monkeypatch.setattr("onthedot.stores.engine.lookout.Lookout._look", fails)
    with pytest.raises(Broken, match="a mistake"):
        history(0)
