"""One process of a real storm: `python -m tests.chaos.node`, told by its environment what it is."""

from __future__ import annotations

import asyncio
import os

from tests.chaos.crunching import crunch
from tests.chaos.kinds import KINDS, REAL, declare, define_tasks, fails_now

from onthedot import App, Context
from onthedot.node.settings import NodeSettings
from onthedot.stores.retention import Retention
from onthedot.testing.history import Journal

LEASE_MS, BEAT_MS = 6000, 2000
KEPT = Retention(per_schedule=1_000_000)
"""The verdict is on the whole story."""


def make_app(url: str, journal: Journal | None, *, without: tuple[str, ...], pace: int, times: int, port: int) -> App:
    """The program of a node that knows all tasks but these."""
    settings = NodeSettings(
        name=os.environ.get("CHAOS_NAME", ""),
        lease_ms=LEASE_MS,
        heartbeat_ms=BEAT_MS,
        drain_ms=10_000,
        sweep_ms=2000,
        retention=KEPT,
    )
    app = App(url, node=settings)
    define_tasks(app, journal, pace, without)

    async def work_on_loop(ctx: Context, takes: int = 0, fails: int = 0) -> int:
        if journal is None:
            return 0
        with journal.entry(ctx):
            await asyncio.sleep(takes / 1000)
            if fails_now(ctx, fails):
                raise RuntimeError("on the loop")
            return ctx.attempt

    if "work_on_loop" not in without:
        app.task(crash_retries=100)(work_on_loop)
    app.task(pool="process", crash_retries=100, timeout="1m")(crunch)
    app.command("nap", ["sleep", "0.2"], crash_retries=100)
    app.http("call", "POST", f"http://127.0.0.1:{port}/", crash_retries=100, timeout="5s")
    declare(app, [*KINDS, *REAL], pace, times, without)
    return app


def main() -> None:
    """Until SIGTERM."""
    environment = os.environ
    app = make_app(
        environment["CHAOS_URL"],
        Journal(environment["CHAOS_JOURNAL"]),
        without=tuple(filter(None, environment.get("CHAOS_WITHOUT", "").split(","))),
        pace=int(environment["CHAOS_PACE"]),
        times=int(environment["CHAOS_TIMES"]),
        port=int(environment["CHAOS_PORT"]),
    )
    app.run()


if __name__ == "__main__":
    main()
