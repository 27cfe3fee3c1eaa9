"""Each mistake is made, and answered by one line; nothing that was there before is lost."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.mistakes.mistake import FOLDER, Mistake, Section
from tests.mistakes.table import IN_A_SHELL, IN_PYTHON, PAGE, PROGRAM, page

from onthedot import App, OnthedotError, cron
from onthedot.app.import_export import exported
from onthedot.cli import main
from onthedot.clock import SystemClock
from onthedot.errors import TriggerError
from onthedot.moments import ceil_ms
from onthedot.stores.open import open_store

NOW = ceil_ms("2026-11-16T12:00:00Z")


def all_of(sections: Iterable[Section]) -> list[Any]:
    return [
        pytest.param(each, id=f"{section.title}: {each.typed}") for section in sections for each in section.mistakes
    ]


def test_there_are_ninety_mistakes_and_more() -> None:
    assert sum(len(section.mistakes) for section in (*IN_PYTHON, *IN_A_SHELL)) >= 90


def test_the_page_of_the_documentation_says_what_these_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.mistakes.table writes it anew"


# in Python


@pytest.mark.parametrize("mistake", all_of(IN_PYTHON))
def test_a_mistake_in_python_is_answered_by_one_line(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: NOW)
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(PROGRAM, "shop.py", "exec"), names)
    before = kept(names["app"])
    answer = answer_to(mistake.typed, names)
    if mistake.note:
        assert (answer, caplog.messages) == (None, [mistake.answered])
        return
    assert answer == mistake.answered
    assert caplog.messages == []
    assert kept(names["app"]) == before


def answer_to(typed: str, names: dict[str, Any]) -> str | None:
    """What is raised by the text below the program; None if nothing is."""
    below = "\n" * PROGRAM.count("\n") + typed
    try:
        exec(compile(below, "shop.py", "exec"), names)
    except TriggerError as error:
        return error.line  # without the picture
    except OnthedotError as error:
        return str(error)
    return None


def kept(app: App) -> tuple[Any, ...]:
    """What must not be lost by a mistake: schedules, and tasks by their names."""
    return app.schedules.export(), [app.tasks.lookup(name) for name in ("send", "tidy", "note")]


# in a shell


class Done(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one schedule."""
    path = tmp_path_factory.mktemp("store") / "jobs.db"
    app = App(f"sqlite:///{path}")
    app.open_store(create=True)
    app.schedules.put("nightly", "report", cron("30 2 * * *"), unchecked=True)
    app.close()
    return path


@pytest.mark.parametrize("mistake", all_of(IN_A_SHELL))
def test_a_mistake_in_a_shell_is_answered_by_one_line(
    mistake: Mistake, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(store, tmp_path / "jobs.db")
    for name, text in mistake.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    if mistake.prepare is not None:
        mistake.prepare(tmp_path)
    before = kept_in(tmp_path, mistake)
    if mistake.read_only:  # root may write it all the same, so the system's answer is given here
        monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).name != mistake.read_only)
    done = run(mistake, tmp_path, monkeypatch)
    errors = [line for line in done.stderr.splitlines() if not line.startswith(("note: ", "  "))]
    assert [line.replace(str(tmp_path), FOLDER) for line in errors] == [f"error: {mistake.answered}"]
    assert done.code == mistake.code
    assert done.stdout == "" or " that cannot be read; without " in done.stdout
    monkeypatch.undo()
    assert kept_in(tmp_path, mistake) == before


def kept_in(folder: Path, mistake: Mistake) -> tuple[Any, ...]:
    """What must not be lost by a mistake: the schedules of the store, and the files."""
    store = open_store(f"sqlite:///{folder}/jobs.db", create=False)
    schedules = exported(store)
    store.close()
    return schedules, [(folder / name).read_text(encoding="utf-8") for name in mistake.files]


def run(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Done:
    words = shlex.split(mistake.typed)
    first = words.index("onthedot")
    given = dict(word.split("=", 1) for word in words[:first])
    if mistake.without:
        return run_without(mistake.without, words[first + 1 :], folder)
    set_environment({"ONTHEDOT_STORE": "sqlite:///jobs.db", **given}, monkeypatch)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    said, complained = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            code = main(words[first + 1 :])
    finally:
        sys.modules.pop("shop", None)
    return Done(code, said.getvalue(), complained.getvalue())


def set_environment(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    for name, value in {**given, "NO_COLOR": "1", "TZ": "UTC"}.items():
        monkeypatch.setenv(name, value)


def run_without(package: str, arguments: list[str], folder: Path) -> Done:
    """In a process that cannot import the package."""
    code = f"import sys; sys.modules[{package!r}] = None\nfrom onthedot.cli import main\nsys.exit(main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
