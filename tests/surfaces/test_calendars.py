"""Calendars and named triggers from every surface: Python, the command line, HTTP with its roles, the remote client,
jobs.toml, exports, simulations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.surfaces.test_operate import Place as Folder

from onthedot import App, calendar, cron, dates, every, ics, named
from onthedot.errors import Conflict, FileError, NotAllowed, ValueNotFound
from onthedot.testing import simulate
from onthedot.web.serving import Place, WebServer

DECEMBER = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//onthedot//tests//EN
BEGIN:VEVENT
UID:christmas
SUMMARY:Christmas Day
DTSTART;VALUE=DATE:20201225
DTEND;VALUE=DATE:20201226
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VEVENT
UID:week
SUMMARY:Christmas week
DTSTART;VALUE=DATE:20271228
DTEND;VALUE=DATE:20280101
END:VEVENT
END:VCALENDAR
"""


@dataclass(frozen=True, slots=True)
class Both:
    """An app on its store, and what another program has of it over HTTP."""

    app: App
    remote: App
    folder: Folder


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.task(name="report")(lambda: None)
    app.open_store(create=True)
    server = WebServer(app, Place(port=0))
    admin = app.tokens.create("root", "admin").text
    with server.beside(), closing(App(server.address, token=admin)) as remote, closing(app):
        yield Both(app, remote, Folder(tmp_path))


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
def test_a_calendar_is_put_used_changed_explained_and_deleted(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    if far:
        with both.app.running():
            _live(app)
    else:
        _live(app)


def _live(app: App) -> None:
    put = app.calendars.put("de", {"2027-12-25": "Christmas Day", "2027-12-26": ""})
    assert (put.name, put.rev, put.days.entries()) == (
        "de",
        1,
        [("2027-12-25", "Christmas Day"), ("2027-12-26", "")],
    )
    app.schedules.put("daily", "report", cron("0 9 * * *", tz="Europe/Berlin") - calendar("de"))
    assert "2027-12-25 is in calendar de: Christmas Day" in str(app.schedules.explain("daily", "2027-12-25T08:00Z"))
    app.triggers.put("nightly", cron("0 3 * * *") - calendar("de"))
    app.schedules.put("night", "report", named("nightly"))
    assert app.calendars.put("de", dates("2027-12-24..2027-12-26")).rev == 2
    assert app.calendars.get("de", rev=1).days == put.days
    assert app.triggers.get("nightly").rev == 2
    assert list(app.calendars.users("de")) == ["trigger nightly", "daily"]
    assert list(app.triggers.users("nightly")) == ["night"]
    for name, at in (("daily", "2027-12-24T08:00Z"), ("night", "2027-12-24T03:00Z")):
        assert "2027-12-24 is in calendar de" in str(app.schedules.explain(name, at))
    with pytest.raises(Conflict, match="calendar de is used by trigger nightly, daily"):
        app.calendars.delete("de")
    for name in ("daily", "night"):
        app.schedules.delete(name)
    assert (app.triggers.delete("nightly"), app.calendars.delete("de"), app.calendars.delete("de")) == (
        True,
        True,
        False,
    )
    with pytest.raises(ValueNotFound, match="No calendar named 'de'"):
        app.calendars.get("de")


@pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])
def test_names_that_there_are_not_are_refused_with_those_that_there_are(both: Both, far: bool) -> None:
    with both.app.running():
        app = both.remote if far else both.app
        app.calendars.put("de", dates("2027-12-25"))
        for trigger in (every("1h") - calendar("dee"), named("de")):
            with pytest.raises(ValueNotFound, match=r"job: no (calendar|trigger) named '(dee|de)'"):
                app.schedules.put("job", "report", trigger)
        assert [each.name for each in app.schedules.list()] == []


def test_decembers_holidays_of_an_ics_are_left_out_and_explained_on_the_command_line(
    both: Both, tmp_path: Path
) -> None:
    (tmp_path / "december.ics").write_text(DECEMBER)
    run = both.folder
    said = run.printed("calendars", "put", "de", "--ics", "december.ics")
    assert said.startswith("de is at revision 1: ")
    assert said.endswith("nobody uses it\n")
    with both.app.running():
        run.printed("schedules", "put", "daily", "--task", "report", "--cron", "0 9 * * *", "--except", "calendar de")
    told = run.printed("explain", "daily", "2027-12-25T09:00Z")
    assert "it is left out: 2027-12-25 is in calendar de: Christmas Day" in told
    shown = run.printed("calendars", "show", "de", "--year", "2027")
    assert "2027-12-25  Christmas Day" in shown
    assert "2027-12-28..2027-12-31  Christmas week" in shown
    assert "used by daily" in shown
    assert run.document("calendars", "list")["calendars"][0]["source"] == "ics"
    assert "calendar de is used by daily" in run.refused("calendars", "delete", "de", code=1)
    days = {each.date().isoformat() for each in both.app.schedules.next("daily", 420)}
    assert "2027-12-24" in days
    assert not days & {"2027-12-25", "2027-12-28", "2027-12-29", "2027-12-30", "2027-12-31"}


