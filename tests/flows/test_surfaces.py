"""A flow as it is seen: over HTTP, on the pages, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import httpx
import pytest
from tests.patience import LONGEST, LONGEST_S
from tests.surfaces.test_operate import Place as Folder

from onthedot import App, Context, every
from onthedot.errors import NotFound, RunNotFound
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.web.serving import Place, WebServer


@dataclass
class Shown:
    """A flow that runs, with one item that has ended badly and one that still runs."""

    app: App
    run: Run
    goes_on: Event
    server: str
    token: str
    folder: Folder

    def ask(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.server}{path}", headers={"Authorization": f"Bearer {self.token}"}, timeout=LONGEST_S)

    def page(self, path: str) -> str:
        answer = self.ask(path)
        assert answer.status_code == 200, answer.text
        return answer.text


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    path = tmp_path_factory.mktemp("shown")
    app = App(f"sqlite:///{path}/jobs.db")
    inside, goes_on = Event(), Event()

    @app.task
    def names() -> list[str]:
        return ["bad", "slow"]

    @app.task
    def greet(ctx: Context, name: str) -> str:
        if name == "bad":
            raise RuntimeError("no manners")
        inside.set()
        assert goes_on.wait(LONGEST_S)
        return name

    @app.task
    def tell(said: list[str]) -> None: ...

    @app.task
    def clean() -> None: ...

    @app.flow(every("10000d"))
    def hello() -> None:
        tell(greet.map(names()))
        clean.options(on="end")()

    server = WebServer(app, Place(port=0))
    with app.running(), server.beside():
        run = app.schedules.trigger("hello")
        assert inside.wait(LONGEST_S)
        while not any(step.failed for step in app.runs.get(run.id).steps):
            goes_on.wait(0.01)
        token = app.tokens.create("shop", "admin").text
        yield Shown(app, run, goes_on, server.address, token, Folder(path))
        goes_on.set()


def test_the_steps_of_a_flow_are_the_same_over_http(shown: Shown, request: pytest.FixtureRequest) -> None:
    remote = App(shown.server, token=shown.token)
    request.addfinalizer(remote.close)
    here, there = shown.app.runs.get(shown.run.id), remote.runs.get(shown.run.id)
    assert [each.name for each in there.steps] == ["names", "greet", "tell", "clean"]
    assert (there.steps, there.graph) == (here.steps, here.graph)
    (step,) = [each for each in remote.runs.list(parent=shown.run.id) if each.item == 1]
    assert (step.step, step.parent_id, step.cause) == ("greet", shown.run.id, "step")


def test_a_running_flow_says_how_far_it_is(shown: Shown) -> None:
    told = shown.app.runs.story(shown.run.id).text
    node = shown.app.nodes.list()[0].name
    assert f"Greet 1 of 2, 1 bad; greet[1] on {node}. Tell waits for greet." in told
    out = shown.folder.run("runs", "show", shown.run.id).stdout
    assert "greet: running 1 of 2, 1 of 2 badly" in out
    assert "clean: waiting, closes the flow" in out


def test_the_pages_show_flows_and_steps(shown: Shown) -> None:
    page = shown.page(f"/runs/{shown.run.id}")
    assert "Steps" in page
    assert "1 of 2" in page
    for path in ("/", "/runs", f"/runs?parent={shown.run.id}", "/tasks", "/schedules", "/schedules/hello", "/timeline"):
        shown.page(path)
    for step in shown.app.runs.list(parent=shown.run.id):
        page = shown.page(f"/runs/{step.id}")
        assert "step of a flow" in page
        assert "Run the same" not in page
        answer = shown.ask(f"/runs/{step.id}/again")
        assert (answer.status_code, f"retry the flow {shown.run.id}" in answer.text) == (409, True)


def test_the_graph_of_a_flow_is_the_same_here_and_over_http(shown: Shown, request: pytest.FixtureRequest) -> None:
    remote = App(shown.server, token=shown.token)
    request.addfinalizer(remote.close)
    graph = shown.app.flows.get("hello")
    assert [step.name for step in graph.steps] == ["names", "greet", "tell", "clean"]
    for app in (shown.app, remote):
        assert [each.hash for each in app.flows.list()] == [graph.hash]
        assert app.flows.get("hello") == graph == app.flows.of_run(shown.run.id)
        (step, *_) = app.runs.list(parent=shown.run.id, step="names")
        assert app.flows.of_run(step.id) is None
        with pytest.raises(RunNotFound):
            app.flows.of_run("nobody")
        with pytest.raises(NotFound, match=r"No flow named 'hallo'\. There is hello\."):
            app.flows.get("hallo")


def test_steps_are_listed_by_their_name_or_left_out(shown: Shown, request: pytest.FixtureRequest) -> None:
    remote = App(shown.server, token=shown.token)
    request.addfinalizer(remote.close)
    for app in (shown.app, remote):
        assert sorted(run.item or 0 for run in app.runs.list(parent=shown.run.id, step="greet")) == [0, 1]
        assert [run.id for run in app.runs.list(steps=False)] == [shown.run.id]
    listed = shown.folder.document("runs", "list")["runs"]
    assert [each["id"] for each in listed] == [shown.run.id]
    assert len(shown.folder.document("runs", "list", "--steps")["runs"]) == 4
    assert len(shown.folder.document("runs", "list", "--step", "greet")["runs"]) == 2


def test_a_flow_is_drawn_on_the_command_line(shown: Shown) -> None:
    assert "hello" in shown.folder.printed("flows")
    plain = shown.folder.printed("flows", "show", "hello").splitlines()
    assert plain == [
        "hello",
        "○ names",
        "└─ ○ greet    for each item",
        "   └─ ○ tell",
        "○ clean       at the end, closes the flow",
    ]
    live = shown.folder.printed("flows", "show", shown.run.id).splitlines()
    assert live[0] == f"hello: run {shown.run.id} is running"
    assert live[1:3] == ["● names       succeeded", "└─ ◐ greet    1 of 2, 1 bad"]
    assert shown.folder.document("flows", "show", "hello")["graph"] == shown.app.flows.get("hello").hash
    assert "there is hello" in shown.folder.refused("flows", "show", "hallo", code=1)
    (step, *_) = shown.app.runs.list(parent=shown.run.id, step="names")
    assert "is no flow" in shown.folder.refused("flows", "show", step.id)


def test_the_page_of_a_flow_draws_its_steps_and_links_to_their_runs(shown: Shown) -> None:
    page = shown.page(f"/runs/{shown.run.id}")
    (names,) = shown.app.runs.list(parent=shown.run.id, step="names")
    assert f'href="/runs/{names.id}" aria-label="names: succeeded"' in page
    assert 'aria-label="greet: running, 1 of 2, 1 bad"' in page
    assert 'class="flow"' in shown.page("/schedules/hello")
    assert "hello: names" in shown.page(f"/runs/{names.id}")
    listed = shown.page("/runs")
    assert shown.run.id in listed
    assert names.id not in listed
    assert names.id in shown.page(f"/runs?parent={shown.run.id}&step=names")
    assert "Stop those too" in shown.page(f"/runs/{shown.run.id}/cancel")


def test_a_flow_that_failed_tells_what_went_wrong(shown: Shown) -> None:
    shown.goes_on.set()
    run = shown.app.runs.wait(shown.run.id, timeout=LONGEST)
    assert run.state is State.FAILED
    told = shown.app.runs.story(run.id).text
    assert told.startswith("It failed after ")
    assert told.endswith(": greet: 1 of 2 went wrong: RuntimeError: no manners.")
    assert "Steps" in shown.page(f"/runs/{run.id}")
    assert "The steps that went badly are done again" in shown.page(f"/runs/{run.id}/retry")


def test_a_flow_is_enqueued_and_scheduled_by_its_plain_name(shown: Shown) -> None:
    enqueued = shown.folder.run("enqueue", "hello", "--delay", "1d", "--json")
    made = json.loads(enqueued.stdout)
    assert (made["task"], enqueued.stderr) == ("@hello", "")
    put = shown.folder.run("schedules", "put", "greetings", "--task", "hello", "--every", "9000d", "--json")
    assert (json.loads(put.stdout)["task"], put.stderr) == ("@hello", "")
