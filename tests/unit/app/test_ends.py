"""A schedule that would never run is refused when it is put, and one that has run its course stays as it is."""

from __future__ import annotations

import pytest

from onthedot import App, Trigger, TriggerError, at, calendar, cron, dates, every
from onthedot.app.schedules import Put
from onthedot.clock import ManualClock
from onthedot.errors import ValueNotFound
from onthedot.model.values import replace
from onthedot.moments import ceil_ms
from onthedot.rules.effects import Before, Effects
from onthedot.stores.memory import MemoryStore

NOW = "2026-11-15T12:00:00Z"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(ceil_ms(NOW))


@pytest.fixture
def app(clock: ManualClock) -> App:
    app = App("memory://", store=MemoryStore(clock.now_ms), clock=clock)

    @app.task
    def work() -> None: ...

    return app


ENDED: list[tuple[Trigger, str]] = [
    (cron("0 0 9 1 1 * 2020"), "x: cron('0 0 9 1 1 * 2020', tz='UTC') can never fire again; its last tick was 2020-01"),
    (every("1h", repeat_until="2026-11-15T12:00Z"), "its last tick was 2026-11-15T12:00:00Z"),
    (cron("H 3 * * *", repeat_until="2026-11-01T00:00Z"), "its last tick was 2026-10-31T03:"),
    (at("2026-01-01T00:00Z") | at("2026-02-01T00:00Z"), "its last tick was 2026-02-01T00:00:00Z"),
    (every("1s") - cron("* * * * * * 2026-2199"), "its last tick was 2025-12-31T23:59:59Z"),
    (cron("* * * * *") - cron("* * * * *"), "can never fire; what is excluded leaves nothing of it"),
    (
        cron("* * * * *", tz="Europe/Berlin") - cron("* * * * *", tz="Asia/Kathmandu"),
        "can never fire; what is excluded leaves nothing of it",
    ),
    (at("2026-12-24T00:00Z") - dates("2026-12-24"), "can never fire; what is excluded leaves nothing of it"),
]  # fmt: skip


@pytest.mark.parametrize(("trigger", "reason"), ENDED, ids=lambda value: str(value)[:50])
def test_what_can_never_fire_again_is_refused_with_the_reason(app: App, trigger: Trigger, reason: str) -> None:
    for put in (
        lambda: app.schedules.put("x", "work", trigger),
        lambda: app.schedules.put_many([Put("ok", "work", every("1h")), Put("x", "work", trigger)]),
    ):
        with pytest.raises(TriggerError) as caught:
            put()
        assert reason in str(caught.value)
        assert str(caught.value).startswith("x: ")
    assert list(app.schedules.list()) == []


@pytest.mark.parametrize(("trigger", "reason"), ENDED, ids=lambda value: str(value)[:50])
def test_an_update_to_what_can_never_fire_is_refused_and_changes_nothing(
    app: App, trigger: Trigger, reason: str
) -> None:
    before = app.schedules.put("x", "work", every("1h"))
    with pytest.raises(TriggerError) as caught:
        app.schedules.update("x", trigger=trigger)
    assert reason in str(caught.value)
    assert app.schedules.get("x") == before


def test_a_last_tick_that_is_still_to_come_is_enough(app: App) -> None:
    put = app.schedules.put("x", "work", every("1h", repeat_until="2026-11-15T13:00Z"))
    assert put.next_run_ms == ceil_ms("2026-11-15T13:00Z")
    assert app.schedules.put("y", "work", cron("0 0 9 1 1 * 2030")).next_run_ms == ceil_ms("2030-01-01T09:00Z")


def test_the_clock_of_the_store_decides_what_is_over(app: App, clock: ManualClock) -> None:
    trigger = every("1h", repeat_until="2026-11-15T13:00Z")
    clock.advance(3_600_000 - 1)
    app.schedules.put("in time", "work", trigger)
    clock.advance(1)
    with pytest.raises(TriggerError, match="can never fire again"):
        app.schedules.put("too late", "work", trigger)


