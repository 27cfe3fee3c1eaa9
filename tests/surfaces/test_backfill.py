"""Backfill from every surface: Python, the command line, HTTP, the remote client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.surfaces.test_operate import Place as Folder

from onthedot import App, cron, every
from onthedot.errors import NotAllowed, SettingsError
from onthedot.model.states import State
from onthedot.testing import simulate
from onthedot.web.serving import Place, WebServer

OCTOBER = ("2026-10-01T00:00Z", "2026-11-01T00:00Z")


@dataclass(frozen=True, slots=True)
class Both:
    """An app on its store, and what another program has of it over HTTP."""

    app: App
    remote: App
    viewer: App
    folder: Folder


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.task(name="report")(lambda: None)
    app.open_store(create=True)
    server = WebServer(app, Place(port=0))
    operator, viewer = (app.tokens.create(role, role).text for role in ("operator", "viewer"))
    with (
        server.beside(),
        closing(App(server.address, token=operator)) as remote,
        closing(App(server.address, token=viewer)) as looking,
        closing(app),
    ):
        app.schedules.put("nightly", "report", cron("0 3 * * *"))
        yield Both(app, remote, looking, Folder(tmp_path))


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
def test_a_month_is_filled_in_and_a_dry_run_says_which_ticks_and_why(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    planned = app.schedules.backfill("nightly", *OCTOBER, limit=3, dry_run=True)
    assert (len(planned.ticks), planned.run) == (31, None)
    assert f"{planned.ticks[0].at:%d %H:%M}" == "01 03:00"
    assert {each.why for each in planned.ticks} == {"the schedule did not exist yet"}
    done = app.schedules.backfill("nightly", *OCTOBER, limit=3)
    assert done.ticks == planned.ticks
    assert done.run is not None
    assert len(both.app.runs.get(done.run.id).args["ticks"]) == 31
    newest = app.schedules.backfill("nightly", *OCTOBER, order="newest", dry_run=True)
    assert newest.ticks == planned.ticks[::-1]


def test_the_command_line_lists_what_a_dry_run_would_fill_in_and_begins_it(both: Both) -> None:
    run = both.folder
    asked = ("backfill", "nightly", "--from", OCTOBER[0], "--to", "2026-10-03T00:00Z")
    assert run.printed(*asked, "--dry-run").splitlines() == [
        "would fill in 2 ticks of nightly:",
        "  2026-10-01T03:00:00Z  the schedule did not exist yet",
        "  2026-10-02T03:00:00Z  the schedule did not exist yet",
    ]
    at_once = "1 run of nightly at once, whatever the limit: its slots; --beside needs none"
    assert run.printed(*asked, "--dry-run", "--limit", "2").splitlines()[-1] == at_once
    assert "at once" not in run.printed(*asked, "--dry-run", "--limit", "2", "--beside")
    begun = run.document(*asked, "--limit", "2")
    assert (len(begun["ticks"]), begun["run"]["task"]) == (2, "@backfill")
    assert "fills in 2 ticks of nightly; watch it" in run.printed(*asked)
    assert run.printed(*asked, "--which", "failed") == "nothing to fill in of nightly\n"


def test_one_who_may_only_look_may_try_nothing(both: Both) -> None:
    with pytest.raises(NotAllowed):
        both.viewer.schedules.backfill("nightly", *OCTOBER, dry_run=True)


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"end": OCTOBER[0]}, "is not after start"),
        ({"which": "some"}, "say 'missing', 'failed' or 'all'"),
        ({"limit": 17}, "a number from 1 to 16"),
        ({"order": "random"}, "say 'oldest' or 'newest'"),
        ({"start": "1990-01-01T00:00Z"}, "more than 10,000 ticks; choose a shorter range"),
        ({"name": "night*"}, "stands for several schedules; name one of them: nightly"),
    ],
)
def test_what_cannot_be_filled_in_is_told_in_one_line(
    both: Both, far: bool, given: dict[str, str | int], said: str
) -> None:
    app = both.remote if far else both.app
    what = {"name": "nightly", "start": OCTOBER[0], "end": OCTOBER[1], **given}
    with pytest.raises(SettingsError, match=said) as told:
        app.schedules.backfill(**what)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)


def test_missing_failed_and_all_are_told_apart_and_explain_tells_both_stories() -> None:
    app = App("memory://")
    broken = [True]

    @app.task(name="report")
    def report() -> None:
        if broken[0]:
            raise ValueError("no")

    with simulate(app, start="2026-12-01T00:00Z", call=True) as world:
        app.schedules.put("hourly", "report", every("1h"))
        world.advance("2h30m")  # 01:00 and 02:00 fail
        broken[0] = False
        app.schedules.pause("hourly")
        world.advance("2h")  # 03:00 and 04:00 are left out
        app.schedules.resume("hourly")
        world.advance("1h")  # 05:00 runs

        def hours(which: str) -> list[int]:
            found = app.schedules.backfill("hourly", *days, which=which, dry_run=True)  # type: ignore[arg-type]
            return [each.at.hour for each in found.ticks]

        days = ("2026-12-01T00:30Z", "2026-12-02T00:00Z")
        assert (hours("missing"), hours("failed"), hours("all")) == ([3, 4], [1, 2], [1, 2, 3, 4, 5])
        begun = app.schedules.backfill("hourly", *days)
        world.advance("5m")
        assert begun.run is not None
        assert app.runs.get(begun.run.id).state is State.SUCCEEDED
        assert (hours("missing"), hours("failed"), hours("all")) == ([], [1, 2], [1, 2, 3, 4, 5])
        told = str(app.schedules.explain("hourly", "2026-12-01T03:00Z"))
        assert "the schedule was paused" in told
        assert "; filled in by run " in told


def test_a_calendars_free_day_in_a_paused_range_is_not_missing() -> None:
    app = App("memory://")
    app.task(name="report")(lambda: None)
    with simulate(app, start="2026-12-20T00:00Z") as world:
        app.schedules.put("daily", "report", cron("0 3 * * *") - cron("* * 25 12 *"))
        app.schedules.pause("daily")
        world.advance("10d")
        app.schedules.resume("daily")
        world.advance("1d")
        found = app.schedules.backfill("daily", "2026-12-24T00:00Z", "2026-12-27T00:00Z", dry_run=True)
        assert [each.at.day for each in found.ticks] == [24, 26]
