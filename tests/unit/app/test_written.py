"""What people write (names, arguments, keys, notes) is refused in one line where not every store could keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.execution.bad_behaviour import Shy, Trap, nested

from onthedot import App, ArgumentsError, OnthedotError, RunNotFound, ScheduleNotFound, SettingsError, every
from onthedot.app.options import MOST_KEY_CHARACTERS
from onthedot.cli import main
from onthedot.clock import SystemClock
from onthedot.errors import FileError, NodeNotFound
from onthedot.node.settings import NodeSettings
from onthedot.settings import load_settings
from onthedot.storable import MOST_BYTES
from onthedot.stores.memory import MemoryStore

BAD = {"nul": "a\0b", "half a pair": "a\udcffb"}


@pytest.fixture
def app() -> App:
    app = App("memory://", store=MemoryStore(SystemClock().now_ms))

    @app.task
    def job(what: Any = None, **more: Any) -> None: ...

    app.schedules.put("s", job, every("1h"))
    return app


def refused(act: Callable[[], object], kind: type[OnthedotError] = SettingsError) -> str:
    with pytest.raises(kind) as caught:
        act()
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 1000
    return said


def _nothing() -> None: ...


def _declared(app: App, name: str) -> None:
    app.schedule(every("1h"), name=name)(_nothing)
    app.sync()


ENTRANCES: dict[str, Callable[[App, str], object]] = {
    "a schedule's name": lambda app, text: app.schedules.put(text, "job", every("1h")),
    "a declared schedule's name": _declared,
    "a task's name": lambda app, text: app.task(name=text)(_nothing),
    "an alias": lambda app, text: app.task(name="other", aliases=[text])(_nothing),
    "an unchecked task": lambda app, text: app.enqueue(text, unchecked=True),
    "an unchecked task of a schedule": lambda app, text: app.schedules.put("n", text, every("1h"), unchecked=True),
    "a tag": lambda app, text: app.schedules.put("n", "job", every("1h"), tags=["fine", text]),
    "a tag in an update": lambda app, text: app.schedules.update("s", tags=[text]),
    "a group": lambda app, text: app.enqueue("job", group=text),
    "a limit": lambda app, text: app.enqueue("job", limit=f"{text}:5"),
    "a dependency": lambda app, text: app.schedules.put("n", "job", every("1h"), depends_on=text),
    "a follower": lambda app, text: app.schedules.put("n", "job", every("1h"), then=[text], unchecked=True),
    "a note": lambda app, text: app.schedules.pause("s", note=text),
    "a note for many": lambda app, text: app.schedules.pause(where={"tag": "t"}, note=text),
    "a key": lambda app, text: app.enqueue("job", key=text),
    "a token": lambda app, text: app.schedules.trigger("s", token=text),
    "a reason": lambda app, text: app.runs.cancel(app.enqueue("job").id, reason=text),
    "a node's name": lambda app, text: App("memory://", node=NodeSettings(name=text)),
    "a node's group": lambda app, text: App("memory://", node=NodeSettings(group=text)),
    "a node's label": lambda app, text: App("memory://", node=NodeSettings(labels={"zone": text})),
    "a label's name": lambda app, text: App("memory://", node=NodeSettings(labels={text: "eu"})),
    "a name for the command line": lambda app, text: app.override(name=text),
    "a setting": lambda app, text: load_settings({"name": text}, environment={}, folder=Path("/nowhere")),
    "a variable": lambda app, text: load_settings(environment={"ONTHEDOT_GROUP": text}, folder=Path("/nowhere")),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_text_that_not_every_store_can_keep_is_refused_where_it_comes_in(app: App, entrance: str, text: str) -> None:
    refused(lambda: ENTRANCES[entrance](app, text))
    assert app.schedules.get("s").enabled
    assert [schedule.name for schedule in app.schedules.list()] == ["s"]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_text_that_is_too_long_is_refused_where_it_comes_in(app: App, entrance: str) -> None:
    refused(lambda: ENTRANCES[entrance](app, "x" * 17_000_000))


def test_a_key_may_be_so_long_and_no_longer(app: App) -> None:
    run = app.enqueue("job", key="k" * MOST_KEY_CHARACTERS)
    assert app.enqueue("job", key="k" * MOST_KEY_CHARACTERS).id == run.id
    assert "401 characters; the most is 400: take a hash" in refused(lambda: app.enqueue("job", key="k" * 401))
    assert "7 is not text" in refused(lambda: app.enqueue("job", key=7))  # type: ignore[arg-type]


def test_numbers_that_no_column_holds_are_refused(app: App) -> None:
    assert "more than 2,147,483,647" in refused(lambda: app.enqueue("job", priority=1 << 40))
    assert "is less than" in refused(lambda: app.enqueue("job", priority=-(1 << 40)))
    assert "more than" in refused(lambda: app.schedules.put("n", "job", every("1h"), max_runs=1 << 31))
    assert "230 years" in refused(lambda: app.enqueue("job", delay="100000000d"), OnthedotError)


# looking for what cannot be there


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_cannot_be_there_is_not_found(app: App, text: str) -> None:
    run = app.enqueue("job")
    for act in (
        lambda: app.schedules.get(text),
        lambda: app.schedules.pause(text),
        lambda: app.schedules.resume(text),
        lambda: app.schedules.trigger(text),
        lambda: app.schedules.update(text, misfire="skip"),
        lambda: app.schedules.next(text),
        lambda: app.schedules.reschedule(text, "2090-01-01T00:00Z"),
        lambda: app.schedules.explain(text, "2026-01-01T00:00Z"),
    ):
        refused(act, ScheduleNotFound)
    for ask in (app.runs.get, app.runs.cancel, app.runs.retry, app.runs.wait):
        refused(lambda ask=ask: ask(text), RunNotFound)  # type: ignore[misc]
    refused(lambda: app.nodes.drain(text), NodeNotFound)
    assert app.schedules.delete(text) is False
    assert not app.schedules.list(tag=text).items
    assert not app.runs.list(schedule=text).items
    assert app.runs.logs(text) == ()
    assert app.runs.get(run.id).state == "waiting"
    refused(lambda: app.schedules.list(cursor=text))
    refused(lambda: app.runs.list(cursor=text))


# arguments


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("a\0b", "'job': what: 'a\\x00b' cannot be kept: its character 2 is NUL"),
        (["a\udcffb"], "half of a pair"),
        ({"a\0b": 1}, "is NUL"),
        (float("nan"), "nan is no number of JSON; give None, or a text"),
        ([{"a": float("-inf")}], "-inf is no number of JSON"),
        (Trap(RuntimeError("no items")), "'job': what cannot be read: RuntimeError: no items"),
        ([Shy()], "cannot be read: RuntimeError: not now"),
        (object(), "a object is no JSON value"),
    ],
    ids=range(8),
)
def test_an_argument_that_is_no_json_value_is_refused_with_its_place(app: App, value: Any, says: str) -> None:
    for act in _ways_to_give(app, {"what": value}):
        assert says in refused(act, ArgumentsError)


def test_arguments_that_are_nested_too_deep_or_in_a_circle_are_refused(app: App) -> None:
    circle: list[Any] = []
    circle.append(circle)
    for value in (nested(5000), nested(99), circle):
        for act in _ways_to_give(app, {"what": value}):
            assert "what is nested deeper than 100 levels" in refused(act, ArgumentsError)
    assert app.enqueue("job", args={"what": nested(98)}).args == {"what": nested(98)}


def test_arguments_that_are_too_large_are_refused_with_size_limit_and_remedy(app: App) -> None:
    said = (
        "args of 'job' have 1,000,011 bytes as JSON; the most is 1,000,000. Keep what is large elsewhere and give its"
        " path or id, or raise max_args_bytes (ONTHEDOT_MAX_ARGS_BYTES)"
    )
    for act in _ways_to_give(app, {"what": "x" * 1_000_000}):
        assert refused(act, ArgumentsError) == said
    assert "no JSON value" in refused(lambda: app.enqueue("job", args={"what": 1 << 100_000}), ArgumentsError)
    app.enqueue("job", args={"what": "x" * (1_000_000 - 11)})


def test_how_large_arguments_may_be_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONTHEDOT_MAX_ARGS_BYTES", "2000")
    app = App("memory://")
    assert "the most is 2,000" in refused(
        lambda: app.enqueue("t", args={"what": "x" * 3000}, unchecked=True), ArgumentsError
    )
    monkeypatch.setenv("ONTHEDOT_MAX_ARGS_BYTES", "99")
    assert "ONTHEDOT_MAX_ARGS_BYTES: '99' is not a whole number from 1000 to 10000000" in refused(
        lambda: App("memory://")
    )


def test_arguments_that_are_no_mapping_or_raise_are_refused(app: App) -> None:
    for args, says in (
        (["x"] * 10**6, "map parameter names"),
        (Shy(), "RuntimeError: not now"),
        ({1: 2}, "1 is no parameter's name"),
    ):
        for act in _ways_to_give(app, args):
            assert says in refused(act, ArgumentsError)


def _ways_to_give(app: App, args: Any) -> list[Callable[[], object]]:
    return [
        lambda: app.enqueue("job", args=args),
        lambda: app.schedules.put("n", "job", every("1h"), args=args),
        lambda: app.schedules.update("s", args=args),
        lambda: app.schedules.trigger("s", args=args),
    ]


def test_arguments_that_are_kept_are_values_of_their_own(app: App) -> None:
    class Loud(str): ...

    given = {"what": [Loud("a"), {"b": Trap(RuntimeError(), good_times=9)}]}
    kept = app.enqueue("job", args=given).args
    assert kept == {"what": ["a", {"b": {"a": 1}}]}
    assert type(kept["what"][0]) is str
    assert type(kept["what"][1]["b"]) is dict


# files and documents


def test_a_file_with_arguments_that_cannot_be_kept_is_refused_with_the_schedule_and_nothing_is_taken(
    app: App, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text(
        f"""
