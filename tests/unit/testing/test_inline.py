"""`inline` and `context`: tasks without a node."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from onthedot import App, Context, OnthedotError, SettingsError, every
from onthedot.testing import context, inline


def shop() -> App:
    app = App("sqlite:////nowhere/at/all.db")

    @app.schedule(every("1s"))
    @app.task(retries=1)
    def total(ctx: Context, first: int = 1, second: int = 1) -> int:
        ctx.progress(0.5, "half way")
        if ctx.attempt == 1 and first < 0:
            raise ValueError("not yet")
        return first + second

    @app.task
    async def slow() -> str:
        await asyncio.sleep(3600)
        app.enqueue("total", args={"first": 20})
        return "done"

    @app.task
    def broken() -> None:
        raise KeyError("orders")

    return app


def test_what_is_enqueued_is_done_at_once() -> None:
    app = shop()
    with inline(app):
        run = app.enqueue("total", args={"first": 2, "second": 3})
        assert (run.state, run.result) == ("succeeded", 5)
        assert app.schedules.trigger("total").result == 2
        assert [line.text for line in app.runs.logs(run.id)] == ["50% half way"]


def test_delays_and_retries_take_no_time_and_schedules_do_not_tick() -> None:
    app = shop()
    with inline(app) as world:
        run = app.enqueue("total", args={"first": -1}, delay="30d")
        assert (run.state, run.result, run.attempt) == ("succeeded", 0, 2)
        assert len(world.runs()) == 1


def test_what_a_task_enqueues_is_done_too() -> None:
    app = shop()
    with inline(app) as world:
        assert app.enqueue("slow").result == "done"
        assert [(run.task, run.result) for run in world.runs()] == [("slow", "done"), ("total", 21)]


def test_what_a_task_raises_is_raised_unless_told_otherwise() -> None:
    app = shop()
    with inline(app), pytest.raises(KeyError, match="orders"):
        app.enqueue("broken")
    with inline(app, raises=False):
        run = app.enqueue("broken")
        assert run.state == "failed"
        assert "KeyError" in (run.error or "")


def test_a_stand_in_is_called_instead() -> None:
    app, called = shop(), []
    with inline(app, tasks={"broken": lambda: called.append(1)}):
        assert app.enqueue("broken").state == "succeeded"
    assert called == [1]


def test_a_task_of_another_program_cannot_be_done() -> None:
    app = shop()
    with inline(app), pytest.raises(OnthedotError, match="'elsewhere' cannot be done here"):
        app.enqueue("elsewhere", unchecked=True)


def test_async_work_is_done_also_where_it_is_enqueued_on_a_running_loop() -> None:
    app = shop()

    @app.task
    async def double(number: int) -> int:
        await asyncio.sleep(3600)
        return 2 * number

    async def endpoint() -> str:
        return app.enqueue(double, args={"number": 4}).id

    with inline(app):
        assert app.runs.get(asyncio.run(endpoint())).result == 8


def test_no_node_is_started_where_time_passes_by_hand() -> None:
    app = shop()
    with inline(app), pytest.raises(OnthedotError, match=r"inside simulate\(\) and inline\(\) no node may be started"):
        app.start()


def test_a_context_has_the_fields_that_were_given() -> None:
    ctx = context(attempt=2, scheduled_at="2026-03-29T02:30Z", schedule="nightly", run_id="r1")
    assert (ctx.attempt, ctx.schedule, ctx.run_id) == (2, "nightly", "r1")
    assert ctx.scheduled_at == ctx.due_at
    assert ctx.scheduled_at.hour == 2


def test_a_context_is_one_of_a_shard_where_that_is_given() -> None:
    ctx = context(shard=1, shards=3)
    assert (ctx.shard, ctx.shards, ctx.run.is_shard) == (1, 3, True)


def test_a_made_context_does_not_wait_and_keeps_what_is_said() -> None:
    ctx = context()
    ctx.sleep("10h")
    ctx.progress(0.25)
    assert [line.text for line in ctx.said] == ["25%"]
    assert ctx.clock.now_ms() - ctx.run.due_ms == 36_000_000
    ctx.stop()
    assert ctx.cancelled


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no field 'atempt'; did you mean 'attempt'"):
        context(atempt=2)


def test_the_plugin_is_light() -> None:
    """It is loaded by every pytest run where onthedot is installed."""
    heavy = "{'sqlalchemy', 'asyncio', 'rich', 'click', 'onthedot.app.app'}"
    program = f"import onthedot.testing.pytest_plugin, sys; print(sorted({heavy} & (sys.modules.keys() - before)))"
    said = subprocess.run(
        [sys.executable, "-c", f"import pytest, sys; before = set(sys.modules); {program}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "src")},
    )
    assert said.stdout.strip() == "[]"
