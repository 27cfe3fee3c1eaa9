"""The story behind an answer: who did what, what was decided, and what came next."""

from __future__ import annotations

from datetime import UTC, datetime

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
