"""The list of schedules: who comes first, and what each line says of its last ticks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from onthedot import App, cron, every
from onthedot.model.states import State
from onthedot.testing import World, simulate
from onthedot.web.dashboard.charts.beads import LEFT_OUT
from onthedot.web.dashboard.schedule_filter import Filter, read_filter
from onthedot.web.dashboard.schedule_list import PAGE, Standing, read_page, read_standing
from onthedot.web.dashboard.schedule_rows import kinds_of
from onthedot.web.dashboard.withheld import withheld

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def app() -> App:
    app = App("memory://")

    @app.task
    def works() -> None: ...

    @app.task
    def fails() -> None:
        raise OSError("connection refused")

    return app


def standing(world: World) -> Standing:
    return read_standing(world.store)


def names(world: World, wanted: Filter, cursor: str = "") -> tuple[list[str], str | None]:
    page = read_page(world.store, wanted, cursor, standing(world))
    return [row.schedule.name for row in page.rows], page.cursor


def test_what_failed_lately_comes_first_and_once(app: App) -> None:
    with simulate(app, start=START, call=True) as world:
        app.schedules.put("a", "works", every("1h"))
        app.schedules.put("b", "works", every("1h"))
        app.schedules.put("z", "fails", every("1h"))
        world.advance("2h")
        assert names(world, Filter()) == (["z", "a", "b"], None)
        assert names(world, Filter(sort="name")) == (["a", "b", "z"], None)
        assert names(world, Filter(state="failing")) == (["z"], None)
        assert names(world, Filter(search="a")) == (["z", "a"], None)  # fails has an a


def test_who_leaves_out_ticks_comes_after_what_failed_and_is_a_facet_of_its_own(app: App) -> None:
    with simulate(app, start=START, call=True, takes={"works": "90m"}) as world:
        app.schedules.put("a", "works", every("1d"))
        app.schedules.put("y", "works", every("1h"), overlap="discard")
        app.schedules.put("z", "fails", every("1h"))
        world.advance("3h")
        assert names(world, Filter()) == (["z", "y", "a"], None)
        assert names(world, Filter(state="leaving_out")) == (["y"], None)
        assert standing(world).counts.leaving_out == 1


def test_those_that_need_somebody_are_on_the_first_page_only(app: App) -> None:
    with simulate(app, start=START, call=True) as world:
        for number in range(PAGE + 10):
            app.schedules.put(f"a{number:02d}", "works", every("1d"))
        app.schedules.put("a03-fails", "fails", every("1h"))
        app.schedules.put("z-fails", "fails", every("1h"))
        world.advance("1h")
        first, cursor = names(world, Filter())
        assert cursor is not None
        second, end = names(world, Filter(), cursor)
    assert set(first[:2]) == {"a03-fails", "z-fails"}
    assert len(first) == PAGE
    assert end is None
    assert sorted([*first, *second]) == sorted({*first, *second})
    assert len(first) + len(second) == PAGE + 12


def test_a_line_tells_what_is_usual_and_what_became_of_the_last_ticks(app: App) -> None:
    with simulate(app, start=START, takes={"works": "90s"}) as world:
        app.schedules.put("a", "works", cron("0 * * * *", tz="UTC"))
        world.advance("3h")
        app.schedules.pause("a")
        world.advance("2h")
        app.schedules.resume("a")
        (row,) = read_page(world.store, Filter(), "", standing(world)).rows
        ticks = world.store.ticks([row.schedule.id])
    assert row.usual_ms == 90_000
    assert kinds_of(ticks.marks, ticks.decisions) == [State.SUCCEEDED] * 3 + [LEFT_OUT] * 2
    assert "2 left out" in row.beads


def test_ticks_that_go_by_in_a_pause_are_left_out_in_sight(app: App) -> None:
    with simulate(app, start=START) as world:
        app.schedules.put("a", "works", cron("0 * * * *", tz="UTC"))
        world.advance("3h")
        app.schedules.pause("a")
        world.advance("5h")
        (row,) = read_page(world.store, Filter(), "", standing(world)).rows
        missing = withheld(row.schedule, world.store.now_ms())
    assert "5 left out" in row.beads
    assert missing is not None
    assert (missing.reason, missing.count) == ("paused", 5)


@pytest.mark.parametrize(
    ("text", "filter_"),
    [
        ("", Filter()),
        ("night ly", Filter(search="night ly")),
        ("tag:eu x", Filter(search="x", tag="eu")),
        ("task:etl.run TAG:a", Filter(tag="a", task="etl.run")),
        ("tag:", Filter(search="tag:")),
    ],
)
def test_what_stands_in_the_search_field(text: str, filter_: Filter) -> None:
    assert read_filter(text) == filter_


def test_the_field_shows_what_is_searched_for() -> None:
    assert read_filter("x tag:eu").text == "x tag:eu"
    assert read_filter(tag="eu").text == "tag:eu"
