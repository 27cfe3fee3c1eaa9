"""`@app.around`: what is done around every run, in its own thread or loop; and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from threading import get_ident

import pytest
from tests.unit.execution.places import app_in_memory, done, until

from onthedot import App, Context, Retry, SettingsError, current
from onthedot.events import Failure, RunFinished, RunStarted

session: ContextVar[str] = ContextVar("session", default="none")


@pytest.fixture
def app() -> Iterator[App]:
    app = app_in_memory()
    with app.running():
        yield app


def test_a_generator_is_around_each_run_in_its_own_thread(app: App) -> None:
    seen: list[object] = []

    @app.around
    def opened(ctx: Context) -> Iterator[None]:
        token = session.set(ctx.run_id)
        seen.append(("before", get_ident()))
        yield
        seen.append(("after", get_ident()))
        session.reset(token)

    @app.task
    def works() -> str:
        seen.append(("inside", get_ident()))
        assert session.get() == current().run_id
        return session.get()

    run = done(app, works)
    assert run.result == run.id
    thread = seen[0][1]  # type: ignore[index]
    assert seen == [("before", thread), ("inside", thread), ("after", thread)]
    assert thread != get_ident()


def test_an_async_generator_is_around_an_async_run_on_its_loop(app: App) -> None:
    seen: list[object] = []

    @app.around
    async def opened() -> AsyncIterator[None]:
        session.set("open")
        seen.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        yield
        await asyncio.sleep(0)
        seen.append("closed")

    @app.task
    async def works() -> str:
        seen.append(asyncio.get_running_loop())
        return session.get()

    assert done(app, works).result == "open"
    assert seen[0] is seen[1]
    assert seen[2] == "closed"


def test_plain_and_async_ones_are_around_runs_of_both_kinds_from_the_outermost_to_the_innermost(app: App) -> None:
    seen: list[str] = []

    @app.around
    def first() -> Iterator[None]:
        seen.append("first")
        yield
        seen.append("first ends")

    @app.around
    async def second(ctx: Context) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        seen.append("second")
        yield
        seen.append("second ends")

    @app.task
    def plain() -> None:
        seen.append("task")

    @app.task
    async def waits() -> None:
        seen.append("task")

    command = app.command("true", ["true"])
    for task in (plain, waits):
        assert done(app, task).state == "succeeded"
        assert seen == ["first", "second", "task", "second ends", "first ends"]
        seen.clear()
    assert done(app, command).state == "succeeded"
    assert seen == ["first", "second", "second ends", "first ends"]


def test_what_the_task_raises_is_seen_around_and_cannot_be_swallowed_there(app: App) -> None:
    seen: list[str] = []

    @app.around
    def swallows() -> Iterator[None]:
        try:
            yield
        except Exception as error:
            seen.append(repr(error))

    @app.task
    def fails() -> None:
        raise ValueError("no")

    @app.task
    async def fails_too() -> None:
        raise ValueError("no")

    assert [done(app, task).state for task in (fails, fails_too)] == ["failed", "failed"]
    assert seen == ["ValueError('no')"] * 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_it_raises_itself_fails_the_run(app: App, when: str) -> None:
    @app.around
    def commits() -> Iterator[None]:
        if when == "before":
            raise RuntimeError("no connection")
        yield
        raise RuntimeError("could not commit")

    @app.task
    def works() -> None: ...

    run = done(app, works)
    assert run.state == "failed"
    assert ("no connection" if when == "before" else "could not commit") in (run.error or "")


def test_retry_and_the_like_mean_the_same_inside(app: App) -> None:
    @app.around
    def nothing() -> Iterator[None]:
        yield

    @app.task
    def again(ctx: Context) -> int:
        if ctx.attempt == 1:
            raise Retry
        return ctx.attempt

    assert done(app, again).result == 2


def test_what_has_no_yield_or_asks_for_more_is_refused(app: App) -> None:
    with pytest.raises(SettingsError, match="has no yield"):
        app.around(lambda: None)

    def greedy(ctx: Context, more: int) -> Iterator[None]:
        yield

    with pytest.raises(SettingsError, match="takes 2 parameters"):
        app.around(greedy)


def test_a_hook_that_raises_fails_no_run_and_is_told(app: App) -> None:
    failures: list[Failure] = []
    started: list[RunStarted] = []
    finished: list[RunFinished] = []

    @app.on("run_started")
    def breaks(event: RunStarted) -> None:
        started.append(event)
        raise RuntimeError("a bad hook")

    app.on("run_finished")(finished.append)
    app.on("error")(failures.append)

    @app.task
    def works() -> int:
        return 1

    @app.task
    async def waits() -> int:
        return 2

    assert [done(app, works).result, done(app, waits).result] == [1, 2]
    until(lambda: len(finished) == len(started) == len(failures) == 2)
    assert {str(each.error) for each in failures} == {"a bad hook"}
