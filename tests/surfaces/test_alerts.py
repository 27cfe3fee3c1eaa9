"""Alerts on the command line, over HTTP, with the remote client and on the pages: the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.surfaces.test_operate import Place as Folder
from tests.surfaces.test_operate import well
from tests.surfaces.web.client import Client

from onthedot import App, alert, cron
from onthedot.errors import AlertNotFound, NotAllowed
from onthedot.insight.alerts import AlertStanding
from onthedot.model.alert import Alert
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.values import replace
from onthedot.stores.engine import Engine
from onthedot.stores.transaction import Transaction
from onthedot.web.serving import Place, WebServer

OPS = Alert("ops", "hook", ("failure", "recovery"), 2)
NEVER = cron("0 0 1 1 *")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.task(name="report")(lambda: None)
    app.task(name="hook")(lambda: None)
    app.open_store(create=True)
    app.open_store().join(Node("n1", "web", tasks=("report", "hook")), app.tasks.infos())
    app.schedules.put("nightly", "report", NEVER, alerts=[OPS])
    app.schedules.put("weekly", "report", NEVER, alerts=[OPS])
    app.schedules.put("quiet", "report", NEVER)
    with closing(app):
        yield app


def fail(app: App, name: str = "nightly") -> Run:
    """One run of it that ends badly, as a node would tell it."""
    store, run = app.open_store(), app.schedules.trigger(name)
    (begun,) = store.start_due("n1", ["report"], 1).runs
    store.finish("n1", [Outcome(begun.id, begun.claim_no, "failed", error="it broke")])
    return app.runs.get(run.id)


def test_the_command_line_lists_shows_and_tries_them(app: App, folder: Folder) -> None:
    fail(app)
    last = fail(app)
    listed = json.loads(well(folder.run("alerts", "list", "--json")))["alerts"]
    assert [(each["name"], each["schedules"], each["failing"]) for each in listed] == [
        ("ops", ["nightly", "weekly"], ["nightly"])
    ]
    assert "ops" in well(folder.run("alerts", "list"))
    shown = well(folder.run("alerts", "show", "nightly"))
    assert "ops: hook is told of failure after 2, recovery; at most each 1h" in shown
    assert "it told that it fails; 2 bad ends in a row" in shown
    assert well(folder.run("alerts", "show", "quiet")).strip() == "quiet has no alerts"
    tried = json.loads(well(folder.run("alerts", "test", "ops", "--json")))
    assert (tried["task"], tried["cause"], tried["args"]["on"]) == ("hook", "alert", "test")
    assert "alert ops was sent" in well(folder.run("runs", "show", last.id))
    assert "alert ops was sent" in well(folder.run("explain", "nightly", last.scheduled_at.isoformat()))


def test_trying_an_alert_whose_task_is_gone_says_that_it_waits(app: App, folder: Folder) -> None:
    assert folder.run("alerts", "test", "ops").stderr == ""
    app.open_store().leave("n1")
    said = "note: no live node has a task 'hook', so the run waits for one that has it\n"
    assert folder.run("alerts", "test", "ops").stderr == said


def test_a_schedule_gets_one_on_the_command_line(app: App, folder: Folder) -> None:
    given = 'alerts=[{"name": "ops", "task": "hook", "overdue": "26h"}]'
    well(folder.run("schedules", "update", "quiet", "--option", given))
    assert app.schedules.get("quiet").alerts == (alert("ops", task="hook", overdue="26h"),)


def test_over_http_and_with_the_remote_client_it_is_the_same(app: App) -> None:
    fail(app)
    fail(app)
    server = WebServer(app, Place(port=0))
    texts = [app.tokens.create(role, role).text for role in ("operator", "viewer")]
    with (
        server.beside(),
        closing(App(server.address, token=texts[0])) as remote,
        closing(App(server.address, token=texts[1])) as viewer,
    ):
        (standing,) = remote.alerts.list()
        assert [standing] == [*app.alerts.list()]
        assert standing == AlertStanding(OPS, ("nightly", "weekly"), ("nightly",), (), standing.sent_ms, 0)
        assert [*remote.alerts.of("nightly")] == [*app.alerts.of("nightly")]
        assert remote.schedules.get("nightly").alerts == (OPS,)
        assert remote.alerts.test("ops").args["on"] == "test"
        with pytest.raises(AlertNotFound, match="Did you mean ops"):
            remote.alerts.test("opps")
        with pytest.raises(NotAllowed):
            viewer.alerts.test("ops")


def test_a_schedule_is_put_with_alerts_over_http(app: App) -> None:
    server = WebServer(app, Place(port=0))
    token = app.tokens.create("root", "admin").text
    with server.beside(), closing(App(server.address, token=token)) as remote:
        put = remote.schedules.put("hourly", "report", NEVER, alerts=[OPS])
        assert put.alerts == app.schedules.get("hourly").alerts == (OPS,)


def test_an_alert_whose_task_has_gone_waits_and_status_and_doctor_say_so(app: App, folder: Folder) -> None:
    fail(app)
    app.open_store().join(Node("n1", "web", tasks=("report",)), [])
    fail(app)
    (waiting,) = app.runs.list(task="hook").items
    assert waiting.state == "waiting"
    store = app.open_store()
    assert isinstance(store, Engine)

    def make_late(tx: Transaction) -> None:
        run = tx.live_runs([waiting.id])[waiting.id]
        tx.save_runs([replace(run, due_ms=run.due_ms - 120_000)])

    store._transact(make_late)
    assert "no live node has the task hook" in folder.run("status").stdout
    assert "no live node has the task hook" in folder.run("doctor").stdout


def test_the_pages_show_what_was_told(app: App) -> None:
    fail(app)
    run = fail(app)
    admin = Client(app.web()).with_token(app.tokens.create("root", "admin").text)
    browser = {"Accept": "text/html"}
    page = admin.ask("GET", "/alerts", headers=browser).text
    assert "1 schedule has been told of, and is not well yet" in page
    assert "2 bad ends in a row, a recovery" in page
    assert "nightly</a> failing" in page
    of_schedule = admin.ask("GET", "/schedules/nightly", headers=browser).text
    assert "told of 2 bad ends in a row" in of_schedule
    assert ">alert ops</a>" in admin.ask("GET", f"/runs/{run.id}", headers=browser).text
