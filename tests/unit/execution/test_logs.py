"""What a run says is kept with it: `ctx.log`, the standard `logging` module, and progress."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator

import pytest
from tests.patience import LONGEST

from onthedot import App, Context
from onthedot.clock import SystemClock
from onthedot.execution.capture import prints_kept
from onthedot.execution.context import MOST_LOG_BYTES
from onthedot.stores.memory import MemoryStore


@pytest.fixture
def app() -> Iterator[App]:
    app = App("memory://", store=MemoryStore(SystemClock().now_ms))
    yield app
    app.close()


def said(app: App, run_id: str) -> list[tuple[str, str]]:
    ended = app.runs.wait(run_id, timeout=LONGEST)
    assert ended.is_final
    return [(line.level, line.text) for line in app.runs.logs(run_id)]


def test_all_that_a_run_says_is_kept_in_order(app: App) -> None:
    @app.task
    def talks(ctx: Context) -> None:
        ctx.log.info("begun with %s", "this")
        ctx.progress(0.5, "half way")
        logging.getLogger("elsewhere").warning("careful")
        try:
            raise ValueError("no luck")
        except ValueError:
            ctx.log.exception("it went wrong")

    with app.running():
        lines = said(app, app.enqueue(talks).id)
    assert lines[:3] == [("INFO", "begun with this"), ("PROGRESS", "50% half way"), ("WARNING", "careful")]
    assert lines[3][1].startswith("it went wrong\nTraceback")
    assert len(lines) == 4


def test_what_is_said_outside_of_runs_is_kept_with_none(app: App) -> None:
    @app.task
    def quiet() -> None:
        return None

    with app.running():
        run = app.enqueue(quiet)
        logging.getLogger("elsewhere").warning("nobody's")
        assert said(app, run.id) == []


def test_each_of_many_runs_keeps_its_own_lines(app: App) -> None:
    @app.task
    async def waits(ctx: Context, number: int) -> None:
        ctx.log.info("%s", number)

    @app.task
    def works(ctx: Context, number: int) -> None:
        ctx.log.info("%s", number)

    with app.running():
        runs = {number: app.enqueue(works if number % 2 else waits, args={"number": number}) for number in range(40)}
        assert {number: said(app, run.id) for number, run in runs.items()} == {
            number: [("INFO", str(number))] for number in range(40)
        }


def test_a_log_that_grows_too_long_ends_with_a_line_that_says_so(app: App) -> None:
    @app.task
    def chatters(ctx: Context) -> None:
        for _ in range(30):
            ctx.log.info("x" * 50_000)

    with app.running():
        run = app.enqueue(chatters)
        lines = said(app, run.id)
    assert sum(len(text) for _, text in lines) < MOST_LOG_BYTES + 1000
    assert lines[-1] == ("WARNING", "nothing more is kept: a run's log may have 1,000,000 bytes")


def test_a_message_that_does_not_fit_its_arguments_fails_no_run(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)

    @app.task
    def slips(ctx: Context) -> None:
        ctx.log.warning("%d apples", "many")

    with app.running():
        run = app.enqueue(slips)
        assert said(app, run.id) == [("WARNING", "%d apples")]
    assert app.runs.get(run.id).state == "succeeded"


def test_the_handlers_of_the_process_are_left_as_they_are(app: App) -> None:
    before = list(logging.getLogger().handlers)
    with app.running():
        assert logging.getLogger().handlers == before


# prints


def test_what_is_printed_is_left_alone(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    @app.task
    def prints() -> None:
        print("hello")  # noqa: T201

    with app.running():
        assert said(app, app.enqueue(prints).id) == []
    assert capsys.readouterr().out == "hello\n"


def test_where_it_is_asked_what_is_printed_is_kept_line_by_line_and_printed(
    app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    @app.task
    def prints(ctx: Context) -> None:
        print("hello", "there", sep="\n")  # noqa: T201
        ctx.log.info("between")
        print("no end", end="")  # noqa: T201

    before = sys.stdout
    with prints_kept(), app.running():
        print("nobody's")  # noqa: T201
        lines = said(app, app.enqueue(prints).id)
    assert lines == [("STDOUT", "hello"), ("STDOUT", "there"), ("INFO", "between"), ("STDOUT", "no end")]
    assert capsys.readouterr().out == "nobody's\nhello\nthere\nno end"
    assert sys.stdout is before


def test_each_of_many_runs_keeps_what_it_prints_itself(app: App) -> None:
    @app.task
    async def waits(number: int) -> None:
        print(number, end=" ")  # noqa: T201
        await asyncio.sleep(0)
        print(number)  # noqa: T201

    @app.task
    def works(number: int) -> None:
        print(number, number)  # noqa: T201

    with prints_kept(), app.running():
        runs = {number: app.enqueue(works if number % 2 else waits, args={"number": number}) for number in range(40)}
        assert {number: said(app, run.id) for number, run in runs.items()} == {
            number: [("STDOUT", f"{number} {number}")] for number in range(40)
        }


def test_what_is_printed_without_end_is_kept_in_pieces_and_up_to_a_bound(app: App) -> None:
    @app.task
    def prints() -> None:
        for _ in range(30):
            print("x" * 50_000, end="")  # noqa: T201

    with prints_kept(), app.running():
        lines = said(app, app.enqueue(prints).id)
    assert sum(len(text) for _, text in lines) < MOST_LOG_BYTES + 1000
    assert lines[-1][0] == "WARNING"
