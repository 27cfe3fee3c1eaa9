"""What is declared in files follows the same rules as what is declared in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from onthedot import App, FileError, SettingsError, cron, every
from onthedot.app.files.watching import FileWatch
from onthedot.clock import ManualClock
from onthedot.events import Event, FileBroken, FileLoaded
from onthedot.moments import ceil_ms
from onthedot.node.upkeep import DECLARE_MS
from onthedot.stores.memory import MemoryStore
from onthedot.triggers import decode

HELLO = '[schedules.hello]\nevery = "1m"\ncommand = ["echo", "hi"]\n'
BYE = '[schedules.bye]\ncron = "0 3 * * *"\nshell = "echo bye"\n'


class Place:
    """A store in memory and a file; each app is another process as far as the store can tell."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(ceil_ms("2026-11-15T12:00:00Z"))
        self.store = MemoryStore(self.clock.now_ms)
        self.file = folder / "jobs.toml"

    def app(self, text: str | None = None) -> App:
        """An app that has loaded the file."""
        app = App("memory://", store=self.store, clock=self.clock)
        if text is not None:
            self.file.write_text(text, encoding="utf-8")
            app.load_file(self.file)
        return app


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_schedules_of_a_file_are_of_the_file_and_their_commands_are_tasks(place: Place) -> None:
    app = place.app(HELLO)
    assert app.sync().created == ("hello",)
    assert app.schedules.get("hello").origin == "file"
    assert app.tasks.names() == ("hello",)
    assert str(app.tasks.lookup("hello").function) == "echo hi"  # type: ignore[union-attr]
    assert app.sync().unchanged == ("hello",)


def test_an_operators_edit_and_pause_survive_until_the_file_says_something_else(place: Place) -> None:
    app = place.app(HELLO)
    app.sync()
    app.schedules.update("hello", trigger=every("5m"))
    app.schedules.pause("hello", note="by hand")
    assert place.app(HELLO).sync().unchanged == ("hello",)
    assert decode(app.schedules.get("hello").trigger) == every("5m", tz="UTC").with_key("hello")
    assert place.app(HELLO.replace("1m", "2m")).sync().updated == ("hello",)
    schedule = app.schedules.get("hello")
    assert decode(schedule.trigger) == every("2m", tz="UTC").with_key("hello")
    assert (schedule.enabled, schedule.paused_note) == (False, "by hand")


def test_a_schedule_that_its_file_disables_is_paused_from_the_beginning_and_resumed_by_the_file(place: Place) -> None:
    app = place.app(HELLO + "enabled = false\n")
    app.sync()
    assert app.schedules.get("hello").paused_note == "enabled = false in jobs.toml"
    place.app(HELLO).sync()
    assert app.schedules.get("hello").enabled


def test_pruning_deletes_only_what_was_declared_in_a_file(place: Place) -> None:
    place.app(HELLO + BYE).sync()
    code = place.app()

    @code.schedule(cron("0 4 * * *"))
    def in_code() -> None: ...

    code.sync()
    code.schedules.put("by-hand", "in_code", every("1h"))
    assert place.app(HELLO).sync(prune=True).pruned == ("bye",)
    assert {each.name for each in code.schedules.list()} == {"hello", "in_code", "by-hand"}
    assert code.sync(prune=True).pruned == ()


def test_older_text_does_not_undo_newer_text_that_a_live_node_still_declares(place: Place) -> None:
    place.app(HELLO).sync()
    place.app(HELLO.replace("1m", "2m")).sync()
    assert place.app(HELLO).sync().unchanged == ("hello",)
    place.clock.advance(16 * 60_000)
    assert place.app(HELLO).sync().updated == ("hello",)


def test_a_deploy_that_was_taken_back_leaves_what_the_nodes_that_are_left_declare(place: Place) -> None:
    stays = place.app(HELLO)
    stays.sync()
    place.app(HELLO.replace("1m", "2m")).sync()
    for _ in range(3):
        place.clock.advance(DECLARE_MS)
        stays._declared.touch()
        assert decode(stays.schedules.get("hello").trigger) == every("2m", tz="UTC").with_key("hello")
    place.clock.advance(DECLARE_MS)
    stays._declared.touch()
    assert decode(stays.schedules.get("hello").trigger) == every("1m", tz="UTC").with_key("hello")


