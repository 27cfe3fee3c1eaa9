"""A floor under claims hides nothing: whatever lies below it is found, at once or at the next look at everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy

from onthedot import every
from onthedot.clock import ManualClock as MonotonicClock
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.plan import Decider
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.stores.sql.due_floor import NO_FLOOR, Floor, Floors
from onthedot.testing.clock import ManualClock

START_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
BY = Author("test", "test", "put")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def opened(tmp_path: Path, clock: ManualClock) -> Iterator[Callable[[], Store]]:
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(open_store(f"sqlite:///{tmp_path}/store.db", create=True, now_ms=clock))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def here(opened: Callable[[], Store]) -> Store:
    """A store with a node, which has looked at everything just now, and found nothing."""
    store = opened()
    store.join(Node("n", "n", tasks=("task",)), [])
    assert _look(store) == []
    return store


def _look(store: Store) -> list[int]:
    return store.upcoming(store.now_ms(), store.now_ms() + 5000)


def _old(run_id: str = "run") -> Run:
    return Run(run_id, "task", "enqueue", START_MS - HOUR_MS, START_MS - HOUR_MS)


def _started(store: Store) -> list[str]:
    return [run.id for run in store.start_due("n", ["task"], 10).runs]


def _planned(store: Store) -> list[str]:
    effects = store.plan_due("n", 10, 0, Decider(lambda: new_id(START_MS))).effects
    return [each.schedule.name for each in effects if each.schedule is not None]


def test_what_is_written_here_below_the_floor_is_claimed_at_once(here: Store, clock: ManualClock) -> None:
    here.enqueue([_old()])
    assert _started(here) == ["run"]
    here.change(["s"], edits.put(edits.Definition("task", every("1m"))), BY)
    clock.pass_by(HOUR_MS)
    assert _planned(here) == ["s"]


def test_what_another_process_writes_below_the_floor_is_claimed_after_the_next_look(
    here: Store, opened: Callable[[], Store]
) -> None:
    opened().enqueue([_old()])
    assert _started(here) == [], "there was no floor, and so nothing is tested here"
    assert _look(here) == [START_MS - HOUR_MS]
    assert _started(here) == ["run"]


def test_a_schedule_that_was_moved_back_below_the_floor_is_planned_after_the_next_look(
    here: Store, clock: ManualClock, tmp_path: Path
) -> None:
    here.change(["s"], edits.put(edits.Definition("task", every("1m"))), BY)
    clock.pass_by(60_000)
    assert _planned(here) == ["s"]
    clock.pass_by(30_000)
    _look(here)
    _by_hand(tmp_path, f"UPDATE onthedot_schedules SET next_run_ms = {START_MS + 65_000}")
    assert _planned(here) == [], "there was no floor, and so nothing is tested here"
    assert _look(here)
    assert _planned(here) == ["s"]


def test_what_waits_since_long_keeps_the_floor_down(here: Store, opened: Callable[[], Store]) -> None:
    here.enqueue([_old("first")])
    _look(here)
    opened().enqueue([_old("second")])
    assert _started(here) == ["first", "second"]


def test_what_a_user_commits_late_in_a_transaction_of_his_own_is_claimed_after_the_next_look(
    here: Store, tmp_path: Path
) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/store.db")
    with engine.begin() as connection:
        here.enqueue([_old()], connection)
    engine.dispose()
    _look(here)
    assert _started(here) == ["run"]


def _by_hand(folder: Path, statement: str) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{folder}/store.db")
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


# the floors alone


def test_what_is_committed_while_somebody_looks_counts_though_it_was_not_found() -> None:
    floors = Floors(MonotonicClock())
    with floors.looking() as look:
        floors.lower([], [500])
        look.found = Floor(1000, 1000)
    assert floors.now() == Floor(1000, 500)


def test_a_look_that_failed_lays_no_floor() -> None:
    floors = Floors(MonotonicClock())
    with pytest.raises(OSError), floors.looking():
        raise OSError
    assert floors.now() == NO_FLOOR


def test_a_floor_that_is_not_laid_anew_is_none_after_a_while() -> None:
    clock = MonotonicClock()
    floors = Floors(clock)
    with floors.looking() as look:
        look.found = Floor(1000, 1000)
    clock.advance(4999)
    assert floors.now() == Floor(1000, 1000)
    clock.advance(1)
    assert floors.now() == NO_FLOOR
