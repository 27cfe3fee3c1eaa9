"""The shop whose stores are kept: its tasks, and what it does on an empty store, by the code of its time.

python -m tests.compatibility.shop URL      # a node that dies in the midst of a flow
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from threading import Event
from typing import Any

from tests.patience import LONGEST_S

from onthedot import App, Context, at, calendar, cron, dates, every, named
from onthedot.app.json_documents import run_document, schedule_document
from onthedot.node.settings import NodeSettings

_DIES = "KEPT_SHOP_DIES"
_LAST = datetime(2199, 1, 1, tzinfo=UTC)
Facts = dict[str, Any]


def shop(url: str) -> App:
    """The app, with a lease so short that tests can wait for a takeover."""
    app = App(url, node=NodeSettings(lease_ms=3000, heartbeat_ms=1000))

    @app.task(retries=1, backoff="100ms")
    def report(ctx: Context, to: str = "ann") -> str:
        ctx.log.info("for %s", to)
        return f"sent to {to}"

    @app.task
    def fail() -> None:
        raise ValueError("no luck")

    @app.task(crash_retries=5)
    def die() -> str:
        if _DIES in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return "survived"

    @app.task
    def numbers() -> list[int]:
        return [1, 2, 3]

    @app.task
    def double(number: int) -> int:
        return 2 * number

    @app.task
    def add(parts: list[int]) -> int:
        return sum(parts)

    @app.flow
    def sums() -> None:
        add(double.map(numbers()))

    @app.flow
    def interrupted() -> None:
        report.options(after=[die()])()

    return app


def fill(url: str) -> Facts:
    """A bit of everything: definitions, history, decisions, a flow whose node is dead, a run that waits. Tells what a
    reader of that time reads of it."""
    app = shop(url)
    app.open_store(create=True)
    app.sync()
    token = app.tokens.create("bot", "operator").text
    _define(app)
    with app.running():
        made = [
            app.enqueue("report", args={"to": "bob"}, key="k1"),
            app.enqueue("fail"),
            app.enqueue("@sums"),
            app.schedules.trigger("nightly"),
        ]
        for run in made:
            assert app.runs.wait(run.id, timeout=f"{LONGEST_S}s").is_final
        _until(lambda: len(list(app.runs.list(schedule="ticking"))) > 1)
        app.schedules.skip_next("ticking", 2)
        _until(lambda: len(list(app.runs.list(schedule="ticking"))) > 2)
    _die(url)
    app.enqueue("report", args={"to": "eve"}, key="waits")
    try:
        return {**facts(app), "token": token}
    finally:
        app.close()


def _define(app: App) -> None:
    app.calendars.put("de", dates("2026-12-24..2027-01-01"))
    app.triggers.put("hourly", every("1h"))
    put = app.schedules.put
    put(
        "nightly", "report", cron("30 2 * * mon-fri", tz="Europe/Berlin") - calendar("de"), args={"to": "cy"}, retries=3
    )
    put("ticking", "report", every("1s"), tags=["often"], overlap="serial")
    put("wall", "report", every("2w", at="09:00", tz="Europe/Berlin", anchor="2026-11-20"), jitter="5m")
    put("once", "report", at(_LAST), auto_remove=True)
    put("hourly", "report", named("hourly"), then=["fail"])
    put("everywhere", "report", cron("0 4 1 1 *"), route="broadcast")
    put("flowing", "@sums", cron("0 3 1 1 *"), overlap="discard", timeout="2h")
    put("local", "report", every("1d"), mode="local")
    put("digest", "report", every("15m"), each={"eu": {"to": "eu"}, "us": {"to": "us"}})
    put("gone", "report", every("1h"))
    app.schedules.delete("gone")
    for name in ("hourly", "local", "digest[eu]", "digest[us]"):
        app.schedules.pause(name, note="kept")
    app.freeze("moving", "2198-01-01T00:00Z", _LAST, where={"tag": "often"})


def _until(holds: Any) -> None:
    never = Event()
    while not holds():
        never.wait(0.05)


def _die(url: str) -> None:
    """A node that is gone in the midst of a flow."""
    command = [sys.executable, "-m", __name__ if __name__ != "__main__" else "tests.compatibility.shop", url]
    ended = subprocess.run(command, env={**os.environ, _DIES: "1"}, check=False, timeout=LONGEST_S)
    assert ended.returncode == -signal.SIGKILL, ended.returncode


def facts(app: App) -> Facts:
    """What can be read of a store."""
    runs = [*app.runs.list(limit=1000)]
    return {
        "schedules": {each.name: schedule_document(each, app.now_ms()) for each in app.schedules.list(limit=1000)},
        "runs": {each.id: run_document(each) for each in runs},
        "logs": {each.id: [line.text for line in app.runs.logs(each.id)] for each in runs},
        "audit": [[each.schedule, each.revision, str(each.by.who)] for each in app.schedules.changes(limit=1000)],
        "calendars": {each.name: each.rev for each in app.calendars.list()},
        "triggers": {each.name: each.rev for each in app.triggers.list()},
        "freezes": [each.name for each in app.freezes.list()],
        "tokens": {each.name: str(each.role) for each in app.tokens.list()},
    }


if __name__ == "__main__":
    dying = shop(sys.argv[1])
    dying.enqueue("@interrupted")
    with dying.running():
        Event().wait(LONGEST_S)
