"""The overview and the timeline, asked for as pages: what they cost, and what they say where something is missing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.web.client import Callers

from onthedot import App, cron
from onthedot.errors import ExtraMissing
from onthedot.model.node import Node
from onthedot.web.dashboard import keeper
from onthedot.web.watching import Watcher

BROWSER = {"Accept": "text/html"}


def _page(callers: Callers, path: str) -> str:
    answer = callers.viewer.ask("GET", path, headers=BROWSER)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("path", ["/", "/timeline"])
def test_a_page_does_not_read_every_schedule(
    app: App, callers: Callers, node: Node, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        app.schedules.put(f"backup-{number:03}", "report", cron("0 * * * *"))
    monkeypatch.setattr(keeper, "_FRESH_MS", 3_600_000)
    _page(callers, path)  # the first look makes the index, and reads what needs somebody
    store, read = app.open_store(), 0
    schedules = store.schedules

    def counted(**asked: Any) -> Any:
        nonlocal read
        found = schedules(**asked)
        read += len(found)
        return found

    monkeypatch.setattr(store, "schedules", counted)
    assert "300" in _page(callers, path)
    assert read < 300


@pytest.mark.usefixtures("node")
def test_without_the_extra_the_timeline_tells_the_pip_line_and_the_overview_works(
    app: App, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.schedules.put("nightly", "report", cron("0 2 * * *"))

    def missing(*_: Any) -> Any:
        raise ExtraMissing("onthedot.forecast", "numpy", "forecast")

    monkeypatch.setattr(Watcher, "planned", missing)
    monkeypatch.setattr(Watcher, "outlook", missing)

    assert "pip install &#39;onthedot[forecast]&#39;" in _page(callers, "/timeline").replace("'", "&#39;")
    overview = _page(callers, "/")
    assert "0 to come" in overview
    assert "nightly" in overview


def test_an_empty_store_shows_the_first_program(callers: Callers) -> None:
    text = _page(callers, "/")

    assert "Nothing is scheduled yet" in text
    assert "$ onthedot run jobs:app" in text


def test_the_navigation_counts_what_needs_somebody(app: App, callers: Callers) -> None:
    app.schedules.put("nightly", "report", cron("0 2 * * *"))

    assert "No node is alive: nothing will run" in _page(callers, "/")
    assert '<span class="n bad">1<span' in _page(callers, "/timeline")


@pytest.mark.usefixtures("node")
def test_all_new_lines_are_told_as_text(app: App, callers: Callers) -> None:
    for number in range(70):
        app.schedules.put(f"backup-{number:03}", "report", cron("0 * * * *"))
    answer = callers.viewer.ask("GET", "/timeline/lines")

    assert answer.headers["content-type"].startswith("text/plain")
    assert len(answer.text.splitlines()) == 70
    assert answer.text.splitlines()[0].startswith("backup-000 = cron('H * * * *'")
