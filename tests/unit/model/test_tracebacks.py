"""The line that says what went wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest
from sqlalchemy.exc import OperationalError

from onthedot.model.tracebacks import telling_line


def with_a_cause() -> None:
    try:
        raise KeyError("a")
    except KeyError as error:
        raise RuntimeError("b\nmore of b") from error


def while_handling() -> None:
    try:
        raise KeyError("a")
    except KeyError:
        raise RuntimeError("c\n\nTraceback (most recent call last):\nValueError: quoted") from None


def with_a_note() -> None:
    error = RuntimeError("d")
    error.add_note("seen in Lagos")
    raise error


def of_several() -> None:
    raise ExceptionGroup("e", [ValueError("f"), KeyError("g")])


def of_a_database() -> None:
    raise OperationalError("SELECT 1", {}, Exception("no such table: orders"))


def in_the_next_line() -> None:
    raise RuntimeError("\n  h\n  i")


def of_a_compiler() -> None:
    compile("a b", "jobs.py", "exec")


def without_words() -> None:
    raise RuntimeError


@pytest.mark.parametrize(
    ("fails", "line"),
    [
        (with_a_cause, "RuntimeError: b"),
        (while_handling, "RuntimeError: c"),
        (with_a_note, "RuntimeError: d"),
        (of_several, "ExceptionGroup: e (2 sub-exceptions)"),
        (of_a_database, "sqlalchemy.exc.OperationalError: (builtins.Exception) no such table: orders"),
        (in_the_next_line, "RuntimeError: h"),
        (of_a_compiler, "SyntaxError: invalid syntax"),
        (without_words, "RuntimeError"),
    ],
)
def test_of_a_traceback_it_names_what_was_raised_last(fails: Callable[[], None], line: str) -> None:
    try:
        fails()
    except Exception as error:
        text = "".join(traceback.format_exception(error))
    assert telling_line(text) == line
    if "Group" not in line and "quoted" not in text:
        assert telling_line("(of 70,000 characters) \u2026 " + text[60:]) == line, "its beginning is cut off"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, ""),
        ("", ""),
        ("a", "a"),
        ("a\nb\n", "b"),
        ("cat: nowhere: no such file\n  or folder\nexit code 1", "exit code 1"),
    ],
)
def test_of_any_other_text_it_is_the_last(text: str | None, line: str) -> None:
    assert telling_line(text) == line
