"""How engines are declared, and what is said to mistakes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest
from tests.patience import LONGEST_S

from onthedot import App, Context, every
from onthedot.engines import Call, Done, Failed, Running, Status
from onthedot.errors import Conflict, SettingsError
from onthedot.model.run import Run
from onthedot.node.settings import NodeSettings
from onthedot.stores.open import open_store
from onthedot.testing import inline, simulate
from onthedot.testing.history import verify


class Desk:
    """Does what it is given at once."""

    dedupes = True

    def __init__(self) -> None:
        self.done: dict[str, Status] = {}
        self.calls: list[Call] = []

    def submit(self, engine_id: str, call: Call) -> None:
        self.calls.append(call)
        if call.function is not None:
            self.done[engine_id] = Done(call.function(**call.arguments))

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        return {each: self.done[each] for each in ids if each in self.done}

    def cancel(self, engine_id: str) -> None: ...

    def forget(self, engine_id: str) -> None:
        self.done.pop(engine_id, None)

    def close(self) -> None: ...


@pytest.fixture
def app() -> App:
    app = App("memory://")
    app.engine("desk", Desk())
    return app


def test_a_task_names_its_engine_and_runs_there(app: App) -> None:
    desk = app.engine("other", Desk())

    @app.task(engine="other", retries=2)
    def double(number: int) -> int:
        return number * 2

    assert (double(4), double.engine, double.info().pool) == (8, "other", "remote")
    with app.running():
        run = app.runs.wait(app.enqueue(double, args={"number": 21}).id)
    assert (run.state, run.result, run.engine, run.engine_id) == ("succeeded", 42, "other", f"{run.id}.1")
    assert isinstance(desk, Desk)
    (call,) = desk.calls
    assert (call.task, dict(call.arguments), call.run_id, call.attempt) == ("double", {"number": 21}, run.id, 1)


def test_the_run_says_where_it_is_in_its_story_and_everywhere(app: App) -> None:
    from onthedot.app.json_documents import run_document

    @app.task(engine="desk")
    def double(number: int) -> int:
        return number * 2

    with app.running():
        run = app.runs.wait(app.enqueue(double, args={"number": 21}).id)
    assert "at engine desk" in app.runs.story(run.id).text
    said = run_document(run)
    assert (said["engine"], said["engine_id"]) == ("desk", f"{run.id}.1")


def test_a_step_of_a_flow_may_be_at_an_engine_and_gets_what_others_returned(app: App) -> None:
    @app.task
    def numbers() -> list[int]:
        return [1, 2, 3]

    @app.task(engine="desk")
    def double(number: int) -> int:
        return number * 2

    @app.task(engine="desk")
    def total(parts: list[int]) -> int:
        return sum(parts)

    @app.flow
    def add() -> None:
        total(double.map(numbers()))

    with app.running():
        run = app.runs.wait(app.enqueue(add).id)
        (last,) = app.runs.list(parent=run.id, step="total")
    assert (run.state, last.result, last.engine) == ("succeeded", 12, "desk")


def _context(ctx: Context) -> None: ...


async def _async() -> None: ...


def _plain() -> None: ...


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda app: app.task(engine="dsk")(_plain), "'_plain': no engine 'dsk'; there is desk"),
        (lambda app: app.remote("x", "dsk"), "Declare it before its tasks: app.engine('dsk', …)"),
        (lambda app: app.task(engine=7)(_plain), "no engine 7"),
        (lambda app: app.task(engine="desk")(_context), "a run elsewhere has no Context"),
        (lambda app: app.task(engine="desk")(_async), "this is an async def"),
        (lambda app: app.task(engine="desk", pool="slow")(_plain), "pool='slow' is for what a node executes itself"),
        (lambda app: app.engine("a/b", Desk()), "app.engine: "),
        (lambda app: app.engine("desk2", "tcp://host:8786"), "is no engine; write DaskEngine("),
        (lambda app: app.engine("desk2", Desk), "is no engine"),
        (lambda app: app.command("c", ["true"], engine="desk"), "no option 'engine'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(app: App, declare: Callable[[App], Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        declare(app)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_engines_of_one_name_are_told_and_the_same_again_is_not(app: App) -> None:
    held = app.engines["desk"]
    assert app.engine("desk", held) is held
    with pytest.raises(Conflict, match="two engines are named 'desk'"):
        app.engine("desk", Desk())


def test_nobody_calls_here_what_only_an_engine_knows(app: App) -> None:
    task = app.remote("shop.mail", "desk", timeout="1h")
    with pytest.raises(Exception, match=r"shop\.mail is executed by its engine, and cannot be called here"):
        task(to="somebody")
    assert task.signature.open


class Slow(Desk):
    """Has it until somebody lets it go; several nodes may ask."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Call] = {}
        self.cancelled: list[str] = []

    def submit(self, engine_id: str, call: Call) -> None:
        self.calls.append(call)
        self.held[engine_id] = call

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        return {each: self.done.get(each, Running()) for each in ids if each in self.held}

    def cancel(self, engine_id: str) -> None:
        self.cancelled.append(engine_id)
        self.done[engine_id] = Failed("stopped", cancelled=True)


