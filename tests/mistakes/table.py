"""All mistakes, and the page of the documentation that is made of them: `python -m tests.mistakes.table` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.mistakes import in_a_shell, in_engines, in_files, in_flask, in_flows, in_python, in_stores
from tests.mistakes.mistake import Mistake, Section

PAGE = Path(__file__).parents[2] / "docs" / "mistakes.md"

PROGRAM = """\
import math
from datetime import timedelta
from functools import partial

from onthedot import App, Context, at, calendar, cron, current, dates, every, item
from onthedot.forecast import forecast

app = App("memory://")


class Mailer: ...


@app.task
def send(to: str, copies: int = 1) -> None: ...


@app.task
def tidy() -> None: ...


@app.task
def note(value) -> None: ...


app.schedules.put("nightly", tidy, cron("30 2 * * *"))
"""
"""What stands above each mistake in Python, in a file shop.py."""

IN_PYTHON = (
    in_python.TRIGGERS,
    in_python.SCHEDULES,
    in_python.TASKS,
    in_flows.FLOWS,
    in_python.APPS,
    in_flask.IN_FLASK,
    in_engines.ENGINES,
)
IN_A_SHELL = (
    in_a_shell.COMMANDS,
    in_a_shell.SETTINGS,
    in_files.JOBS,
    in_files.STEPS,
    in_files.CRONTABS,
    in_stores.STORES,
)

_BEGIN = """\
# Mistakes, and what is answered

Each mistake is answered by one line that says what is wrong, where, and what to do. There is no stack trace,
and nothing that was there before is lost. This page is made of the tests that make each of these mistakes
(`python -m tests.mistakes.table` writes it), so it says what this version answers.

## In Python

All errors are `onthedot.OnthedotError`. Each line below stands at the end of this program, `shop.py`:

"""
_THEN = """
## In a shell

The store is `sqlite:///jobs.db`, unless another is named, with a schedule `nightly`; the folder is `/srv`.
"""


def page() -> str:
    """The whole page."""
    program = f"```python\n{PROGRAM}```\n"
    in_python = "".join(_section(section) for section in IN_PYTHON)
    in_a_shell = "".join(_section(section) for section in IN_A_SHELL)
    return f"{_BEGIN}{program}{in_python}{_THEN}{in_a_shell}"


def _section(section: Section) -> str:
    text = f"{section.text}\n\n" if section.text else ""
    rows = "".join(f"| {_typed(each)} | {_answered(each)} |\n" for each in section.mistakes)
    return f"\n### {section.title}\n\n{text}| typed | answered |\n|---|---|\n{rows}"


def _typed(mistake: Mistake) -> str:
    return "<br>".join(_parts(mistake))


def _parts(mistake: Mistake) -> Iterator[str]:
    if mistake.given:
        yield f"({mistake.given})"
    for name, text in mistake.files.items():
        yield f"{name}:"
        yield from (_code(line) for line in _beginning(text).splitlines())
    yield from (_code(line) for line in mistake.typed.splitlines() if line)


def _beginning(text: str) -> str:
    return text if len(text) < 200 else f"{text[:20].rstrip()} …"


def _answered(mistake: Mistake) -> str:
    return f"{'(a warning) ' if mistake.note else ''}{_code(mistake.answered)}"


def _code(text: str) -> str:
    """As code in a cell of a table."""
    ticks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    indented = text.replace("    ", "\N{NO-BREAK SPACE}" * 4).replace("|", "\\|")
    return f"{ticks}{space}{indented}{space}{ticks}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
