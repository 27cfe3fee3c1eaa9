"""Questions that nobody should ask are answered all the same, on every store as in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onthedot.model.ids import seeded
from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.minute import Minute
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import MINUTE, START_MS, Scene

STORES = ["sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
ODD = (
    "",
    " ",
    "a ",
    "job ",
    "A",
    "\0",
    "a\0b",
    "\ud800",
    "%",
    "_",
    "'",
    "\\",
    "\n",
    ":",
    "(",
    "[",
    "+",
    "-",
    "x" * 100_000,
)
NUMBERS = (0, 1, -1, START_MS, 1 << 48, 1 << 53, (1 << 63) - 1, 1 << 63, 1 << 70, -(1 << 70))
LIMITS = (0, 1, 2, 100_000, 1 << 31, 1 << 40)
PLACES = (
    *ODD,
    "1:",
    ":a",
    "-1:a",
    f"{1 << 62}:",
    f"{1 << 62}:a",
    "9" * 30 + ":a",
    f"{START_MS}:a",
    "\u0661:a",
    "1e9:a",
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    store = open_store(url, create=True, now_ms=clock)
    yield store
    store.close()


@pytest.fixture
def both(store: Store, clock: ManualClock) -> tuple[Store, Store]:
    """Memory and the store, with the same in them."""
    memory = MemoryStore(clock)
    for number, step in enumerate((_people, _nodes)):
        clock.pass_by(2 * MINUTE)
        for each in (memory, store):
            with seeded(number):
                step(Scene(each, ManualClock(clock.now_ms)))
    return memory, store


def _people(scene: Scene) -> None:
    for name in ("a", "A", "a b", "%", ":", "1:a"):
        scene.put(name, tags=(name,), task="job")
    scene.edit(edits.pause(None), "a b")
    scene.overwrite("%", error="no")
    scene.store.tally([Minute(START_MS, "a", 1), Minute(START_MS, "A", 2)])


def _nodes(scene: Scene) -> None:
    node = scene.node("n")
    runs = scene.plan(node, free=2)
    scene.store.log(node, [LogLine(run.id, run.claim_no, 0, PROGRESS, "5%") for run in runs if run.owner])
    for run in runs[:1]:
        scene.end(run)


def _alike(both: tuple[Store, Store], ask: Callable[..., Any], *odd: Any) -> None:
    memory, store = both
    for each in odd:
        assert ask(store, each) == ask(memory, each), repr(each)[:80]


def test_texts_are_only_texts(both: tuple[Store, Store]) -> None:
    for name in ("tag", "task", "search"):
        _alike(both, lambda store, odd, name=name: store.schedules(**{name: odd}), *ODD)
        _alike(both, lambda store, odd, name=name: store.schedules(order="next", **{name: odd}), *ODD)
    _alike(both, lambda store, odd: store.schedules(names=[odd, "a"]), *ODD)
    for name in ("schedule", "task", "node"):
        _alike(both, lambda store, odd, name=name: store.runs(**{name: odd}), *ODD)
    _alike(both, lambda store, odd: store.runs(ids=[odd]), *ODD)
    _alike(both, lambda store, odd: [each.id for each in store.changes(name=odd)], *ODD)
    _alike(both, lambda store, odd: store.ticks([odd]), *ODD)


def test_a_text_with_a_blank_at_its_end_is_another_text(both: tuple[Store, Store]) -> None:
    memory, store = both
    runs, (schedule, *_) = memory.runs(), memory.schedules()
    change = memory.changes()[0]
    assert runs
    for each in (store, memory):
        assert each.schedules(names=[f"{schedule.name} "]) == []
        assert each.runs(ids=[f"{run.id} " for run in runs]) == []
        assert [each.runs(node=f"{run.owner} ") for run in runs] == [[]] * len(runs)
        assert each.changes(before=f"{change.id} ") == []
        assert each.revisions(f"{schedule.id} ") == []
        assert each.decisions(f"{schedule.id} ") == []
        assert [each.logs(f"{run.id} ") for run in runs] == [[]] * len(runs)


def test_a_cursor_that_is_none_is_a_place_all_the_same(both: tuple[Store, Store]) -> None:
    for order in ("name", "next"):
        _alike(both, lambda store, odd, order=order: store.schedules(order=order, after=odd), *PLACES)
    for wanted in ({}, {"late": True}, {"task": "job"}, {"schedule": "a"}):
        _alike(both, lambda store, odd, wanted=wanted: store.runs(before=odd, **wanted), *PLACES)
        _alike(both, lambda store, odd, wanted=wanted: store.runs(before=odd, limit=1, **wanted), *PLACES)
    _alike(both, lambda store, odd: [each.id for each in store.changes(before=odd)], *PLACES)


def test_no_number_is_too_small_or_too_large(both: tuple[Store, Store]) -> None:
    _alike(both, lambda store, odd: store.overdue(odd), *NUMBERS)
    _alike(both, lambda store, odd: store.runs(since_ms=odd), *NUMBERS)
    _alike(both, lambda store, odd: store.runs(until_ms=odd), *NUMBERS)
    _alike(both, lambda store, odd: store.minutes(odd, odd), *NUMBERS)
    _alike(both, lambda store, odd: store.minutes(-odd, odd), *NUMBERS)
    ids = [row.id for row in both[0].schedules()]
    _alike(both, lambda store, odd: store.ticks(ids, first_ms=odd), *NUMBERS)
    _alike(both, lambda store, odd: store.ticks(ids, last_ms=odd), *NUMBERS)


def test_what_was_made_is_not_younger_than_any_moment_beyond_what_an_id_can_tell(both: tuple[Store, Store]) -> None:
    for store in both:
        assert store.runs(since_ms=1 << 62) == []
        assert store.runs(until_ms=1 << 62) == store.runs()


def test_a_limit_is_kept_whatever_it_is(both: tuple[Store, Store]) -> None:
    for order in ("name", "next"):
        _alike(both, lambda store, odd, order=order: store.schedules(order=order, limit=odd), *LIMITS)
        _alike(both, lambda store, odd, order=order: store.schedules(order=order, tag="a", limit=odd), *LIMITS)
    _alike(both, lambda store, odd: store.overdue(1 << 50, odd), *LIMITS)
    _alike(both, lambda store, odd: store.runs(limit=odd), *LIMITS)
    _alike(both, lambda store, odd: [each.id for each in store.changes(limit=odd)], *LIMITS)
    _alike(both, lambda store, odd: store.count_schedules(odd), *LIMITS)
    _alike(both, lambda store, odd: store.count_runs(odd), *LIMITS)
    ids = [row.id for row in both[0].schedules()]
    _alike(both, lambda store, odd: store.ticks(ids, each=odd), *LIMITS)


def test_a_schedule_that_is_named_twice_is_told_once(both: tuple[Store, Store]) -> None:
    a, b = (row.id for row in both[0].schedules(names=["a", "A"]))
    for store in both:
        assert store.ticks([a, b, a]) == store.ticks([a, b])


def test_of_a_minute_that_is_told_twice_at_once_the_last_word_counts(both: tuple[Store, Store]) -> None:
    for store in both:
        store.tally([Minute(START_MS, "n", 1), Minute(START_MS, "n", 2)])
        assert [each.begun for each in store.minutes(START_MS, START_MS) if each.node_id == "n"] == [2]
