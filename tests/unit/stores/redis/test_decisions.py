"""Consecutive decisions are one growing range, also while somebody forgets what is old."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from onthedot.model.decision import Decision
from onthedot.stores.open import open_store
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.retention import Retention

NOW_MS = 1_800_000_000_000
FIRST = Decision("a", "s", "s", 1, "paused", 1, 2, 2, NOW_MS - 10)
GROWN = replace(FIRST, last_ms=3, count=3, decided_ms=NOW_MS)
NEXT = Decision("b", "s", "s", 1, "misfire", 4, 4, 1, NOW_MS)


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = open_store(redis_url, create=True, now_ms=lambda: NOW_MS)
    assert isinstance(store, RedisStore)
    yield store
    store.close()


def _save(store: RedisStore, *decisions: Decision) -> None:
    with store.begin() as tx:
        tx.last_decisions({each.schedule_id for each in decisions})
        tx.save_decisions(decisions)


def test_the_newest_of_each_schedule_is_told(store: RedisStore) -> None:
    _save(store, FIRST, NEXT, replace(FIRST, schedule_id="t"))
    with store.begin() as tx:
        assert tx.last_decisions(["s", "t", "u"]) == {"s": NEXT, "t": replace(FIRST, schedule_id="t")}
        assert tx.last_decisions([]) == {}


def test_one_that_grows_stands_in_its_place(store: RedisStore) -> None:
    _save(store, FIRST)
    _save(store, GROWN, NEXT)
    assert store.decisions("s") == [NEXT, GROWN]


def test_one_that_was_forgotten_while_it_grew_is_there_with_all_it_says(store: RedisStore) -> None:
    _save(store, FIRST)
    with store.begin() as tx:
        assert tx.last_decisions(["s"]) == {"s": FIRST}
        store.prune(Retention(history_ms=5))
        assert store.decisions("s") == []
        tx.save_decisions([GROWN])
    assert store.decisions("s") == [GROWN]


def test_one_that_grows_is_kept_and_hides_no_old_ones_of_others(store: RedisStore) -> None:
    old = replace(FIRST, id="c", schedule_id="t", decided_ms=NOW_MS - 9)
    _save(store, FIRST)
    _save(store, old, replace(old, id="d", decided_ms=NOW_MS))
    _save(store, GROWN)
    store.prune(Retention(history_ms=5))
    assert store.decisions("s") == [GROWN]
    assert [each.id for each in store.decisions("t")] == ["d"]
