"""A program that starts its node itself sees what goes wrong, without configuring anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from threading import Event as Flag

import pytest
from tests.patience import LONGEST, LONGEST_S

from onthedot import App, Context
from onthedot.errors import OnthedotError
from onthedot.events import (
    Event,
    Failure,
    LeaseLost,
    LoopRestarted,
    Misfired,
    OutcomeRefused,
    Parked,
    Paused,
    RunEnded,
    RunFinished,
    RunSkipped,
    RunStarted,
    Stopping,
)

OURS = ("onthedot.node", "onthedot.runs", "onthedot.schedules")


@pytest.fixture
def app() -> Iterator[App]:
    app = App("memory://")

    @app.task
    def good() -> None: ...

    @app.task
    def bad(luck: str = "no luck") -> None:
        raise ValueError(luck)

    @app.task(retries=1, backoff="1ms")
    def twice() -> None:
        raise KeyError("gone")

    yield app
    app.close()


def done(app: App, task: str, **args: str) -> str:
    return app.runs.wait(app.enqueue(task, args=args).id, timeout=LONGEST).id


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, str]]:
    return [(each.name, each.levelno, each.getMessage()) for each in caplog.records if each.name in OURS]


def test_a_failure_is_logged_with_its_traceback(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with app.running():
        run_id = done(app, "bad")
    (record,) = (each for each in caplog.records if each.name in OURS)
    assert (record.name, record.levelno) == ("onthedot.runs", logging.ERROR)
    assert record.getMessage().startswith(f"failed bad (run {run_id[-12:]})")
    assert record.getMessage().endswith(": ValueError: no luck")
    assert "Traceback" in (text := logging.Formatter().format(record))
    assert "raise ValueError(luck)" in text
    assert record.event == "run_ended"  # type: ignore[attr-defined]
    assert record.values["run_id"] == run_id  # type: ignore[attr-defined]
    assert app.runs.logs(run_id) == ()  # what is told about a run is not what the run said


def test_a_retry_is_a_warning_and_only_the_last_failure_an_error(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with app.running():
        done(app, "twice")
    (retry, end) = said(caplog)
    assert retry[:2] == ("onthedot.runs", logging.WARNING)
    assert "attempt 1 failed: KeyError: 'gone'; again at " in retry[2]
    assert end[:2] == ("onthedot.runs", logging.ERROR)


def test_start_stop_and_ends_are_info(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="onthedot"), app.running():
        done(app, "good")
    started, ended, stopped = said(caplog)
    assert started[:2] == stopped[:2] == ("onthedot.node", logging.INFO)
    assert started[2].startswith("started node ")
    assert stopped[2].startswith("stopped node ")
    assert ended[:2] == ("onthedot.runs", logging.INFO)
    assert ended[2].startswith("succeeded good ")


def test_it_is_logged_under_an_event_loop_too(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with app.running():
            await asyncio.to_thread(done, app, "bad")

    asyncio.run(main())
    assert [each[:2] for each in said(caplog)] == [("onthedot.runs", logging.ERROR)]


@pytest.mark.parametrize(
    ("event", "name", "level"),
    [
        (LeaseLost("id", "here", 2), "onthedot.node", logging.ERROR),
        (Failure("plan", ValueError("no luck")), "onthedot.node", logging.ERROR),
        (LoopRestarted("plan"), "onthedot.node", logging.WARNING),
        (Stopping("id", "here", 1, ("report",), 12_000), "onthedot.node", logging.WARNING),
        (OutcomeRefused("id"), "onthedot.runs", logging.WARNING),
        (Misfired("report", "misfire", 3), "onthedot.schedules", logging.WARNING),
        (Misfired("report", "overlap", 1), "onthedot.schedules", logging.WARNING),
        (Misfired("report", "paused", 1), "onthedot.schedules", logging.INFO),
        (RunSkipped("id", "task", "report", "overlap"), "onthedot.schedules", logging.WARNING),
        (RunSkipped("id", "task", "report", "paused"), "onthedot.schedules", logging.INFO),
        (Parked("report", "its trigger cannot be read"), "onthedot.schedules", logging.ERROR),
        (Paused("report", 1, 0), "onthedot.schedules", logging.INFO),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Event) else None,
)
def test_each_event_has_its_logger_and_level(
    app: App, event: Event, name: str, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="onthedot"), app.running():
        app.events.emit(event)
    assert (name, level) in [each[:2] for each in said(caplog)]


def test_an_error_in_a_loop_has_its_traceback_and_one_of_ours_says_enough(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise ZeroDivisionError("in the loop")
    except ZeroDivisionError as error:
        raised = error
    with app.running():
        app.events.emit(Failure("plan", raised))
        app.events.emit(Failure("plan", OnthedotError("the store is away")))
    theirs, ours = (each for each in caplog.records if each.name == "onthedot.node")
    assert theirs.exc_info is not None
    assert theirs.exc_info[1] is raised
    assert (ours.exc_info, ours.getMessage()) == (None, "error plan: OnthedotError: the store is away")


def test_a_hook_that_fails_again_and_again_is_one_record_too(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.on("run_ended")
    def broken(event: RunEnded) -> None:
        raise ZeroDivisionError

    with app.running():
        for _ in range(5):
            done(app, "good")
        assert app.events.drain(LONGEST_S * 1000)
    first, last = (each for each in caplog.records if "ZeroDivisionError" in each.getMessage())
    assert (first.name, first.getMessage()) == ("onthedot.node", "error hook for run_ended: ZeroDivisionError")
    assert last.left_out == 3  # type: ignore[attr-defined]


def test_log_false_switches_it_off(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="onthedot"):
        with app.running(log=False):
            done(app, "bad")
        app.start(log=False)
        done(app, "bad")
        app.stop()
    assert said(caplog) == []


def test_nothing_is_logged_before_the_start_and_after_the_stop(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with app.running():
        pass
    app.events.emit(Parked("report", "no"))
    assert said(caplog) == []


def test_what_repeats_is_one_record_with_the_number_of_those_left_out(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    with app.running():
        for number in range(5):  # its text differs, the line that raises it does not
            done(app, "bad", luck=f"no luck {number}")
        done(app, "twice")
        assert len([each for each in said(caplog) if "failed bad" in each[2]]) <= 1
    told = [each for each in caplog.records if "failed bad" in each.getMessage()]
    assert [each.left_out for each in told] == [0, 3]  # type: ignore[attr-defined]
    assert told[1].getMessage().endswith("ValueError: no luck 4 (and 3 more like it, left out)")


def test_a_success_is_not_even_told_while_nobody_wants_to_know(app: App) -> None:
    log = logging.getLogger("onthedot.runs")
    with app.running():
        assert not any(app.events.is_heard(kind) for kind in (RunStarted, RunFinished, RunEnded))
        log.setLevel(logging.INFO)
        try:
            assert app.events.is_heard(RunEnded)
        finally:
            log.setLevel(logging.NOTSET)
        assert not app.events.is_heard(RunEnded)


def test_a_handler_that_blocks_holds_up_no_run(app: App) -> None:
    entered, go_on = Flag(), Flag()

    class Blocks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            entered.set()
            go_on.wait(LONGEST_S)

    handler, log = Blocks(), logging.getLogger("onthedot.runs")
    log.addHandler(handler)
    try:
        with app.running():
            done(app, "bad")
            assert entered.wait(LONGEST_S)
            assert app.runs.get(done(app, "good")).state == "succeeded"
            go_on.set()
    finally:
        log.removeHandler(handler)


def test_there_are_no_handlers_so_that_the_program_decides(app: App) -> None:
    with app.running():
        for name in ("onthedot", "onthedot.task", *OURS):
            assert logging.getLogger(name).handlers == []


def test_ctx_log_is_the_logger_of_the_task(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.task(name="shop.report")
    def report(ctx: Context) -> None:
        ctx.log.info("half way")

    with app.running():
        run_id = done(app, "shop.report")
    assert [(each.name, each.levelno, each.getMessage()) for each in caplog.records] == [
        ("onthedot.task.shop.report", logging.INFO, "half way")
    ]
    assert [(line.level, line.text) for line in app.runs.logs(run_id)] == [("INFO", "half way")]
