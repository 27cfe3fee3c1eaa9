"""What the living example runs: one schedule for each thing that is worth watching."""

from __future__ import annotations

import asyncio
from pathlib import Path

from onthedot.app.alerting import alert
from onthedot.app.app import App
from onthedot.execution.context import Context
from onthedot.node.settings import NodeSettings
from onthedot.triggers import cron, every

STEPS = 20


def demo_app(folder: Path, name: str = "viewer") -> App:
    """The app, on a file in this folder. Its leases are short, so that a takeover is worth waiting for."""
    node = NodeSettings(name=name, capacity=32, lease_ms=6000, heartbeat_ms=2000, drain_ms=500)
    app = App(f"sqlite:///{folder / 'demo.db'}", node=node)
    _quick(app)
    _overlapping(app)
    _failing(app)
    _together(app)
    _flow(app)
    return app


async def _work(ctx: Context, seconds: float) -> None:
    """Take so long, and tell how far it is."""
    for step in range(STEPS):
        ctx.progress(step / STEPS)
        ctx.check()
        await asyncio.sleep(seconds / STEPS)


def _quick(app: App) -> None:
    @app.schedule(every("2s"))
    def heartbeat() -> None:
        """Every two seconds."""

    @app.schedule(cron("*/10 * * * * *", tz="Asia/Tokyo"))
    async def tokyo(ctx: Context) -> None:
        """On the wall clock of another zone."""
        await _work(ctx, 1)

    @app.schedule(every("20s"))
    async def backup(ctx: Context) -> str:
        """Slow: kill its node meanwhile, and watch another take over."""
        await _work(ctx, 9)
        return "42 MB"

    app.schedule(every("15s"))(app.command("disk", ["df", "-h", "."]))


def _overlapping(app: App) -> None:
    """Each takes longer than its interval; what that means is the difference between them."""

    @app.schedule(every("4s"), overlap="serial")
    async def serial(ctx: Context) -> None:
        """One after the other: one waits, the rest are left out."""
        await _work(ctx, 5)

    @app.schedule(every("4s"), overlap="discard")
    async def discard(ctx: Context) -> None:
        """What would overlap is left out."""
        await _work(ctx, 5)

    @app.schedule(every("6s"), overlap="cover")
    async def cover(ctx: Context) -> None:
        """The new one stops the old one."""
        await _work(ctx, 8)

    @app.schedule(every("3s"), overlap="concurrent", max_concurrent_runs=3)
    async def concurrent(ctx: Context) -> None:
        """Up to three at once."""
        await _work(ctx, 7)


def _failing(app: App) -> None:
    @app.schedule(every("12s"), retries=3, backoff="1s")
    def flaky(ctx: Context) -> None:
        """Succeeds at the third attempt."""
        if ctx.attempt < 3:
            raise RuntimeError(f"attempt {ctx.attempt} failed")

    @app.task
    def tell_ops(ctx: Context, text: str) -> None:
        """Where a page or a mail would be sent."""
        ctx.log.warning(text)

    @app.schedule(every("15s"), alerts=[alert("ops", task=tell_ops, on=["failure", "recovery"], after=3, every="1m")])
    def broken() -> None:
        """Fails each time; after three times in a row somebody is told."""
        raise RuntimeError("no such host: example.invalid")


def _flow(app: App) -> None:
    """A flow: shops are loaded side by side, and one of them is shut the first time."""

    @app.task
    async def list_shops(ctx: Context) -> list[str]:
        await _work(ctx, 2)
        return ["Berlin", "Lagos", "Lima", "Oslo", "Perth", "Rome", "Seoul", "Tokyo", "Turin", "Zurich"]

    @app.task
    async def load(ctx: Context, shop: str) -> int:
        await _work(ctx, 2 + len(shop) / 2)
        if shop == "Lima" and ctx.attempt == 1:
            raise RuntimeError("Lima is shut; retry the flow, and it opens")
        return 100 * len(shop)

    @app.task
    async def check_prices(ctx: Context) -> bool:
        await _work(ctx, 6)
        return True

    @app.task
    async def sum_up(ctx: Context, parts: list[int]) -> int:
        await _work(ctx, 3)
        return sum(parts)

    @app.task
    async def publish(ctx: Context, total: int, checked: bool) -> str:
        await _work(ctx, 2)
        return f"{total} rows"

    @app.task
    def page_somebody() -> None:
        """Only when something went wrong."""

    @app.task
    async def clean_up(ctx: Context) -> None:
        await _work(ctx, 1)

    @app.flow(every("1m"), overlap="discard")
    def etl() -> None:
        """Look at its page: what it does now, and what went wrong. Retry it there."""
        parts = load.options(parallel=4).map(list_shops())
        publish(sum_up(parts), check_prices())
        page_somebody.options(on="failure")()
        clean_up.options(on="end")()


def _together(app: App) -> None:
    @app.schedule(every("10s"), route="broadcast")
    async def refresh(ctx: Context) -> None:
        """On every node at once."""
        await _work(ctx, 2)

    @app.schedule(every("15s"))
    async def extract(ctx: Context) -> None:
        """The report waits for it."""
        await _work(ctx, 4)

    @app.schedule(every("15s"), depends_on="extract", within="12s")
    def report() -> str:
        """Only after an extract of the last twelve seconds."""
        return "sent"
