"""What tests of tasks act on: an app in memory whose node runs, and ways to wait for what it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from tests.patience import LONGEST, LONGEST_S

from onthedot import App
from onthedot.app.tasks import Task
from onthedot.clock import SystemClock
from onthedot.model.run import Run
from onthedot.stores.memory import MemoryStore


def app_in_memory(**options: object) -> App:
    return App("memory://", store=MemoryStore(SystemClock().now_ms), **options)  # type: ignore[arg-type]


def done(app: App, task: Task[..., Any], **options: object) -> Run:
    """Run it once, and wait for its end."""
    return ended(app, app.enqueue(task, **options))  # type: ignore[arg-type]


def ended(app: App, run: Run) -> Run:
    last = app.runs.wait(run.id, timeout=LONGEST)
    assert last.is_final, last
    return last


def said(app: App, run: Run) -> list[tuple[str, str]]:
    return [(line.level, line.text) for line in app.runs.logs(run.id)]


def until(condition: Callable[[], object]) -> None:
    """Wait for something that must come; the test's own time limit is that of the whole suite."""
    for _ in range(int(LONGEST_S * 100)):
        if condition():
            return
        Event().wait(0.01)
    raise AssertionError("it never came")


def lives(pid: int) -> bool:
    """Whether the process is there, and no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