[schedules.large]
every = "1h"
task = "job"
args = {{ what = "{"x" * 1_000_001}" }}
[schedules.nul]
every = "1h"
task = "job"
args = {{ what = "a\\u0000b" }}
[schedules.nan]
every = "1h"
task = "job"
args = {{ what = nan }}
[schedules.tagged]
every = "1h"
task = "job"
tags = ["a\\u0000b"]
""",
        encoding="utf-8",
    )
    with pytest.raises(FileError) as caught:
        app.load_file(path)
    assert [problem.partition("]")[0] for problem in caught.value.problems] == [
        "[schedules.nul",
        "[schedules.nan",
        "[schedules.tagged",
    ]
    path.write_text(path.read_text(encoding="utf-8").partition("[schedules.nul]")[0], encoding="utf-8")
    with pytest.raises(FileError, match=r"large.* have 1,000,012 bytes as JSON; the most is 1,000,000"):
        app.load_file(path)
    assert main(["check", str(path)]) == 2


def test_a_document_with_what_cannot_be_kept_is_refused_and_nothing_is_written(app: App) -> None:
    document = app.schedules.export()
    (one,) = document["schedules"]
    for change, says in (
        ({"args": {"what": "a\0b"}}, "is NUL"),
        ({"args": {"what": "x" * 1_000_000}}, "the most is 1,000,000"),
        ({"args": {"what": float("inf")}}, "no number of JSON"),
        ({"task": "a\0b"}, "cannot be seen"),
        ({"task": "x" * 300}, "300 characters"),
        ({"name": "a\udcffb"}, "cannot be seen"),
        ({"tags": ["a\0b"]}, "is NUL"),
        ({"enabled": False, "paused_note": "a\0b"}, "paused_note: its character 2 is NUL"),
        ({"enabled": False, "paused_note": "x" * MOST_BYTES * 2}, "paused_note: it has 131,072 bytes"),
        ({"declared_hash": "h" * 101}, "declared_hash: it has 101 bytes"),
    ):
        bad = {**document, "schedules": [one, {**one, "name": "other", **change}]}
        with pytest.raises(FileError, match=says):
            app.schedules.import_document(bad)
    assert [schedule.name for schedule in app.schedules.list()] == ["s"]


def test_what_a_node_publishes_of_its_tasks_can_be_kept_whatever_they_are(app: App) -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no text")

    def documented(what: Any = None) -> None: ...

    documented.__doc__ = "x" * 17_000_000 + "\0\ud800"
    documented.__annotations__["what"] = Odd()
    app.task(documented)
    info = next(each for each in app.tasks.infos() if each.name == "documented")
    assert len(info.doc.encode()) <= MOST_BYTES
    assert info.parameters[0]["annotation"] == "a Odd that cannot be shown"


# the command line


@pytest.mark.parametrize(
    "words",
    [
        ["schedules", "show", "a\udcffb"],
        ["schedules", "pause", "s", "--note", "a\udcffb"],
        ["schedules", "trigger", "s", "--arg", "what=a\udcffb"],
        ["schedules", "trigger", "s", "--arg", "what=NaN"],
        ["schedules", "trigger", "s", "--arg", f"what={'[' * 50_000}"],
        ["schedules", "put", "a\udcffb", "--task", "job", "--every", "1h"],
        ["runs", "show", "a\udcffb"],
        ["runs", "cancel", "a\udcffb"],
        ["runs", "logs", "a\udcffb"],
        ["runs", "list", "--schedule", "a\udcffb"],
        ["nodes", "drain", "a\udcffb"],
        ["explain", "a\udcffb"],
    ],
    ids=lambda words: " ".join(words)[:40].encode("ascii", "backslashreplace").decode(),
)
def test_bytes_that_are_no_text_on_the_command_line_are_answered_in_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = App(url)
    app.open_store(create=True)
    app.schedules.put("s", "job", every("1h"), unchecked=True)
    app.close()
    code = main([*words, "--store", url])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert len([line for line in told.err.splitlines() if not line.startswith("note:")]) <= 1, told.err
    assert code in (0, 1, 2, None)
