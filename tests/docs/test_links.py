"""Links lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
INDEX = ROOT / "docs" / "README.md"
MEASURED = ROOT / "docs" / "benchmarks" / "README.md"
STORMS = ROOT / "docs" / "benchmarks" / "chaos" / "README.md"


def links_of(page: Path) -> list[tuple[Path, str]]:
    """Files of this repository that the page leads to, each with the heading in it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [((page.parent / to).resolve() if to else page, heading) for to, heading in LINK.findall(text)]


def headings_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_something(page: Path) -> None:
    for target, heading in links_of(page):
        assert target.exists(), target
        assert not heading or heading in headings_of(target), f"{target} has no {heading}"


def test_the_index_names_every_page_and_the_readme_names_the_index() -> None:
    named = {target for index in (INDEX, MEASURED, STORMS) for target, _ in links_of(index)}
    pages = {page for page in PAGES if page.is_relative_to(INDEX.parent) and "decisions" not in page.parts} - {INDEX}
    assert pages <= named
    assert INDEX in {target for target, _ in links_of(ROOT / "README.md")}
