"""The living example: some schedules on a SQLite file in a temporary folder, and a table that shows them live."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from onthedot.app.app import App
from onthedot.app.node import NodeSettings
from onthedot.clock import SystemClock
from onthedot.execution.context import Context
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.surfaces.cli.screen import Screen, plain_table
from onthedot.surfaces.cli.texts import span_text
from onthedot.triggers import cron, every
from onthedot.triggers.codec import decode

_STYLES = {"succeeded": "green", "running": "cyan", "waiting": "yellow", "failed": "red", "skipped": "dim"}
_NEWEST = 6
_REFRESH_S = 0.25


def show_living(seconds: float | None) -> None:
    """Run the example until Ctrl-C, or for so many seconds, then drain it and clean up."""
    with TemporaryDirectory(prefix="onthedot-demo-") as folder:
        app = living_app(Path(folder))
        screen = Screen()
        end = None if seconds is None else time.monotonic() + seconds
        try:
            with app.running(), Live(console=screen, refresh_per_second=8, transient=False) as live:
                while end is None or time.monotonic() < end:
                    live.update(picture(app, ends_by_itself=end is not None))
                    time.sleep(_REFRESH_S)
        except KeyboardInterrupt:
            screen.print(Text("drained and stopped", "dim"))
        finally:
            app.open_store().close()


def living_app(folder: Path) -> App:
    """Schedules that show something: quick, slow, failing, crowded, elsewhere."""
    app = App(f"sqlite:///{folder / 'demo.db'}", node=NodeSettings(name="demo", drain_ms=5000))
    app.open_store(create=True)

    @app.schedule(every("2s"))
    def heartbeat() -> None:
        """Every two seconds."""

    @app.schedule(every("5s"))
    async def report(ctx: Context) -> str:
        """Takes a second and a half."""
        await asyncio.sleep(1.5)
        return "sent"

    @app.schedule(every("6s"), retries=3, backoff="1s")
    def flaky(ctx: Context) -> None:
        """Succeeds at the third attempt."""
        if ctx.attempt < 3:
            raise RuntimeError(f"attempt {ctx.attempt} failed")

    @app.schedule(every("2s"), overlap="discard")
    async def crowded() -> None:
        """Takes three seconds, every two seconds: what overlaps is left out, and recorded."""
        await asyncio.sleep(3)

    @app.schedule(cron("*/10 * * * * *", tz="Asia/Tokyo"))
    def tokyo() -> None:
        """On another wall clock."""

    return app


def picture(app: App, *, ends_by_itself: bool) -> Group:
    """The schedules and the newest runs, as they are now."""
    now_ms = SystemClock().now_ms()
    runs = list(app.runs.list(limit=1000))
    schedules = list(app.schedules.list())
    how_to_end = "" if ends_by_itself else "   Ctrl-C drains and stops"
    title = Text.assemble(("onthedot", "bold"), (f"  {len(schedules)} schedules, one SQLite file{how_to_end}\n", "dim"))
    return Group(title, _schedule_table(app, schedules, runs, now_ms), Text(), _run_table(runs, now_ms))


def _schedule_table(app: App, schedules: list[Schedule], runs: list[Run], now_ms: int) -> Table:
    table = plain_table()
    for column in ("schedule", "when", "next", "last", "ok", "failed", "left out"):
        table.add_column(column, justify="right" if column in ("next", "ok", "failed", "left out") else "left")
    for schedule in schedules:
        own = [run for run in runs if run.schedule == schedule.name]
        states = Counter(str(run.state) for run in own)
        left_out = sum(each.count or 0 for each in app.open_store().decisions(schedule.id))
        last = own[0] if own else None
        wait_ms = 0 if schedule.next_run_ms is None else max(schedule.next_run_ms - now_ms, 0)
        table.add_row(
            Text(schedule.name, "bold"),
            Text(decode(schedule.trigger).describe(), "dim"),
            f"{wait_ms / 1000:.1f}s",
            _state(last),
            str(states["succeeded"]),
            str(states["failed"]),
            str(left_out),
        )
    return table


def _run_table(runs: list[Run], now_ms: int) -> Table:
    table = plain_table()
    for column in ("newest runs", "began", "late", "took", ""):
        table.add_column(column, justify="right" if column in ("late", "took") else "left")
    for run in runs[:_NEWEST]:
        began, ended = run.started_ms, run.finished_ms or now_ms
        table.add_row(
            run.schedule or run.task,
            "" if began is None else f"{span_text(now_ms - began)} ago",
            "" if began is None else f"{max(began - run.due_ms, 0)} ms",
            "" if began is None else f"{ended - began} ms",
            _state(run),
        )
    return table


def _state(run: Run | None) -> Text:
    if run is None:
        return Text()
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    return Text(f"{run.state}{attempt}", _STYLES.get(run.state, ""))