def test_named_triggers_on_the_command_line(both: Both) -> None:
    run = both.folder
    run.printed("calendars", "put", "de", "2027-12-25=Christmas Day", "2027-12-30..2027-12-31")
    text = "0 3 * * * except calendar de, 2027-01-01"
    said = run.printed("triggers", "put", "nightly", text, "--tz", "Europe/Berlin")
    assert said.startswith("nightly is at revision 1: at 03:00 every day, Europe/Berlin time, except the dates")
    with both.app.running():
        run.printed("schedules", "put", "night", "--task", "report", "--trigger", "nightly")
    assert "used by night" in run.printed("triggers", "show", "nightly")
    (listed,) = run.document("triggers", "list")["triggers"]
    assert (listed["name"], listed["rev"]) == ("nightly", 1)
    run.printed("schedules", "delete", "night", "--yes")
    assert run.printed("triggers", "delete", "nightly") == "nightly is deleted\n"
    assert run.printed("calendars", "delete", "de") == "de is deleted\n"


def test_viewers_look_and_only_admins_put(both: Both) -> None:
    both.app.calendars.put("de", dates("2027-12-25"))
    both.app.triggers.put("hourly", every("1h"))
    viewer = both.app.tokens.create("eve", "viewer").text
    with closing(App(both.remote.url, token=viewer)) as app:
        assert [each.name for each in app.calendars.list()] == ["de"]
        assert [str(each.trigger) for each in app.triggers.list()] == ["every('1h', tz='UTC')"]
        for act in (
            lambda: app.calendars.put("de", dates("2027-12-26")),
            lambda: app.calendars.delete("de"),
            lambda: app.triggers.put("hourly", every("2h")),
            lambda: app.triggers.delete("hourly"),
        ):
            with pytest.raises(NotAllowed):
                act()


JOBS = """
store = "sqlite:///file.db"
timezone = "Europe/Berlin"

[calendars.de]
ics = "december.ics"

[calendars.shop]
dates = { "2027-06-01" = "Stock-taking", "2027-06-02..2027-06-03" = "" }

[triggers.nightly]
cron = "0 3 * * *"
except = ["calendar de", "2027-12-24"]

[schedules.backup]
trigger = "nightly"
except = "calendar shop"
command = ["true"]
"""


def test_a_file_declares_calendars_and_triggers_and_operators_may_change_them(tmp_path: Path) -> None:
    (tmp_path / "december.ics").write_text(DECEMBER)
    path = tmp_path / "jobs.toml"
    path.write_text(JOBS)
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.open_store(create=True)
    with closing(app):
        app.load_file(path)
        assert app.sync().created == ("backup",)
        told = str(app.schedules.explain("backup", "2027-12-25T02:00Z"))
        assert "2027-12-25 is in calendar de: Christmas Day" in told
        told = str(app.schedules.explain("backup", "2027-06-01T01:00Z"))
        assert "2027-06-01 is in calendar shop: Stock-taking" in told
        app.calendars.put("shop", dates("2027-07-01"))
        assert app.sync().unchanged == ("backup",)
        assert app.calendars.get("shop").rev == 2, "what an operator has put stays"
    path.write_text(JOBS.replace("2027-06-01", "2027-08-01"))
    with closing(App(f"sqlite:///{tmp_path}/jobs.db")) as later:
        later.load_file(path)
        later.sync()
        assert later.calendars.get("shop").rev == 3, "what the file says anew counts"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('ics = "december.ics"', 'ics = "gone.ics"', "[calendars.de] {folder}/gone.ics: No such file or directory"),
        ('ics = "december.ics"', "dates = 5", "[calendars.de] dates: 5 is no list of dates"),
        ('ics = "december.ics"', "", "[calendars.de] dates, ics or holidays is missing"),
        ('except = "calendar shop"', "except = 5", "[schedules.backup] except: 5 cannot be left out"),
        (
            'cron = "0 3 * * *"',
            'trigger = "other"',
            "[triggers.nightly] trigger: a named trigger is made of no other; write out what that one says",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "december.ics").write_text(DECEMBER)
    (tmp_path / "jobs.toml").write_text(JOBS.replace(old, new))
    with pytest.raises(FileError) as caught:
        App("memory://").load_file(tmp_path / "jobs.toml")
    assert caught.value.problems[0].startswith(said.format(folder=tmp_path))


