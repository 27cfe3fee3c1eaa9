"""The index of what is to come: the same as the forecast, exchanged under its readers, built no more than needed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from onthedot import App, cron, every
from onthedot.app import outlook as outlooks
from onthedot.app.outlook import coming_days, outlook, read_planned
from onthedot.clock import ManualClock
from onthedot.errors import StoreUnavailable
from onthedot.web.coming import EVERY_MS, Coming
from onthedot.web.watching import LOOK_MS, Watcher

DAY_MS = 86_400_000


@pytest.fixture
def coming(watcher: Watcher) -> Coming:
    watcher.watch()
    return watcher._coming


def _minute(coming: Coming, app: App) -> list[str]:
    """The names of what runs within the next minute."""
    now_ms = app.open_store().now_ms()
    return [name for _, name in coming.current().runs_in(now_ms, now_ms + 60_000, 100)]


def test_it_holds_what_the_forecast_of_the_store_says(app: App, coming: Coming) -> None:
    app.schedules.put("often", "report", every("7m"))
    app.schedules.put("seldom", "report", cron("30 2 * * *"))
    app.schedules.put("never", "report", every("1m"))
    app.schedules.pause("never")
    kept, now_ms = coming.current(), app.open_store().now_ms()
    asked = outlook(app.open_store, now_ms, now_ms + DAY_MS)
    part = kept.within(now_ms, now_ms + DAY_MS)
    assert len(part) == len(asked) > 200
    assert part.counts(3_600_000) == asked.counts(3_600_000)
    assert part.busiest(600_000, 5) == asked.busiest(600_000, 5)
    assert kept.covers(now_ms, now_ms + 7 * DAY_MS)


def test_a_reader_keeps_what_it_took_while_another_takes_its_place(app: App, coming: Coming) -> None:
    app.schedules.put("a", "report", every("1m"))
    taken = coming.current()
    held = len(taken)
    app.schedules.delete("a")
    coming.note(["a"])
    coming.build()
    assert (len(taken), len(coming.current())) == (held, 0)


def test_what_a_tag_has_to_come_is_made_once_until_schedules_change(app: App, coming: Coming) -> None:
    app.schedules.put("a", "report", every("1h"), tags=["eu"])
    app.schedules.put("b", "report", every("1h"))
    coming.build()
    now_ms = app.open_store().now_ms()
    first = coming.tagged("eu", now_ms, now_ms + DAY_MS)
    part = coming.tagged("eu", now_ms + DAY_MS // 2, now_ms + DAY_MS)
    assert (len(first), len(part), part.index is first.index) == (24, 12, True)
    assert len(coming.tagged("eu", now_ms, now_ms + 2 * DAY_MS)) == 48
    app.schedules.put("b", "report", every("1h"), tags=["eu"])
    coming.note(["b"])
    coming.build()
    assert len(coming.tagged("eu", now_ms, now_ms + DAY_MS)) == 48


def test_a_change_is_there_within_a_second_or_two_and_only_it_is_read(
    app: App, coming: Coming, watcher: Watcher, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.schedules.put("a", "report", every("30s"))
    watcher.look()
    assert set(_minute(coming, app)) == {"a"}
    read: list[Any] = []
    real = app.open_store().schedules

    def noted(**options: Any) -> Any:
        read.append(options.get("names"))
        return real(**options)

    monkeypatch.setattr(app.open_store(), "schedules", noted)
    app.schedules.put("b", "report", every("30s"))
    app.schedules.pause("a")
    read.clear()
    clock.advance(LOOK_MS)
    watcher.look()
    assert coming.run_once() is not None
    assert set(_minute(coming, app)) == {"b"}
    assert read == [["a", "b"]]


def test_who_has_read_the_old_one_after_a_change_is_told_when_the_new_one_is_there(
    app: App, coming: Coming, watcher: Watcher, clock: ManualClock
) -> None:
    app.schedules.put("a", "report", every("30s"))
    watcher.look()
    coming.current()
    app.schedules.put("b", "report", every("30s"))
    watcher.look()
    assert set(_minute(coming, app)) == {"a"}, "what a page shows that is made now"
    told = len(_told(watcher))
    clock.advance(LOOK_MS)
    coming.run_once()
    assert set(_minute(coming, app)) == {"a", "b"}
    assert _told(watcher)[told:] == [("b",)]
    clock.advance(EVERY_MS)
    coming.run_once()
    assert len(_told(watcher)) == told + 1, "where nothing has changed nothing is told"


def _told(watcher: Watcher) -> list[tuple[str, ...]]:
    return [each.message.ids for each in watcher.streams._memory if each.message.topic == "schedules"]


def test_where_nothing_changes_it_is_built_every_thirty_seconds_and_all_is_read(
    app: App, coming: Coming, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming.current()
    built: list[int] = []
    real = coming.build

    def noted() -> None:
        built.append(clock.monotonic_ms())
        real()

    monkeypatch.setattr(coming, "build", noted)
    for _ in range(120):
        clock.advance(1000)
        coming._is_needed = lambda: True
        coming.run_once()
    assert [later - earlier for earlier, later in pairwise(built)] == [EVERY_MS] * (len(built) - 1)
    assert len(built) == 4


def test_building_takes_a_twentieth_of_the_time_at_most(app: App, coming: Coming, clock: ManualClock) -> None:
    coming.current()
    coming._took_ms = 5000
    coming.note(["a"])
    assert coming._wait_ms() == 100_000


def test_one_build_that_took_long_does_not_put_off_the_next_but_two_do(
    app: App, coming: Coming, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = coming._open_store

    def stalled() -> Any:
        clock.advance(5000)
        return real()

    monkeypatch.setattr(coming, "_open_store", stalled)
    for wait_ms in (1000, 100_000):
        coming.build()
        coming.note(["a"])
        assert coming._wait_ms() == wait_ms


def test_what_could_not_be_read_is_read_next_time(app: App, coming: Coming, monkeypatch: pytest.MonkeyPatch) -> None:
    app.schedules.put("a", "report", every("30s"))
    coming.current()
    app.schedules.delete("a")
    coming.note(["a"])

    def away(**_: Any) -> Any:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(app.open_store(), "schedules", away)
        with pytest.raises(StoreUnavailable):
            coming.build()
    coming.build()
    assert _minute(coming, app) == []


def test_very_many_runs_make_the_window_shorter_not_the_index_larger(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.schedules.put("a", "report", every("1m"))
    planned = read_planned(app.open_store())
    assert coming_days(planned, 0).end_ms == outlooks.MOST_DAYS * DAY_MS
    monkeypatch.setattr(outlooks, "ENOUGH_RUNS", 3 * 1440 + 1)
    assert coming_days(planned, 0).end_ms == 3 * DAY_MS
    monkeypatch.setattr(outlooks, "ENOUGH_RUNS", 10)
    assert coming_days(planned, 0).end_ms == DAY_MS


def test_when_nobody_looks_its_thread_ends(coming: Coming, watcher: Watcher, clock: ManualClock) -> None:
    coming.current()
    clock.advance(10 * EVERY_MS)
    assert coming.run_once() is None
    assert coming._loop is None
