"""Flows from their declaration to their end: a real app, a real node, SQLite."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.flows import shop
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, ArgumentsError, Conflict, Context, Flow, OnthedotError, SettingsError, Skip, every
from onthedot.events import RunEnded
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.web.serving import Place, WebServer


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def app(url: str) -> Iterator[App]:
    app = App(url)
    yield app
    app.stop()
    app.close()


def ended(app: App, flow: Any, **options: Any) -> Run:
    return app.runs.wait(app.enqueue(flow, **options).id, timeout=LONGEST)


def states(app: App, run: Run) -> dict[str, str]:
    return {step.name: step.state for step in app.runs.get(run.id).steps}


def results(app: App, run: Run, step: str) -> list[Any]:
    return [
        each.result
        for each in sorted(app.runs.list(parent=run.id, limit=1000), key=lambda each: each.item or 0)
        if each.step == step
    ]


def error_of(app: App, run: Run, step: str) -> str:
    return next(each.error or "" for each in app.runs.list(parent=run.id) if each.step == step)


def test_steps_run_in_threads_on_the_loop_in_processes_and_as_commands(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = shop.app
    monkeypatch.setattr(app, "url", url)
    try:
        with app.running():
            run = ended(app, shop.mixed, args={"many": 4})
            assert run.state is State.SUCCEEDED, (run.error, [each.error for each in app.runs.list(parent=run.id)])
            assert states(app, run) == {
                **dict.fromkeys(["days", "fetch", "crunch", "read_all", "say", "total"], "succeeded"),
                "never": "skipped",
            }
            assert results(app, run, "read_all") == [[0, 10, 20, 30]]
            assert results(app, run, "total") == [60]
            crunched = results(app, run, "crunch")
            assert os.getpid() not in {each["pid"] for each in crunched}
            assert [each["where"] for each in crunched] == [["crunch", number, run.id] for number in range(4)]
            (left_out,) = app.runs.list(parent=run.id, task="never")
            assert (left_out.state, left_out.reason) == (State.SKIPPED, "when total > 1000: it does not hold")
    finally:
        app.close()


def test_a_flow_that_ends_is_told_once_as_an_event_and_in_the_minute(app: App) -> None:
    told = list[RunEnded]()
    app.events.subscribe(RunEnded, told.append)

    @app.task
    def one(number: int = 0) -> None: ...

    @app.task
    def bad() -> None:
        raise ValueError("no")

    @app.flow
    def inner() -> None:
        one()

    @app.flow
    def outer() -> None:
        one.map([1, 2, 3])
        inner()
        bad()

    with app.running():
        run = ended(app, outer)
        app.runs.wait(app.enqueue(one).id, timeout=LONGEST)
    assert Counter((each.task, each.outcome) for each in told) == {
        ("@outer", "failed"): 1,
        ("@inner", "succeeded"): 1,
        ("one", "succeeded"): 5,
        ("bad", "failed"): 1,
    }
    assert [each.run_id for each in told if each.task == "@outer"] == [run.id]
    counted = Counter[str]()
    for minute in app.open_store().minutes(0, app.now_ms()):
        counted.update(minute.listed)
    assert counted == {"succeeded": 1, "failed": 1}, "the flow, and the run that is no step"


def test_a_step_that_raises_skip_ends_as_skipped_and_so_do_those_after_it(app: App) -> None:
    @app.task
    def look() -> int:
        raise Skip("nothing new")

    @app.task
    def use(found: int) -> None: ...

    @app.task
    def join() -> None: ...

    @app.flow
    def flow() -> None:
        found = look()
        use(found)
        join.options(after=[found], on="end")()

    with app.running():
        run = ended(app, flow)
        assert (run.state, states(app, run)) == (
            State.SUCCEEDED,
            {"look": "skipped", "use": "skipped", "join": "succeeded"},
        )


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("x" * 5_000_000, "its result of 5,000,002 bytes is too large for use, which gets it"),
        (list(range(10_001)), "it returned 10,001 items for each; a map has at most 10,000: return batches"),
        ({"a": 1}, "each is mapped over what it returns, which is a dict and no list"),
    ],
    ids=["five megabytes", "10,001 items", "a dict"],
)
def test_a_step_fails_whose_result_the_flow_cannot_go_on_with(app: App, returned: Any, said: str) -> None:
    @app.task
    def source() -> Any:
        return returned

    @app.task
    def use(value: Any) -> None: ...

    @app.flow
    def flow() -> None:
        value = source()
        if isinstance(returned, str):
            use(value)
        else:
            use.options(name="each").map(value)

    with app.running():
        run = ended(app, flow)
        assert run.state is State.FAILED
        assert said in error_of(app, run, "source")
        assert set(states(app, run).values()) == {"failed", "skipped"}


def test_a_flow_that_runs_while_another_graph_is_deployed_ends_with_its_own(url: str) -> None:
    reached, goes_on, done = Event(), Event(), list[str]()

    def deployed(version: int) -> tuple[App, Flow[...]]:
        app = App(url)

        @app.task
        def first() -> str:
            reached.set()
            assert goes_on.wait(LONGEST_S)
            return "first"

        @app.task
        def old(said: str) -> None:
            done.append(f"old {said}")

        @app.task
        def new(said: str) -> None:
            done.append(f"new {said}")

        @app.flow(every("10000d"))
        def flow() -> None:
            (old if version == 1 else new)(first())

        return app, flow

    before, drawn_before = deployed(1)
    after, drawn_after = deployed(2)
    assert drawn_before.graph.hash != drawn_after.graph.hash
    with before.running():
        run = before.schedules.trigger("flow")
        assert reached.wait(LONGEST_S)
        assert after.sync().updated == ("flow",)
        assert after.schedules.get("flow").graph == drawn_after.graph.hash
        goes_on.set()
        assert before.runs.wait(run.id, timeout=LONGEST).state is State.SUCCEEDED
        assert done == ["old first"]
    with after.running():
        assert after.runs.get(run.id).graph == drawn_before.graph.hash
        later = after.runs.wait(after.schedules.trigger("flow").id, timeout=LONGEST)
        assert (later.state, done) == (State.SUCCEEDED, ["old first", "new first"])
    before.close()
    after.close()


def test_a_process_without_the_function_enqueues_a_flow_by_its_name(app: App, url: str) -> None:
    @app.task
    def greet(name: str, times: int) -> str:
        return name * times

    @app.flow
    def hello(name: str, times: int = 2) -> None:
        greet(name, times)

    other = App(url)
    with app.running():
        run = ended(other, "hello", args={"name": "ann"})
        assert (run.state, run.task, results(app, run, "greet")) == (State.SUCCEEDED, "@hello", ["annann"])
        with pytest.raises(TypeError, match="has no parameter 'nmae'"):
            other.enqueue("hello", args={"nmae": "ann"})
        schedule = other.schedules.put("hello-eu", "hello", every("1h"), args={"name": "bea"})
        assert (schedule.kind, schedule.graph) == ("flow", hello.graph.hash)
        again = other.runs.wait(other.schedules.trigger("hello-eu").id, timeout=LONGEST)
        assert (again.state, results(app, again, "greet")) == (State.SUCCEEDED, ["beabea"])
    other.close()


def test_a_flow_is_mapped_in_a_flow_and_each_is_given_its_item(app: App) -> None:
    done: list[str] = []

    @app.task
    def names() -> list[dict[str, str]]:
        return [{"name": "a" * 2000}, {"name": "b"}]

    @app.task
    def shout(name: str) -> str:
        return name.upper()

    @app.task
    def keep(said: str, many: int) -> None:
        done.append(said[:2] * many)

    @app.flow
    def one(who: dict[str, str], many: int = 1) -> None:
        keep(shout(who["name"]), many)

    @app.flow
    def every_one(many: int) -> None:
        one.map(names(), many=many)

    with app.running():
        run = ended(app, every_one, args={"many": 2})
        assert run.state is State.SUCCEEDED, (run.error, states(app, run))
        assert sorted(done) == ["AAAA", "BB"]
        inner = app.runs.list(parent=run.id, task="@one")
        assert [each.state for each in inner] == [State.SUCCEEDED] * 2


def test_a_flow_is_retried_and_does_again_only_what_went_badly(app: App) -> None:
    calls: list[str] = []
    mended: list[bool] = []

    @app.task
    def first() -> list[int]:
        calls.append("first")
        return [1, 2, 3]

    @app.task
    def check(number: int) -> int:
        calls.append(f"check {number}")
        if number == 2 and not mended:
            raise RuntimeError("two is bad")
        return number

    @app.task
    def add(numbers: list[int]) -> int:
        return sum(numbers)

    @app.flow
    def flow() -> None:
        add(check.map(first()))

    with app.running():
        run = ended(app, flow)
        assert (run.state, states(app, run)) == (
            State.FAILED,
            {"first": "succeeded", "check": "failed", "add": "skipped"},
        )
        with pytest.raises(Conflict):
            app.runs.retry(run.id, claim_no=run.claim_no + 5)
        mended.append(True)
        app.runs.retry(run.id)
        run = app.runs.wait(run.id, timeout=LONGEST)
        assert (run.state, results(app, run, "add")) == (State.SUCCEEDED, [6])
        assert sorted(calls) == ["check 1", "check 2", "check 2", "check 3", "first"]


def test_a_cancelled_flow_still_closes_and_one_cancelled_at_once_does_not(app: App) -> None:
    inside, done = Event(), list[str]()

    @app.task
    def long(ctx: Context) -> None:
        inside.set()
        ctx.sleep("1h")

    @app.task
    def later() -> None:
        done.append("later")

    @app.task
    def clean() -> None:
        done.append("clean")

    @app.flow
    def flow() -> None:
        later.options(after=[long()])()
        clean.options(on="end")()

    with app.running():
        run = app.enqueue(flow)
        assert inside.wait(LONGEST_S)
        app.runs.cancel(run.id)
        assert (app.runs.wait(run.id, timeout=LONGEST).state, done) == (State.CANCELLED, ["clean"])
        inside.clear()
        run = app.enqueue(flow)
        assert inside.wait(LONGEST_S)
        app.runs.cancel(run.id, now=True)
        assert (app.runs.wait(run.id, timeout=LONGEST).state, done) == (State.CANCELLED, ["clean"])


def test_a_map_over_an_argument_or_its_default_counts_its_items(app: App) -> None:
    @app.task
    def double(number: int) -> int:
        return 2 * number

    @app.flow
    def flow(numbers: list[int] = [1, 2]) -> None:  # noqa: B006
        double.map(numbers)

    with app.running():
        assert results(app, ended(app, flow, args={"numbers": [5]}), "double") == [10]
        assert results(app, ended(app, flow), "double") == [2, 4]
        assert states(app, ended(app, flow, args={"numbers": []})) == {"double": "succeeded"}


def test_a_schedule_of_a_flow_is_exported_with_its_graph_and_runs_where_it_is_imported(
    app: App, tmp_path: Path
) -> None:
    def declare(app: App) -> Flow[...]:
        @app.task
        def greet(name: str) -> str:
            return f"hello {name}"

        inner = app.flow("inner")
        inner.step(greet, args={"name": inner.arg("name")})
        outer = app.flow("outer")
        outer.step(inner, args={"name": "ann"})
        return outer

    app.open_store(create=True)
    app.schedules.put("hourly", declare(app), every("1h"))
    document = app.schedules.export()
    assert [graph["name"] for graph in document["graphs"]] == ["inner", "outer"]

    other = App(f"sqlite:///{tmp_path}/other.db")
    other.open_store(create=True)
    with pytest.raises(OnthedotError, match="schedule hourly: the graph of its flow is not in the file"):
        other.schedules.import_document({**document, "graphs": []}, path="export.json")
    other.schedules.import_document(document, path="export.json")
    declare(other)
    with other.running():
        run = other.runs.wait(other.schedules.trigger("hourly").id, timeout=LONGEST)
        assert run.state is State.SUCCEEDED, run.error
    other.close()


def test_an_update_cannot_give_a_flow_what_belongs_to_its_steps(app: App) -> None:
    app.open_store(create=True)

    @app.task
    def load() -> None: ...

    flow = app.flow("etl")
    flow.step(load)
    app.schedules.put("etl", flow, every("1h"), overlap="discard")
    with pytest.raises(SettingsError, match="etl: retries belongs to the steps of a flow"):
        app.schedules.update("etl", retries=3)
    changed = app.schedules.update("etl", timeout="1h")
    assert (changed.graph, changed.policy.timeout_ms) == (flow.graph.hash, 3_600_000)


def test_over_http_a_flow_is_enqueued_put_and_cancelled_as_on_the_store(app: App) -> None:
    inside = Event()

    @app.task
    def greet(ctx: Context, name: str) -> str:
        if name == "slow":
            inside.set()
            ctx.sleep("1h")
        return f"hello {name}"

    @app.flow
    def hello(name: str = "ann") -> None:
        greet(name)

    server = WebServer(app, Place(port=0))
    with app.running(), server.beside():
        remote = App(server.address, token=app.tokens.create("shop", "admin").text)
        for flow in ("hello", hello):
            run = ended(remote, flow, args={"name": "bea"})
            assert (run.state, run.task, results(app, run, "greet")) == (State.SUCCEEDED, "@hello", ["hello bea"])
        with pytest.raises(ArgumentsError, match="has no parameter 'nmae'"):
            remote.enqueue("hello", args={"nmae": "ann"})
        assert remote.schedules.put("hourly", "hello", every("1h")).task == "@hello"
        assert remote.runs.wait(remote.schedules.trigger("hourly").id, timeout=LONGEST).state is State.SUCCEEDED
        slow = remote.enqueue("hello", args={"name": "slow"})
        assert inside.wait(LONGEST_S)
        remote.runs.cancel(slow.id, now=True)
        assert remote.runs.wait(slow.id, timeout=LONGEST).state is State.CANCELLED
        assert remote.runs.retry(slow.id).state is State.WAITING
        remote.runs.cancel(slow.id, now=True)
        remote.close()
