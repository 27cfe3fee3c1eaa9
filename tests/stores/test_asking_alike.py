"""What people ask is answered alike by every store, whatever has happened and whatever is asked together.

Memory is the measure: it judges row by row (`stores.asking`). Each history is drawn from a seed, which is its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from tests.stores.histories_alike import CLAIMED, NAMES, TAGS, TASKS, Histories

from onthedot.model.schedule import Order, Schedule
from onthedot.model.states import State
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.stores.paging import place_of
from onthedot.stores.sql import queries
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import MINUTE, START_MS, Scene

T = TypeVar("T")
STEPS, LOOKS, QUESTIONS = 90, 6, 12
SEEDS = {"sqlite": range(6), "postgresql_15_url": (6, 7), "mariadb_url": (8, 9), "mongodb_url": (10, 11)}
SEEDS["redis_url"] = (12, 13, 14)
_CASES = [(store, seed) for store, seeds in SEEDS.items() for seed in seeds]
_ORDERS: tuple[Order, ...] = ("name", "next")
_PARTS = ("", "", "A", "et", "%", "_", "%_", "SS", "ß", ":", " ", "NÄ", "NäH", "🕰", "\\", "'", '"', "two W", "a" * 300)
_STATES = (None, None, "active", "paused", "parked", "ended", "undeclared", "leaving_out", "frozen")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def other(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    store = open_store(url, create=True, now_ms=clock)
    yield store
    store.close()


@pytest.mark.parametrize(("other", "seed"), _CASES, indirect=["other"])
def test_every_question_is_answered_as_memory_answers_it(other: Store, clock: ManualClock, seed: int) -> None:
    random = Random(seed)
    memory = MemoryStore(clock)
    histories = Histories(Scene(memory, clock), Scene(other, clock), random)
    steps: list[str] = []
    for _ in range(LOOKS):
        steps += [histories.take_step() for _ in range(STEPS // LOOKS)]
        _compare(memory, other, random, clock.now_ms, f"seed {seed}, after {' '.join(steps)}")


_COMMON = [(store, seed) for store, seed in _CASES if store in ("sqlite", "postgresql_15_url", "mariadb_url")]


@pytest.mark.parametrize(("other", "seed"), _COMMON[::2], indirect=["other"])
def test_a_text_that_many_have_is_found_as_memory_finds_it(
    other: Store, clock: ManualClock, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "FEW", 1)
    random = Random(seed)
    memory = MemoryStore(clock)
    histories = Histories(Scene(memory, clock), Scene(other, clock), random)
    steps = [histories.take_step() for _ in range(STEPS)]
    for _ in range(LOOKS * QUESTIONS):
        wanted, order = {**_wanted_schedules(random), "search": random.choice(_PARTS)}, random.choice(_ORDERS)
        about = f"{wanted} {order} seed {seed}, after {' '.join(steps)}"
        _alike(memory, other, lambda store: _schedule_pages(store, order, wanted), about)  # noqa: B023


def _compare(memory: Store, other: Store, random: Random, now_ms: int, when: str) -> None:
    for _ in range(QUESTIONS):
        wanted, order = _wanted_schedules(random), random.choice(_ORDERS)
        _alike(memory, other, lambda store: _schedule_pages(store, order, wanted), f"{wanted} {order} {when}")  # noqa: B023
        asked = _wanted_runs(memory, random, now_ms)
        limit = random.choice((1, 3, 1000))
        _alike(memory, other, lambda store: _run_pages(store, limit, asked), f"{asked} {when}")  # noqa: B023
        span = _span(random, now_ms)
        ids = [row.id for row in memory.schedules(limit=1000)] + ["nobody"]
        random.shuffle(ids)
        _alike(memory, other, lambda store: store.ticks(ids, **span), f"ticks {span} {when}")  # noqa: B023
        name = random.choice((None, *NAMES))
        _alike(memory, other, lambda store: _change_pages(store, limit, name), f"changes {name} {when}")  # noqa: B023
        before = random.choice([*(each.id for each in memory.changes(limit=1000)), "nobody"])
        ask = lambda store: [each.id for each in store.changes(name=name, before=before, limit=limit)]  # noqa: B023, E731
        _alike(memory, other, ask, f"changes {name} before {before} {when}")
    for most in (0, 1, 10_000):
        _alike(memory, other, lambda store: (store.count_schedules(most), store.count_runs(most)), when)  # noqa: B023
    _alike(memory, other, lambda store: sorted(map(repr, store.needed())), when)
    for tasks in (TASKS, TASKS[:1], ()):
        _alike(memory, other, lambda store: sorted(map(repr, store.demands(tasks))), when)  # noqa: B023
    _alike(memory, other, lambda store: sorted(map(repr, store.load())), when)
    for limit in (0, 1, 1000):
        _alike(memory, other, lambda store: store.overdue(now_ms - 5000, limit), when)  # noqa: B023
        _alike(memory, other, lambda store: store.count_overdue(now_ms - 5000, limit), when)  # noqa: B023
    for run in memory.runs(task="@etl", limit=1000):
        for step in ("list", "load", "sum", "clean"):
            _alike(memory, other, lambda store: store.results(run.id, step), f"{step} of {run.id} {when}")  # noqa: B023
    _alike(memory, other, lambda store: store.minutes(START_MS - 10 * MINUTE, now_ms), when)


def _alike(memory: Store, other: Store, ask: Callable[[Store], object], about: str) -> None:
    assert ask(other) == ask(memory), about


def _wanted_schedules(random: Random) -> dict[str, Any]:
    drawn = {
        "names": random.choice((None, None, None, random.sample(NAMES, 4), [])),
        "tag": random.choice((None, None, *TAGS)),
        "task": random.choice((None, None, *TASKS)),
        "mode": random.choice((None, None, "local", "durable")),
        "state": random.choice(_STATES),
        "search": random.choice(_PARTS),
    }
    kept = random.sample(list(drawn), random.choice((0, 1, 2, 6)))
    return {name: drawn[name] for name in kept}


def _wanted_runs(memory: Store, random: Random, now_ms: int) -> dict[str, Any]:
    nodes = sorted({run.owner for run in memory.runs(limit=1000) if run.owner is not None})
    ids = [run.id for run in memory.runs(limit=1000)]
    drawn = {
        "ids": random.sample(ids, min(len(ids), 5)),
        "schedule": random.choice(NAMES),
        "task": random.choice(CLAIMED),
        "node": random.choice(nodes) if nodes else "nobody",
        "parent": random.choice(
            sorted({run.parent_id for run in memory.runs(limit=1000) if run.parent_id}) or ["nobody"]
        ),
        "state": random.choice(list(State)),
        "late": random.random() < 0.5,
        "since_ms": random.randint(START_MS, now_ms),
        "until_ms": random.randint(START_MS, now_ms),
    }
    return {name: drawn[name] for name in random.sample(list(drawn), random.choice((0, 1, 1, 2, 3)))}


def _span(random: Random, now_ms: int) -> dict[str, int]:
    span = {"each": random.choice((0, 1, 2, 24))}
    if random.random() < 0.5:
        span |= {"first_ms": random.randint(START_MS, now_ms), "last_ms": random.randint(START_MS, now_ms)}
    return span


def _schedule_pages(store: Store, order: Order, wanted: dict[str, Any]) -> list[list[Schedule]]:
    def ask(last: Schedule | None) -> list[Schedule]:
        return store.schedules(order=order, after="" if last is None else place_of(last, order), limit=3, **wanted)

    return [*_pages(ask), store.schedules(order=order, limit=1000, **wanted)]


def _run_pages(store: Store, limit: int, asked: dict[str, Any]) -> list[Any]:
    return _pages(lambda last: store.runs(before=None if last is None else last.id, limit=limit, **asked))


def _change_pages(store: Store, limit: int, name: str | None) -> list[Any]:
    pages = _pages(lambda last: store.changes(name=name, before=None if last is None else last.id, limit=limit))
    return [[(each.id, each.schedule, each.at_ms, sorted(each.after)) for each in page] for page in pages]


def _pages(ask: Callable[[Any], Sequence[T]]) -> list[list[T]]:
    pages: list[list[T]] = []
    while page := list(ask(pages[-1][-1] if pages else None)):
        pages.append(page)
    return pages
