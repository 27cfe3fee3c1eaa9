"""A watcher without threads, by a clock that is moved by hand: a test makes its passes itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onthedot import App
from onthedot.clock import ManualClock
from onthedot.web import coming, watching
from onthedot.web.watching import Watcher

START = 1_794_744_000_000


class Still:
    """In place of a loop: somebody else makes its passes."""

    def __init__(self, name: str, run_once: Callable[[], int | None], *_: Any) -> None:
        self.run_once = run_once
        self.woken = 0
        self.stopped = False

    def start(self) -> None:
        pass

    def wake(self) -> None:
        self.woken += 1

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def app(tmp_path: Path, clock: ManualClock) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db", clock=clock)

    @app.task
    def report() -> None:
        pass

    app.open_store(create=True)
    yield app
    app.close()


@pytest.fixture
def watcher(app: App, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    monkeypatch.setattr(watching, "Loop", Still)
    monkeypatch.setattr(coming, "Loop", Still)
    return Watcher(app)
