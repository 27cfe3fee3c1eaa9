"""Templates, and verbs on patterns of names, from every surface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.test_operate import Place as Folder

from onthedot import App, every
from onthedot.errors import Conflict, FileError, ScheduleNotFound, SettingsError
from onthedot.testing import simulate
from onthedot.web.serving import Place, WebServer

EACH: dict[str, dict[str, object]] = {"eu": {"to": "eu"}, "us": {"to": "us", "copies": 2}}


@dataclass(frozen=True, slots=True)
class Both:
    """An app on its store, and what another program has of it over HTTP."""

    app: App
    remote: App
    folder: Folder

    def names(self) -> list[str]:
        return [each.name for each in self.app.schedules.list()]


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    def send(to: str = "all", copies: int = 1) -> None: ...

    app.open_store(create=True)
    server = WebServer(app, Place(port=0))
    admin = app.tokens.create("ops", "admin").text
    with server.beside(), closing(App(server.address, token=admin)) as remote, closing(app):
        yield Both(app, remote, Folder(tmp_path))


surfaces = pytest.mark.parametrize("far", [False, True], ids=["python", "remote"])


@surfaces
def test_a_template_is_put_changed_and_what_it_has_no_more_deleted(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    made = app.schedules.put("digest", "send", every("15m"), args={"copies": 3}, each=EACH, tags=["mail"])
    assert [(each.name, each.template, dict(each.args)) for each in made] == [
        ("digest[eu]", "digest", {"to": "eu", "copies": 3}),
        ("digest[us]", "digest", {"to": "us", "copies": 2}),
    ]
    app.schedules.pause("digest[eu]", note="holiday")
    again = app.schedules.put("digest", "send", every("1h"), each={"eu": {"to": "eu"}, "jp": {}})
    assert both.names() == ["digest[eu]", "digest[jp]"]
    assert [(each.id == made[0].id, each.enabled, each.revision) for each in again] == [
        (True, False, 2),
        (False, True, 1),
    ]


@surfaces
def test_a_schedule_of_its_own_is_never_taken_by_a_template(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    app.schedules.put("digest[eu]", "send", every("1h"))
    with pytest.raises(Conflict, match="a schedule of its own"):
        app.schedules.put("digest", "send", every("15m"), each=EACH)
    assert both.names() == ["digest[eu]"]  # all or nothing


@surfaces
def test_what_is_changed_by_its_own_name_stays_in_its_template(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    app.schedules.put("digest", "send", every("15m"), each=EACH)
    app.schedules.put("digest[eu]", "send", every("2h"))
    app.schedules.update("digest[us]", priority=3)
    assert {each.template for each in both.app.schedules.list()} == {"digest"}
    app.schedules.put("digest", "send", every("15m"), each={"eu": {}})
    assert both.names() == ["digest[eu]"]


@surfaces
def test_verbs_take_patterns_in_which_only_the_star_means_more_than_itself(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    app.schedules.put("digest", "send", every("15m"), each=EACH)
    app.schedules.put("digest e", "send", every("1h"))
    app.schedules.put("digestion", "send", every("1h"))
    assert [each.name for each in app.schedules.pause("digest[*]", note="x")] == ["digest[eu]", "digest[us]"]
    assert [each.name for each in both.app.schedules.list(state="paused")] == ["digest[eu]", "digest[us]"]
    assert [each.enabled for each in app.schedules.resume("d*[*s]")] == [True]
    assert [each.skips for each in app.schedules.skip_next("digest[*]", 2)] == [2, 2]
    assert [run.schedule for run in app.schedules.trigger_all("digest[*]", token="t")] == ["digest[eu]", "digest[us]"]
    with pytest.raises(ScheduleNotFound, match="nothing"):
        app.schedules.pause("nothing[*]")
    assert app.schedules.delete("nothing[*]") is False
    assert app.schedules.delete("digest[*]") is True
    assert both.names() == ["digest e", "digestion"]


@surfaces
def test_a_schedule_that_has_the_name_itself_comes_before_a_pattern(both: Both, far: bool) -> None:
    app = both.remote if far else both.app
    for name in ("a*", "ab"):
        app.schedules.put(name, "send", every("1h"))
    assert app.schedules.pause("a*").name == "a*"
    assert both.app.schedules.get("ab").enabled


def test_the_command_line_puts_templates_and_takes_patterns(both: Both) -> None:
    run = both.folder
    made = run.run(
        *("schedules", "put", "digest", "--task", "send", "--every", "15m", "--json"),
        *("--each", 'eu={"to": "eu"}', "--each", 'us={"to": "us"}'),
    )
    assert (made.code, "digest[us]" in made.stdout) == (0, True), made
    assert "template:  digest" in run.printed("schedules", "show", "digest[eu]")
    assert run.printed("schedules", "pause", "digest[*]").endswith("2 schedules\n")
    assert run.printed("schedules", "resume", "digest[*]").endswith("2 schedules\n")
    assert run.printed("schedules", "trigger", "digest[*]") == "2 runs of digest[*]\n"
    assert run.printed("schedules", "delete", "digest[*]", "--yes") == "2 schedules deleted\n"
    assert "No schedule named 'digest[*]'" in run.refused("schedules", "pause", "digest[*]", code=1)


def test_templates_are_declared_in_code_and_in_files(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(
        '[schedules.mail]\nevery = "1h"\ntask = "send"\nargs = {copies = 2}\neach = {eu = {to = "eu"}, us = {}}\n'
    )
    app = App("memory://")

    @app.schedule(every("15m"), each={"a": {"to": "a"}, "b": {"to": "b"}})
    def send(to: str = "all", copies: int = 1) -> None: ...

    app.load_file(file)
    with simulate(app) as world:
        found = {each.name: (each.template, each.origin, dict(each.args)) for each in app.schedules.list()}
        assert found == {
            "mail[eu]": ("mail", "file", {"copies": 2, "to": "eu"}),
            "mail[us]": ("mail", "file", {"copies": 2}),
            "send[a]": ("send", "code", {"to": "a"}),
            "send[b]": ("send", "code", {"to": "b"}),
        }
        world.advance("1h")
        assert len(world.moments("send[a]")) == 4


def test_a_file_says_what_is_wrong_with_each(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text('[schedules.backup]\nevery = "1h"\ncommand = ["true"]\neach = {eu = {}}\n')
    with pytest.raises(FileError, match=r"\[schedules.backup\] each: it is about arguments, which go with task"):
        App("memory://").load_file(file)
    file.write_text('[schedules.mail]\nevery = "1h"\ntask = "send"\neach = {"a*" = {}}\n')
    with pytest.raises(FileError, match=r"\[schedules.mail\] each: '\[', '\]' and '\*' cannot stand in 'a\*'"):
        App("memory://").load_file(file)


def test_templates_go_with_an_export(both: Both, tmp_path: Path) -> None:
    both.app.schedules.put("digest", "send", every("15m"), each=EACH)
    document = both.app.schedules.export()
    with closing(App(f"sqlite:///{tmp_path}/other.db")) as other:
        other.open_store(create=True)
        other.schedules.import_document(document)
        assert [each.template for each in other.schedules.list()] == ["digest", "digest"]
        assert other.schedules.import_document(document).changed == ()


@pytest.mark.parametrize(
    ("name", "each", "options", "said"),
    [
        ("digest[x]", EACH, {}, "cannot stand in the name of a template"),
        ("digest", {}, {}, "it is empty"),
        ("digest", {"a]": {}}, {}, "cannot stand in 'a]'"),
        ("digest", {"": {}}, {}, "is no text that tells a schedule"),
        ("digest", {"eu": "eu"}, {}, "is no mapping of names to arguments"),
        ("digest", ["eu"], {}, "is no mapping"),
        ("digest", EACH, {"mode": "local"}, "a local schedule is every node's own"),
        ("digest", EACH, {"revision": 1}, "a revision goes with one schedule"),
        ("digest", {str(number): {} for number in range(501)}, {}, "at most 500"),
    ],
)
def test_what_makes_no_template_is_told_in_one_line(
    both: Both, name: str, each: dict[str, dict[str, str]], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=r"each|revision") as wrong:
        both.app.schedules.put(name, "send", every("1h"), each=each, **options)
    assert said in str(wrong.value)
    assert both.names() == []