def test_what_a_live_node_declares_is_never_taken_back_by_another(place: Place) -> None:
    old, new = place.app(HELLO), place.app(HELLO.replace("1m", "2m"))
    old.sync()
    new.sync()
    for _ in range(12):
        place.clock.advance(DECLARE_MS)
        old._declared.touch()
        new._declared.touch()
    schedule = new.schedules.get("hello")
    assert (schedule.revision, decode(schedule.trigger)) == (2, every("2m", tz="UTC").with_key("hello"))


def test_a_deploy_that_is_made_again_counts_at_once_though_old_nodes_live(place: Place) -> None:
    old, new = place.app(HELLO), HELLO.replace("1m", "2m")
    old.sync()
    place.app(new).sync()
    place.clock.advance(4 * DECLARE_MS)
    old._declared.touch()
    assert place.app(new).sync().updated == ("hello",)
    assert place.app(HELLO).sync().unchanged == ("hello",)


def test_nodes_do_not_take_back_what_was_put_or_deleted_by_hand(place: Place) -> None:
    app = place.app(HELLO + BYE)
    app.sync()
    app.schedules.put("hello", "bye", every("7m"))
    app.schedules.delete("bye")
    for _ in range(12):
        place.clock.advance(DECLARE_MS)
        app._declared.touch()
    assert [each.name for each in app.schedules.list()] == ["hello"]
    assert decode(app.schedules.get("hello").trigger) == every("7m", tz="UTC").with_key("hello")


def test_a_task_that_only_other_nodes_have_may_be_named(place: Place) -> None:
    app = place.app('[schedules.digest]\nevery = "1m"\ntask = "send_digest"\nargs = { audience = "eu" }\n')
    app.sync()
    schedule = app.schedules.get("digest")
    assert (schedule.task, schedule.args) == ("send_digest", {"audience": "eu"})
    assert list(app.named_tasks()) == [("digest", "send_digest")]


def test_all_that_does_not_fit_the_app_is_told_with_its_place(place: Place) -> None:
    app = place.app()

    @app.task
    def send(audience: str) -> None: ...

    @app.schedule(every("1h"))
    def hello() -> None: ...

    place.file.write_text(
        '[schedules.hello]\nevery = "1m"\ntask = "send"\nargs = { audience = "eu" }\n'
        '[schedules.a]\nevery = "1m"\ntask = "send"\nargs = { audince = "eu" }\n'
        '[schedules.send]\nevery = "1m"\nshell = "true"\n',
        encoding="utf-8",
    )
    with pytest.raises(FileError) as caught:
        app.load_file(place.file)
    assert caught.value.problems == (
        "[schedules.hello] a schedule of this name is declared elsewhere; give it another name",
        "[schedules.a] task 'send' has no parameter 'audince'; it takes: audience",
        "[schedules.send] the app has a task of this name; give the schedule another name",
    )


# a crontab of which one line is bad


def crontab(place: Place, text: str) -> App:
    place.file = place.file.with_name("crontab")
    return place.app(text)


