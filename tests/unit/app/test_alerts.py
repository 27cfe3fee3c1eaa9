"""Alerts and pings as users declare them, sent to real servers."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.execution.places import app_in_memory, ended, until
from tests.unit.execution.test_http import Server, server  # noqa: F401 (a fixture)

from onthedot import App, ArgumentsError, FileError, OnthedotError, SettingsError, TaskNotFound, alert, cron, every
from onthedot.model.alert import Alert
from onthedot.model.policy import HOUR, SECOND
from onthedot.model.run import Run

NEVER = cron("0 0 1 1 *")


@pytest.fixture
def app() -> Iterator[App]:
    app = app_in_memory()
    with app.running():
        yield app


def broken() -> None:
    raise ValueError("it broke")


def fail(app: App, name: str = "nightly") -> Run:
    return ended(app, app.schedules.trigger(name))


def test_an_alert_is_posted_and_signed(app: App, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("HOOK_SECRET", "k3y-of-the-hook")
    app.task(broken)
    app.http("hook", "POST", f"{server.url}/hook", sign="env:HOOK_SECRET", headers={"X-Team": "ops"})
    app.schedules.put("nightly", "broken", NEVER, alerts=[alert("ops", task="hook")])
    run = fail(app)
    (sent,) = app.runs.list(task="hook")
    assert ended(app, sent).state == "succeeded"
    ((method, _, headers, body),) = server.asked
    told = json.loads(body)
    assert (method, told["alert"], told["on"], told["schedule"], told["run_id"]) == (
        "POST",
        "ops",
        "failure",
        "nightly",
        run.id,
    )
    assert told["error"] == "ValueError: it broke"
    moment, signed = (part.partition("=")[2] for part in headers["onthedot-signature"].split(","))
    wanted = hmac.new(b"k3y-of-the-hook", f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    assert (signed, headers["x-team"]) == (wanted, "ops")


def test_an_alert_that_is_not_heard_is_retried_as_any_run(server: Server) -> None:  # noqa: F811
    app = app_in_memory()
    app.task(broken)
    app.http("hook", "POST", f"{server.url}/503", retries=2, backoff="1ms", max_backoff="1ms")
    with app.running():
        app.schedules.put("nightly", "broken", NEVER, alerts=[alert("ops", task="hook")])
        fail(app)
        (sent,) = app.runs.list(task="hook")
        assert (ended(app, sent).state, len(server.asked)) == ("failed", 3)
        assert len(app.runs.list(task="hook").items) == 1  # nobody is alerted of alerts


def test_a_function_is_told_what_it_asks_for(app: App) -> None:
    told: list[tuple[str, int]] = []

    @app.task
    def page(text: str, in_a_row: int) -> None:
        told.append((text.partition(":")[2].strip().rpartition(": ")[2], in_a_row))

    app.task(broken)
    app.schedules.put("nightly", "broken", NEVER, alerts=[alert("ops", task=page)])
    fail(app)
    until(lambda: told)
    assert told == [("it broke", 1)]


def test_the_alerts_of_the_app_are_of_all_schedules_that_name_none(app: App) -> None:
    app.task(broken)
    app.task(name="hook")(lambda: None)
    app.task(name="pager")(lambda: None)
    ops = app.alert("ops", task="hook", after=3)
    rare = app.alert("rare", task="pager", default=False)
    assert app.schedules.put("a", "broken", NEVER).alerts == (ops,)
    assert app.schedules.put("b", "broken", NEVER, alerts=["rare", "ops"]).alerts == (rare, ops)
    assert app.schedules.put("c", "broken", NEVER, alerts=[]).alerts == ()
    assert app.schedules.update("b", alerts=None).alerts == (ops,)
    assert app.schedules.get("b").given == ()
    assert app.schedules.update("c", alerts=[{"name": "own", "task": "hook", "on": ["recovery"]}]).alerts == (
        Alert("own", "hook", ("recovery",)),
    )


def test_an_alert_is_the_same_after_export_and_import(app: App) -> None:
    app.task(broken)
    app.task(name="hook")(lambda: None)
    made = alert("ops", task="hook", on=["failure", "recovery"], after=3, every="10m", overdue="26h")
    assert made == Alert("ops", "hook", ("failure", "recovery", "overdue"), 3, 600 * SECOND, 26 * HOUR)
    app.schedules.put("nightly", "broken", NEVER, alerts=[made])
    other = app_in_memory()
    assert other.schedules.import_document(app.schedules.export()).created == ("nightly",)
    assert other.schedules.get("nightly").alerts == (made,)
    assert other.schedules.import_document(app.schedules.export()).unchanged == ("nightly",)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"task": "hook", "on": "fail"}, "alert 'ops': on: 'fail' is not known; did you mean failure?"),
        ({"task": "hook", "after": 0}, "alert 'ops': after: 0 is not a whole number from 1 to 1,000"),
        (
            {"task": "hook", "on": "overdue"},
            "alert 'ops': overdue: say how long after the latest success, overdue='26h'",
        ),
        ({"task": ""}, "alert 'ops': task: it is empty"),
        ({"task": "hook", "every": "soon"}, "alert 'ops': every: "),
    ],
)
def test_what_cannot_be_an_alert_is_refused_in_one_line(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        alert("ops", **given)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_an_alert_without_a_task_that_can_tell_it_is_refused(app: App) -> None:
    app.task(broken)
    with pytest.raises(TaskNotFound, match="nightly: alert ops"):
        app.schedules.put("nightly", "broken", NEVER, alerts=[alert("ops", task="hook")])
    with pytest.raises(SettingsError, match="no alert 'ops', the app has none; declare it"):
        app.schedules.put("nightly", "broken", NEVER, alerts=["ops"])
    app.task(name="hook")(lambda channel: None)
    with pytest.raises(ArgumentsError, match="nightly: alert ops: task 'hook' needs channel, and is told alert, on"):
        app.schedules.put("nightly", "broken", NEVER, alerts=[alert("ops", task="hook")])
    with pytest.raises(SettingsError, match="alerts: two alerts are named 'ops'"):
        app.schedules.put("nightly", "broken", NEVER, alerts=["ops", alert("ops", task="broken")])


def test_pings_tell_of_beginnings_and_ends(server: Server) -> None:  # noqa: F811
    app = app_in_memory()
    urls = {kind: f"{server.url}/{kind}" for kind in ("start", "success", "fail")}
    works = [False]

    @app.schedule(NEVER, ping=urls)
    def nightly() -> None:
        if not works[0]:
            raise ValueError

    with app.running():
        fail(app)
        until(lambda: len(server.asked) == 2)
        works[0] = True
        fail(app)
        until(lambda: len(server.asked) == 4)
        assert [info.name for info in app.tasks.list()] == ["nightly"]
    paths = [path for _, path, _, _ in server.asked]
    assert sorted(paths) == ["/fail", "/start", "/start", "/success"]
    assert urls["fail"] not in json.dumps(app.schedules.export())


def test_where_pings_go_is_not_kept_in_a_store(app: App) -> None:
    app.task(broken)
    with pytest.raises(SettingsError, match="nightly: ping: urls are said in code or a file"):
        app.schedules.put("nightly", "broken", NEVER, ping={"success": "https://example.org"})
    with pytest.raises(SettingsError, match="ping: 'succes' is not known; did you mean success"):
        app.schedules.put("nightly", "broken", NEVER, ping=["succes"])
    assert app.schedules.put("nightly", "broken", NEVER, ping=["success"]).ping == ("success",)


FILE = """
[alerts.ops]
http = {{ method = "POST", url = "{url}/hook" }}
on = ["failure", "recovery"]
every = "10m"

