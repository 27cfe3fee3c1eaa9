"""The pages of the documentation, and the code that stands in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path, kind: str = "python") -> list[str]:
    """The fenced blocks whose first line says exactly this."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def write_files(page: Path, folder: Path) -> None:
    """Every `python file` of the page, where its first line says."""
    for block in blocks_of(page, "python file"):
        path = folder / block.splitlines()[0].removeprefix("# ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")


def commands_of(page: Path) -> list[str]:
    """The lines that are written to be typed, without what is said about them."""
    lines = re.findall(r"^    (onthedot .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [line.split("  #")[0].strip() for line in lines]
