"""Hooks: whatever a user's function does when it is told something, neither the node nor the program suffers."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Event, current_thread

import pytest
from tests.patience import LONGEST_S
from tests.unit.execution.places import app_in_memory, done, until

from onthedot import App, every, hooks
from onthedot.events import Emitter, Failure, Idle, NodeStarted, NodeStopped, Paused, RunFinished
from onthedot.hooks import Hook
from onthedot.testing import inline, simulate


@pytest.fixture
def app() -> App:
    app = app_in_memory()
    app.task(name="works")(lambda: "done")
    return app


@pytest.fixture
def let_go() -> Iterator[Event]:
    let_go = Event()
    yield let_go
    let_go.set()


def work(app: App, times: int = 1) -> None:
    task = app.tasks.lookup("works")
    assert task is not None
    for _ in range(times):
        assert done(app, task).result == "done"


def test_a_hook_is_called_in_a_thread_of_its_own_and_gets_its_events_in_order(app: App) -> None:
    seen: list[tuple[str, str]] = []

    def note(event: object) -> None:
        seen.append((type(event).__name__, current_thread().name))

    for topic in ("start", "run_started", "run_finished", "run_ended", "stop"):
        app.on(topic)(note)
    with app.running():
        work(app, times=5)
    of_a_run = ["RunStarted", "RunFinished", "RunEnded"]
    assert [name for name, _ in seen] == ["NodeStarted", *(of_a_run * 5), "NodeStopped"]
    assert {thread for _, thread in seen} == {f"onthedot-hook-{note.__qualname__}"}


def test_a_hook_that_blocks_for_ever_holds_up_neither_runs_nor_other_hooks_nor_the_stop(
    app: App, let_go: Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("onthedot.app.app.LAST_WORDS_MS", 200)
    heard: list[object] = []
    for topic in ("start", "run_started", "run_finished", "error", "stop"):
        app.on(topic)(lambda event: let_go.wait())
        app.on(topic)(heard.append)
    with app.running():
        work(app, times=3)
    assert isinstance(heard[0], NodeStarted)
    assert isinstance(heard[-1], NodeStopped)
    assert len(heard) == 8
    assert "some hooks have not ended" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), RuntimeError("bad")])
def test_a_hook_that_exits_ends_neither_a_thread_nor_the_program_and_hears_what_comes_next(
    app: App, error: BaseException
) -> None:
    heard: list[object] = []
    failures: list[Failure] = []
    app.on("error")(failures.append)

    @app.on("run_finished")
    def exits(event: object) -> None:
        heard.append(event)
        raise error

    with app.running():
        work(app, times=3)
    assert len(heard) == 3
    assert [failure.error for failure in failures] == [error] * 3


def test_a_hook_of_failures_that_fails_is_not_told_of_that(app: App) -> None:
    heard: list[Failure] = []

    @app.on("error")
    def fails(event: Failure) -> None:
        heard.append(event)
        raise ValueError("again")

    app.events.emit(Failure("plan", RuntimeError("once")))
    assert app.events.drain(60_000)
    assert len(heard) == 1


def test_what_a_hook_cannot_hear_is_dropped_and_counted_and_told_in_one_line(
    app: App, let_go: Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hooks, "MOST_WAITING", 10)
    heard: list[Idle] = []
    inside = Event()

    @app.on("idle")
    def slow(event: Idle) -> None:
        inside.set()
        let_go.wait(LONGEST_S)
        heard.append(event)

    app.events.emit(Idle("0"))
    assert inside.wait(LONGEST_S)
    for number in range(1, 100):
        app.events.emit(Idle(f"{number}"))
    assert app.events.dropped == 89
    assert "onthedot_hook_events_dropped_total 89.0" in app.metrics.text()[0].decode()
    assert [record.getMessage() for record in caplog.records] == [
        f"the hook {slow.__qualname__} does not keep up: what it is told is dropped from now on"
    ]
    let_go.set()
    assert app.events.drain(60_000)
    assert heard == [Idle(f"{number}") for number in range(11)]
    assert caplog.records[-1].getMessage() == f"the hook {slow.__qualname__} keeps up again; it was not told 89 events"
    app.events.emit(Idle("later"))
    assert app.events.drain(60_000)
    assert heard[-1] == Idle("later")


def test_the_stop_is_heard_before_stop_returns(app: App) -> None:
    heard: list[object] = []

    @app.on("stop")
    def slowly(event: object) -> None:
        Event().wait(0.1)
        heard.append(event)

    with app.running():
        pass
    assert len(heard) == 1


def test_a_hook_may_stop_the_app(app: App) -> None:
    stopped = Event()

    @app.on("run_ended")
    def ends(event: object) -> None:
        app.stop()
        stopped.set()

    app.start()
    app.enqueue("works")
    assert stopped.wait(LONGEST_S)
    assert app.runner is None


def test_whoever_waited_in_vain_for_a_hook_is_not_followed_by_another_who_does(
    let_go: Event, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    hook: Hook[int] = Hook(lambda item: let_go.wait(LONGEST_S), lambda item, error: None)
    hook.put(1)
    now_ms = hooks._clock.monotonic_ms()
    assert not hook.drain(now_ms + 10)
    assert not hook.drain(now_ms + 3_600_000)  # would be an hour
    let_go.set()
    until(lambda: hook.drain(now_ms))


def test_a_thread_that_hears_nothing_for_long_ends_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "IDLE_S", 0.001)
    heard: list[int] = []
    hook: Hook[int] = Hook(heard.append, lambda item, error: None)
    for item in range(300):
        hook.put(item)
        if item % 7 == 0:
            Event().wait(0.002)
    until(lambda: len(heard) == 300)
    assert heard == list(range(300))
    until(lambda: hook._lanes[os.getpid()]._thread is None)


def test_hooks_work_in_a_process_that_was_forked_while_one_of_them_was_called(let_go: Event) -> None:
    inside = Event()
    parent = os.getpid()
    read, write = os.pipe()

    def tells(item: bytes) -> None:
        if os.getpid() == parent:
            inside.set()
            let_go.wait(LONGEST_S)
        else:
            os.write(write, item)

    hook: Hook[bytes] = Hook(tells, lambda item, error: None)
    hook.put(b"in the parent")
    assert inside.wait(LONGEST_S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is just what this is about
        child = os.fork()
    if child == 0:
        hook.put(b"in the child")
        hook.drain(hooks._clock.monotonic_ms() + 60_000)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"in the child"
    os.waitpid(child, 0)


def test_under_virtual_time_hooks_are_called_in_step_and_can_end_nothing() -> None:
    app = App("memory://")
    heard: list[str] = []

    @app.schedule(every("1h"))
    def job() -> None: ...

    @app.on("run_finished")
    def exits(event: RunFinished) -> None:
        heard.append(event.outcome)
        sys.exit(1)

    with simulate(app, call=True) as world:
        for hour in range(1, 4):
            world.advance("1h")
            assert heard == ["succeeded"] * hour
    with inline(app):
        app.enqueue(job)
        assert len(heard) == 4


def test_in_step_a_pause_is_told_at_once() -> None:
    app = App("memory://")
    app.schedule(every("1h"), name="s")(_nothing)
    heard: list[Paused] = []
    app.on("paused")(heard.append)
    with simulate(app):
        app.schedules.pause("s")
        assert [event.schedule for event in heard] == ["s"]


def _nothing() -> None: ...


def test_what_is_ours_is_called_at_once_and_a_bug_of_it_stops_nothing() -> None:
    broken: list[BaseException] = []
    heard: list[object] = []
    emitter = Emitter(lambda event, error: broken.append(error))
    emitter.subscribe(Idle, lambda event: sys.exit(1))
    emitter.subscribe(Idle, heard.append)
    emitter.emit(Idle("n"))
    assert [type(error) for error in broken] == [SystemExit]
    assert heard == [Idle("n")]


PROGRAM = """
import sys
from onthedot import App, every
app = App("memory://")
app.task(name="job")(lambda: None)
app.schedules.put("s", "job", every("1h"))

@app.on("paused")
def told(event):
    print("told", event.schedule, flush=True)
    {then}

app.schedules.pause("s")
"""


@pytest.mark.parametrize("then", ["pass", "sys.exit(7)", "import threading; threading.Event().wait()"])
def test_a_program_that_ends_at_once_has_told_its_hooks_and_ends_whatever_they_do(tmp_path: Path, then: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(then=then))
    here = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PATH": os.environ["PATH"]}
    ended = subprocess.run([sys.executable, program], env=here, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("told s\n", 0), ended.stderr
