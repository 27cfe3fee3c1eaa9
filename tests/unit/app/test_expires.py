"""`expires`: what is only worth beginning for a while, from where users say it to what explain says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onthedot import App, every
from onthedot.errors import SettingsError
from onthedot.testing import simulate


def test_a_tick_that_waits_behind_a_long_run_expires_and_explain_says_so() -> None:
    app = App("memory://")

    @app.schedule(every("10m"), expires="2m", max_waiting=5)
    def report() -> None: ...

    with simulate(app, start="2026-12-24T00:00Z", takes={"report": "15m"}) as world:
        world.advance("1h")
        assert [moment.minute for moment in world.moments("report")] == [10, 30, 50]
        ends = [(run.scheduled_at.minute, str(run.state), run.reason) for run in world.runs() if run.state == "skipped"]
        assert ends[0] == (20, "skipped", "expired")
        told = str(app.schedules.explain("report", "2026-12-24T00:20Z"))
        assert told.endswith("it could not begin before it expired")


def test_a_task_an_app_a_file_and_a_single_run_may_say_it(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text('[schedules.ping]\nevery = "1h"\ntask = "send"\nexpires = "5m"\n')
    app = App("memory://", expires="1h")

    @app.task(expires="10m")
    def send() -> None: ...

    @app.task
    def other() -> None: ...

    app.load_file(file)
    with simulate(app):
        assert app.schedules.get("ping").policy.expires_ms == 300_000
        runs = [app.enqueue(send), app.enqueue(other), app.enqueue(send, delay="1m", expires="30s")]
        assert [(run.until_ms or 0) - run.due_ms for run in runs] == [600_000, 3_600_000, 30_000]


def test_what_is_no_duration_is_refused() -> None:
    with pytest.raises(SettingsError, match="send: expires: '10' lacks a unit"):
        App("memory://").task(name="send", expires="10")(lambda: None)
