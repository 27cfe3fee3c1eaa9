"""`enabled=`: a schedule that is put or declared paused is stored, listed as such, resumed, exported and imported."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot import App, Schedule, every
from onthedot.app.schedules import Put
from onthedot.clock import ManualClock
from onthedot.events import Paused
from onthedot.moments import ceil_ms
from onthedot.stores.memory import MemoryStore


@pytest.fixture
def app() -> App:
    return new_app(MemoryStore(ManualClock(ceil_ms("2026-11-16T12:00:00Z")).now_ms))


def new_app(store: MemoryStore) -> App:
    app = App("memory://", store=store)
    app.task(name="job")(job)
    return app


def job() -> None: ...


def pause_of(schedule: Schedule) -> tuple[bool, str | None]:
    return schedule.enabled, schedule.paused_note


# put and update


def test_what_is_put_disabled_is_stored_paused_and_can_be_resumed(app: App) -> None:
    put = app.schedules.put("s", "job", every("1h"), enabled=False)
    assert pause_of(put) == (False, "enabled=False in put")
    assert put.next_run_at is not None
    assert [each.enabled for each in app.schedules.list()] == [False]
    assert pause_of(app.schedules.resume("s")) == (True, None)


def test_a_later_put_leaves_the_pause_and_one_that_says_enabled_ends_it(app: App) -> None:
    app.schedules.put("s", "job", every("1h"), enabled=False)
    assert not app.schedules.put("s", "job", every("2h")).enabled
    assert app.schedules.put("s", "job", every("2h"), enabled=True).enabled


def test_who_paused_before_keeps_his_note(app: App) -> None:
    app.schedules.put("s", "job", every("1h"))
    app.schedules.pause("s", note="migration")
    assert pause_of(app.schedules.put("s", "job", every("2h"), enabled=False)) == (False, "migration")


def test_update_pauses_and_resumes_and_changes_nothing_else(app: App) -> None:
    before = app.schedules.put("s", "job", every("1h"), retries=2)
    assert pause_of(app.schedules.update("s", enabled=False)) == (False, "enabled=False in update")
    after = app.schedules.update("s", enabled=True)
    assert (after.enabled, after.policy, after.trigger, after.given) == (
        True,
        before.policy,
        before.trigger,
        ("retries",),
    )


def test_many_are_put_each_as_it_says(app: App) -> None:
    first, second = app.schedules.put_many(
        [Put("a", "job", every("1h")), Put("b", "job", every("1h"), options={"enabled": False})]
    )
    assert (first.enabled, second.enabled) == (True, False)


def test_waiting_runs_of_what_is_put_disabled_are_skipped_and_told(app: App) -> None:
    told: list[Paused] = []
    app.events.subscribe(Paused, told.append)
    app.schedules.put("s", "job", every("1h"))
    app.schedules.put("s", "job", every("1h"), enabled=False)
    assert [event.schedule for event in told] == ["s"]


# code


def declared(app: App, **options: Any) -> App:
    again = new_app(app.open_store())  # type: ignore[arg-type]  # it is the one in memory
    again.schedule(every("1h"), name="s", **options)(job)
    return again


def test_what_code_declares_disabled_is_created_paused_and_resumed_when_the_code_says_so(app: App) -> None:
    assert declared(app, enabled=False).sync().created == ("s",)
    assert pause_of(app.schedules.get("s")) == (False, "enabled = false in code")
    assert declared(app).sync().updated == ("s",)
    assert app.schedules.get("s").enabled


def test_who_resumes_what_code_declares_disabled_is_not_undone_by_the_next_start(app: App) -> None:
    declared(app, enabled=False).sync()
    app.schedules.resume("s")
    assert declared(app, enabled=False).sync().unchanged == ("s",)
    assert app.schedules.get("s").enabled


def test_code_that_says_enabled_does_not_end_an_operators_pause(app: App) -> None:
    declared(app).sync()
    app.schedules.pause("s", note="migration")
    assert declared(app, enabled=True).sync().unchanged == ("s",)
    assert pause_of(app.schedules.get("s")) == (False, "migration")


# from one store to another


def test_an_export_and_its_import_keep_it(app: App) -> None:
    app.schedules.put("s", "job", every("1h"), enabled=False)
    other = new_app(MemoryStore(lambda: ceil_ms("2026-11-16T12:00:00Z")))
    other.schedules.import_document(app.schedules.export())
    assert pause_of(other.schedules.get("s")) == (False, "enabled=False in put")
    assert other.schedules.import_document(app.schedules.export()).unchanged == ("s",)
