"""Whoever puts or declares hundreds of schedules for one minute is warned, by the standard logging."""

from __future__ import annotations

import logging

import pytest

from onthedot import App, cron, every
from onthedot.app.schedules import Put
from onthedot.clock import ManualClock
from onthedot.moments import ceil_ms
from onthedot.stores.memory import MemoryStore

WARNING = "120 schedules begin at 00:00 every day, UTC time: write `H H * * *` to spread them"


@pytest.fixture
def app() -> App:
    clock = ManualClock(ceil_ms("2026-11-15T12:00:00Z"))
    app = App("memory://", store=MemoryStore(clock.now_ms), clock=clock)

    @app.task
    def work() -> None: ...

    return app


def warnings(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, str]]:
    return [record for record in caplog.record_tuples if record[0] == "onthedot.schedules"]


def test_put_many_warns_of_a_herd(app: App, caplog: pytest.LogCaptureFixture) -> None:
    app.schedules.put_many([Put(f"n{n}", "work", cron("0 0 * * *")) for n in range(120)])
    assert warnings(caplog) == [("onthedot.schedules", logging.WARNING, WARNING)]


def test_sync_warns_of_a_herd_when_something_is_new_and_not_at_every_start(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(120):
        app.schedule(cron("0 0 * * *"), name=f"n{n}")(app.tasks.lookup("work"))  # type: ignore[arg-type]
    app.sync()
    app.sync()
    assert warnings(caplog) == [("onthedot.schedules", logging.WARNING, WARNING)]


def test_spread_schedules_and_few_schedules_are_put_in_silence(app: App, caplog: pytest.LogCaptureFixture) -> None:
    app.schedules.put_many([Put(f"h{n}", "work", cron("H H * * *")) for n in range(120)])
    app.schedules.put_many([Put(f"s{n}", "work", every("1h", spread=True)) for n in range(120)])
    app.schedules.put_many([Put(f"few{n}", "work", cron("0 0 * * *")) for n in range(20)])
    app.schedules.put("one", "work", cron("0 0 * * *"))
    assert warnings(caplog) == []