def test_a_name_that_neither_file_nor_store_has_is_noted_by_check_and_refused_by_sync(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    (tmp_path / "jobs.toml").write_text('[schedules.a]\nevery = "1h"\nexcept = "calendar de"\ncommand = ["true"]\n')
    noted = place.printed("check", "jobs.toml")
    assert "a uses calendar de, which is not in this file: the store must have it" in noted
    app = App("memory://")
    app.load_file(tmp_path / "jobs.toml")
    with pytest.raises(ValueNotFound, match="a: no calendar named 'de'"):
        app.sync()


def test_they_go_from_store_to_store_with_the_schedules(both: Both, tmp_path: Path) -> None:
    both.app.calendars.put("de", {"2027-12-25": "Christmas Day"})
    both.app.triggers.put("nightly", cron("0 3 * * *") - calendar("de"))
    both.app.schedules.put("night", "report", named("nightly"))
    document = json.loads(json.dumps(both.app.schedules.export()))
    with closing(App(f"sqlite:///{tmp_path}/other.db")) as other:
        other.open_store(create=True)
        assert other.schedules.import_document(document, dry_run=True).values == ("calendar de", "trigger nightly")
        assert other.calendars.list() == []
        done = other.schedules.import_document(document)
        assert (done.created, done.values) == (("night",), ("calendar de", "trigger nightly"))
        assert "Christmas Day" in str(other.schedules.explain("night", "2027-12-25T03:00Z"))
        again = other.schedules.import_document(document)
        assert (again.unchanged, again.values, again.changed) == (("night",), (), ())
        document["schedules"][0]["trigger"]["name"] = "gone"
        with pytest.raises(FileError, match="there is no trigger gone, neither in the document nor in the store"):
            other.schedules.import_document(document)


def test_a_simulation_knows_what_is_declared_and_what_the_store_keeps(both: Both) -> None:
    app = both.app
    app.triggers.put("nightly", cron("0 3 * * *"))
    app.calendars.declare("de", {"2026-12-25": "Christmas Day"})
    app.schedule(named("nightly") - calendar("de"), name="night")(app.tasks.lookup("report"))  # type: ignore[arg-type]
    with simulate(app, start="2026-12-23T12:00Z") as world:
        world.advance("4d")
        assert [each.day for each in world.moments("night")] == [24, 26, 27]
        assert "Christmas Day" in str(app.schedules.explain("night", "2026-12-25T03:00Z"))


def test_a_forecast_leaves_out_the_days_of_a_calendar(both: Both) -> None:
    from onthedot.app.outlook import outlook

    both.app.calendars.put("de", dates("2027-12-25"))
    both.app.triggers.put("noon", cron("0 12 * * *"))
    both.app.schedules.put("night", "report", named("noon") - calendar("de"))
    first, day = 1_829_520_000_000, 86_400_000  # 2027-12-23
    found = outlook(both.app.open_store, first, first + 5 * day)
    assert found.counts(day) == [1, 1, 0, 1, 1]


def test_a_calendar_that_ends_soon_is_told_by_the_doctor(both: Both) -> None:
    from onthedot.insight.doctor import judge_calendars

    both.app.calendars.put("de", ics(DECEMBER))
    values = both.app.open_store().values()
    until = both.app.calendars.get("de").days.until
    assert until is not None
    end_ms = until * 86_400_000
    assert [*judge_calendars(values, end_ms - 100 * 86_400_000)] == []
    (soon,) = judge_calendars(values, end_ms - 50 * 86_400_000)
    (over,) = judge_calendars(values, end_ms + 2 * 86_400_000)
    assert (str(soon.level), str(over.level)) == ("warning", "problem")
    assert "leaves out nothing after that" in soon.what


def test_a_calendar_that_is_edited_as_text_on_its_page_still_comes_from_where_it_came_from(both: Both) -> None:
    from onthedot.web.dashboard.calendars import _days, _like_before

    before = both.app.calendars.put("de", ics(DECEMBER)).days
    lines = "\n".join(" ".join(entry) for entry in before.entries()) + "\n2026-12-31 New Year's Eve"
    both.app.calendars.put("de", _like_before(both.app, "de", _days(lines)))
    after = both.app.calendars.get("de").days
    assert (after.count, after.source, after.until) == (before.count + 1, "ics", before.until)
    assert _like_before(both.app, "", _days("2026-12-31")).source == "dates"