@pytest.mark.parametrize("trigger", [every("1h", repeat_until="2026-11-15T13:00Z"), at("2026-11-15T13:00Z")], ids=str)
def test_a_schedule_that_has_come_to_its_end_can_be_put_again_as_it_is(
    app: App, clock: ManualClock, trigger: Trigger
) -> None:
    first = app.schedules.put("x", "work", trigger)
    clock.advance(86_400_000)
    assert app.schedules.put("x", "work", trigger) == first
    assert app.schedules.put("x", "work", trigger, tags=["old"]).tags == ("old",)
    assert app.schedules.update("x", tags=["older"]).tags == ("older",)


def test_at_now_and_a_moment_just_past_are_put_under_any_name(app: App, clock: ManualClock) -> None:
    for name, moment in (("new", NOW), ("a second ago", "2026-11-15T11:59:59Z"), ("long ago", "2020-01-01T00:00Z")):
        assert app.schedules.put(name, "work", at(moment)).next_run_ms == ceil_ms(moment)
    app.schedules.put("used", "work", every("1h"))
    app.schedules.delete("used")
    assert app.schedules.put("used", "work", at(NOW)).next_run_ms == ceil_ms(NOW) + 1


def test_a_moment_before_all_that_is_decided_is_refused_under_a_name_in_use(app: App) -> None:
    app.schedules.put("x", "work", every("1h"))
    long_ago = at("2020-01-01T00:00Z")
    for do in ("put", "update"):
        with pytest.raises(TriggerError) as caught:
            app.schedules.put("x", "work", long_ago) if do == "put" else app.schedules.update("x", trigger=long_ago)
        assert str(caught.value) == (
            "x: at('2020-01-01T00:00:00Z', tz='UTC') is past, and all up to 2026-11-15T12:00:00Z is decided;"
            " to run it now, use trigger"
        )


def test_one_that_has_had_all_of_its_runs_may_get_another_trigger(app: App) -> None:
    app.schedules.put("x", "work", every("1h"), max_runs=1)
    store = app.open_store()

    def done(before: Before, now_ms: int) -> Effects:
        assert before.schedule is not None
        return Effects(schedule=replace(before.schedule, planned_runs=1, next_run_ms=None))

    store.change(["x"], done, app._by("test"))
    assert app.schedules.put("x", "work", every("2h"), max_runs=1).next_run_ms is None


def test_what_code_declares_may_have_ended_so_that_old_programs_still_start(app: App) -> None:
    app.schedule(every("1h", repeat_until="2026-02-01T00:00Z"), name="ended")(app.tasks.lookup("work"))  # type: ignore[arg-type]
    assert app.sync().created == ("ended",)
    assert app.schedules.get("ended").next_run_ms is None


def test_what_code_declares_and_can_never_fire_at_any_time_is_refused(app: App) -> None:
    app.schedule(cron("* * * * *") - cron("* * * * *"), name="never")(app.tasks.lookup("work"))  # type: ignore[arg-type]
    with pytest.raises(TriggerError, match=r"never: .* can never fire"):
        app.sync()


@pytest.mark.parametrize(
    "trigger",
    [
        cron("0 9 * * *") - calendar("de"),
        (cron("0 9 * * *") - calendar("de")).with_calendars({"de": dates("2026-12-25")}),
        cron("0 9 * * *") - (every("1h") - calendar("de")) | every("1d"),
    ],
    ids=str,
)
def test_a_calendar_that_no_store_keeps_is_refused_and_the_error_says_what_to_do(app: App, trigger: Trigger) -> None:
    with pytest.raises(ValueNotFound) as caught:
        app.schedules.put("open", "work", trigger)
    assert str(caught.value) == (
        "open: no calendar named 'de'. Put it first: app.calendars.put(\"de\", …), or onthedot calendars put."
    )
