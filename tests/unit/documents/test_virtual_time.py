"""Delays and locks, with a clock that only moves when it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import Event
from typing import Any

import pytest

from onthedot.clock import ManualClock
from onthedot.documents import Change, Documents, Job, MemoryJobStore
from onthedot.documents.held import Held, Holdings
from onthedot.documents.hooks import Hooks
from onthedot.documents.options import Pace
from onthedot.documents.recording import Recorder
from onthedot.documents.working import Removal, Working
from onthedot.moments import floor_ms, from_ms

START_MS = floor_ms("2026-11-15T10:00Z")
START = from_ms(START_MS)
HOUR, MINUTE = 3_600_000, 60_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


def store_of(clock: ManualClock, *documents: dict[str, Any]) -> MemoryJobStore:
    return MemoryJobStore([{"id": n, "sleep_until": START, **each} for n, each in enumerate(documents, 1)], clock=clock)


def held(clock: ManualClock, lock_ms: int = 10 * MINUTE, **values: Any) -> Held:
    job = Job(1, "token", START, START, START + timedelta(milliseconds=lock_ms), **values)
    return Held(job, clock.monotonic_ms(), clock.monotonic_ms() + lock_ms)


def working(clock: ManualClock, error: BaseException | None = None, takes_ms: int = 0, **pace: int) -> Working:
    def call(_: Any) -> None:
        clock.advance(takes_ms)
        if error is not None:
            raise error

    return Working(call, Pace(**pace), clock, Hooks())


def test_a_document_whose_lock_ran_out_while_it_lay_in_line_is_not_begun(clock: ManualClock) -> None:
    mine = held(clock)
    clock.advance(10 * MINUTE)
    assert working(clock, AssertionError("it was begun")).work(mine) is None


def test_the_next_moment_goes_by_the_stores_time_whatever_this_machines_wall_clock_says(clock: ManualClock) -> None:
    mine = held(clock, interval="1h")
    clock.step(-5 * HOUR)
    assert working(clock, takes_ms=3 * HOUR // 2).work(mine) == Change(mine.job, START + timedelta(hours=2))


def test_a_recurring_document_rests_after_its_work(clock: ManualClock) -> None:
    mine = held(clock, interval="1m")
    done = working(clock, takes_ms=1000, reprocess_delay=5 * MINUTE).work(mine)
    assert done == Change(mine.job, START + timedelta(minutes=6))


def test_a_failed_document_waits_for_the_end_of_its_lock(clock: ManualClock) -> None:
    mine = held(clock)
    failed = working(clock, OSError("out of paper")).work(mine)
    assert failed == Change(mine.job, START, mine.job.locked_until, "OSError: out of paper")


def test_a_failed_document_waits_no_longer_than_for_its_next_tick(clock: ManualClock) -> None:
    mine = held(clock, interval="3m")
    failed = working(clock, OSError("out of paper"), takes_ms=4 * MINUTE).work(mine)
    assert failed == Change(mine.job, START, START + timedelta(minutes=6), "OSError: out of paper")


def test_a_document_is_removed_only_after_its_last_work(clock: ManualClock) -> None:
    last = held(clock, interval="1h", repeat_until=START + timedelta(minutes=90), auto_remove=True)
    assert working(clock, takes_ms=1).work(last) == Change(last.job, START + timedelta(hours=1))
    assert working(clock, takes_ms=HOUR).work(last) == Removal(last.job)


def test_a_day_of_a_recurring_document(clock: ManualClock) -> None:
    store = store_of(clock, {"interval": "CRON_TZ=Europe/Berlin 30 */6 * * *"})
    worked: list[datetime] = []
    documents = Documents(store, clock=clock, on_document=lambda _: worked.append(from_ms(clock.now_ms())))
    for _ in range(24 * 60):
        documents.run_once()
        clock.advance(MINUTE)
    at = [f"{moment:%d %H:%M}" for moment in worked]
    assert at == ["15 10:00", "15 11:30", "15 17:30", "15 23:30", "16 05:30"]


def test_a_worker_rests_after_each_document(clock: ManualClock) -> None:
    store = store_of(clock, {}, {})
    began: list[int] = []
    both = Event()

    def work(_: Any) -> None:
        began.append(clock.monotonic_ms())
        if len(began) == 2:
            both.set()

    with Documents(store, clock=clock, workers=1, next_delay="1h", lock_duration="1w", on_document=work).running():
        while not both.wait(0.01):
            clock.advance(MINUTE)
    assert began[1] - began[0] >= HOUR


class Asked(MemoryJobStore):
    """Notes when it was asked."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.at: list[int] = []
        self._watch = clock

    def lock_due(self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()) -> list[Job]:
        self.at.append(self._watch.monotonic_ms())
        return super().lock_due(limit, lock_ms, token=token, skip=skip)


def test_when_nothing_is_due_the_store_is_left_in_peace(clock: ManualClock) -> None:
    store = Asked(clock)
    with Documents(store, clock=clock, idle_delay="1h", on_document=print).running():
        while len(store.at) < 3:
            clock.advance(MINUTE)
    assert all(later - earlier >= HOUR for earlier, later in zip(store.at, store.at[1:], strict=False))


def test_idle_is_said_once_however_often_nothing_is_found(clock: ManualClock) -> None:
    store = Asked(clock)
    said: list[int] = []
    documents = Documents(store, clock=clock, idle_delay="1h", on_document=print)
    documents.on_idle(lambda: said.append(len(store.at)))
    with documents.running():
        while len(store.at) < 3:
            clock.advance(MINUTE)
    assert said == [1]


class Choosy(MemoryJobStore):
    """Cannot write what became of one document, and nothing at all while it is away."""

    away = False

    def update(self, changes: Sequence[Change]) -> list[Job]:
        if self.away or any(change.job.id == 1 for change in changes):
            raise OSError("cannot write")
        return super().update(changes)


def test_what_can_never_be_written_keeps_nothing_else_back_and_is_forgotten_with_its_lock(clock: ManualClock) -> None:
    store = Choosy([{"id": n, "sleep_until": START} for n in range(4)], clock=clock)
    errors: list[BaseException] = []
    hooks = Hooks()
    hooks.call_with_error(lambda error, _: errors.append(error))
    recorder = Recorder(store, clock, hooks, Holdings())
    jobs = store.lock_due(4, MINUTE)
    recorder.record([(Held(job, 0, MINUTE), Change(job, None)) for job in jobs])
    recorder.record([])
    recorder.record([])
    assert [(store.get(n) or {})["sleep_until"] for n in range(4)] == [None, START, None, None]
    assert len(errors) == 1
    clock.advance(MINUTE)
    recorder.record([])
    assert recorder._unwritten == type(recorder._unwritten)()


def test_what_could_not_be_written_while_the_store_was_away_is_written_later(clock: ManualClock) -> None:
    store = Choosy([{"id": n, "sleep_until": START} for n in (2, 3)], clock=clock)
    recorder = Recorder(store, clock, Hooks(), Holdings())
    store.away = True
    recorder.record([(Held(job, 0, MINUTE), Change(job, None)) for job in store.lock_due(2, MINUTE)])
    recorder.record([])
    assert [(store.get(n) or {})["sleep_until"] for n in (2, 3)] == [START, START]
    store.away = False
    recorder.record([])
    assert [(store.get(n) or {})["sleep_until"] for n in (2, 3)] == [None, None]
