"""All benches one after the other, and the page that lists what they found.

Each has a process of its own: what one leaves in memory is not the next one's, and one that fails stops none.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.topics import PAGES, chosen

INDEX = "README.md"
_HOW = (
    "Written by `scripts/bench index` from the pages beside it; nothing here is typed by hand. `scripts/bench all` "
    "writes them all, one after the other (`--only running,flows`: some of them)."
)
_SOAKS = ("soak", "soak-postgresql")


def measure_all(only: Sequence[str], folder: Path, console: Console) -> int:
    """Exit code 1 if one of them failed; a goal that was missed is no failure."""
    failed: list[str] = []
    for page in chosen(only):
        console.rule(page.command)
        began = time.monotonic()
        command = [sys.executable, "-m", "bench", *page.arguments, "--markdown", str(folder / f"{page.name}.md")]
        if subprocess.run(command, check=False).returncode:
            failed.append(page.command)
        console.print(f"[dim]· {page.command}: {(time.monotonic() - began) / 60:.1f} minutes[/]")
    write_index(folder)
    for each in failed:
        console.print(f"[bold red]failed[/]  {each}")
    return int(bool(failed))


# the index


@dataclass(frozen=True, slots=True)
class Found:
    """What a page says of itself."""

    name: str
    command: str
    date: str
    took: str
    state: str
    """How calm the machine was."""
    goals: tuple[tuple[str, str, str], ...]
    """Each with what was measured, and whether it was reached."""
    peers: tuple[tuple[str, ...], ...]
    """What, who, ours, theirs, and who is better."""


def write_index(folder: Path) -> None:
    """From the pages that lie there, whenever they were written."""
    names = [*dict.fromkeys(page.name for page in PAGES), *_SOAKS]
    found = [read_page(folder / f"{name}.md") for name in names if (folder / f"{name}.md").exists()]
    (folder / INDEX).write_text(index_of(found), encoding="utf-8")


def read_page(file: Path) -> Found:
    """As `Report.as_markdown` wrote it, now or by an older version."""
    text = file.read_text(encoding="utf-8")
    command = re.match(r"# What `(.*?)` measured", text)
    about = dict(re.findall(r"^- ([\w ]+): (.*)$", text, re.MULTILINE))
    goals = tuple((row[0], row[1], row[2]) for row in _table_under(text, "Goals") if len(row) == 3)
    return Found(
        name=file.stem,
        command=command[1] if command else file.stem,
        date=about.get("date", ""),
        took=about.get("took", ""),
        state=_state_of(text, about),
        goals=goals,
        peers=tuple(_table_under(text, "Beside others")),
    )


def _table_under(text: str, title: str) -> list[tuple[str, ...]]:
    _, _, after = text.partition(f"\n## {title}\n")
    section = after.partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in rows]


def index_of(found: Sequence[Found]) -> str:
    """The whole page."""
    reached = sum(goal[2] == "reached" for page in found for goal in page.goals)
    total = sum(len(page.goals) for page in found)
    lines = [
        "# What was measured",
        "",
        _HOW,
        "",
        f"{reached} of {total} goals are reached.",
        "",
        "## Pages",
        "",
        "| page | command | date | took | machine |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {_link(page)} | `{page.command}` | {page.date} | {page.took} | {page.state} |" for page in found),
        "",
        "## Goals",
        "",
        "| page | goal | measured |  |",
        "| --- | --- | --- | --- |",
        *(f"| {_link(page)} | {' | '.join(goal)} |" for page in found for goal in page.goals),
        "",
        "## Where a peer is better",
        "",
    ]
    better = [(page, row) for page in found for row in page.peers if row[-1] != "onthedot"]
    if not any(page.peers for page in found):
        return "\n".join([*lines, "No page has figures of peers yet.", ""])
    if not better:
        return "\n".join([*lines, "In nothing that these pages compare.", ""])
    lines += ["| page | what | peer | onthedot | the peer |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {_link(page)} | {' | '.join(row[:-1])} |" for page, row in better]
    return "\n".join([*lines, ""])


def _link(page: Found) -> str:
    return f"[{page.name}]({page.name}.md)"


def _state_of(text: str, about: dict[str, str]) -> str:
    if "The machine was loaded" in text:
        return "**loaded**: others used " + about.get("others meanwhile", "much")
    if "others meanwhile" in about:
        return "calm"
    return f"load {about.get('load when it began', 'unknown')} when it began"