[alerts.mail]
mail = {{ to = "ops@example.org", sender = "jobs@example.org", host = "smtp.example.org" }}
default = false

[schedules.backup]
every = "1d"
command = ["false"]
ping = {{ fail = "{url}/fail" }}

[schedules.report]
every = "1d"
command = ["true"]
alerts = ["mail", {{ name = "late", task = "alert-ops", overdue = "26h" }}]
"""


def test_alerts_of_a_file(tmp_path: Path, server: Server) -> None:  # noqa: F811
    path = tmp_path / "jobs.toml"
    path.write_text(FILE.format(url=server.url))
    app = app_in_memory()
    app.load_file(path)
    with app.running():
        fail(app, "backup")
        until(lambda: len(server.asked) == 2)
        assert sorted(asked[1] for asked in server.asked) == ["/fail", "/hook"]
        ops = Alert("ops", "alert-ops", ("failure", "recovery"), every_ms=600 * SECOND)
        assert app.schedules.get("backup").alerts == (ops,)
        assert [each.task for each in app.schedules.get("report").alerts] == ["alert-mail", "alert-ops"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('[alerts.ops]\non = "failure"', "[alerts.ops] command, shell, http, mail or task is missing"),
        ('[alerts.ops]\ntask = "hook"\nwhen = 3', "[alerts.ops] when: unknown key; "),
        ('[alerts.ops]\ntask = "hook"\non = "fire"', "[alerts.ops] on: 'fire' is not known; did you mean"),
        (
            '[alerts.ops]\nmail = { to = "a@b" }',
            "[alerts.ops] mail: sender: None is no address; write 'ops@example.org'",
        ),
        ('[alerts.ops]\ntask = "hook"\ndefault = "no"', "[alerts.ops] default: 'no' is neither true nor false"),
        (
            '[schedules.a]\nevery = "1h"\ntask = "x"\nalerts = ["ops"]',
            "[schedules.a] a: alerts: no alert 'ops', the app has none",
        ),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_place(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text(line)
    with pytest.raises(FileError) as caught:
        app_in_memory().load_file(path)
    assert problem in str(caught.value)


def test_an_alert_is_declared_with_its_schedule_and_a_wrong_one_stops_sync() -> None:
    app = app_in_memory()
    app.alert("ops", task="nobody")

    @app.schedule(every("1h"))
    def nightly() -> None: ...

    with pytest.raises(OnthedotError, match="nightly: alert ops"):
        app.sync()