@pytest.fixture
def two() -> Iterator[tuple[App, App, Slow]]:
    """Two nodes of one store, that give runs to one engine."""
    store, engine = open_store("memory://", create=True), Slow()
    apps = [
        App("memory://", store=store, node=NodeSettings(name=name, lease_ms=6000, heartbeat_ms=100, poll_ms=100))
        for name in ("one", "other")
    ]
    for app in apps:
        app.engine("slow", engine)
        app.remote("work", "slow")
    yield apps[0], apps[1], engine
    for app in apps:
        app.stop()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _sent(app: App) -> Run:
    run = app.enqueue("work")
    _until(lambda: app.runs.get(run.id).remote == "at slow")
    return app.runs.get(run.id)


def test_a_node_that_is_asked_to_drain_hands_over_at_once_and_has_nothing_left(two: tuple[App, App, Slow]) -> None:
    one, other, engine = two
    one.start()
    run = _sent(one)
    other.start()
    assert one.runner is not None
    assert other.runner is not None
    runner = one.runner
    one.nodes.drain(runner.node.id)
    _until(lambda: runner.is_drained)
    assert one.runs.get(run.id).owner == other.runner.node.id
    engine.done[f"{run.id}.1"] = Done(5)
    assert (one.runs.wait(run.id).result, len(engine.calls), engine.cancelled) == (5, 1, [])
    _until(lambda: not engine.done)


def test_a_draining_node_goes_on_watching_what_nobody_else_can_until_somebody_comes(two: tuple[App, App, Slow]) -> None:
    one, other, engine = two
    one.start()
    run, stays = _sent(one), _sent(one)
    assert one.runner is not None
    runner = one.runner
    one.nodes.drain(runner.node.id)
    _until(lambda: any(each.state == "draining" for each in one.nodes.list()))
    engine.done[f"{run.id}.1"] = Done(5)
    assert one.runs.wait(run.id).result == 5
    other.start()
    _until(lambda: runner.is_drained)
    assert other.runner is not None
    assert one.runs.get(stays.id).owner == other.runner.node.id


def test_who_asks_for_a_run_to_stop_is_heard_by_the_node_that_goes_on_with_it(two: tuple[App, App, Slow]) -> None:
    one, other, engine = two
    one.start()
    run = _sent(one)
    one.stop()
    assert one.runs.get(run.id).state == "running"
    one.runs.cancel(run.id)
    other.start()
    assert (one.runs.wait(run.id).state, engine.cancelled) == ("cancelled", [f"{run.id}.1"])


def test_what_was_handed_over_is_judged_right_after_the_fact(two: tuple[App, App, Slow]) -> None:
    one, other, engine = two
    one.start()
    run, stays = _sent(one), _sent(one)
    one.stop()
    verdict = verify(one.open_store())
    assert verdict.broken == []
    other.start()
    _until(lambda: one.runs.get(run.id).owner != run.owner)
    story = one.runs.story(run.id)
    assert "It has been at engine slow for " in story.text
    assert f", as {run.id}.1." in story.text
    (note,) = story.notes
    assert note.startswith("node other watches it since ")
    assert note.endswith(", as one did before")
    for each in (run, stays):
        engine.done[f"{each.id}.1"] = Done(1)
        assert one.runs.wait(each.id).state == "succeeded"
    other.stop()
    assert verify(one.open_store()).broken == []


def test_in_tests_no_engine_is_asked_for_anything(app: App) -> None:
    engine = app.engine("asked", Desk())

    @app.schedule(every("1m"))
    @app.task(engine="asked")
    def tick(number: int = 2) -> int:
        return number * 2

    with simulate(app, start="2026-03-29T00:00Z", nodes=2, call=True) as world:
        world.advance("3m")
        assert [run.result for run in world.runs()] == [4, 4, 4]
    with inline(app):
        assert app.enqueue(tick, args={"number": 4}).result == 8
    assert isinstance(engine, Desk)
    assert engine.calls == []
