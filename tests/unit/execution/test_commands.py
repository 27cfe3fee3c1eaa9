"""Commands: real child processes, their output, their end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from onthedot import App
from onthedot.clock import SystemClock
from onthedot.model.run import Run
from onthedot.stores.memory import MemoryStore

SOON = "30s"


@pytest.fixture
def app() -> Iterator[App]:
    app = App("memory://", store=MemoryStore(SystemClock().now_ms))
    with app.running():
        yield app
    app.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def done(app: App, name: str, *command: str, **options: object) -> Run:
    """Declare a command, run it once, and wait for its end."""
    task = app.command(name, command, **options)  # type: ignore[arg-type]
    _refresh(app)
    return ended(app, app.enqueue(task))


def _refresh(app: App) -> None:
    """Nothing: a node asks for its tasks at each pass."""


def ended(app: App, run: Run) -> Run:
    last = app.runs.wait(run.id, timeout=SOON)
    assert last.is_final
    return last


def said(app: App, run: Run) -> list[tuple[str, str]]:
    return [(line.level, line.text) for line in app.runs.logs(run.id)]


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        Event().wait(0.01)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_exit_code_is_the_outcome_and_what_it_says_is_kept_line_by_line(app: App) -> None:
    code = "import sys; print('one'); sys.stdout.flush(); print('two', file=sys.stderr)"
    run = done(app, "talks", *python(code))
    assert (run.state, run.result) == ("succeeded", {"exit_code": 0})
    assert sorted(said(app, run)) == [("STDERR", "two"), ("STDOUT", "one")]


def test_another_exit_code_fails_the_run_with_its_last_words(app: App) -> None:
    run = done(app, "fails", *python("import sys; print('no disk', file=sys.stderr); sys.exit(3)"))
    assert (run.state, run.result, run.error) == ("failed", {"exit_code": 3}, "exit code 3\nno disk")
