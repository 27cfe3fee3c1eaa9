"""The checker reads every store: what real nodes did there with a clock that is moved by hand keeps every promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.node.world import START, Place

from onthedot import Context, every
from onthedot.clock import ManualClock
from onthedot.model.decision import Decision
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.testing.history import Journal, verify

STORES = ["memory", "sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
NAMES = ("steady", "failing", "wide")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(clock.now_ms)
        return
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    opened = open_store(url, create=True, now_ms=clock.now_ms)
    yield opened
    opened.close()


def test_what_nodes_did_on_this_store_is_read_whole_and_breaks_no_promise(
    store: Store, clock: ManualClock, tmp_path: Path
) -> None:
    journal, place = Journal(tmp_path / "journal", clock), Place(clock, store)
    _declare(place, journal)
    nodes = place.node("one"), place.node("two")
    for step in range(12):
        place.pass_by(10_000, *nodes)
        if step in (4, 8):
            (place.app.schedules.pause if step == 4 else place.app.schedules.resume)("steady")
        if step == 6:
            place.app.enqueue("steady")
            place.app.schedules.skip_next("wide", 2)
    journal.close()
    verdict = verify(store, journal=tmp_path / "journal", journalled=NAMES, slack_ms=0, clock=clock, page=5)
    assert verdict.holds, str(verdict)
    assert (verdict.schedules, verdict.unjudged) == (3, [])
    kinds = {run.cause for run in store.runs(limit=1000)} | {each.reason for each in _decisions(place)}
    assert kinds >= {"tick", "enqueue", "paused", "skipped"}
    assert verdict.runs == len(store.runs(limit=1000))


def _declare(place: Place, journal: Journal) -> None:
    def steady(ctx: Context) -> None:
        with journal.entry(ctx):
            pass

    def failing(ctx: Context) -> None:
        with journal.entry(ctx):
            raise OSError("boom")

    def wide(ctx: Context) -> None:
        with journal.entry(ctx):
            pass

    place.app.schedule(every("10s"), limit="two:2")(steady)
    place.app.schedule(every("20s"), retries=2, backoff="1s", limit="two:2")(failing)
    place.app.schedule(every("20s"), route="broadcast")(wide)
    place.app.sync()


def _decisions(place: Place) -> list[Decision]:
    store = place.app.open_store()
    return [each for row in store.schedules() for each in store.decisions(row.id)]
