"""A dashboard over weeks that really went by in a simulated world: a pause, failures, a night without nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from tests.browser.site import NAUGHTY, Site

from onthedot import App, cron, every
from onthedot.app.acting import acting_as
from onthedot.model.token import Role
from onthedot.stores.base import Store
from onthedot.testing import World, simulate
from onthedot.web.serving import Place, WebServer

BERLIN = "Europe/Berlin"
LEFT_OUT = "2026-03-13T01:30:00Z"
"""A tick of `nightly` inside a pause of ops-2."""


@contextmanager
def weeks() -> Iterator[Site]:
    """It is 26 March 2026, 13:59:17 UTC, three days before the clocks of Berlin jump; and stays so."""
    app = App("memory://", store=_history())
    server = WebServer(app, Place(port=0))
    with server.beside():
        site = Site(app, server.address, server._web.state.watcher)
        for role in Role:
            site.token(role)
        yield site
    app.close()


def _history() -> Store:
    app, broken = App("memory://"), [False]

    @app.task
    def etl() -> None:
        if broken[0]:
            raise OSError("connection refused")

    @app.task
    def send(to: str = "ann", copies: int = 1) -> None: ...

    takes = {"etl": timedelta(minutes=46), "send": timedelta(seconds=11)}
    with simulate(app, start=datetime(2026, 2, 20, tzinfo=UTC), takes=takes, call=True) as world:
        _define(app)
        _live(world, app, broken)
        return world.store


def _define(app: App) -> None:
    with acting_as("deploy@ci", "sync"):
        app.schedules.put("nightly", "etl", cron("30 2 * * *", tz=BERLIN), retries=1, timeout="4h", tags=["etl", "eu"])
        app.schedules.put("invoices", "send", cron("0 6 1 * *", tz=BERLIN), tags=["eu"])
        app.schedules.put("us-open", "send", cron("30 9 * * mon-fri", tz="America/New_York"), args={"to": NAUGHTY})
        app.schedules.put(NAUGHTY, "send", every("1d"), tags=["odd"])
        app.schedules.put("gone", "send", every("1d"))


def _live(world: World, app: App, broken: list[bool]) -> None:
    world.advance_to("2026-03-12T08:00Z")
    with acting_as("ops-2", "dashboard"):
        app.schedules.pause("nightly", note="warehouse migration, OPS-412")
    world.advance_to("2026-03-15T09:10Z")
    with acting_as("ops-2", "dashboard"):
        app.schedules.resume("nightly")
        app.schedules.delete("gone")
        app.schedules.pause("invoices", note="year end")
    broken[0] = True
    world.advance_to("2026-03-16T08:00Z")
    broken[0] = False
    world.advance_to("2026-03-20T00:00Z")
    world.kill(1)
    world.advance_to("2026-03-20T06:40Z")
    world.start(2)
    world.advance_to("2026-03-26T13:00Z")
    for number in range(30):
        app.schedules.put(f"stock-{number:02d}", "send", every("10m"), tags=["shop"])
    world.advance_to("2026-03-26T13:59:17Z")
