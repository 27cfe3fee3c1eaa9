"""The story behind an answer: who did what, what was decided, and what came next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from onthedot import App, cron, every
from onthedot.app.acting import acting_as
from onthedot.insight.story import Story, read_story
from onthedot.moments import ceil_ms
from onthedot.testing import simulate

START = datetime(2026, 3, 1, tzinfo=UTC)


def story_at(app: App, name: str, moment: str) -> Story:
    found = app.schedules.explain(name, moment)
    return read_story(app.open_store(), app.schedules.remembered(name), ceil_ms(moment), found)


@pytest.fixture
def app() -> App:
    app = App("memory://")

    @app.task
    def etl() -> None: ...

    return app


def nightly(app: App) -> None:
    app.schedules.put("nightly", "etl", cron("30 2 * * *", tz="UTC"))


def test_a_pause_names_who_with_which_note_the_decision_the_resume_and_the_next_tick(app: App) -> None:
    with simulate(app, start=START) as world:
        nightly(app)
        world.advance("1d")
        with acting_as("ops-2", "dashboard"):
            app.schedules.pause("nightly", note="warehouse migration")
        world.advance("3d")
        with acting_as("ops-2", "dashboard"):
            app.schedules.resume("nightly")
        world.advance("1d")
        told = story_at(app, "nightly", "2026-03-02T02:30Z")
    assert (told.question, told.answer) == ("Why did it not run at", "It was paused.")
    assert [(fact.kind, fact.who) for fact in told.facts] == [
        ("paused", "ops-2"),
        ("left_out", ""),
        ("resumed", "ops-2"),
        ("succeeded", ""),
    ]
    assert told.facts[0].text == "paused it: “warehouse migration”"
    assert told.facts[1].text == "3 ticks left out, one decision; this is the first of them"
    assert told.facts[3].text.startswith("the next tick began on time and succeeded")
    assert told.facts[3].run is not None


def test_a_run_that_went_well_says_so_and_what_came_next(app: App) -> None:
    with simulate(app, start=START) as world:
        nightly(app)
        world.advance("1d")
        told = story_at(app, "nightly", "2026-03-01T02:30Z")
    assert told.question == "What became of the tick at"
    assert told.answer == "It ran, and succeeded."
    assert [fact.kind for fact in told.facts] == ["succeeded", "coming"]


def test_a_failure_says_why_and_lists_its_attempts() -> None:
    app = App("memory://")

    @app.schedule(cron("30 2 * * *", tz="UTC"), name="nightly", retries=1)
    def etl() -> None:
        raise OSError("connection refused")

    with simulate(app, start=START, call=True) as world:
        world.advance("3h")
        told = story_at(app, "nightly", "2026-03-01T02:30Z")
    assert told.answer.startswith("It ran, and failed")
    assert "connection refused" in told.answer
    assert [fact.kind for fact in told.facts[:2]] == ["failed", "failed"]
    assert told.facts[0].text.startswith("attempt 1: failed")


def test_a_tick_that_an_edit_took_away_names_the_editor(app: App) -> None:
    with simulate(app, start=START) as world:
        nightly(app)
        world.advance("1d")
        world.kill(1)
        world.advance("1d")
        with acting_as("ann", "cli"):
            app.schedules.update("nightly", trigger=every("7h"))
        told = story_at(app, "nightly", "2026-03-02T02:30Z")
    assert told.answer == "It was changed before."
    assert ("ann", "changed 30 2 * * * to @every 7h") in [(fact.who, fact.text) for fact in told.facts]


def test_a_tick_inside_a_pause_that_still_goes_on_names_who_paused_it(app: App) -> None:
    with simulate(app, start=START) as world:
        nightly(app)
        world.advance("1d")
        with acting_as("ops-2", "dashboard"):
            app.schedules.pause("nightly", note="disk is full")
        world.advance("3d")
        told = story_at(app, "nightly", "2026-03-03T02:30Z")
    assert told.question == "Why did it not run at"
    assert told.answer.startswith("The schedule is paused by ops-2 (dashboard)")
    assert [fact.kind for fact in told.facts] == ["paused"]


def test_a_moment_that_is_no_tick_is_answered_in_a_sentence(app: App) -> None:
    with simulate(app, start=START) as world:
        nightly(app)
        world.advance("1d")
        told = story_at(app, "nightly", "2026-03-01T05:00Z")
    assert told.answer.endswith(".")
    assert "was no moment of nightly" in told.answer


def test_a_run_that_gave_way_says_what_it_had_waited_for(app: App) -> None:
    with simulate(app, start=START) as world:
        app.schedules.put("load", "etl", cron("0 0 1 1 *"))
        app.schedules.put("report", "etl", every("20s"), depends_on="load", within="1h")
        world.advance("5m")
        told = story_at(app, "report", "2026-03-01T00:02:00Z")
    gave_way = "It had not begun in time, and gave way to a newer tick: what it depends on had not succeeded."
    assert told.answer == gave_way


def test_a_cancelled_run_says_why_and_how_long_in_words(app: App) -> None:
    with simulate(app, start=START, takes={"etl": timedelta(seconds=8)}) as world:
        app.schedules.put("cover", "etl", every("6s"), overlap="cover")
        world.advance("1m")
        told = story_at(app, "cover", "2026-03-01T00:00:18Z")
    assert told.answer.startswith("It was cancelled")
    assert told.answer.endswith(": covered by a newer run")
    assert " s late and was cancelled after 6.0 s" in told.facts[0].text


def test_only_after_what_was_left_out_is_the_next_left_out_too(app: App) -> None:
    with simulate(app, start=START, takes={"etl": timedelta(seconds=8)}) as world:
        app.schedules.put("discard", "etl", every("6s"), overlap="discard")
        world.advance("1m")
        told = story_at(app, "discard", "2026-03-01T00:00:06Z")
    assert told.answer == "It ran, and succeeded."
    assert told.facts[-1].text == "the next tick was left out: overlap"
