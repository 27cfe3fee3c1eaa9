"""The prose of every page is wrapped, as a reader of the source and of a difference wants it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT

WIDTH = 100
BLOCK = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
GENERATED = {
    ROOT / "docs" / "mistakes.md",
    *(ROOT / "docs" / "benchmarks").rglob("*.md"),
    *(ROOT / "docs" / "reference").rglob("*.md"),
}
"""Scripts write these, and tables are most of them."""
WRITTEN = [page for page in (*PAGES, *ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md")) if page not in GENERATED]


def too_long(text: str) -> list[str]:
    """The lines of prose that go beyond the width."""
    lines = enumerate(BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text).splitlines(), 1)
    return [f"{number}: {line}" for number, line in lines if len(line) > WIDTH and can_be_wrapped(line)]


def can_be_wrapped(line: str) -> bool:
    """No table, heading, HTML, or indented code, and there is a space to break at."""
    return not re.match(r" {4}|\s*[|<#]", line) and " " in line.strip()[:WIDTH]


RUN_ON = re.compile(
    r"^ {4}.*[^;|&`$:\s](?<!manage\.py)\s+onthedot (?:run|status|nodes|explain|doctor|flows|stats|prune|verify|runs)\b"
)


def test_each_command_of_a_block_has_a_line_of_its_own() -> None:
    assert RUN_ON.match("    onthedot sync jobs.toml # writes it onthedot run jobs:app")
    assert not RUN_ON.match("    python manage.py onthedot run")
    assert not RUN_ON.match("    problem: none is alive; start one with `onthedot run`")
    told = [f"{page.name}: {line}" for page in WRITTEN for line in page.read_text("utf-8").splitlines()]
    assert [line for line in told if RUN_ON.match(line.partition(": ")[2])] == []


@pytest.mark.parametrize("page", sorted(set(WRITTEN)), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_of_prose_is_longer_than_a_hundred(page: Path) -> None:
    assert not too_long(page.read_text(encoding="utf-8"))


def test_a_long_line_is_found_in_prose_and_in_lists_but_not_in_code_and_tables() -> None:
    long = "a word " * 20
    found = too_long(f"{long}\n\n```\n{long}\n```\n\n| {long} |\n\n- {long}\n")
    assert [line.partition(":")[0] for line in found] == ["1", "9"]
