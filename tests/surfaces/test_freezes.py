"""Freezes and skips from every surface: Python, the command line, HTTP with its roles, the remote client, exports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.surfaces.test_operate import Place as Folder

from onthedot import App, cron, every
from onthedot.errors import Conflict, FreezeNotFound, SettingsError
from onthedot.model.change import Author
from onthedot.model.schedule import Schedule
from onthedot.model.values import replace
from onthedot.moments import iso
from onthedot.rules.effects import Effects
from onthedot.testing import simulate
from onthedot.web.serving import Place, WebServer

HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class Both:
    """An app on its store, and what another program has of it over HTTP."""

    app: App
    remote: App
    folder: Folder

    def in_hours(self, hours: int) -> str:
        return iso(self.app.now_ms() // HOUR * HOUR + hours * HOUR)

    def schedule(self, name: str) -> Schedule:
        return self.app.schedules.get(name)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.task(name="report")(lambda: None)
    app.open_store(create=True)
    server = WebServer(app, Place(port=0))
    operator = app.tokens.create("ops", "operator").text
    with server.beside(), closing(App(server.address, token=operator)) as remote, closing(app):
        app.schedules.put("nightly", "report", cron("0 3 * * *"), tags=["prod"])
        app.schedules.put("other", "report", every("1h"))
        yield Both(app, remote, Folder(tmp_path))


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
def test_a_freeze_is_made_seen_and_thawed(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    made = app.freeze("xmas", both.in_hours(-1), both.in_hours(48), where={"tag": "prod"})
    assert (made.tag, made.pattern, iso(made.end_ms)) == ("prod", None, both.in_hours(48))
    assert [each.name for each in app.freezes.list()] == ["xmas"]
    assert app.schedules.get("nightly").frozen == (made.window,)
    assert both.schedule("other").frozen == ()
    assert app.schedules.held("nightly") == f"it is frozen by xmas until {both.in_hours(48)}: its ticks are left out"
    assert all(iso(int(each.timestamp()) * 1000) >= both.in_hours(48) for each in app.schedules.next("nightly", 3))
    assert app.freezes.get("xmas").name == app.freezes.thaw("xmas").name == "xmas"
    assert not any(each.covers(both.app.now_ms()) for each in both.schedule("nightly").frozen)
    with pytest.raises(FreezeNotFound, match="xmas"):
        app.freezes.thaw("xmas")


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
def test_ticks_are_skipped_and_given_back(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    first, second, third = (int(each.timestamp()) * 1000 for each in app.schedules.next("other", 3))
    assert app.schedules.skip_next("other").next_run_ms == second
    assert app.schedules.skip_next("other", 2).next_run_ms == third
    assert "asked to skip" in str(both.app.schedules.explain("other", iso(first)))
    assert app.schedules.skip_next("other", 0).next_run_ms == first
    with pytest.raises(SettingsError, match="0 or more"):
        app.schedules.skip_next("other", -1)
    app.schedules.reschedule("other", both.in_hours(30))
    with pytest.raises(Conflict, match="no tick to skip"):
        app.schedules.skip_next("other")


def test_the_command_line_freezes_thaws_and_skips(both: Both) -> None:
    run = both.folder
    start, end = both.in_hours(1), both.in_hours(5)
    said = run.printed("freezes", "put", "deploy", start, end, "--name", "night*", "--tag", "prod")
    assert said == f"deploy freezes those with tag prod and those named night* from {start} to {end}\n"
    (listed,) = run.document("freezes", "list")["freezes"]
    assert (listed["state"], listed["where"]) == ("coming", {"tag": "prod", "name": "night*"})
    assert "deploy" in run.printed("freezes", "list")
    assert f"from {start} to {end} by deploy" in run.printed("schedules", "show", "nightly")
    assert run.printed("freezes", "thaw", "deploy") == "deploy is thawed\n"
    both.app.freeze("now", both.in_hours(-1), both.in_hours(5), where={"name": "other"})
    (line,) = [line for line in run.printed("schedules", "list").splitlines() if line.startswith("other")]
    assert line.split()[1:3] == ["frozen", "until"]
    assert "state:     frozen" in run.printed("schedules", "show", "other")
    assert run.document("schedules", "show", "other")["state"] == "frozen"
    assert run.printed("schedules", "skip", "other", "-n", "0") == "other is frozen\n"
    run.printed("schedules", "pause", "other")
    assert run.document("schedules", "show", "other")["state"] == "paused"
    run.printed("schedules", "resume", "other")
    both.app.freezes.thaw("now")
    assert "no freezes" in run.printed("freezes", "list")
    assert "deploy" in run.refused("freezes", "thaw", "deploy", code=1)
    assert run.document("schedules", "skip", "other", "-n", "2")["skips"] == 2
    assert "2 ticks before its next run" in run.printed("schedules", "show", "other")
    assert run.document("schedules", "skip", "other", "-n", "0")["skips"] == 0


def test_freezes_go_from_store_to_store_with_the_schedules(both: Both, tmp_path: Path) -> None:
    both.app.freeze("xmas", both.in_hours(1), both.in_hours(48), where={"tag": "prod"})
    document = json.loads(json.dumps(both.app.schedules.export()))
    with closing(App(f"sqlite:///{tmp_path}/other.db")) as other:
        other.open_store(create=True)
        assert other.schedules.import_document(document, dry_run=True).freezes == ("xmas",)
        assert other.schedules.import_document(document).freezes == ("xmas",)
        assert other.schedules.get("nightly").frozen == both.schedule("nightly").frozen
        again = other.schedules.import_document(document)
        assert (again.freezes, again.created, again.changed) == ((), (), ())
    both.app.freezes.thaw("xmas")
    assert "freezes" not in both.app.schedules.export()


def test_explain_blames_a_freeze_for_its_ticks_and_not_for_moments_between_them() -> None:
    app = App("memory://")
    app.task(name="report")(lambda: None)
    with simulate(app, start="2026-12-24T00:00Z") as world:
        app.schedules.put("hourly", "report", every("1h"))
        app.freeze("xmas", "2026-12-24T10:00Z", "2026-12-24T14:00Z")
        coming = str(app.schedules.explain("hourly", "2026-12-24T11:00Z"))
        assert "will not run: the schedule is frozen by xmas from 2026-12-24T10:00:00Z" in coming
        world.advance("20h")
        left_out = str(app.schedules.explain("hourly", "2026-12-24T11:00Z"))
        assert left_out.endswith("(one of 4 ticks): the schedule was frozen by xmas")
        assert "was no moment of hourly" in str(app.schedules.explain("hourly", "2026-12-24T11:30Z"))
        hours = [each.hour for each in world.moments("hourly")]
        assert hours == [hour for hour in range(1, 21) if not 10 <= hour < 14]


def test_a_paused_range_is_not_blamed_for_a_moment_that_was_no_tick() -> None:
    app = App("memory://")
    app.task(name="report")(lambda: None)
    with simulate(app, start="2026-12-24T00:00Z") as world:
        app.schedules.put("hourly", "report", every("1h"))
        app.schedules.pause("hourly")
        world.advance("5h")
        app.schedules.resume("hourly")
        assert "paused" in str(app.schedules.explain("hourly", "2026-12-24T02:00Z"))
        assert "was no moment of hourly" in str(app.schedules.explain("hourly", "2026-12-24T02:30Z"))


def test_a_frozen_schedule_is_not_overdue_while_nobody_plans(both: Both) -> None:
    now_ms = both.app.now_ms()
    store = both.app.open_store()
    both.app.freeze("xmas", iso(now_ms - 5 * HOUR), iso(now_ms + HOUR), where={"name": "other"})
    late = replace(both.schedule("other"), next_run_ms=now_ms - 2 * HOUR, settled_ms=now_ms - 3 * HOUR)
    store.change(["other"], lambda before, _: Effects(schedule=late), Author("", "", ""))
    assert both.app.status().late == ()
    assert [each.name for each in both.app.status().freezes] == ["xmas"]
    assert "frozen: schedules named other, by xmas until" in both.folder.run("status").stdout
    assert both.app.status().overdue_count == 0