def test_a_bad_line_of_a_crontab_is_left_out_and_logged_and_the_others_are_declared(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    app = crontab(place, "0 9 * * * good\n0 25 * * * bad\n")
    assert app.sync().created == ("good",)
    assert app.tasks.names() == ("good",)
    assert caplog.messages == [
        f"{place.file}: line 2: hour: 25 is not 0-23 (column 3); the other lines count",
    ]


def test_a_line_whose_name_the_app_has_already_is_left_out_alone(place: Place) -> None:
    app = place.app()

    @app.task
    def bad() -> None: ...

    path = place.file.with_name("crontab")
    path.write_text("0 9 * * * good\n0 10 * * * bad\n", encoding="utf-8")
    file = app.load_file(path)
    assert file.problems == (f"{path}: line 2: the app has a task of this name; give the schedule another name",)
    assert app.sync().created == ("good",)


def test_nothing_is_pruned_while_a_line_cannot_be_read(place: Place) -> None:
    crontab(place, "0 9 * * * good\n0 5 * * * other\n").sync()
    app = crontab(place, "0 9 * * * good\n0 25 * * * other\n")
    with pytest.raises(SettingsError, match=r"mend them: .*crontab: line 2: hour: 25 is not 0-23"):
        app.sync(prune=True)
    assert {each.name for each in app.schedules.list()} == {"good", "other"}


# reload


class Watched:
    """A file that is watched, look by look."""

    def __init__(self, place: Place, text: str) -> None:
        self.place = place
        self.app = place.app(text)
        self.app.sync()
        self.events: list[Event] = []
        self.watch = FileWatch(self.app._files, self.app._resync, self.events.append)

    def look(self, text: str | None = None) -> list[Event]:
        """What is told after the file was written: it must stand still for a look."""
        if text is not None:
            self.place.file.write_text(text, encoding="utf-8")
        before = len(self.events)
        self.watch.run_once()
        self.watch.run_once()
        return self.events[before:]


def test_a_file_that_changes_is_taken_once(place: Place) -> None:
    watched = Watched(place, HELLO)
    path = str(place.file)
    assert watched.look() == []
    assert watched.look(HELLO + BYE) == [FileLoaded(path, created=("bye",))]
    assert watched.look() == []
    assert watched.look(BYE) == [FileLoaded(path, removed=("hello",))]
    assert watched.app.tasks.names() == ("bye",)
    assert watched.app.schedules.get("hello").origin == "file"


def test_a_change_that_is_taken_back_is_taken_back_in_the_store_too(place: Place) -> None:
    watched = Watched(place, HELLO)
    for text in (HELLO.replace("1m", "2m"), HELLO):
        (event,) = watched.look(text)
        assert isinstance(event, FileLoaded)
        assert event.updated == ("hello",)
    assert decode(watched.app.schedules.get("hello").trigger) == every("1m", tz="UTC").with_key("hello")


def test_a_broken_file_changes_nothing_and_is_told_once(place: Place) -> None:
    watched = Watched(place, HELLO)
    (event,) = watched.look(HELLO + "[schedules.bye]\nevery = 3\n")
    assert isinstance(event, FileBroken)
    assert [problem.partition(" ")[0] for problem in event.problems] == ["[schedules.bye]", "[schedules.bye]"]
    assert watched.look() == []
    assert watched.app.tasks.names() == ("hello",)
    place.file.unlink()
    assert watched.look() == [FileBroken(str(place.file), ("no such file or directory",))]
    assert watched.look(HELLO + BYE) == [FileLoaded(str(place.file), created=("bye",))]


def test_a_schedule_stays_as_it_was_while_its_line_of_a_crontab_is_bad(place: Place) -> None:
    place.file = place.file.with_name("crontab")
    watched = Watched(place, "0 9 * * * good\n0 5 * * * other\n")
    (event,) = watched.look("0 10 * * * good\n0 25 * * * other\n")
    assert isinstance(event, FileLoaded)
    assert (event.updated, event.removed) == (("good",), ())
    assert watched.app.tasks.names() == ("good", "other")
    assert watched.app.schedules.get("other").trigger["text"] == "0 5 * * *"
    (event,) = watched.look("0 10 * * * good\n0 6 * * * other\n")
    assert isinstance(event, FileLoaded)
    assert event.updated == ("other",)


def test_a_command_may_become_a_call_and_a_task_of_code_again(place: Place) -> None:
    watched = Watched(place, HELLO)
    watched.look('[schedules.hello]\nevery = "1m"\nhttp = { url = "https://example.org" }\n')
    assert watched.app.tasks.lookup("hello").is_http  # type: ignore[union-attr]
    watched.look('[schedules.hello]\nevery = "1m"\ntask = "elsewhere"\n')
    assert watched.app.tasks.names() == ()


def test_while_a_file_is_being_written_nothing_is_taken(place: Place) -> None:
    watched = Watched(place, HELLO)
    for number in range(5):
        place.file.write_text(HELLO + f"# {'x' * number}\n[schedules.b", encoding="utf-8")
        watched.watch.run_once()
    assert watched.events == []


ICS = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{}END:VCALENDAR\n"
DAY = "BEGIN:VEVENT\nUID:{0}\nDTSTART;VALUE=DATE:{0}\nSUMMARY:{1}\nEND:VEVENT\n"


def test_a_watched_file_is_taken_anew_when_the_ics_that_it_names_has_changed(place: Place) -> None:
    days = place.file.parent / "days.ics"
    days.write_text(ICS.format(DAY.format("20261225", "Christmas")), encoding="utf-8")
    app = place.app('[calendars.de]\nics = "days.ics"\n' + HELLO + 'except = "calendar de"\n')
    app.sync()
    heard: list[Event] = []
    watch = FileWatch(app._files, app.sync, heard.append)
    watch.run_once()
    days.write_text(ICS.format(DAY.format("20261225", "Christmas") + DAY.format("20261226", "Day 2")), encoding="utf-8")
    watch.run_once()
    watch.run_once()
    assert [type(each) for each in heard] == [FileLoaded]
    assert app.calendars.get("de").days.count == 2
    watch.run_once()
    watch.run_once()
    assert len(heard) == 1
