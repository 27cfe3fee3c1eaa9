"""`pool="process"`: real processes, which are really killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.unit.execution import process_tasks as tasks
from tests.unit.execution.places import done, ended, lives, said, until

from onthedot import App, SettingsError, cron
from onthedot.execution.context import MOST_LOG_BYTES
from onthedot.execution.targets import process


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with tasks.app.running():
        yield tasks.app


def _is_gone(pid: int) -> bool:
    return not lives(pid)


def pids(folder: Path) -> list[int]:
    until(lambda: (folder / "pids").exists() and (folder / "pids").read_text().endswith("\n"))
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def test_a_function_runs_in_another_process_which_is_kept_for_the_next_run(app: App) -> None:
    first, second = (done(app, tasks.where, args={"number": number}) for number in (1, 2))
    assert first.result["number"] == 1
    assert first.result["attempt"] == 1
    assert first.result["pid"] == second.result["pid"] != os.getpid()


def test_what_it_says_is_kept_and_what_is_done_around_is_done_there(app: App) -> None:
    run = done(app, tasks.where, args={"number": 5})
    assert said(app, run) == [("INFO", "before"), ("WARNING", "number 5"), ("INFO", "after")]


def test_an_async_function_runs_there_too(app: App) -> None:
    assert done(app, tasks.awaits).result != os.getpid()


def test_a_function_that_never_ends_is_interrupted_at_its_time_out(app: App) -> None:
    run = done(app, tasks.spins)
    assert run.state == "timed_out"
    assert "in spins" in (run.error or ""), "it does not say where the time was spent"


def test_what_swallows_the_interruption_is_killed_with_all_that_it_started(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "KILL_AFTER_MS", 300)
    run = done(app, tasks.never_stops, args={"folder": str(tmp_path)})
    assert (run.state, run.error) == (
        "timed_out",
        "it took longer than its time-out, did not stop, and its process was killed",
    )
    for pid in pids(tmp_path):
        until(partial(_is_gone, pid))


def test_a_cancelled_function_is_interrupted_where_it_waits(app: App, tmp_path: Path) -> None:
    run = app.enqueue(tasks.sleeps, args={"folder": str(tmp_path)})
    _, sleeping = pids(tmp_path)
    app.runs.cancel(run.id)
    assert ended(app, run).state == "cancelled"
    os.kill(sleeping, 9)


@pytest.mark.parametrize(
    ("name", "error"),
    [("is_killed", "its process was ended by signal 9"), ("leaves", "its process exited with code 3")],
)
def test_a_process_that_dies_fails_its_run_and_nothing_else(app: App, name: str, error: str) -> None:
    run = ended(app, app.enqueue(name))
    assert run.state == "failed"
    assert (run.error or "").startswith(error)
    assert done(app, tasks.where, args={"number": 1}).state == "succeeded"


def test_exceptions_mean_there_what_they_mean_here(app: App) -> None:
    assert (done(app, tasks.gives_up).error, done(app, tasks.exits).state) == ("no use", "failed")


def test_limits_hold_there_too(app: App) -> None:
    much = done(app, tasks.returns_much)
    assert (much.state, much.result) == ("succeeded", None)
    assert "was not kept" in (much.reason or "")
    lines = said(app, done(app, tasks.chatters))
    assert sum(len(text) for _, text in lines) < MOST_LOG_BYTES + 1000


def test_it_can_ask_for_the_runs_before_it(app: App) -> None:
    app.schedules.put("asking", tasks.asks, cron("0 0 1 1 *"))
    first = ended(app, app.schedules.trigger("asking"))
    second = ended(app, app.schedules.trigger("asking"))
    assert first.result == ["None", "None"]
    assert second.result == [str(first.scheduled_at), str(first.scheduled_at)]


def test_a_process_is_replaced_after_many_runs(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_RUNS", 1)
    first, second = (done(app, tasks.where, args={"number": number}).result["pid"] for number in (1, 2))
    assert first != second
    until(lambda: not lives(first))


def test_a_process_that_has_grown_is_replaced(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_BYTES", 1)
    first, second = (done(app, tasks.where, args={"number": number}).result["pid"] for number in (1, 2))
    assert first != second


def test_a_function_inside_another_is_refused_when_it_is_declared(app: App) -> None:
    with pytest.raises(SettingsError, match="at the top of a module"):

        @tasks.app.task(pool="process")
        def inner() -> None: ...


def test_processes_end_with_their_worker(app: App) -> None:
    pid = done(app, tasks.where, args={"number": 1}).result["pid"]
    assert app.runner is not None
    app.runner.worker._processes.close()
    until(lambda: not lives(pid))


@pytest.mark.parametrize("task", ["forks_and_dies", "starts_and_dies"])
def test_a_process_that_dies_ends_its_run_and_all_that_it_has_started(app: App, tmp_path: Path, task: str) -> None:
    run = done(app, getattr(tasks, task), args={"folder": str(tmp_path)})
    assert (run.state, run.error) == ("failed", "its process was ended by signal 9 in the midst of it")
    (pid,) = pids(tmp_path)
    until(partial(_is_gone, pid))


@pytest.mark.parametrize("how", ["exits", "returns"])
def test_the_fork_of_a_task_speaks_for_nobody(app: App, how: str) -> None:
    run = done(app, tasks.forks, args={"how": how})
    assert (run.state, run.result) == ("succeeded", how)
    assert "the fork" not in [text for _, text in said(app, run)]
    for number in range(3):
        after = done(app, tasks.where, args={"number": number})
        assert (after.state, after.result["number"]) == ("succeeded", number)
