"""Whoever lets a schedule wait for one that there is not is warned, by the standard logging."""

from __future__ import annotations

import logging

import pytest

from onthedot import App, every
from onthedot.app.schedules import Put


@pytest.fixture
def app() -> App:
    app = App("memory://")

    @app.task
    def work() -> None: ...

    return app


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        text for name, level, text in caplog.record_tuples if (name, level) == ("onthedot.schedules", logging.WARNING)
    ]


def test_a_put_that_depends_on_nobody_is_told_with_the_nearest_name(app: App, caplog: pytest.LogCaptureFixture) -> None:
    app.schedules.put("load", "work", every("1h"))
    app.schedules.put("report", "work", every("1h"), depends_on=["load", "laod"])
    assert warnings(caplog) == [
        "report depends on 'laod', and there is no such schedule: it waits for one; did you mean 'load'?"
    ]


def test_an_update_that_depends_on_nobody_is_told(app: App, caplog: pytest.LogCaptureFixture) -> None:
    app.schedules.put("report", "work", every("1h"))
    app.schedules.update("report", depends_on="xyz")
    assert warnings(caplog) == ["report depends on 'xyz', and there is no such schedule: it waits for one"]


def test_those_that_are_put_or_declared_together_may_depend_on_each_other(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    app.schedules.put_many([Put("b", "work", every("1h"), options={"depends_on": "a"}), Put("a", "work", every("1h"))])
    app.schedule(every("1h"), name="d", depends_on=["c", "a"])(lambda: None)
    app.schedule(every("1h"), name="c")(lambda: None)
    app.sync()
    assert warnings(caplog) == []


def test_a_declaration_that_depends_on_nobody_is_told_when_it_is_new(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    app.schedule(every("1h"), name="report", depends_on="xyz")(lambda: None)
    app.sync()
    app.sync()
    assert warnings(caplog) == ["report depends on 'xyz', and there is no such schedule: it waits for one"]
